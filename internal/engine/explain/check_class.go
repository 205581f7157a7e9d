package explain

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/internal/engine/health"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/postmortem"
)

// CheckFacts are the stored facts about a health check.
type CheckFacts struct {
	Subject
	Created time.Time
	// Machines is the API group of the machines that it selects.
	Machines string
	// Paused says that a user paused it.
	Paused bool
	// Expected and Healthy count machines. Meaningless unless Seen, which says that a controller has
	// processed the check.
	Expected, Healthy int
	Seen              bool
	Said              []postmortem.Statement
	// Rivals are other health checks that select some of its machines.
	Rivals []string
	// Controller is the controller that manages the check; the zero value if it was not looked up.
	Controller Controller
	Gaps       []string
}

// Check explains a health check at the time now.
func Check(now time.Time, f CheckFacts) Answer {
	found := f.finding(now).with("age", span(now.Sub(f.Created)), "controller", setController, "machines", f.Machines,
		"sick", fmt.Sprintf("%d of %s unhealthy", f.Expected-f.Healthy, are(f.Expected, "machine")), "number", plural(f.Expected, "machine"))
	a := f.Controller.unattended(now, f.Subject, found)
	a.Gaps = f.Gaps
	return a
}

func (f *CheckFacts) finding(now time.Time) finding {
	valid, allowed, calm := find(f.Said, Valid), find(f.Said, RemediationAllowed), find(f.Said, Calm)
	no := string(corev1.ConditionFalse)
	switch {
	case f.Paused:
		return finding{key: "Paused"}
	case valid.Status == no:
		return finding{key: "InvalidSpec/Check", reason: valid.Reason, chain: quote(valid)}
	case !f.Seen && now.Sub(f.Created) >= unseen:
		return finding{key: variant(ReasonNotSeen, "Check")}
	case !f.Seen:
		return finding{key: variant(ReasonNotSeen, "New")}
	case f.Expected == 0:
		return finding{key: ReasonNoMachines}
	case allowed.Status == no && allowed.Reason == machinesStart:
		return finding{key: machinesStart, chain: quote(allowed)}
	case allowed.Status == no && doubtsCluster[allowed.Reason]:
		return finding{key: variant(allowed.Reason, "Check"), reason: allowed.Reason, chain: quote(allowed)}
	case allowed.Status == no:
		return finding{key: "TooManyUnhealthy", reason: allowed.Reason, chain: quote(allowed)}
	case calm.Status == no:
		return finding{key: "NotCalm", reason: calm.Reason, chain: quote(calm)}
	case len(f.Rivals) > 0:
		return finding{key: "SharedMachines", fill: []string{"rivals", strings.Join(f.Rivals[:min(len(f.Rivals), mostNames)], ", ")}}
	case f.Healthy < f.Expected:
		return finding{key: "Unhealthy", chain: quote(calm)}
	}
	return finding{key: "AllHealthy"}
}

// doubtsCluster are the reasons of a check that does not trust the target cluster.
var doubtsCluster = map[string]bool{
	string(lifecycle.ReasonTargetReplaced): true, string(lifecycle.ReasonNodeDoubted): true, string(health.ReasonClusterUnknown): true,
}

// machinesStart is the reason that lenses record for a check that remediates nothing while machines start.
const machinesStart = "MachinesStart"

// setController is the name, in messages, of the controller of sets, deployments and health checks.
const setController = "machine-controller-manager"

// ClassFacts are the stored facts about a class of machines.
type ClassFacts struct {
	Subject
	Deleted time.Time
	// Users are the machines, sets and deployments that refer to it.
	Users []string
	// Absent are the referenced secrets that do not exist.
	Absent []string
	Gaps   []string
}

// Class explains a class of machines at the time now.
func Class(now time.Time, f ClassFacts) Answer {
	used := "no object refers to it"
	if n := len(f.Users); n > 0 {
		used = "it is used by " + strings.Join(f.Users[:min(n, mostNames)], ", ")
		if more := n - mostNames; more > 0 {
			used += fmt.Sprintf(" and %d more", more)
		}
	}
	out := finding{key: "Exists", fill: []string{"used", used, "deleted", span(now.Sub(f.Deleted))}}
	switch {
	case !f.Deleted.IsZero() && len(f.Users) > 0:
		out.key = "InUse"
	case !f.Deleted.IsZero():
		out.key = "Deleting/Class"
	case len(f.Absent) > 0:
		out.key = reasonNoSecret
		out = out.with("secret", f.Absent[0])
	}
	for _, name := range f.Absent {
		out.chain = append(out.chain, Cause{Source: "secret " + name, Reason: ReasonNotFound, Message: "it does not exist"})
	}
	return out.answer(f.Subject, f.Gaps)
}
