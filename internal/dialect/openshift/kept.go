package openshift

import (
	"slices"
	"strings"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// kept returns m's [dialect.Kept], as stored; empty if none exists.
func kept(m *machinev1.Machine) string { return find(m, dialect.RecordCondition).Message }

func isKept(c machinev1.Condition) bool { return c.Type == dialect.RecordCondition }

// setKept stores it. It is not a change of the machine, so it changes no timestamp.
func setKept(m *machinev1.Machine, text string, at time.Time) {
	if text == kept(m) {
		return
	}
	c := machinev1.Condition{
		Type: dialect.RecordCondition, Status: corev1.ConditionTrue, Reason: dialect.RecordReason, Message: text,
		LastTransitionTime: metav1.NewTime(at.Truncate(time.Second)),
	}
	rest := slices.DeleteFunc(slices.Clone(m.Status.Conditions), isKept)
	m.Status.Conditions = append(rest, c)
	slices.SortFunc(m.Status.Conditions, func(a, b machinev1.Condition) int { return strings.Compare(string(a.Type), string(b.Type)) })
}

// recordKept records where the instance was requested, its identity, and the node that joined.
func recordKept(m *machinev1.Machine, o lifecycle.Outcome) {
	was := Machines{}.View(m).Recorded
	text := dialect.KeepRequests(m, kept(m), was, o.World.Requests)
	if i := o.World.Instances.Recordable(ptr.Deref(m.Spec.ProviderID, "")); i != nil {
		text = dialect.KeepOrigin(m, text, was, o.World.Session.Origin)
		text = dialect.KeepInstance(m, text, was, i.ProviderID)
	}
	if m.DeletionTimestamp == nil {
		text = dialect.KeepNode(m, text, was, o.World.Node)
	}
	setKept(m, text, o.At)
}
