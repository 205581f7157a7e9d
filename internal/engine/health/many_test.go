package health

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// TestManyDieAtOnce: of a fleet of 2,500 a zone of 1,000 fails. A round begins a few remedies, no more are in
// progress than can be remembered, the rate counts all of them, and in the end all machines are remediated.
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
		if machines, _ := memory.underWay(); fresh > roundBurst || len(machines) > MaxUnderWay {
			t.Fatalf("round %d begins %d, %d are under way", rounds, fresh, len(machines))
		}
		if fresh == 0 { // those in progress are replaced when machines boot
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

// TestTakenBackDoNotWait: reclaimed machines have minutes. All of them are remediated at once, in addition to
// those of the round, and their records leave room for others.
func TestTakenBackDoNotWait(t *testing.T) {
	const taken, dead = 1000, 600
	c := readyCheck(func(c *Check) { c.Conditions = append(c.Conditions, Condition{"Terminating", "True", 0}) })
	c.MaxUnhealthy = Limit{}
	w := fleet(c, names("m", 4000), func(i int, t *Target) {
		switch {
		case i < dead:
			shows("Ready", "Unknown", time.Hour)(t)
		case i < dead+taken:
			shows("Terminating", "True", time.Minute)(t)
		}
	})
	now, memory, gone := t0, Memory{}, 0
	for range 2 * MaxUnderWay / roundBurst {
		p := w.plan(now, seen, memory)
		memory, now = p.Memory, now.Add(roundPause)
		begun := 0
		for _, b := range p.Cases {
			if b.Act == Do {
				delete(w.machines, b.Target.UID)
				begun++
			}
		}
		if gone == 0 && begun != taken+roundBurst {
			t.Fatalf("%d begin in the first round, want %d that are taken back and %d others", begun, taken, roundBurst)
		}
		gone += begun
	}
	if gone != taken+MaxUnderWay {
		t.Errorf("%d remedied while none is replaced, want %d", gone, taken+MaxUnderWay)
	}
	if n := len(memory.Past); n > MaxUnderWay+MaxFree {
		t.Errorf("%d remedies are remembered", n)
	}
}

// TestNothingNewWhereTooManyFail: a round counts again how many may be unhealthy.
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
