package turn

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestShares(t *testing.T) {
	var l Line[Class]
	for n := range int64(300) {
		for _, class := range []Class{Settled, Leaving, Joining, Asking} {
			l.Push(class, n, class)
		}
	}
	turns := map[Class]int{}
	for range 230 {
		turns[l.Pop()]++
	}
	for class, want := range map[Class]int{Settled: 10, Leaving: 20, Joining: 40, Asking: 160} {
		if got := turns[class]; got < want-1 || got > want+1 {
			t.Errorf("class %d got %d of 230 turns, want %d", class, got, want)
		}
	}
}

// TestOldestFirst: of the items of a class the oldest goes first, in any order of pushes.
func TestOldestFirst(t *testing.T) {
	var l Line[int64]
	for _, came := range []int64{3, 1, 2} {
		l.Push(Joining, came, came)
	}
	if got := []int64{l.Pop(), l.Pop(), l.Pop()}; !slices.IsSorted(got) {
		t.Errorf("went in the order %v", got)
	}
}

// TestNoTurnsAreSaved: a class without waiting items for long gets no more than its share afterwards.
func TestNoTurnsAreSaved(t *testing.T) {
	var l Line[Class]
	for n := range int64(1000) {
		l.Push(Asking, n, Asking)
	}
	for range 500 {
		l.Pop()
	}
	for n := range int64(100) {
		l.Push(Settled, n, Settled)
	}
	settled := 0
	for range 34 {
		if l.Pop() == Settled {
			settled++
		}
	}
	if settled < 1 || settled > 3 {
		t.Errorf("the class that came later got %d of 34 turns", settled)
	}
}

// TestNoStarvation: for any sequence of items, an item with n others of its class before it waits for at most
// (n+1) times the distance between the turns of its class, and one more turn of each class.
func TestNoStarvation(t *testing.T) {
	sum := 0
	for _, share := range shares {
		sum += int(share)
	}
	rapid.Check(t, func(t *rapid.T) {
		type item struct {
			class  Class
			before int // of its class when it came
			turns  int // that others have had since
		}
		var l Line[*item]
		waiting := map[int64]*Place[*item]{}
		came := int64(0)
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0, 1, 2:
				for range rapid.IntRange(1, 20).Draw(t, "items") {
					class := Class(rapid.IntRange(0, classes-1).Draw(t, "class"))
					came++
					waiting[came] = l.Push(class, came, &item{class: class, before: len(l.waiting[class])})
				}
			case 3:
				if dropped := rapid.Int64Range(0, came).Draw(t, "dropped"); waiting[dropped] != nil {
					l.Drop(waiting[dropped])
					delete(waiting, dropped)
				}
			default:
				for range min(l.Len(), 20) {
					got := l.Pop()
					for n, p := range waiting {
						if p.Item == got {
							delete(waiting, n)
							continue
						}
						p.Item.turns++
						if bound := (p.Item.before+1)*sum/int(shares[p.class]) + classes; p.Item.turns > bound {
							t.Fatalf("an item of class %d with %d before it waits for more than %d turns", p.class, p.Item.before, bound)
						}
					}
				}
			}
		}
	})
}

func TestDrop(t *testing.T) {
	var l Line[string]
	a, b := l.Push(Asking, 1, "a"), l.Push(Asking, 2, "b")
	l.Drop(a)
	l.Drop(a)
	if got := l.Pop(); got != "b" || l.Len() != 0 {
		t.Errorf("%q came, and %d wait", got, l.Len())
	}
	l.Drop(b)
	if l.Len() != 0 {
		t.Errorf("%d wait", l.Len())
	}
}
