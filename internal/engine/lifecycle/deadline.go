package lifecycle

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/api/millwright"
	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/interruption"
)

// afterlife is how long a node may look alive after its instance was terminated: it takes 40 to 50 s until a
// silent kubelet is noticed.
const afterlife = time.Minute

// Deadline returns when the cloud terminates the instance of the node n, by the node's annotation; zero if
// no valid one exists. A time that has passed while the node still runs was wrong, or the annotation was left over:
// the node is drained as usual. The remark names an ignored value.
func Deadline(now time.Time, n *corev1.Node) (at time.Time, remark string) {
	r := millwright.Read(n.Annotations)
	at, known := r.Time(interruption.DeadlineAnnotation)
	if text, _ := r.Misread(interruption.DeadlineAnnotation); text != "" {
		return time.Time{}, fmt.Sprintf("annotation %s of the node is %q, which is not a time, and is ignored", interruption.DeadlineAnnotation, text)
	}
	if !known {
		return time.Time{}, ""
	}
	alive := Ready(n).Status == corev1.ConditionTrue || Ready(n).Status == corev1.ConditionFalse
	if alive && !now.Before(at.Add(afterlife)) {
		return time.Time{}, fmt.Sprintf("annotation %s of the node has passed, and the node still runs: it is ignored", interruption.DeadlineAnnotation)
	}
	return at, ""
}

// Hasten returns the drain policy d for the node n of a machine under deletion, with the deadline of the
// node. Pods are deleted before it regardless of their budgets only if p forces drains that take too long.
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
