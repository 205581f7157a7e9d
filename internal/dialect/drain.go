package dialect

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/millwright"
	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// Millwright's annotations on machines about their drain, for settings without an API field.
const (
	// DrainTimeoutAnnotation is the time after deletion from which the drain is
	// forced (a duration such as "90m"), or [Never].
	DrainTimeoutAnnotation = millwright.DrainTimeout
	// CordonLeadAnnotation is the time between the cordon of the node and the
	// first eviction (a duration such as "30s").
	CordonLeadAnnotation = millwright.CordonLead
	// Never as a drain timeout: budgets always hold.
	Never = "never"
)

// DrainWish has the drain settings of a machine's annotations.
type DrainWish struct {
	// Timeout forces the drain; zero: not set.
	Timeout time.Duration
	// NeverForce: neither a timeout nor refusals nor a silent node force it.
	NeverForce bool
	// CordonLead is zero if not set.
	CordonLead time.Duration
	// Remark names invalid values, which are ignored.
	Remark string
}

// DrainWishOf reads the annotations.
func DrainWishOf(m client.Object) (w DrainWish) {
	r := millwright.Read(m.GetAnnotations())
	if word, _ := r.Word(DrainTimeoutAnnotation); word == Never {
		w.NeverForce = true
	} else {
		w.Timeout, _ = r.Duration(DrainTimeoutAnnotation)
	}
	w.CordonLead, _ = r.Duration(CordonLeadAnnotation)
	var remarks []string
	for _, key := range []string{DrainTimeoutAnnotation, CordonLeadAnnotation} {
		if text, bad := r.Misread(key); bad {
			remarks = append(remarks, fmt.Sprintf("annotation %s is %q, which is not a duration above zero, and is ignored", key, text))
		}
	}
	w.Remark = strings.Join(remarks, "; ")
	return w
}

// Abandoned says what was lost because the instance was terminated during a drain, or why it was terminated
// without a drain although no setting excludes one; empty: neither.
func Abandoned(o lifecycle.Outcome) string {
	drained := o.World.Drain.Result
	if err := o.Overruled(); err != nil {
		return fmt.Sprintf("The deletion is forced: the instance is terminated without a drain, after %s without a usable answer: %v", lifecycle.ForcedPatience, err)
	}
	if drained == nil || drained.Abandoned() == 0 {
		return ""
	}
	return fmt.Sprintf("Drain ended at the termination deadline of the node with %d of its pods left", drained.Abandoned())
}

// AbandonedEvent returns the event about that.
func AbandonedEvent(o lifecycle.Outcome) Event {
	return Event{Type: corev1.EventTypeWarning, Reason: "DrainAbandoned", Action: "Drain", Note: Abandoned(o)}
}

// Foreseen returns a warning, when a drain begins, about its obstacles.
func Foreseen(o lifecycle.Outcome) []Event {
	d := o.World.Drain.Result
	if d == nil || !d.Began || len(d.Obstacles) == 0 {
		return nil
	}
	return []Event{{Type: corev1.EventTypeWarning, Reason: "DrainObstacle", Action: "Drain", Note: drain.Warning(d.Obstacles)}}
}
