package double

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// Life is the life of an instance in the cloud's own view, without the lag of listings. Its times come from this machine's
// clock, not the cloud's, so that they are comparable with the logs of other programs.
type Life struct {
	// Listed is the instance in its last listing.
	Listed
	// Since is the time of its first listing, Seen the time of the last listing before its end. Ended is the time at which it
	// was no longer listed or was listed as ended; zero while it lives.
	Since time.Time `json:"since"`
	Seen  time.Time `json:"seen"`
	Ended time.Time `json:"ended,omitzero"`
	// Ending is the time of its first listing as ending or ended after a client's request to the cloud's API; the request came
	// before that. Zero: it lives, or ended for another reason, such as a verb of the console.
	Ending time.Time `json:"ending,omitzero"`
}

// ended are the clouds' words for the state of an instance that has ended.
var ended = []string{"terminated", "deleted", "gone"}

// ending are the clouds' words for the state of an instance whose deletion has begun.
var ending = []string{"shutting-down", "terminating", "deleting", "stopping", "deprovisioning"}

// Ended reports whether the instance is listed although it has ended.
func (l Listed) Ended() bool { return slices.Contains(ended, strings.ToLower(l.State)) }

// ending reports whether the deletion of the instance has begun.
func (l Listed) ending() bool { return slices.Contains(ending, strings.ToLower(l.State)) }

// lives are the lives of all instances since a client first asked for them, because they cost a listing of all instances
// around every request that writes. The zero value records nothing.
type lives struct {
	mu        sync.Mutex
	recording bool
	lived     []Life
	now       map[string]*Life // those that have not ended, by account and ID
	// requests are the requests that are not answered yet, by number.
	requests map[int]string
	counted  int
}

func (l *lives) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.recording {
		l.recording, l.now = true, map[string]*Life{}
	}
}

func (l *lives) begun() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.recording
}

// asked records a request that is not answered yet, until the returned function is called.
func (l *lives) asked(text string) (answered func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.recording {
		return func() {}
	}
	if l.requests == nil {
		l.requests = map[int]string{}
	}
	l.counted++
	n := l.counted
	l.requests[n] = text
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.requests, n)
	}
}

// requested reports whether a request that is not answered yet names the instance.
func (l *lives) requested(i Listed) bool {
	for _, text := range l.requests {
		if i.Handle != "" && strings.Contains(text, ">"+i.Handle+"<") || strings.Contains(text, path.Base(i.ID)) || i.Name != "" && strings.Contains(text, i.Name) {
			return true
		}
	}
	return false
}

// note compares the current instances with the former ones. An instance that appears again under its ID begins another life, because in some
// clouds IDs are names, and it is another instance.
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
		known := l.now[key]
		if known == nil {
			known = &Life{Since: now}
			l.now[key] = known
		}
		if i.ending() && !known.ending() && l.requested(i) {
			known.Ending = now
		}
		known.Listed, known.Seen = i, now
	}
	for key, life := range l.now {
		if !there[key] {
			life.Ended = now
			if !life.ending() && l.requested(life.Listed) {
				life.Ending = now
			}
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
		// Only one listing at a time: otherwise an older listing could be noted after a newer one.
		s.looking.Lock()
		defer s.looking.Unlock()
		s.lives.note(time.Now(), inspected.Instances())
	}
}

// Remember records the lives of instances from now on, for [Server.Lives]. It lists instances before and after each request
// that writes. An instance that appears by itself is therefore recorded before a client can delete it.
func (s *Server) Remember() {
	s.lives.begin()
	s.look()
}

// Lives are the lives of all instances since [Server.Remember].
func (s *Server) Lives() []Life {
	s.look()
	return s.lives.all()
}
