package collect

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/explain"
)

// rivals are the other sets of the namespace that select the machines of set o, as it
// selects theirs. What one deployment does with its sets is not asked.
func (l *look) rivals(ctx context.Context, s explain.Subject, o client.Object) (out []string) {
	selector, made := selects(o)
	if selector == nil {
		return nil
	}
	list, err := l.listed(ctx, kindOf(s.API, "MachineSet"), s.Namespace)
	l.gap("machinesets", err)
	for _, other := range list {
		theirs, ofTheirs := selects(other)
		if other.GetUID() != o.GetUID() && !siblings(o, other) && other.GetDeletionTimestamp() == nil && selector.Matches(ofTheirs) && theirs.Matches(made) {
			out = append(out, "MachineSet "+other.GetName())
		}
	}
	return out
}

// siblings reports whether one object controls both.
func siblings(a, b client.Object) bool {
	of := metav1.GetControllerOfNoCopy(a)
	return of != nil && controls(of.UID, b)
}

// selects is the selector of a set, and the labels of the machines that it makes; nil
// of another object.
func selects(o client.Object) (labels.Selector, labels.Set) {
	s := subject(o)
	if s.Kind != "MachineSet" {
		return nil, nil
	}
	lens := of(s).Sets
	return lens.Selector(o), lens.Makes(o)
}
