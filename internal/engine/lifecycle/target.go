package lifecycle

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// ErrTargetReplaced is behind [ReasonTargetReplaced].
var ErrTargetReplaced = errors.New("the cluster that answers is not the one that the machine joined")

// How what is said of a target cluster begins that is not believed.
const (
	joinedElsewhere = "the machine joined the cluster whose"
	fewNodes        = "the target cluster has "
)

// Distrusts reports whether text is what was said once of a target cluster that is not
// believed.
func Distrusts(text string) bool {
	return strings.HasPrefix(text, joinedElsewhere) || strings.HasPrefix(text, fewNodes)
}

// SaysForeign reports whether text is what was said once of a target cluster that is another one
// than the machine joined ([ForeignTarget]).
func SaysForeign(text string) bool { return strings.HasPrefix(text, joinedElsewhere) }

// NoCluster is the identity of a cluster that has no namespace kube-system.
const NoCluster = "none"

// ForeignTarget says why the cluster that answers as now is not the one that the machine
// joined, which recorded says; empty where it is, and where one of the two is not known. A
// person says that it is by the identity itself, which accepted is.
func ForeignTarget(recorded, now, accepted string) string {
	switch {
	case recorded == "", now == "", recorded == now, accepted == now:
		return ""
	case now == NoCluster:
		return fmt.Sprintf(joinedElsewhere+" namespace kube-system has the UID %s, and the cluster that answers has no such namespace: "+
			"check the kubeconfig of the target cluster; nothing is concluded from what it lacks", recorded)
	}
	return fmt.Sprintf(joinedElsewhere+" namespace kube-system has the UID %s, and the cluster that answers has %s: "+
		"check the kubeconfig of the target cluster; nothing is concluded from what it lacks. If the machine really belongs there now, "+
		"set the annotation millwright.dev/target-cluster to %s", recorded, now, now)
}

// targetReplaced stops all that is decided by what the target cluster says, where that is
// another cluster than the one that the machine joined: it has neither the machine's node nor
// its pods, in all honesty. Only a machine whose instance is surely gone can go on.
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

// TargetDistrusted reports whether the pass waits because the target cluster is not believed.
func (d Decision) TargetDistrusted() bool {
	return d.Reason == ReasonTargetReplaced || d.Reason == ReasonNodeDoubted
}

// Absent says, of the nodes that other machines have recorded, how many the cluster has, and
// why it is therefore not believed that the node of this one is gone; empty where it is. It
// takes two others: one may well have gone at the same time.
func Absent(recorded, there int) string {
	if recorded < 2 || 2*there >= recorded {
		return ""
	}
	return fmt.Sprintf(fewNodes+"%d of the %d nodes that other machines have recorded, and is not believed that the node of this one is gone: "+
		"it may have been restored from before they joined; restart their kubelets, or delete the machines one by one with the label or annotation that forces a deletion",
		there, recorded)
}

// nodeDoubted stops a deletion before its instance is ended because the cluster has neither
// node nor pods of it, where the cluster is not believed. A person who forces the deletion
// has decided about the pods.
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

// NodeLost says what became of the node that m runs on; empty while that is there,
// and where nobody can tell.
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
	return what + " does not exist: it comes back only if its kubelet registers again; else delete the machine, or have a health check do that"
}

// nodeGone says how the machine lost its node.
func (q input) nodeGone() string {
	if q.w.Node.Taken == "" {
		return "the node object is gone"
	}
	text := fmt.Sprintf("node %s is that of %s", q.m.Recorded.NodeName, q.w.Node.Taken)
	if len(q.w.Instances.Own) == 0 {
		text += ", and the machine's own instance is gone"
	}
	return text
}
