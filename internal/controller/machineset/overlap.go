package machineset

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect"
)

// overlapReason is that of events about sets that select the same machines.
const overlapReason = "SelectorOverlaps"

// tellOverlaps says, once for each selector and labels of a template, which other
// sets select machines such as the set makes, or make machines that it selects.
// Whoever owns a machine keeps it: the two meet over machines that nobody owns.
func (o others[S]) tellOverlaps(ctx context.Context) error {
	if o.compared == o.object.GetGeneration() || o.set.Deleting {
		return nil
	}
	what := o.selector.String() + " " + o.makes(o.object).String()
	if o.selects == what { // it was scaled
		o.compared = o.object.GetGeneration()
		return nil
	}
	sets, err := o.listSets(ctx, o.set.Namespace)
	if err != nil {
		return fmt.Errorf("list the sets of the namespace: %w", err)
	}
	var names []string
	for _, s := range sets {
		if o.overlaps(s) {
			names = append(names, s.GetName())
			o.tellOverlap(s, o.set.Name)
		}
	}
	if len(names) > 0 {
		o.tellOverlap(o.object, strings.Join(names, ", "))
	}
	o.compared, o.selects = o.object.GetGeneration(), what
	return nil
}

func (o others[S]) tellOverlap(s client.Object, with string) {
	note := fmt.Sprintf("Machines of this set and of %s have labels that the selectors of both match: one that nobody owns goes to either. Give each set labels of its own", with)
	o.Recorder.Eventf(s, nil, corev1.EventTypeWarning, overlapReason, "Select", "%s", dialect.Note(note))
}

// overlaps reports whether machines of one set are selected by the other. Sets of
// one deployment are its business.
func (o others[S]) overlaps(s S) bool {
	mine, theirs := metav1.GetControllerOfNoCopy(o.object), metav1.GetControllerOfNoCopy(s)
	siblings := mine != nil && theirs != nil && mine.UID == theirs.UID
	if s.GetUID() == o.set.UID || s.GetDeletionTimestamp() != nil || siblings {
		return false
	}
	return o.selector.Matches(o.makes(s)) || o.lens.View(s).Selector.Matches(o.makes(o.object))
}

// makes are the labels of machines that a set makes.
func (o others[S]) makes(s S) labels.Set { return o.lens.NewMachine(s, s.GetName()).GetLabels() }
