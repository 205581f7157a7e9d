// Package said reads what objects of both APIs say about themselves, in one
// form: conditions, last operations and errors. Nothing is judged here.
package said

import (
	"cmp"
	"slices"
	"strings"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/evidence"
	"github.com/millwright-dev/millwright/internal/why"
	"github.com/millwright-dev/millwright/provider"
)

// By is what o says, errors and operations first; nil for an object of another
// kind.
func By(o client.Object) []evidence.Statement {
	switch o := o.(type) {
	case *machinev1.Machine:
		return append(failure(o.Status.ErrorReason, o.Status.ErrorMessage), conditions(o.Status.Conditions)...)
	case *v1alpha1.Machine:
		return operation(o.Status.LastOperation)
	case *machinev1.MachineSet:
		return append(failure(o.Status.ErrorReason, o.Status.ErrorMessage), conditions(o.Status.Conditions)...)
	case *v1beta1.MachineDeployment:
		return standard(o.Status.Conditions)
	case *v1alpha1.MachineSet:
		return ofSet(o)
	case *v1alpha1.MachineDeployment:
		return ofDeployment(o)
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

// codes are the machine codes of machine.sapcloud.io as kinds of failure.
var codes = map[string]provider.Kind{
	"ResourceExhausted": provider.Exhausted,
	"InvalidArgument":   provider.Invalid,
	"PermissionDenied":  provider.Denied,
	"Unauthenticated":   provider.Denied,
	"Aborted":           provider.Conflict,
}

// Trouble is how a machine's last failure was classified; empty where the API
// does not keep that.
func Trouble(o client.Object) provider.Kind {
	switch o := o.(type) {
	case *machinev1.Machine:
		if ptr.Deref(o.Status.ErrorReason, "") == machinev1.InvalidConfigurationMachineError {
			return provider.Invalid
		}
	case *v1alpha1.Machine:
		if o.Status.LastOperation.State == v1alpha1.MachineStateFailed {
			return codes[o.Status.LastOperation.ErrorCode]
		}
	}
	return ""
}

func failure[R ~string](reason *R, message *string) []evidence.Statement {
	if ptr.Deref(message, "") == "" {
		return nil
	}
	return []evidence.Statement{{About: why.ErrorStatement, Status: string(v1alpha1.MachineStateFailed), Reason: string(ptr.Deref(reason, "")), Message: *message}}
}

func conditions(list []machinev1.Condition) (out []evidence.Statement) {
	for _, c := range list {
		out = append(out, evidence.Statement{
			About: "condition " + string(c.Type), Status: string(c.Status), Reason: c.Reason, Message: c.Message, Since: c.LastTransitionTime.Time,
		})
	}
	return out
}

func standard(list []metav1.Condition) (out []evidence.Statement) {
	for _, c := range list {
		out = append(out, evidence.Statement{
			About: "condition " + c.Type, Status: string(c.Status), Reason: c.Reason, Message: c.Message, Since: c.LastTransitionTime.Time,
		})
	}
	return out
}

// operation takes the frame off an error, which the reason says again.
func operation(op v1alpha1.LastOperation) []evidence.Statement {
	if op.Description == "" {
		return nil
	}
	return []evidence.Statement{{
		About: why.OperationStatement, Status: string(op.State), Reason: cmp.Or(op.ErrorCode, string(op.Type)),
		Message: unframed(op.Description), Since: op.LastUpdateTime.Time,
	}}
}

const (
	frameBegins = "machine codes error: code = ["
	messageIs   = "] message = ["
)

// unframed is the message in "machine codes error: code = [X] message = [...]",
// which is how clients of machine.sapcloud.io read it back; any other text is
// itself.
func unframed(text string) string {
	_, rest, ok := strings.Cut(text, frameBegins)
	if !ok {
		return text
	}
	_, rest, ok = strings.Cut(rest, messageIs)
	if !ok {
		return text
	}
	message, _, ok := strings.Cut(rest, "]")
	if !ok {
		return text
	}
	return message
}

func ofSet(s *v1alpha1.MachineSet) (out []evidence.Statement) {
	for _, c := range s.Status.Conditions {
		out = append(out, evidence.Statement{
			About: "condition " + string(c.Type), Status: string(c.Status), Reason: c.Reason, Message: c.Message, Since: c.LastTransitionTime.Time,
		})
	}
	return out
}

func ofDeployment(d *v1alpha1.MachineDeployment) (out []evidence.Statement) {
	for _, c := range d.Status.Conditions {
		out = append(out, evidence.Statement{
			About: "condition " + string(c.Type), Status: string(c.Status), Reason: c.Reason, Message: c.Message, Since: c.LastTransitionTime.Time,
		})
	}
	return out
}

// Node is the last look at a node.
func Node(n *corev1.Node) *evidence.Node {
	if n == nil {
		return nil
	}
	out := &evidence.Node{Name: n.Name, Created: n.CreationTimestamp.Time}
	for _, c := range n.Status.Conditions {
		out.Conditions = append(out.Conditions, evidence.Statement{
			About: string(c.Type), Status: string(c.Status), Reason: c.Reason, Message: c.Message, Since: c.LastTransitionTime.Time,
		})
	}
	for _, t := range n.Spec.Taints {
		out.Taints = append(out.Taints, t.ToString())
	}
	return out
}

// Events are the events of a list, oldest first. It changes nothing of it.
func Events(list []corev1.Event) (out []evidence.Event) {
	for _, e := range list {
		at, count := eventTime(e), int(e.Count)
		if e.Series != nil {
			count = int(e.Series.Count)
		}
		out = append(out, evidence.Event{Type: e.Type, Reason: e.Reason, Message: e.Message, At: at, Count: count})
	}
	slices.SortStableFunc(out, func(a, b evidence.Event) int { return a.At.Compare(b.At) })
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
