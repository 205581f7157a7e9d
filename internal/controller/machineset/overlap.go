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
func (p *pass[S]) tellOverlaps(ctx context.Context) error {
	if p.compared == p.object.GetGeneration() || p.set.Deleting {
		return nil
	}
	what := p.selector.String() + " " + p.makes(p.object).String()
	if p.selects == what { // it was scaled
		p.compared = p.object.GetGeneration()
		return nil
	}
	sets, err := p.listSets(ctx, p.set.Namespace)
	if err != nil {
		return fmt.Errorf("list the sets of the namespace: %w", err)
	}
	var names []string
	for _, s := range sets {
		if p.overlaps(s) {
			names = append(names, s.GetName())
			p.tellOverlap(s, p.set.Name)
		}
	}
	if len(names) > 0 {
		p.tellOverlap(p.object, strings.Join(names, ", "))
	}
	p.compared, p.selects = p.object.GetGeneration(), what
	return nil
}

func (p *pass[S]) tellOverlap(s client.Object, with string) {
	note := fmt.Sprintf("Machines of this set and of %s have labels that the selectors of both match: one that nobody owns goes to either. Give each set labels of its own", with)
	p.Recorder.Eventf(s, nil, corev1.EventTypeWarning, overlapReason, "Select", "%s", dialect.Note(note))
}

// overlaps reports whether machines of one set are selected by the other. Sets of
// one deployment are its business.
func (p *pass[S]) overlaps(s S) bool {
	mine, theirs := metav1.GetControllerOfNoCopy(p.object), metav1.GetControllerOfNoCopy(s)
	siblings := mine != nil && theirs != nil && mine.UID == theirs.UID
	if s.GetUID() == p.set.UID || s.GetDeletionTimestamp() != nil || siblings {
		return false
	}
	return p.selector.Matches(p.makes(s)) || p.lens.View(s).Selector.Matches(p.makes(p.object))
}

// makes are the labels of machines that a set makes.
func (p *pass[S]) makes(s S) labels.Set { return p.lens.NewMachine(s, s.GetName()).GetLabels() }
