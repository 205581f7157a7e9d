package lifecycle

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// ErrTargetReplaced is the error of [ReasonTargetReplaced].
var ErrTargetReplaced = errors.New("the cluster that answers is not the one that the machine joined")

// The beginnings of messages about a target cluster that is not trusted.
const (
	joinedElsewhere = "the machine joined the cluster whose"
	fewNodes        = "the target cluster has "
)

// Distrusts reports whether text is an earlier message about a target cluster that is not trusted.
func Distrusts(text string) bool {
	return strings.HasPrefix(text, joinedElsewhere) || strings.HasPrefix(text, fewNodes)
}

// SaysForeign reports whether text is an earlier message that the target cluster is not the one that the
// machine joined ([ForeignTarget]).
func SaysForeign(text string) bool { return strings.HasPrefix(text, joinedElsewhere) }

// NoCluster is the identity of a cluster that has no namespace kube-system.
const NoCluster = "none"

// ForeignTarget returns why the answering cluster, now, is not the one that the machine joined, recorded;
// empty if it is, or if one of the two is unknown. A user confirms that it is the right one by its identity,
// accepted.
func ForeignTarget(recorded, now, accepted string) string {
	switch {
	case recorded == "", now == "", recorded == now, accepted == now:
		return ""
	case now == NoCluster:
		return fmt.Sprintf(joinedElsewhere+" namespace kube-system has the UID %s, and the cluster that answers has no such namespace: "+
			"check the kubeconfig of the target cluster; missing objects prove nothing", recorded)
	}
	return fmt.Sprintf(joinedElsewhere+" namespace kube-system has the UID %s, and the cluster that answers has %s: "+
		"check the kubeconfig of the target cluster; missing objects prove nothing. If the machine really belongs there now, "+
		"set the annotation millwright.dev/target-cluster to %s", recorded, now, now)
}

// targetReplaced stops all decisions that depend on the target cluster if that is not the cluster that the
// machine joined: it correctly has neither the machine's node nor its pods. Only a machine whose instance is
// certainly terminated can continue.
func targetReplaced(q input) *Decision {
	if q.w.Node.Foreign == "" || q.p.Targetless {
		return nil
	}
	d := Decision{
		Step: Await, Reason: ReasonTargetReplaced, Err: fmt.Errorf("%w: %s", ErrTargetReplaced, q.w.Node.Foreign), Message: q.w.Node.Foreign, After: time.Minute,
	}
	if !q.m.Deleted.IsZero() {
		d.Stage = StageDeleting
	}
	return &d
}

// TargetDistrusted reports whether the pass waits because the target cluster is not trusted.
func (d Decision) TargetDistrusted() bool {
	return d.Reason == ReasonTargetReplaced || d.Reason == ReasonNodeDoubted
}

// Absent returns why a missing node does not prove its deletion, given how many of the nodes that other
// machines have recorded exist in the cluster; empty if it does. At least two other nodes must be missing: a
// single one may well have been deleted at the same time.
func Absent(recorded, there int) string {
	if recorded < 2 || 2*there >= recorded {
		return ""
	}
	return fmt.Sprintf(fewNodes+"%d of the %d nodes that other machines have recorded, so the missing node of this one proves nothing: "+
		"the cluster may have been restored from before they joined; restart their kubelets, or delete the machines one by one with the label or annotation that forces a deletion",
		there, recorded)
}

// nodeDoubted stops a deletion before the instance is terminated because the cluster has neither the node nor
// pods of the machine, and is not trusted about that. A user who forces the deletion has decided about the
// pods.
func nodeDoubted(q input) *Decision {
	n := q.w.Node
	if q.p.Targetless || !n.Looked || n.Object != nil || n.Doubt == "" || q.m.Deletion.Force || q.m.Deletion.SkipDrain || q.m.Deletion.Drained {
		return nil
	}
	if i := q.w.Instances.Of(q.m.Recorded.ProviderID); i == nil || i.State == provider.Stopping || i.State == provider.Stopped {
		return nil
	}
	return &Decision{Step: Await, Reason: ReasonNodeDoubted, Stage: StageDeleting, Message: n.Doubt, After: q.p.Delays.unmended()}
}

// NodeLost returns what happened to the node of m; empty if it exists, or if that is unknown.
func (w World) NodeLost(m Machine) string {
	what := "the node"
	if m.Recorded.NodeName != "" {
		what += " " + m.Recorded.NodeName
	}
	switch {
	case !w.Node.Looked || w.Node.Object != nil || !m.HadNode() || w.Instances.RecordedIsForeign():
		return ""
	case w.Node.Taken != "":
		return fmt.Sprintf("%s is that of %s", what, w.Node.Taken)
	}
	return what + " does not exist: it comes back only if its kubelet registers again; otherwise delete the machine, or have a health check do that"
}

// nodeGone says how the machine lost its node.
func (q input) nodeGone() string {
	if q.w.Node.Taken == "" {
		return "the node object does not exist"
	}
	text := fmt.Sprintf("node %s is that of %s", q.m.Recorded.NodeName, q.w.Node.Taken)
	if len(q.w.Instances.Own) == 0 {
		text += ", and the machine's own instance does not exist"
	}
	return text
}
