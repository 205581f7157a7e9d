package health

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// TestManyDieAtOnce: of a fleet of 2,500 a zone of 1,000 dies. A round begins a few remedies, no more are under way than can be remembered, the
// rate counts all of them, and in the end all are remedied.
func TestManyDieAtOnce(t *testing.T) {
	const all, dead = 2500, 1000
	c := readyCheck()
	c.MaxUnhealthy = Limit{} // all of them
	w := watching(c)
	put := func(now time.Time, name string, edit ...func(*Target)) {
		one := linked(edit...)
		one.UID, one.Name = types.UID(name), name
		w.put(now, one)
	}
	for i := range all {
		if i < dead {
			put(t0, fmt.Sprintf("m%05d", i), shows("Ready", "Unknown", time.Hour))
			continue
		}
		put(t0, fmt.Sprintf("m%05d", i))
	}
	now, memory, gone, made, rounds := t0, Memory{}, 0, 0, 0
	for ; gone < dead && rounds < 200; rounds++ {
		p := w.plan(now, seen, memory)
		memory = p.Memory
		fresh := 0
		for _, b := range p.Cases {
			if b.Act == Do {
				delete(w.machines, b.Target.UID)
				fresh++
			}
		}
		gone += fresh
		if under := len(memory.underWay()); fresh > roundBurst || under > MaxUnderWay {
			t.Fatalf("round %d begins %d, %d are under way", rounds, fresh, under)
		}
		if fresh == 0 { // those under way are replaced, as machines boot
			for ; made < gone; made++ {
				put(now, fmt.Sprintf("new%05d", made), func(t *Target) { t.Created = now })
			}
		} else if gone < dead && p.Due.IsZero() {
			t.Fatal("others are to be remedied, and no time is known")
		}
		now = now.Add(roundPause)
	}
	if gone != dead {
		t.Errorf("%d remedied after %d rounds, want %d", gone, rounds, dead)
	}
	if n, _ := memory.at(now).within(now); n != dead {
		t.Errorf("the rate counts %d remedies, want %d", n, dead)
	}
	if n := len(memory.at(now).Counted); n > int(rateWindow/slot)+1 {
		t.Errorf("they are remembered in %d numbers", n)
	}
}

// TestNothingNewWhereTooManyFail: a round looks again at how many may be unhealthy.
func TestNothingNewWhereTooManyFail(t *testing.T) {
	c := readyCheck()
	c.MaxUnhealthy = mustLimit(t, "40%")
	w := fleet(c, names("m", 1000), sickFirst(300))
	p := w.plan(t0, seen, Memory{})
	if n := len(done(p)); n != roundBurst {
		t.Fatalf("%d remedied at once", n)
	}
	w = fleet(c, names("m", 1000), sickFirst(450))
	next := w.plan(t0.Add(roundPause), seen, p.Memory)
	if n := len(done(next)); n != 0 {
		t.Errorf("%d remedied though 450 of 1000 are unhealthy", n)
	}
}

func mustLimit(t *testing.T, text string) Limit {
	t.Helper()
	l, err := ParseLimit(text)
	if err != nil {
		t.Fatal(err)
	}
	return l
}
