// Package turn decides the order of waiting work on machines: work that waits for a worker, or for a write to
// the API server.
//
// Work with the longest follow-up goes first. An instance boots for a minute or more, so the request that
// starts it is followed by the longest wait, and other work that waits meanwhile costs nothing. The order is
// not strict: each class has a share of the turns, so that no work waits for ever (see [Line]).
package turn

import "container/heap"

// Class is a kind of work, by its follow-up. The higher goes first.
type Class int

const (
	// Settled is work that no other work waits for: status, marks and metrics.
	Settled Class = iota
	// Leaving is work on a machine under deletion. Its instance costs money until it is terminated.
	Leaving
	// Joining is work on a machine whose instance runs: it is ready after one or two writes.
	Joining
	// Asking is work on a machine without an instance. After the request, the instance boots for longer than
	// all other work takes.
	Asking
	// Freeing is work on a machine under deletion while other machines wait for the capacity of its instance.
	Freeing

	classes = int(Freeing) + 1
)

// shares are the relative numbers of turns of the classes with waiting work.
var shares = [classes]int64{Settled: 1, Leaving: 2, Joining: 4, Asking: 16, Freeing: 16}

// cycle is divided by the shares: how far a turn advances a class.
const cycle = 16

// Place is the place of an item in a [Line].
type Place[T any] struct {
	Item  T
	class Class
	came  int64
	index int // in the heap of its class; negative once it has left
}

// Class is the class under which the item waits.
func (p *Place[T]) Class() Class { return p.class }

// Line holds waiting items. Among the classes with waiting items, each gets its share of the turns. Within a
// class the item that came first goes first. An item with n items of its class before it waits for at most
// (n+1) * sum(shares) / share turns, and one more of each class. It is not safe for concurrent use by several
// goroutines.
type Line[T any] struct {
	waiting [classes]items[T]
	// used is how far each class has advanced. The class that is furthest behind has the next turn.
	used [classes]int64
	// now is how far the class of the last turn was. A class without waiting items continues from there:
	// turns cannot be saved up.
	now int64
}

// Len returns how many items wait.
func (l *Line[T]) Len() (n int) {
	for _, items := range l.waiting {
		n += len(items)
	}
	return n
}

// Push adds an item. Within a class, the item with the lowest came goes first.
func (l *Line[T]) Push(class Class, came int64, item T) *Place[T] {
	class = min(max(class, Settled), Freeing)
	if len(l.waiting[class]) == 0 {
		l.used[class] = max(l.used[class], l.now)
	}
	p := &Place[T]{Item: item, class: class, came: came}
	heap.Push(&l.waiting[class], p)
	return p
}

// Drop removes an item. It does nothing if the item has left already.
func (l *Line[T]) Drop(p *Place[T]) {
	if p.index >= 0 {
		heap.Remove(&l.waiting[p.class], p.index)
	}
}

// Pop returns the item whose turn it is. It panics if no item waits.
func (l *Line[T]) Pop() T {
	next := -1
	for class := classes - 1; class >= 0; class-- {
		if len(l.waiting[class]) > 0 && (next < 0 || l.used[class] < l.used[next]) {
			next = class
		}
	}
	l.now = l.used[next]
	l.used[next] += cycle / shares[next]
	return heap.Pop(&l.waiting[next]).(*Place[T]).Item
}

// items are the items of a class, as a heap.
type items[T any] []*Place[T]

func (s items[T]) Len() int           { return len(s) }
func (s items[T]) Less(i, j int) bool { return s[i].came < s[j].came }

func (s items[T]) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].index, s[j].index = i, j
}

func (s *items[T]) Push(x any) {
	p := x.(*Place[T])
	p.index = len(*s)
	*s = append(*s, p)
}

func (s *items[T]) Pop() any {
	last := len(*s) - 1
	p := (*s)[last]
	p.index = -1
	(*s)[last] = nil
	*s = (*s)[:last]
	return p
}
