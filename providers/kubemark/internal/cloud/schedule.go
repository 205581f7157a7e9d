package cloud

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// schedule stores when instances have to be advanced again.
type schedule struct {
	mu     sync.Mutex
	due    map[entry]time.Time
	change chan struct{}
}

type entry struct{ cluster, key, id string }

func (r Record) appointment() entry { return entry{r.Cluster, r.Key(), r.ID} }

func newAgenda() *schedule {
	return &schedule{due: map[entry]time.Time{}, change: make(chan struct{}, 1)}
}

// set stores the time at which the instance is due; a zero time deletes the entry.
func (a *schedule) set(m entry, at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if at.IsZero() {
		delete(a.due, m)
		return
	}
	a.due[m] = at
	select {
	case a.change <- struct{}{}:
	default: // the reader has not seen an earlier change yet
	}
}

// take removes and returns the entries that are due, earliest first.
func (a *schedule) take(now time.Time) []entry {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []entry
	at := map[entry]time.Time{}
	for m, t := range a.due {
		if t.After(now) {
			continue
		}
		at[m] = t
		out = append(out, m)
		delete(a.due, m)
	}
	slices.SortFunc(out, func(x, y entry) int {
		return cmp.Or(at[x].Compare(at[y]), cmp.Compare(x.cluster, y.cluster), cmp.Compare(x.id, y.id))
	})
	return out
}

// next is the time of the earliest entry; zero: the schedule is empty.
func (a *schedule) next() (at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range a.due {
		at = earlier(at, t)
	}
	return at
}
