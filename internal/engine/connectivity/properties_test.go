package connectivity_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/internal/engine/connectivity"
)

// story is a random sequence of probes: their times and results.
type story struct {
	rounds []connectivity.Probe
	state  connectivity.State
}

func tell(t *rapid.T, n int) story {
	var out story
	out.state = connectivity.Begin(start, policy, connectivity.Control, connectivity.Target)
	now := 0
	for range rapid.IntRange(0, n).Draw(t, "looks") {
		now += rapid.SampledFrom([]int{1, 6, 6, 6, 18, 19, 100}).Draw(t, "pause")
		r := round(now, rapid.SampledFrom([]string{"ss", "ss", "ss", "xs", "sx", "xx", "sd", "ds"}).Draw(t, "answers"))
		out.rounds = append(out.rounds, r)
		out.state = out.state.After(r)
	}
	return out
}

func saw(r connectivity.Probe) bool {
	return r.Answers[connectivity.Control] == connectivity.Reachable && r.Answers[connectivity.Target] == connectivity.Reachable
}

// watched says whether a second counts, by definition: it lies between two successful probes in a row that
// are not too far apart.
func (s story) watched(second int) bool {
	for n := 1; n < len(s.rounds); n++ {
		a, b := s.rounds[n-1], s.rounds[n]
		if !at(second).Before(a.At) && at(second).Before(b.At) {
			return saw(a) && saw(b) && b.At.Sub(a.At) <= 3*policy.Interval
		}
	}
	return false
}

// TestElapsedCountsWatchedSeconds compares with a count, second by second.
func TestElapsedCountsWatchedSeconds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := tell(t, 40)
		from := rapid.IntRange(-50, 400).Draw(t, "from")
		to := from + rapid.IntRange(0, 400).Draw(t, "for")
		want := 0
		for second := from; second < to; second++ {
			if s.watched(second) {
				want++
			}
		}
		if got := s.state.Elapsed(at(from), at(to)); got != time.Duration(want)*time.Second {
			t.Fatalf("watched %v of %d to %d, want %ds", got, from, to, want)
		}
	})
}

// TestTimersNeverRunFasterThanTheClock: for any sequence of probes, no timer ends early.
func TestTimersNeverRunFasterThanTheClock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := tell(t, 40)
		from, timeout := rapid.IntRange(-50, 400).Draw(t, "from"), rapid.IntRange(1, 300).Draw(t, "timeout")
		now := from + rapid.IntRange(0, 600).Draw(t, "for")
		left := s.state.Remaining(at(from), time.Duration(timeout)*time.Second, at(now))
		if clock := at(from + timeout).Sub(at(now)); left < clock {
			t.Fatalf("%v are left, by the clock %v", left, clock)
		}
	})
}

// TestOutageEndsNobody: a timer with time left when the connection was lost has time left when it is
// restored, after an outage of any length.
func TestOutageEndsNobody(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := tell(t, 20)
		s.state = s.state.After(round(5000, "ss")).After(round(5006, "ss"))
		from, timeout := rapid.IntRange(0, 5006).Draw(t, "from"), rapid.IntRange(1, 900).Draw(t, "timeout")
		d := time.Duration(timeout) * time.Second
		left := s.state.Remaining(at(from), d, at(5006))
		outage := rapid.IntRange(1, 100).Draw(t, "failed looks")
		for n := range outage {
			s.state = s.state.After(round(5012+6*n, rapid.SampledFrom([]string{"xs", "sx", "xx", "dd"}).Draw(t, "answers")))
		}
		back := 5012 + 6*outage
		s.state = s.state.After(round(back, "ss"))
		if after := s.state.Remaining(at(from), d, at(back)); after < left || after <= 0 {
			t.Fatalf("%v were left before the outage, %v after it", left, after)
		}
	})
}

// TestNothingEndsUnseen: while the latest probe failed, no timer ends, and all have to settle.
func TestNothingEndsUnseen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := tell(t, 40)
		now := 6
		if n := len(s.rounds); n > 0 {
			now += int(s.rounds[n-1].At.Sub(start) / time.Second)
		}
		s.state = s.state.After(round(now, rapid.SampledFrom([]string{"xs", "sx", "xx", "dd"}).Draw(t, "answers")))
		from, timeout := rapid.IntRange(-50, now).Draw(t, "from"), rapid.IntRange(1, 300).Draw(t, "timeout")
		d := time.Duration(timeout) * time.Second
		if left := s.state.Remaining(at(from), d, at(now)); left < min(d, connectivity.Settle) {
			t.Fatalf("%v of %v are left", left, d)
		}
		if s.state.Past(at(from), at(now)) || s.state.SettlesIn(at(now)) < connectivity.Settle {
			t.Fatalf("past %v, settles in %v", s.state.Past(at(from), at(now)), s.state.SettlesIn(at(now)))
		}
	})
}

// TestMemoryIsBounded: a thousand outages need little memory, and never make a timer run faster.
func TestMemoryIsBounded(t *testing.T) {
	s := connectivity.Begin(start, policy, connectivity.Control, connectivity.Target)
	for n := range 1000 {
		s = s.After(round(18*n, "ss")).After(round(18*n+6, "ss")).After(round(18*n+12, "xs"))
	}
	watched := s.Elapsed(start, at(18000))
	if watched < 90*6*time.Second || watched > 1000*6*time.Second {
		t.Errorf("watched %v of 1000 times 6 s", watched)
	}
}

// TestStatesAreValues: two states derived from one state do not affect each other.
func TestStatesAreValues(t *testing.T) {
	past := looks("ss xs ss xs ss xs ss xs")
	one, other := past.After(round(100, "ss")), past.After(round(200, "ss"))
	if got := one.Since(); !got.Equal(at(100)) {
		t.Errorf("one sees since %v, want what it saw itself", got)
	}
	if got := other.Since(); !got.Equal(at(200)) {
		t.Errorf("the other sees since %v", got)
	}
}
