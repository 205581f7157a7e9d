package gardener

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// kept returns m's [dialect.Kept], as stored; empty if none exists. It is stored among the conditions that
// are copied from the node. Another implementation of this API removes it with its next copy; the annotation
// is the fallback for that.
func kept(m *v1alpha1.Machine) string {
	i := slices.IndexFunc(m.Status.Conditions, isKept)
	if i < 0 {
		return ""
	}
	return m.Status.Conditions[i].Message
}

func isKept(c corev1.NodeCondition) bool { return c.Type == dialect.RecordCondition }

// copied returns the conditions that were copied from the node.
func copied(all []corev1.NodeCondition) []corev1.NodeCondition {
	return slices.DeleteFunc(slices.Clone(all), isKept)
}

// setKept stores it.
func setKept(m *v1alpha1.Machine, text string, at time.Time) {
	if text == kept(m) {
		return
	}
	stamp := metav1.NewTime(at.Truncate(time.Second))
	m.Status.Conditions = append(copied(m.Status.Conditions), corev1.NodeCondition{
		Type: dialect.RecordCondition, Status: corev1.ConditionTrue, Reason: dialect.RecordReason, Message: text,
		LastTransitionTime: stamp, LastHeartbeatTime: stamp, // the API does not allow null here
	})
}

// recordKept records where the instance was requested, its identity, and the node that joined.
func (d Machines) recordKept(m *v1alpha1.Machine, o lifecycle.Outcome) {
	was := d.View(m).Recorded
	text := dialect.KeepRequests(m, kept(m), was, o.World.Requests)
	if i := o.World.Instances.Recordable(m.Spec.ProviderID); i != nil {
		text = dialect.KeepOrigin(m, text, was, o.World.Session.Origin)
		text = dialect.KeepInstance(m, text, was, i.ProviderID)
	}
	if m.DeletionTimestamp == nil {
		text = dialect.KeepNode(m, text, was, o.World.Node)
	}
	setKept(m, text, o.At)
}
