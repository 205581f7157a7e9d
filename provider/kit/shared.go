package kit

import (
	"context"
	"sync"
)

// SharedReads lets calls that read the same at the same time share one read. It is no cache: what a call gets was read after
// it had asked, as if it had read by itself, and no more than one read of a key goes on at a time. The zero value is
// ready. It is safe for concurrent use.
type SharedReads struct {
	mu    sync.Mutex
	lines map[string]*line
}

// line is where calls for one key wait.
type line struct {
	// turn is full while somebody reads.
	turn chan struct{}
	// next is the read that has not begun; nil: nobody waits.
	next *sharedRead
}

// sharedRead is one read, for all who asked before it began.
type sharedRead struct {
	done  chan struct{} // closed once the others are set
	value any
	err   error
	// calledOff says that its reader was, or panicked: whoever still waits asks again.
	calledOff bool
}

// Share returns what read returns, be it called for this call or for another one with the same key; T is the same for all of a key. What
// is shared is not to be changed. If the call that reads is called off, or panics, the others read again.
func Share[T any](ctx context.Context, s *SharedReads, key string, read func(context.Context) (T, error)) (T, error) {
	for {
		l, r := s.join(key)
		select {
		case <-r.done:
		case <-ctx.Done():
			var none T
			return none, ctx.Err()
		case l.turn <- struct{}{}:
			s.read(ctx, l, r, func(ctx context.Context) (any, error) { return read(ctx) })
		}
		if <-r.done; !r.calledOff || ctx.Err() != nil {
			value, _ := r.value.(T)
			return value, r.err
		}
	}
}

// join returns the read for key that has not begun.
func (s *SharedReads) join(key string) (*line, *sharedRead) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ok := s.lines[key]
	if !ok {
		if s.lines == nil {
			s.lines = map[string]*line{}
		}
		l = &line{turn: make(chan struct{}, 1)}
		s.lines[key] = l
	}
	if l.next == nil {
		l.next = &sharedRead{done: make(chan struct{})}
	}
	return l, l.next
}

// read reads for all who wait for r, unless somebody has, and ends the turn.
func (s *SharedReads) read(ctx context.Context, l *line, r *sharedRead, read func(context.Context) (any, error)) {
	defer func() { <-l.turn }()
	if !s.begin(l, r) {
		return
	}
	r.calledOff = true // should read not return
	defer close(r.done)
	r.value, r.err = read(ctx)
	r.calledOff = ctx.Err() != nil
}

// begin reports whether r is still to be read; from then on, who asks waits for another.
func (s *SharedReads) begin(l *line, r *sharedRead) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.next != r {
		return false
	}
	l.next = nil
	return true
}
