// Package status reads what objects of both APIs say about themselves, in one
// form: conditions, last operations and errors. Nothing is judged here.
package status

import (
	"cmp"
	"slices"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/machine/lenient"
	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/dialect/gardener"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/postmortem"
)

// By is what o says, errors and operations first; nil for an object of another
// kind.
func By(o client.Object) []postmortem.Statement {
	switch o := o.(type) {
	case *machinev1.Machine:
		return append(failure(o.Status.ErrorReason, o.Status.ErrorMessage), of(o.Status.Conditions, ofMachine)...)
	case *v1alpha1.Machine:
		return operation(o)
	case *machinev1.MachineSet:
		return append(failure(o.Status.ErrorReason, o.Status.ErrorMessage), of(o.Status.Conditions, ofMachine)...)
	case *lenient.MachineHealthCheck:
		return of(o.Status.Conditions, ofMachine)
	case *v1beta1.MachineDeployment:
		return of(o.Status.Conditions, standard)
	case *v1alpha1.MachineSet:
		return of(o.Status.Conditions, ofSet)
	case *v1alpha1.MachineDeployment:
		return of(o.Status.Conditions, ofDeployment)
	}
	return nil
}

// Phase is the API's word for where a machine stands.
func Phase(o client.Object) string {
	switch o := o.(type) {
	case *machinev1.Machine:
		return ptr.Deref(o.Status.Phase, "")
	case *v1alpha1.Machine:
		return string(o.Status.CurrentStatus.Phase)
	}
	return ""
}

// ClassOf is the class that a machine, or what makes machines, names; ok is false where
// its API has no classes.
func ClassOf(o client.Object) (name string, ok bool) {
	switch o := o.(type) {
	case *v1alpha1.Machine:
		return o.Spec.Class.Name, true
	case *v1alpha1.MachineSet:
		return o.Spec.Template.Spec.Class.Name, true
	case *v1alpha1.MachineDeployment:
		return o.Spec.Template.Spec.Class.Name, true
	}
	return "", false
}

// KeptUntil is until when a failed machine is preserved; zero where it is not.
func KeptUntil(o client.Object) time.Time {
	if m, ok := o.(*v1alpha1.Machine); ok && m.Status.CurrentStatus.PreserveExpiryTime != nil {
		return m.Status.CurrentStatus.PreserveExpiryTime.Time
	}
	return time.Time{}
}

// Frozen reports whether a set or deployment is frozen.
func Frozen(o client.Object) bool {
	switch o.(type) {
	case *v1alpha1.MachineSet, *v1alpha1.MachineDeployment:
		return o.GetLabels()[v1alpha1.LabelKeyFreeze] == v1alpha1.LabelValueTrue
	}
	return false
}

// Failure is what a machine records of the attempt that failed last, with its kind as
// far as its API keeps that; nil where it records none.
func Failure(o client.Object) error {
	switch o := o.(type) {
	case *machinev1.Machine:
		return openshift.Machines{}.Failure(o)
	case *v1alpha1.Machine:
		return gardener.Machines{}.Failure(o)
	}
	return nil
}

func failure[R ~string](reason *R, message *string) []postmortem.Statement {
	if ptr.Deref(message, "") == "" {
		return nil
	}
	return []postmortem.Statement{{About: explain.ErrorStatement, Status: string(v1alpha1.MachineStateFailed), Reason: string(ptr.Deref(reason, "")), Message: *message}}
}

// of is what the conditions of a list say, each read by one of the functions below.
func of[C any](list []C, read func(C) postmortem.Statement) (out []postmortem.Statement) {
	for _, c := range list {
		out = append(out, read(c))
	}
	return out
}

func condition[T, S ~string](kind T, is S, reason, message string, since metav1.Time) postmortem.Statement {
	return postmortem.Statement{About: "condition " + string(kind), Status: string(is), Reason: reason, Message: message, Since: since.Time}
}

func ofMachine(c machinev1.Condition) postmortem.Statement {
	return condition(c.Type, c.Status, c.Reason, c.Message, c.LastTransitionTime)
}

func standard(c metav1.Condition) postmortem.Statement {
	return condition(c.Type, c.Status, c.Reason, c.Message, c.LastTransitionTime)
}

func ofSet(c v1alpha1.MachineSetCondition) postmortem.Statement {
	return condition(c.Type, c.Status, c.Reason, c.Message, c.LastTransitionTime)
}

func ofDeployment(c v1alpha1.MachineDeploymentCondition) postmortem.Statement {
	return condition(c.Type, c.Status, c.Reason, c.Message, c.LastTransitionTime)
}

// operation takes the frame off an error, which the reason says again.
func operation(m *v1alpha1.Machine) []postmortem.Statement {
	op := m.Status.LastOperation
	if op.Description == "" {
		return nil
	}
	s := postmortem.Statement{
		About: explain.OperationStatement, Status: string(op.State), Reason: cmp.Or(op.ErrorCode, string(op.Type)),
		Message: op.Description, Since: op.LastUpdateTime.Time,
	}
	if err := Failure(m); err != nil {
		s.Message = err.Error()
	}
	if lifecycle.Contradicts(op.Description) {
		s.Reason = string(lifecycle.ReasonContradicted)
	}
	return []postmortem.Statement{s}
}

// Node is the last look at a node.
func Node(n *corev1.Node) *postmortem.Node {
	if n == nil {
		return nil
	}
	out := &postmortem.Node{Name: n.Name, Created: n.CreationTimestamp.Time}
	for _, c := range n.Status.Conditions {
		out.Conditions = append(out.Conditions, postmortem.Statement{
			About: string(c.Type), Status: string(c.Status), Reason: c.Reason, Message: c.Message, Since: c.LastTransitionTime.Time,
		})
	}
	for _, t := range n.Spec.Taints {
		out.Taints = append(out.Taints, t.ToString())
	}
	return out
}

// Events are the events of a list, oldest first. It changes nothing of it.
func Events(list []corev1.Event) (out []postmortem.Event) {
	for _, e := range list {
		at, count := eventTime(e), int(e.Count)
		if e.Series != nil {
			count = int(e.Series.Count)
		}
		out = append(out, postmortem.Event{Type: e.Type, Reason: e.Reason, Message: e.Message, At: at, Count: count})
	}
	slices.SortStableFunc(out, func(a, b postmortem.Event) int { return a.At.Compare(b.At) })
	return out
}

// eventTime is when the event was last told, in whichever of its forms it is.
func eventTime(e corev1.Event) time.Time {
	switch {
	case e.Series != nil:
		return e.Series.LastObservedTime.Time
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	}
	return e.CreationTimestamp.Time
}
