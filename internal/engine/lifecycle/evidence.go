package lifecycle

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// unlisted begins what is said of an answer that is contradicted.
const unlisted = "the infrastructure does not list "

// Contradicts reports whether text is what [World.Contradiction] said once.
func Contradicts(text string) bool { return strings.HasPrefix(text, unlisted) }

// Contradiction says what speaks against an infrastructure that does not list
// the instance of m, and what to do about it; empty when nothing does, or when it
// gave another answer.
//
// Credentials of another account, or another scope, make an infrastructure say
// in all honesty that there is nothing. A kubelet that reports knows better: it
// runs on something. So does a fleet whose instances are not listed either
// ([Instances].Doubt). Neither counts once the instance was seen to go, nor once a
// person has said to go on without it ([Deletion].Abandon).
func (w World) Contradiction(m Machine) string {
	if m.Deletion.Abandon && !m.Deleted.IsZero() {
		return ""
	}
	against := w.against(m)
	switch {
	case against == "":
		return ""
	case m.Deleted.IsZero():
		return against + "check the credentials and the account that they open; nothing is done about the instance until then"
	}
	return against + "check the credentials and the account that they open; if the instance is gone, the deletion goes on as soon as the node is not Ready; " +
		"or set the annotation millwright.dev/abandon-instance to let the machine go without its instance"
}

// against is what speaks against it, whatever anybody wants done.
func (w World) against(m Machine) string {
	there := w.Instances.Owned()
	if m.Deleted.IsZero() {
		if !w.Instances.Looked || !m.Recorded.Provisioned {
			return "" // nothing, which it says, is what is to be expected
		}
		there = w.Instances.Own
	}
	if len(there) > 0 || w.Instances.SeenToGo {
		return ""
	}
	what := m.recordedInstance()
	if n := w.witness(m); n != nil {
		return fmt.Sprintf("%s%s, but node %s reports Ready under it: ", unlisted, what, n.Name)
	}
	if w.Instances.Doubt != "" && m.Recorded.Provisioned {
		return fmt.Sprintf("%s%s, and is not believed: %s: ", unlisted, what, w.Instances.Doubt)
	}
	return ""
}

// unheard says why the deletion of m is not forced past a node that cannot be looked up:
// the machine has had an instance, the infrastructure does not list that now, and the node
// might contradict it. Two that say nothing are no proof that the instance is gone. It is
// empty where the instance is listed or was seen to go, and once a person has said to go
// on without it.
func (w World) unheard(m Machine) string {
	switch {
	case !m.Recorded.Provisioned || m.Deletion.Abandon:
		return ""
	case w.Node.Looked || w.Node.Object != nil: // one that is there has been heard, and cannot be deleted
		return ""
	case !w.Instances.Looked || w.Instances.SeenToGo || len(w.Instances.Owned()) > 0:
		return ""
	}
	return unlisted + m.recordedInstance() + ", and the node cannot be asked whether it runs: the forced deletion goes on as soon as one of them is seen again; " +
		"or set the annotation millwright.dev/abandon-instance to let the machine go without its instance"
}

// recordedInstance names the instance that is looked for.
func (m Machine) recordedInstance() string {
	if m.Recorded.ProviderID == "" {
		return "an instance of the machine"
	}
	return "instance " + m.Recorded.ProviderID
}

// witness is the machine's node, where that says by itself that the instance is
// there. A node that has stopped reporting says nothing. Of a machine that lives,
// one that came in place of the recorded one, and shows no provider ID, may be
// anybody's; one that would be deleted with its machine counts in any case.
func (w World) witness(m Machine) *corev1.Node {
	n := w.Node.Object
	switch {
	case !w.Node.Looked || Ready(n).Status != corev1.ConditionTrue:
		return nil
	case m.Deleted.IsZero() && n.Spec.ProviderID == "" && m.Recorded.NodeUID != "" && m.Recorded.NodeUID != n.UID:
		return nil
	}
	return n
}

// contradicted stops a deletion before the machine is let go on the word of an
// infrastructure that may be wrong. Its node is drained by then. Forcing a
// deletion does not help: that is about pods, and an instance that is not there
// where one looks would be left behind.
func contradicted(q input) *Decision {
	text := q.w.Contradiction(q.m)
	if text == "" {
		return nil
	}
	return &Decision{Step: Await, Reason: ReasonContradicted, Stage: StageDeleting, Message: text, After: q.p.Delays.unmended()}
}
