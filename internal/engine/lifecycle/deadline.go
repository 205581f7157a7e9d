package lifecycle

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/api/millwright"
	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/interruption"
)

// afterlife is how long a node may look alive after its instance was taken away:
// it takes 40 to 50 s until a silent kubelet shows.
const afterlife = time.Minute

// Deadline is when the instance of the node n is taken away, as the node itself
// was told; zero when it is not. A time that has passed without harm to the node
// was wrong, or has been forgotten there: the workloads of a node that lives are
// moved as ever. What is not heeded is in the remark.
func Deadline(now time.Time, n *corev1.Node) (at time.Time, remark string) {
	r := millwright.Read(n.Annotations)
	at, known := r.Time(interruption.DeadlineAnnotation)
	if text, _ := r.Misread(interruption.DeadlineAnnotation); text != "" {
		return time.Time{}, fmt.Sprintf("annotation %s of the node is %q, which is no time, and is passed over", interruption.DeadlineAnnotation, text)
	}
	if !known {
		return time.Time{}, ""
	}
	alive := Ready(n).Status == corev1.ConditionTrue || Ready(n).Status == corev1.ConditionFalse
	if alive && !now.Before(at.Add(afterlife)) {
		return time.Time{}, fmt.Sprintf("annotation %s of the node is over, and the node lives: it is passed over", interruption.DeadlineAnnotation)
	}
	return at, ""
}

// Hasten returns the policy d of a drain of the node n of a machine on its way out
// with the deadline that the node has. Pods are deleted before it whatever their
// budgets say only where p forces drains that take too long.
func Hasten(now time.Time, n *corev1.Node, d drain.Policy, p Policy) drain.Policy {
	at, remark := Deadline(now, n)
	d.Deadline, d.ForceLate = at, p.Drain.Timeout > 0
	switch {
	case d.Remark == "":
		d.Remark = remark
	case remark != "":
		d.Remark += "; " + remark
	}
	return d
}
