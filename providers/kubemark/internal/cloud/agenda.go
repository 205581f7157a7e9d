package cloud

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// agenda remembers when instances have to be looked at again.
type agenda struct {
	mu     sync.Mutex
	due    map[appointment]time.Time
	change chan struct{}
}

type appointment struct{ cluster, key, id string }

func (r Record) appointment() appointment { return appointment{r.Cluster, r.Key(), r.ID} }

func newAgenda() *agenda {
	return &agenda{due: map[appointment]time.Time{}, change: make(chan struct{}, 1)}
}

// set notes when the instance is due; a zero time strikes it.
func (a *agenda) set(m appointment, at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if at.IsZero() {
		delete(a.due, m)
		return
	}
	a.due[m] = at
	select {
	case a.change <- struct{}{}:
	default: // the reader has yet to see an earlier change
	}
}

// take removes and returns what is due at now, earliest first.
func (a *agenda) take(now time.Time) []appointment {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []appointment
	at := map[appointment]time.Time{}
	for m, t := range a.due {
		if t.After(now) {
			continue
		}
		at[m] = t
		out = append(out, m)
		delete(a.due, m)
	}
	slices.SortFunc(out, func(x, y appointment) int {
		return cmp.Or(at[x].Compare(at[y]), cmp.Compare(x.cluster, y.cluster), cmp.Compare(x.id, y.id))
	})
	return out
}

// next is when something is due; zero when nothing is.
func (a *agenda) next() (at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range a.due {
		at = earlier(at, t)
	}
	return at
}
