package machineset

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect"
)

// overlapReason is the reason of events about sets that select the same machines.
const overlapReason = "SelectorOverlaps"

// tellOverlaps reports, once for each selector and template labels, which other sets select machines like
// those of the set, or create machines that it selects. The owner of a machine keeps it: the two sets
// compete only for machines without an owner.
func (o otherSets[S]) tellOverlaps(ctx context.Context) error {
	if o.compared == o.object.GetGeneration() || o.set.Deleting {
		return nil
	}
	mine := o.selection(o.object)
	what := mine.selects.String() + " " + mine.makes.String()
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

func (o otherSets[S]) tellOverlap(s client.Object, with string) {
	note := fmt.Sprintf("Machines of this set and of %s have labels that the selectors of both match: one that nobody owns goes to either. Give each set labels of its own", with)
	o.Recorder.Eventf(s, nil, corev1.EventTypeWarning, overlapReason, "Select", "%s", dialect.Note(note))
}

// overlaps reports whether machines of one set are selected by the other. Sets of one deployment may
// overlap.
func (o otherSets[S]) overlaps(s S) bool {
	mine, theirs := metav1.GetControllerOfNoCopy(o.object), metav1.GetControllerOfNoCopy(s)
	siblings := mine != nil && theirs != nil && mine.UID == theirs.UID
	if s.GetUID() == o.set.UID || s.GetDeletionTimestamp() != nil || siblings {
		return false
	}
	m, t := o.selection(o.object), o.selection(s)
	return m.selects.Matches(t.makes) || t.selects.Matches(m.makes)
}

// selection is the selector of a set, and the labels of machines that it creates. It is kept: each of a
// thousand sets is compared with all others.
type selection struct {
	uid        types.UID
	generation int64
	selects    labels.Selector
	makes      labels.Set
}

func (r *Reconciler[S]) selection(s S) selection {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := client.ObjectKeyFromObject(s)
	if known := r.selections[key]; known.uid == s.GetUID() && known.generation == s.GetGeneration() && known.selects != nil {
		return known
	}
	is := selection{s.GetUID(), s.GetGeneration(), r.lens.View(s).Selector, r.lens.NewMachine(s, s.GetName()).GetLabels()}
	r.selections[key] = is
	return is
}
