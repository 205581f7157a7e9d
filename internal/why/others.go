package why

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/internal/evidence"
)

// CheckFacts are what is stored about a health check.
type CheckFacts struct {
	Subject
	Created time.Time
	// Machines is the API group of the machines that it selects.
	Machines string
	// Paused says that somebody stopped it.
	Paused bool
	// Expected and Healthy count machines. Meaningless unless Seen, which says that
	// a controller has looked at the check.
	Expected, Healthy int
	Seen              bool
	Said              []evidence.Statement
	// Controller is what is to look after the check; its zero value where nobody
	// asked.
	Controller Controller
	Gaps       []string
}

// ReasonNoMachines is that of checks that select nothing.
const ReasonNoMachines = "NoMachines"

// Check explains a health check at the time now.
func Check(now time.Time, f CheckFacts) Answer {
	return f.Controller.unattended(now, f.Subject, f.finding(now)).answer(f.Subject, f.Gaps)
}

func (f *CheckFacts) finding(now time.Time) finding {
	valid, allowed, calm := find(f.Said, Valid), find(f.Said, RemediationAllowed), find(f.Said, Calm)
	no := string(corev1.ConditionFalse)
	sick := fmt.Sprintf("%d of %s are unhealthy", f.Expected-f.Healthy, plural(f.Expected, "machine"))
	switch {
	case f.Paused:
		return finding{state: Waiting, reason: "Paused", text: "is paused, and looks at no machine", next: "take the annotation cluster.x-k8s.io/paused off to go on"}
	case valid.Status == no:
		return finding{state: Failed, reason: orElse(valid.Reason, "InvalidSpec"), text: "remedies nobody, because it cannot be understood", chain: quote(valid), next: "correct what is named"}
	case !f.Seen && now.Sub(f.Created) >= unseen:
		return finding{state: Failed, reason: "NotSeen", text: "was made " + span(now.Sub(f.Created)) + " ago, and no controller has looked at it", next: lookAfter + "machine-controller-manager runs, leads, and serves health checks and the namespace " + f.Namespace}
	case !f.Seen:
		return finding{state: Progressing, reason: "NotSeen", text: "was just made", next: "wait"}
	case f.Expected == 0:
		return finding{
			state: Degraded, reason: ReasonNoMachines, text: "watches nothing: no machine matches its selector",
			next: "compare spec.selector with the labels that machines have: `kubectl -n " + f.Namespace + " get machines." + f.Machines + " --show-labels`",
		}
	case allowed.Status == no:
		return finding{
			state: Degraded, reason: orElse(allowed.Reason, "TooManyUnhealthy"), text: "remedies nothing at the moment: " + sick, chain: quote(allowed),
			next: "find out what the unhealthy machines have in common; it goes on by itself when there are fewer, or with a greater spec.maxUnhealthy",
		}
	case calm.Status == no:
		return finding{state: Waiting, reason: orElse(calm.Reason, "NotCalm"), text: "holds something back: " + sick, chain: quote(calm), next: "wait, or find out what the unhealthy machines have in common"}
	case f.Healthy < f.Expected:
		return finding{state: Progressing, reason: "Unhealthy", text: "has something to do: " + sick, chain: quote(calm), next: "wait: each is remedied when its timeouts are over"}
	}
	return finding{state: Healthy, reason: "AllHealthy", text: fmt.Sprintf("is in order: %s, all healthy", plural(f.Expected, "machine")), next: nothing}
}

func orElse(reason, otherwise string) string {
	if reason == "" {
		return otherwise
	}
	return reason
}

// ClassFacts are what is stored about a class of machines.
type ClassFacts struct {
	Subject
	Deleted time.Time
	// Users are the machines, sets and deployments that refer to it.
	Users []string
	// Absent are secrets to which it refers and that do not exist.
	Absent []string
	Gaps   []string
}

// Class explains a class of machines at the time now.
func Class(now time.Time, f ClassFacts) Answer {
	used := "nothing refers to it"
	if n := len(f.Users); n > 0 {
		used = "it is used by " + strings.Join(f.Users[:min(n, mostNames)], ", ")
		if more := n - mostNames; more > 0 {
			used += fmt.Sprintf(" and %d more", more)
		}
	}
	out := finding{state: Healthy, reason: "Exists", text: "is there, and " + used, next: nothing}
	switch {
	case !f.Deleted.IsZero() && len(f.Users) > 0:
		out = finding{state: Stuck, reason: "InUse", text: "has been in deletion for " + span(now.Sub(f.Deleted)) + ": " + used, next: "delete what uses it, or let it use another class: instances are removed through the class"}
	case !f.Deleted.IsZero():
		out = finding{state: Deleting, reason: "Deleting", text: "has been in deletion for " + span(now.Sub(f.Deleted)) + ": " + used, next: "wait"}
	case len(f.Absent) > 0:
		out = finding{state: Degraded, reason: "SecretMissing", text: "lacks what machines are made with: " + used, next: "create secret " + f.Absent[0] + ", or correct the reference"}
	}
	for _, name := range f.Absent {
		out.chain = append(out.chain, Cause{Source: "secret " + name, Reason: "NotFound", Message: "it does not exist"})
	}
	return out.answer(f.Subject, f.Gaps)
}
