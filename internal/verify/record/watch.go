package record

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/internal/verify/checker"
)

// Sight is an instance in a list of the infrastructure.
type Sight struct {
	ID, Cluster, UID, Machine string
	// Made is the time at which the infrastructure accepted the instance, Ending the time at which it accepted the request to end
	// it; zero without such a request. Over is the time from which lists omit it, if known: other views may still have it.
	Made, Ending, Over time.Time
}

func (s Sight) event(what string, at time.Time) checker.Event {
	return checker.Event{At: at, What: what, Cluster: s.Cluster, UID: s.UID, Machine: s.Machine, Instance: s.ID}
}

// Watch compares lists of an infrastructure and reports what happens to its instances. The zero value has seen nothing.
type Watch struct {
	there map[string]Sight
	last  time.Time
}

// Look compares the list with the previous one, and returns the events between them. Began and now are the times of the list.
func (w *Watch) Look(began, now time.Time, all []Sight) (events []checker.Event) {
	there := map[string]Sight{}
	for _, s := range all {
		before, known := w.there[s.ID]
		if !known {
			events = append(events, s.event(checker.Made, s.Made))
		}
		if before.Ending.IsZero() && !s.Ending.IsZero() {
			events = append(events, s.event(checker.Ending, s.Ending))
		}
		there[s.ID] = s
	}
	for _, s := range w.Living() {
		if _, is := there[s.ID]; !is {
			e := s.event(checker.Gone, now)
			if e.From = w.last; !s.Over.IsZero() && s.Over.Before(w.last) { // the instance was omitted before the previous list
				e.From = s.Over
			}
			events = append(events, e)
		}
	}
	w.there, w.last = there, began
	return events
}

// Living returns the instances of the last list.
func (w *Watch) Living() []Sight {
	return slices.SortedFunc(maps.Values(w.there), func(a, b Sight) int { return strings.Compare(a.ID, b.ID) })
}
