package connectivity_test

import (
	"testing"
	"time"
	"unsafe"

	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/internal/engine/connectivity"
)

// clocks are the clocks of a process with a successful probe every 6 s.
type clocks struct {
	state connectivity.State
	// up is for how long it has been up, ahead by how much its wall clock was set.
	up, ahead time.Duration
	blind     bool
}

func newClocks() *clocks {
	c := &clocks{state: connectivity.Begin(start, policy, connectivity.Control, connectivity.Target)}
	c.look()
	return c
}

func (c *clocks) now() time.Time { return start.Add(c.up + c.ahead) }

func (c *clocks) look() {
	r := connectivity.Probe{At: c.now(), Ahead: c.ahead, Answers: map[connectivity.Cluster]connectivity.Answer{connectivity.Control: connectivity.Reachable, connectivity.Target: connectivity.Reachable}}
	if c.blind {
		r.Answers[connectivity.Target] = connectivity.Unreachable
	}
	c.state = c.state.After(r)
}

// run probes n times, and sets the wall clock by that much before each probe.
func (c *clocks) run(n int, by time.Duration) {
	for range n {
		c.up += policy.Interval
		c.ahead += by
		c.look()
	}
}

// TestWallClockIsSet: time that the wall clock skipped does not count as watched, for any number of steps.
func TestWallClockIsSet(t *testing.T) {
	const timeout = 10 * time.Minute
	for _, c := range []struct {
		reason string
		steps  func(*clocks)
		// least and most are what is left of a timer that ran for two minutes before.
		least, most time.Duration
	}{
		{"it runs", func(c *clocks) { c.run(10, 0) }, 7 * time.Minute, 7 * time.Minute},
		{"an hour ahead", func(c *clocks) { c.run(1, time.Hour) }, 8 * time.Minute, 8 * time.Minute},
		{"and it goes on from there", func(c *clocks) { c.run(1, time.Hour); c.run(10, 0) }, 7 * time.Minute, 7 * time.Minute},
		{"100 s in steps that are too small to notice", func(c *clocks) { c.run(20, 5*time.Second) }, 6*time.Minute - 18*time.Second, 6 * time.Minute},
		{"two minutes in steps that are not", func(c *clocks) { c.run(8, 15*time.Second) }, 8*time.Minute - 48*time.Second - 18*time.Second, 8 * time.Minute},
		{"a step that may be the time between two looks", func(c *clocks) { c.run(1, 18*time.Second) }, 8*time.Minute - 24*time.Second, 8 * time.Minute},
		{"an hour back: it stands still, and none ends sooner", func(c *clocks) { c.run(10, 0); c.run(1, -time.Hour) }, timeout, timeout},
		{"until the clock is there again", func(c *clocks) { c.run(10, 0); c.run(1, -time.Hour); c.run(600, 0) }, 6*time.Minute + 54*time.Second, 8 * time.Minute},
		{"an hour ahead and back", func(c *clocks) { c.run(1, time.Hour); c.run(10, 0); c.run(1, -time.Hour); c.run(10, 0) }, 7 * time.Minute, 9 * time.Minute},
		{"an hour ahead while one cluster is down", func(c *clocks) { c.blind = true; c.run(2, time.Hour); c.blind = false; c.run(1, 0) }, 8 * time.Minute, 8 * time.Minute},
	} {
		t.Run(c.reason, func(t *testing.T) {
			clk := newClocks()
			clk.run(20, 0)
			from := start
			c.steps(clk)
			if left := clk.state.Remaining(from, timeout, clk.now()); left < c.least || left > c.most {
				t.Errorf("%s: %v are left, want %v to %v", c.reason, left, c.least, c.most)
			}
			if why := clk.state.Frozen(clk.now()); why != "" {
				t.Errorf("%s: frozen: %s", c.reason, why)
			}
		})
	}
}

// TestBetweenSteps: the state before the next probe notices that the clock was set.
func TestBetweenSteps(t *testing.T) {
	clk := newClocks()
	clk.run(20, 0)
	deadline := clk.now().Add(10 * time.Minute)
	clk.ahead += time.Hour
	if clk.state.Remaining(start, 3*time.Minute, clk.now()) <= 0 || clk.state.Past(deadline, clk.now()) {
		t.Error("a timer or a deadline is over before anybody looked")
	}
	clk.run(1, 0)
	if clk.state.Past(deadline, clk.now()) {
		t.Error("a deadline that was skipped is over at once")
	}
	clk.run(11, 0)
	if !clk.state.Past(deadline, clk.now()) {
		t.Error("a deadline that was skipped does not count when sight has settled")
	}
	clk.run(1, -2*time.Hour)
	clk.blind = true
	clk.run(8, 0)
	if clk.state.Frozen(clk.now()) == "" {
		t.Error("the clock was set back, and nobody notices that a cluster does not answer")
	}
}

// TestSilenceOutlivesTheClock: a cluster that a probe found silent for too long stays so until the next
// probe, for any change of the wall clock in between.
func TestSilenceOutlivesTheClock(t *testing.T) {
	for _, c := range []struct {
		reason string
		blind  int
		by     time.Duration
		frozen bool
	}{
		{"silent for too long, and the clock stays right", 8, 0, true},
		{"silent for too long, then the clock is set back by an hour", 8, -time.Hour, true},
		{"silent for too long, then the clock is set back to when it still answered", 8, -48 * time.Second, true},
		{"silent, but not for too long, and the clock is set back", 3, -time.Hour, false},
	} {
		t.Run(c.reason, func(t *testing.T) {
			clk := newClocks()
			clk.run(20, 0)
			clk.blind = true
			clk.run(c.blind, 0)
			for _, deleting := range []bool{false, true} {
				want := c.frozen && !deleting // it is the target that is silent
				if why := clk.state.Blocked(clk.now().Add(c.by), deleting); (why != "") != want {
					t.Errorf("%s: deleting %v: held %q, want %v", c.reason, deleting, why, want)
				}
			}
			clk.ahead += c.by
			clk.blind = false
			clk.run(1, 0)
			if why := clk.state.Frozen(clk.now()); why != "" {
				t.Errorf("%s: it answers again, and is frozen: %s", c.reason, why)
			}
		})
	}
}

// TestTimersRunByTheClockThatNobodySets: for any change of the wall clock, a timer that started by it is
// ahead of the passed time by at most the difference that may lie between two probes.
func TestTimersRunByTheClockThatNobodySets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		clk := newClocks()
		step := rapid.SampledFrom([]int{0, 0, 0, 1, -1, 5, 17, -17, 19, 60, -60, 3600, -3600})
		look := func(n int) {
			for range n {
				clk.blind = rapid.IntRange(0, 9).Draw(t, "blind") == 0
				clk.up += time.Duration(rapid.SampledFrom([]int{0, 0, 0, 30}).Draw(t, "late")) * time.Second
				clk.run(1, time.Duration(step.Draw(t, "step"))*time.Second)
			}
		}
		look(rapid.IntRange(0, 40).Draw(t, "before"))
		from, began := clk.now(), clk.up
		look(rapid.IntRange(0, 80).Draw(t, "after"))
		if got, passed := clk.state.Elapsed(from, clk.now()), clk.up-began; got > passed+3*policy.Interval {
			t.Fatalf("%v have passed, and %v count as watched", passed, got)
		}
	})
}

// TestSilenceIsCountedByTheClockThatNobodySets: for any change of the wall clock, a probe finds a cluster
// silent if and only if the cluster has not answered for the timeout.
func TestSilenceIsCountedByTheClockThatNobodySets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		clk := &clocks{state: connectivity.Begin(start, policy, connectivity.Control, connectivity.Target)}
		heard := map[connectivity.Cluster]time.Duration{}
		answer := rapid.SampledFrom([]connectivity.Answer{connectivity.Reachable, connectivity.Reachable, connectivity.Denied, connectivity.Unreachable})
		for range rapid.IntRange(1, 60).Draw(t, "looks") {
			clk.ahead += time.Duration(rapid.SampledFrom([]int{0, 0, 0, 5, -17, -19, 3600, -3600}).Draw(t, "step")) * time.Second
			r := connectivity.Probe{At: clk.now(), Ahead: clk.ahead, Answers: map[connectivity.Cluster]connectivity.Answer{}}
			want := false
			for _, c := range []connectivity.Cluster{connectivity.Control, connectivity.Target} {
				r.Answers[c] = answer.Draw(t, c.String())
				if r.Answers[c] != connectivity.Unreachable {
					heard[c] = clk.up
				}
				at, ever := heard[c]
				want = want || !ever || clk.up-at > policy.Timeout
			}
			clk.state = clk.state.After(r)
			if why := clk.state.Frozen(clk.now()); (why != "") != want {
				t.Fatalf("up for %v, frozen %q, want %v", clk.up, why, want)
			}
			clk.up += time.Duration(rapid.SampledFrom([]int{6, 6, 6, 20}).Draw(t, "pause")) * time.Second
		}
	})
}

// set is a reading of both clocks some time after another one, with the wall clock
// set by that much in between, as the kernel would give it.
func set(t time.Time, after, by time.Duration) time.Time {
	out := t.Add(after + by)
	(*struct {
		wall uint64
		ext  int64
		loc  *time.Location
	})(unsafe.Pointer(&out)).ext -= int64(by)
	return out
}

// TestRealClockIsSet: a real reading of the clock has a monotonic part, by which the clock was not set.
func TestRealClockIsSet(t *testing.T) {
	for _, by := range []time.Duration{0, time.Hour, -time.Hour} {
		now := time.Now()
		s := connectivity.Begin(now, policy, connectivity.Control)
		look := func() {
			s = s.After(connectivity.Probe{At: now, Answers: map[connectivity.Cluster]connectivity.Answer{connectivity.Control: connectivity.Reachable}})
		}
		for range 20 {
			look()
			now = now.Add(6 * time.Second)
		}
		stamped := now.Add(-time.Minute).Round(0)
		if now = set(now, 6*time.Second, by); now.Sub(stamped) < 50*time.Minute != (by <= 0) {
			t.Fatal("the clock was not set")
		}
		for _, when := range []string{"before the next look", "after it"} {
			if left := s.Remaining(stamped, 10*time.Minute, now); left < 8*time.Minute {
				t.Errorf("set by %v, %s: of 10 minutes that began a minute ago %v are left", by, when, left)
			}
			look()
		}
	}
}

// TestReadingsOfBothClocks: a time that has a monotonic reading, too, is compared
// with one that has none by the wall clock everywhere.
func TestReadingsOfBothClocks(t *testing.T) {
	now := time.Now()
	s := connectivity.Begin(now, policy, connectivity.Control)
	seen := map[connectivity.Cluster]connectivity.Answer{connectivity.Control: connectivity.Reachable}
	s = s.After(connectivity.Probe{At: now, Answers: seen})
	s = s.After(connectivity.Probe{At: now.Add(6 * time.Second), Answers: seen})
	stamped := now.Add(time.Second).Round(0)
	if got := s.Elapsed(stamped, now.Add(time.Minute)); got != 5*time.Second {
		t.Errorf("watched %v, want 5s", got)
	}
}
