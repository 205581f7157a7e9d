package double

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Life is the life of an instance as the cloud knows it, without the lag of listings.
type Life struct {
	// Listed is its last listing.
	Listed
	// Since is when it was first listed; Ended is when it was no longer listed, or had ended; zero while it
	// lives.
	Since time.Time `json:"since"`
	Ended time.Time `json:"ended,omitzero"`
}

// ended are the clouds' words for the state of an instance that has ended.
var ended = []string{"terminated", "deleted", "gone"}

// Ended reports whether the instance is listed although it has ended.
func (l Listed) Ended() bool { return slices.Contains(ended, strings.ToLower(l.State)) }

// lives are the lives of all instances, from the first request for them on: they cost a listing of all
// instances around every request that writes. The zero value records nothing.
type lives struct {
	mu    sync.Mutex
	asked bool
	lived []Life
	now   map[string]*Life // those that have not ended, by account and ID
}

func (l *lives) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.asked {
		l.asked, l.now = true, map[string]*Life{}
	}
}

func (l *lives) begun() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked
}

// note compares the current instances with the former ones. An instance that appears again under its ID
// begins another life: in clouds whose IDs are names, it is another instance.
func (l *lives) note(now time.Time, all []Listed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	there := map[string]bool{}
	for _, i := range all {
		if i.Ended() {
			continue
		}
		key := i.Account + " " + i.ID
		there[key] = true
		if known := l.now[key]; known != nil {
			known.Listed = i
		} else {
			l.now[key] = &Life{Listed: i, Since: now}
		}
	}
	for key, life := range l.now {
		if !there[key] {
			life.Ended = now
			l.lived = append(l.lived, *life)
			delete(l.now, key)
		}
	}
}

// all returns the lives in the order of their beginning.
func (l *lives) all() []Life {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := append([]Life{}, l.lived...)
	for _, life := range l.now {
		out = append(out, *life)
	}
	slices.SortFunc(out, func(a, b Life) int { return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.ID, b.ID)) })
	return out
}

// look records the current instances, if lives are recorded.
func (s *Server) look() {
	if inspected, ok := s.cloud.(Inspected); ok && s.lives.begun() {
		// One at a time: otherwise an older listing could be noted after a newer one.
		s.looking.Lock()
		defer s.looking.Unlock()
		s.lives.note(s.Clock.Now(), inspected.Instances())
	}
}

// Remember records the lives of instances from now on, for [Server.Lives]. It lists instances before and
// after each request that writes: so an instance that appears by itself is recorded before a client can
// delete it.
func (s *Server) Remember() {
	s.lives.begin()
	s.look()
}

// Lives are the lives of all instances since [Server.Remember].
func (s *Server) Lives() []Life {
	s.look()
	return s.lives.all()
}
