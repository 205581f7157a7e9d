package explain

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/internal/engine/approval"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/postmortem"
)

// severity orders answers: what needs somebody most comes first.
var severity = []State{Failed, Stuck, Degraded, Waiting, Unknown, Progressing, Deleting, Gone, Ambiguous, Healthy}

// WorstFirst orders answers by how much they need somebody, and those that are alike
// by their names.
func WorstFirst(a, b Answer) int {
	return cmp.Or(slices.Index(severity, a.State)-slices.Index(severity, b.State), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// mostAnswers is how many objects an overview names.
const mostAnswers = 20

// Overview explains a namespace, or a cluster, by the answers about all objects in it.
func Overview(s Subject, all []Answer, gaps []string) Answer {
	var wrong []Answer
	for _, a := range all {
		if a.State != Healthy {
			wrong = append(wrong, a)
		}
	}
	wrong = withoutEchoes(wrong)
	slices.SortFunc(wrong, WorstFirst)
	f := finding{key: "NothingWrong", fill: []string{"objects", plural(len(all), "object")}}
	switch {
	case len(all) == 0:
		f.key = "NothingThere"
	case len(wrong) > 0:
		worst := wrong[0]
		f.key, f.reason, f.state = "SomethingWrong", worst.Reason, worst.State
		f = f.with("wrong", plural(len(wrong), "thing"), "worst", worst.String(), "member next", worst.Next)
	}
	for _, a := range wrong[:min(len(wrong), mostAnswers)] {
		f.chain = append(f.chain, Cause{Reason: a.Reason, Message: clause(a.Sentence)})
	}
	if more := len(wrong) - mostAnswers; more > 0 {
		f.chain = append(f.chain, Cause{Message: plural(more, "more object") + " not in order"})
	}
	return f.answer(s, gaps)
}

// withoutEchoes leaves out sets and deployments that only repeat what is said of a
// machine.
func withoutEchoes(all []Answer) []Answer {
	told := map[string]bool{}
	for _, a := range all {
		if a.Kind == "Machine" && a.State != Healthy {
			told[a.Namespace+"/"+a.API+"/"+a.Reason] = true
		}
	}
	return slices.DeleteFunc(all, func(a Answer) bool {
		return (a.Kind == "MachineSet" || a.Kind == "MachineDeployment") && told[a.Namespace+"/"+a.API+"/"+a.Reason]
	})
}

// Node explains a node by the machine that it is of; nil where it is of none.
func Node(now time.Time, s Subject, n *corev1.Node, machine *Answer, gaps []string) Answer {
	if machine == nil {
		c := ready(n)
		f := finding{key: "NodeWithoutMachine", fill: []string{"condition", worst(n, lifecycle.Policy{}), "unwell", lasting(now, c.LastTransitionTime.Time), "ready", lasting(now, c.LastTransitionTime.Time)}}
		if c.Status != corev1.ConditionTrue {
			f.key = variant(f.key, "Unready")
			f.chain = []Cause{{Source: "node " + n.Name, Reason: c.Reason, Message: "Ready is " + string(c.Status) + colon(c.Message), Since: c.LastTransitionTime.Time}}
		}
		return f.answer(s, gaps)
	}
	f := finding{
		key: "NodeOfMachine", reason: machine.Reason, state: machine.State, fill: []string{"worst", machine.Subject.String(), "member next", machine.Next},
		chain: append([]Cause{{Source: "machine." + machine.API, Reason: machine.Reason, Message: clause(machine.Sentence)}}, machine.Because...),
	}
	return f.answer(s, gaps)
}

// RequestFacts are what is stored about a certificate request.
type RequestFacts struct {
	Subject
	Request postmortem.Request
	// Settled is what was decided ("Approved", "Denied"); empty while it is pending.
	Settled string
	// Foreign says that it is not for a kubelet's first certificate.
	Foreign bool
	// Machine is whose kubelet asked; its zero value where that is not known.
	Machine Subject
	Gaps    []string
}

// Requested explains a certificate request at the time now.
func Requested(now time.Time, f RequestFacts) Answer {
	of := "no machine that is known"
	if f.Machine.Name != "" {
		of = f.Machine.String()
	}
	fill := []string{"asked", span(now.Sub(f.Request.Created)), "request", f.Subject.Name, "of", of, "settled", f.Settled}
	switch {
	case f.Settled != "":
		return finding{key: "RequestSettled", reason: f.Settled, fill: fill}.answer(f.Subject, f.Gaps)
	case f.Foreign:
		return finding{key: "RequestOfOthers", fill: fill}.answer(f.Subject, f.Gaps)
	}
	q := &input{now: now, MachineFacts: MachineFacts{Requests: []postmortem.Request{f.Request}}}
	found := q.requested()
	if f.Machine.Name == "" && found.key == variant(reasonCertificate, "Long") {
		// What the approver objects to is told by an event of the machine, and there is none.
		found.key, found.reason = word(approval.ReasonNoMachine), string(approval.ReasonNoMachine)
	}
	found.chain[0].Source = ""
	advised := reasons[found.key]
	out := finding{key: "RequestPending", reason: cmp.Or(found.reason, reasonOf(found.key)), state: advised.state, chain: found.chain, fill: fill}
	a := out.with("member next", fillIn(advised.next, fill)).answer(f.Subject, f.Gaps)
	return a
}
