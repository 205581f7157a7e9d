package explain

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/internal/engine/approval"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/postmortem"
)

// severity orders answers: the most urgent first.
var severity = []State{Failed, Stuck, Degraded, Waiting, Unknown, Progressing, Deleting, Gone, Ambiguous, Healthy}

// Severity returns the states, the worst first.
func Severity() []State { return slices.Clone(severity) }

// WorstFirst orders answers by urgency, and equally urgent ones by their names.
func WorstFirst(a, b Answer) int {
	return cmp.Or(slices.Index(severity, a.State)-slices.Index(severity, b.State), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// mostAnswers is how many objects an overview names.
const mostAnswers = 20

// OverviewFacts are the facts about a namespace, or of a cluster.
type OverviewFacts struct {
	Subject
	// Objects are the answers about all objects in it.
	Objects []Answer
	// Controllers are those that do not run ([Controller.Headline]).
	Controllers []Answer
	// Deleted is since when the namespace has been in deletion, and Held is what blocks its deletion.
	Deleted time.Time
	Held    []string
	// NoKinds says that the API server has none of the kinds.
	NoKinds bool
	// Elsewhere counts the objects of other namespaces that are not in order.
	Elsewhere int
	Gaps      []string
}

// Overview explains a namespace, or a cluster, by the answers about all objects in it. A controller that does
// not run comes before all of them.
func Overview(now time.Time, o OverviewFacts) Answer {
	all := o.Objects
	wrong := wrongOf(all)
	f := finding{key: "NothingWrong", fill: []string{"objects", plural(len(all), "object"), "deleted", span(now.Sub(o.Deleted)), "elsewhere", are(o.Elsewhere, "object")}}
	switch {
	case len(o.Controllers) > 0:
		worst := o.Controllers[0]
		f.key, f.reason, f.state = "NobodyActs", worst.Reason, worst.State
		f = f.with("worst", clause(worst.Sentence), "wrong", are(len(wrong), "object"), "member next", worst.Next)
		for _, c := range o.Controllers {
			f.chain = append(f.chain, Cause{Reason: c.Reason, Message: clause(c.Sentence)})
			f.chain = append(f.chain, c.Because...)
		}
	case !o.Deleted.IsZero():
		f.key = "NamespaceDeleting"
		if len(all) == 0 {
			f.key = variant(f.key, "Held")
		}
		for _, h := range o.Held {
			f.chain = append(f.chain, Cause{Source: "namespace " + o.Name, Message: clause(h)})
		}
	case len(all) == 0 && o.NoKinds:
		f.key = "NoKinds"
	case len(all) == 0:
		f.key = "NothingThere"
	case len(wrong) > 0:
		worst := wrong[0]
		f.key, f.reason, f.state = "SomethingWrong", worst.Reason, worst.State
		f = f.with("wrong", plural(len(wrong), "thing"), "worst", worst.String(), "member next", worst.Next)
	}
	if o.Elsewhere > 0 {
		f.key = variant(f.key, "Elsewhere")
	}
	for _, a := range wrong[:min(len(wrong), mostAnswers)] {
		f.chain = append(f.chain, a.line())
	}
	if more := len(wrong) - mostAnswers; more > 0 {
		f.chain = append(f.chain, Cause{Message: are(more, "more object") + " not in order"})
	}
	return f.answer(o.Subject, o.Gaps)
}

// wrongOf returns the answers about objects that are not in order, the worst first.
func wrongOf(all []Answer) (wrong []Answer) {
	for _, a := range all {
		if a.State != Healthy {
			wrong = append(wrong, a)
		}
	}
	wrong = withoutEchoes(wrong)
	slices.SortFunc(wrong, WorstFirst)
	return wrong
}

// Unseen reports whether the object waits for a controller that has not acted on it.
func (a Answer) Unseen() bool { return a.Reason == ReasonNotSeen }

// line returns the answer in one line: its sentence, and the first cause if that adds something.
func (a Answer) line() Cause {
	c := Cause{Reason: a.Reason, Message: clause(a.Sentence)}
	if len(a.Because) > 0 && !strings.Contains(c.Message, clause(a.Because[0].Message)) {
		b := a.Because[0]
		if b.Source != "" {
			b.Message = b.Source + ": " + b.Message
		}
		c.Message += "; " + clause(b.Message)
	}
	return c
}

// withoutEchoes leaves out sets and deployments that only repeat the answer of a machine.
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

// Node explains a node by its machine; a nil machine means that it has none.
func Node(now time.Time, s Subject, n *corev1.Node, machine *Answer, gaps []string) Answer {
	if machine == nil {
		c := ready(n)
		f := finding{key: "NodeWithoutMachine", fill: []string{"condition", worst(n, lifecycle.Policy{}), "unwell", lasting(now, c.LastTransitionTime.Time), "ready", lasting(now, c.LastTransitionTime.Time)}}
		if c.Status != corev1.ConditionTrue {
			f.key = variant(f.key, "Unready")
			f.chain = []Cause{{Source: "node " + n.Name, Reason: c.Reason, Message: "Ready is " + string(c.Status) + colon(c.Message), Since: c.LastTransitionTime.Time}}
		}
		if !n.DeletionTimestamp.IsZero() {
			f = nodeLeaving(now, n)
		}
		return f.answer(s, gaps)
	}
	f := finding{
		key: "NodeOfMachine", reason: machine.Reason, state: machine.State, fill: []string{"worst", machine.Subject.String(), "member next", machine.Next},
		chain: append([]Cause{{Source: "machine." + machine.API, Reason: machine.Reason, Message: clause(machine.Sentence)}}, machine.Because...),
	}
	if !n.DeletionTimestamp.IsZero() {
		f.chain = append(nodeLeaving(now, n).chain, f.chain...)
	}
	return f.answer(s, gaps)
}

// Leftover explains a machine that does not exist by its node, which still exists.
func Leftover(now time.Time, s Subject, n *corev1.Node, gaps []string) Answer {
	f := finding{key: variant(reasonGone, "NodeLeft")}
	f.chain = []Cause{{Source: "node " + n.Name, Message: "the machine is deleted, and the node still exists", Since: n.CreationTimestamp.Time}}
	if !n.DeletionTimestamp.IsZero() {
		f = nodeLeaving(now, n)
		f.chain[0].Source = "node " + n.Name
		f.key = variant(reasonGone, "NodeLeaving")
		if len(n.Finalizers) > 0 {
			f.key = variant(reasonGone, "NodeHeld")
		}
	}
	return f.with("node", n.Name).answer(s, gaps)
}

// nodeLeaving explains a node that is under deletion.
func nodeLeaving(now time.Time, n *corev1.Node) finding {
	f := finding{key: "NodeDeleting", fill: []string{"deleted", span(now.Sub(n.DeletionTimestamp.Time)), "finalizers", strings.Join(n.Finalizers, ", ")}}
	c := Cause{Source: "metadata.deletionTimestamp", Since: n.DeletionTimestamp.Time, Message: "the node was deleted"}
	if len(n.Finalizers) > 0 {
		f.key = variant(f.key, "Held")
		c = Cause{Source: "metadata.finalizers", Reason: reasonForeign, Since: n.DeletionTimestamp.Time, Message: "the node was deleted, and is held by: " + strings.Join(n.Finalizers, ", ")}
	}
	f.chain = []Cause{c}
	return f
}

// RequestFacts are the stored facts about a certificate request.
type RequestFacts struct {
	Subject
	Request postmortem.Request
	// Settled is the decision ("Approved", "Denied"); empty while it is pending.
	Settled string
	// Foreign says that it is not for a kubelet's first certificate.
	Foreign bool
	// Machine is the machine of the kubelet that sent it; the zero value if unknown.
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
		// The approver reports its objections as events of the machine, and this machine has none.
		found.key, found.reason = word(approval.ReasonNoMachine), string(approval.ReasonNoMachine)
	}
	found.chain[0].Source = ""
	advised := reasons[found.key]
	out := finding{key: "RequestPending", reason: cmp.Or(found.reason, reasonOf(found.key)), state: advised.state, chain: found.chain, fill: fill}
	a := out.with("member next", fillIn(advised.next, fill)).answer(f.Subject, f.Gaps)
	return a
}
