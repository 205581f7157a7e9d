// Package turn decides what goes first where work on machines waits: for a worker, or for its turn to write to the API server.
//
// What takes longest after it goes first. An instance boots for a minute or more, so the request that starts it is the longest part of a
// machine's way, and what waits behind it meanwhile costs nothing. It is no strict order: each class has a share of the turns, so that
// nothing waits for ever (see [Line]).
package turn

import "container/heap"

// Class is a kind of work, by what follows it. The higher goes first.
type Class int

const (
	// Settled is work that nothing waits for: status, marks and metrics.
	Settled Class = iota
	// Leaving is that of a machine that is being deleted. Its instance costs money until it is removed.
	Leaving
	// Joining is that of a machine whose instance runs: a write or two later it serves.
	Joining
	// Asking is that of a machine that has no instance yet. Once it is asked for, it boots for longer than all other work takes.
	Asking
	// Freeing is that of a machine that is being deleted while others wait for the capacity that its instance holds.
	Freeing

	classes = int(Freeing) + 1
)

// shares are the turns that each class gets of those of all classes that have work waiting.
var shares = [classes]int64{Settled: 1, Leaving: 2, Joining: 4, Asking: 16, Freeing: 16}

// cycle is divided by the shares: how far a turn advances a class.
const cycle = 16

// Place is that of an item in a [Line].
type Place[T any] struct {
	Item  T
	class Class
	came  int64
	index int // in the heap of its class; negative once it has left
}

// Class is the class under which the item waits.
func (p *Place[T]) Class() Class { return p.class }

// Line holds what waits. Of the classes that have items waiting, each gets its share of the turns. In a class the item that came first goes
// first. An item that has n others of its class before it waits for at most (n+1) * sum(shares) / share turns, and one more of each class.
// It is not safe for use by several goroutines at once.
type Line[T any] struct {
	waiting [classes]items[T]
	// used is how far each class has advanced. The class that is furthest behind has the next turn.
	used [classes]int64
	// now is how far the class of the last turn was. A class that had nothing waiting goes on from there: turns cannot be saved up.
	now int64
}

// Len is how many items wait.
func (l *Line[T]) Len() (n int) {
	for _, items := range l.waiting {
		n += len(items)
	}
	return n
}

// Push lets an item wait. Of the items of a class, that with the lowest came goes first.
func (l *Line[T]) Push(class Class, came int64, item T) *Place[T] {
	class = min(max(class, Settled), Freeing)
	if len(l.waiting[class]) == 0 {
		l.used[class] = max(l.used[class], l.now)
	}
	p := &Place[T]{Item: item, class: class, came: came}
	heap.Push(&l.waiting[class], p)
	return p
}

// Drop takes an item out. One that has left already stays out.
func (l *Line[T]) Drop(p *Place[T]) {
	if p.index >= 0 {
		heap.Remove(&l.waiting[p.class], p.index)
	}
}

// Pop returns the item whose turn it is. It panics where none waits.
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

// items are those of a class, as a heap.
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
