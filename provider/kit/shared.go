package kit

import (
	"context"
	"sync"
)

// SharedReads lets concurrent calls that read the same share one read. It is no cache: a call gets a result
// that was read after the call began, as if it had read by itself, and only one read of a key runs at a
// time. The zero value is ready. It is safe for concurrent use.
type SharedReads struct {
	mu    sync.Mutex
	lines map[string]*line
}

// line is the queue of the calls for one key.
type line struct {
	// turn is full while a caller reads.
	turn chan struct{}
	// next is the read that has not begun; nil: no caller waits.
	next *sharedRead
}

// sharedRead is one read, for all callers that asked before it began.
type sharedRead struct {
	done  chan struct{} // closed once the others are set
	value any
	err   error
	// calledOff says that its reader was canceled or panicked: callers that still wait ask again.
	calledOff bool
}

// Share returns the result of read, which runs for this call or for another one with the same key; T is the
// same for all calls of a key. The result is shared: do not change it. If the call that reads is canceled,
// or panics, the others read again.
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

// read reads for all callers that wait for r, unless another has, and ends the turn.
func (s *SharedReads) read(ctx context.Context, l *line, r *sharedRead, read func(context.Context) (any, error)) {
	defer func() { <-l.turn }()
	if !s.begin(l, r) {
		return
	}
	r.calledOff = true // in case read panics
	defer close(r.done)
	r.value, r.err = read(ctx)
	r.calledOff = ctx.Err() != nil
}

// begin reports whether r has still to be read; from then on, new callers wait for another read.
func (s *SharedReads) begin(l *line, r *sharedRead) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.next != r {
		return false
	}
	l.next = nil
	return true
}
