package collect

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/explain"
)

// rivals returns other sets in the namespace of set o. The selector of each set matches the machines of o, and the
// selector of o matches its machines. rivals ignores sets of the same deployment, and sets under deletion.
func (l *look) rivals(ctx context.Context, s explain.Subject, o client.Object) (out []string) {
	if s.Kind != "MachineSet" {
		return nil
	}
	all, err := selections(ctx, l, s)
	l.gap("machinesets", err)
	ours := selectionOf(s, o)
	for _, other := range all {
		if other.set.GetUID() == o.GetUID() || other.set.GetDeletionTimestamp() != nil || siblings(o, other.set) {
			continue
		}
		if ours.selector.Matches(other.made) && other.selector.Matches(ours.made) {
			out = append(out, "MachineSet "+other.set.GetName())
		}
	}
	return out
}

// siblings reports whether one object controls both a and b.
func siblings(a, b client.Object) bool {
	of := metav1.GetControllerOfNoCopy(a)
	return of != nil && controls(of.UID, b)
}

// selection has the selector of a set, and the labels of the machines that the set creates.
type selection struct {
	set      client.Object
	selector labels.Selector
	made     labels.Set
}

func selectionOf(s explain.Subject, set client.Object) selection {
	lens := of(s).Sets
	return selection{set, lens.Selector(set), lens.Makes(set)}
}

// selections returns the selections of all sets in the namespace of s. It computes them once, because rivals compares
// each set with all others.
func selections(ctx context.Context, l *look, s explain.Subject) ([]selection, error) {
	return once(l, "selections/"+s.API+"/"+s.Namespace, func() (out []selection, err error) {
		list, err := l.listed(ctx, kindOf(s.API, "MachineSet"), s.Namespace)
		for _, set := range list {
			out = append(out, selectionOf(s, set))
		}
		return out, err
	})
}
