package record

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/internal/verify/checker"
)

// Sight is an instance as a look at its infrastructure shows it.
type Sight struct {
	ID, Cluster, UID, Machine string
	// Made is when the infrastructure accepted it, Ending when it accepted the request to end it; zero: it did not. Over is from when on it
	// shows it no more, if that is known: it may be there for those who look around it.
	Made, Ending, Over time.Time
}

func (s Sight) event(what string, at time.Time) checker.Event {
	return checker.Event{At: at, What: what, Cluster: s.Cluster, UID: s.UID, Machine: s.Machine, Instance: s.ID}
}

// Watch tells by looks at an infrastructure what happens to its instances. The zero value has seen nothing.
type Watch struct {
	there map[string]Sight
	last  time.Time
}

// Look compares what there is with what was there, and returns what happened since. The look began and ended at the times.
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
			if e.From = w.last; !s.Over.IsZero() && s.Over.Before(w.last) { // some time since the look before
				e.From = s.Over
			}
			events = append(events, e)
		}
	}
	w.there, w.last = there, began
	return events
}

// Living are the instances that were there at the last look.
func (w *Watch) Living() []Sight {
	return slices.SortedFunc(maps.Values(w.there), func(a, b Sight) int { return strings.Compare(a.ID, b.ID) })
}
