package lifecycle

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// unlisted is the beginning of messages about a contradicted answer.
const unlisted = "the infrastructure does not list "

// Contradicts reports whether text is an earlier message of [World.Contradiction].
func Contradicts(text string) bool { return strings.HasPrefix(text, unlisted) }

// Contradiction returns the facts against an infrastructure that does not list the instance of m, and what to
// do about it; empty if none exist, or if the infrastructure gave another answer.
//
// With credentials of another account, or in another scope, an infrastructure correctly lists nothing. A
// kubelet that reports proves the contrary: it runs on an instance. So does a fleet whose instances are not
// listed either ([Instances].Doubt). Neither counts once the instance was seen terminating, nor once a user
// has allowed to continue without it ([Deletion].Abandon).
func (w World) Contradiction(m Machine) string {
	if m.Deletion.Abandon && !m.Deleted.IsZero() {
		return ""
	}
	against := w.against(m)
	switch {
	case against == "":
		return ""
	case m.Deleted.IsZero():
		return against + "check the credentials and their account; until then the controller does not touch the instance"
	}
	return against + "check the credentials and their account; if the instance does not exist, the deletion continues as soon as the node is not Ready; " +
		"or set the annotation millwright.dev/abandon-instance to delete the machine without its instance"
}

// against returns the facts against it, independently of the user's wishes.
func (w World) against(m Machine) string {
	there := w.Instances.Owned()
	if m.Deleted.IsZero() {
		if !w.Instances.Looked || !m.Recorded.Provisioned {
			return "" // an empty answer is expected
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
		return fmt.Sprintf("%s%s, which contradicts other facts: %s: ", unlisted, what, w.Instances.Doubt)
	}
	return ""
}

// unheard returns why the deletion of m is not forced past a node that cannot be read: the machine has had an
// instance, the infrastructure does not list it now, and the node might contradict that. Two missing answers
// do not prove that the instance is terminated. It is empty if the instance is listed or was seen
// terminating, and once a user has allowed to continue without it.
func (w World) unheard(m Machine) string {
	switch {
	case !m.Recorded.Provisioned || m.Deletion.Abandon:
		return ""
	case w.Node.Looked || w.Node.Object != nil: // an existing node has answered, and cannot be deleted
		return ""
	case !w.Instances.Looked || w.Instances.SeenToGo || len(w.Instances.Owned()) > 0:
		return ""
	}
	return unlisted + m.recordedInstance() + ", and its node cannot be read: the forced deletion continues as soon as the instance or the node is found again; " +
		"or set the annotation millwright.dev/abandon-instance to delete the machine without its instance"
}

// recordedInstance names the instance that the machine should have.
func (m Machine) recordedInstance() string {
	if m.Recorded.ProviderID == "" {
		return "an instance of the machine"
	}
	return "instance " + m.Recorded.ProviderID
}

// witness returns the machine's node if it proves that the instance exists. A node that has stopped reporting
// proves nothing. For a machine that is not under deletion, a node that replaced the recorded one and has no
// provider ID may belong to any instance; a node that would be deleted with its machine counts in any case.
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

// contradicted stops a deletion before the finalizer is removed because of an answer of the infrastructure
// that may be wrong. The node is drained by then. Forcing the deletion does not help: that concerns pods, and
// an instance that exists but is not listed would be left behind.
func contradicted(q input) *Decision {
	text := q.w.Contradiction(q.m)
	if text == "" {
		return nil
	}
	return &Decision{Step: Await, Reason: ReasonContradicted, Stage: StageDeleting, Message: text, After: q.p.Delays.unmended()}
}
