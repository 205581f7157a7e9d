package cloud

import (
	"context"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// TestFate: an accepted instance fails ten seconds later.
func TestFate(t *testing.T) {
	why := provider.Errorf(provider.Exhausted, "no room")
	for name, c := range map[string]struct {
		reason       string
		startFailure StartFailure
		lingers      bool
		at           time.Duration
		state        provider.State
		faulty       bool
		existing     int
	}{
		"not yet":            {"it is being started", StartFailure{After: 10 * time.Second}, false, 9 * time.Second, provider.Pending, false, 1},
		"given up":           {"something of it is left", StartFailure{After: 10 * time.Second}, false, 10 * time.Second, provider.Stopped, true, 1},
		"for good":           {"it never starts", StartFailure{After: 10 * time.Second}, false, 10 * time.Hour, provider.Stopped, true, 1},
		"mended":             {"it is started again", StartFailure{After: 10 * time.Second, Recovers: time.Minute}, false, 70 * time.Second, provider.Pending, false, 1},
		"mended, and booted": {"as any", StartFailure{After: 10 * time.Second, Recovers: time.Minute}, false, 75 * time.Second, provider.Running, false, 1},
		"it is to vanish":    {"nobody sent it away", StartFailure{After: 10 * time.Second, Vanishes: true}, true, 9 * time.Second, provider.Pending, false, 1},
		"vanished":           {"the record says why", StartFailure{After: 10 * time.Second, Vanishes: true}, true, 10 * time.Second, provider.Terminated, true, 0},
		"vanished, unlisted": {"nothing says why", StartFailure{After: 10 * time.Second, Vanishes: true}, false, 10 * time.Second, "", false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(Traits{Boot: 5 * time.Second, Lingers: c.lingers})
			c.startFailure.Why = why
			w.StartFailure = func(*Machine) *StartFailure { return &c.startFailure }
			s := w.open(t)
			make1(t, s)
			w.now = w.now.Add(c.at)
			found := find(t, s)
			var i provider.Instance
			if len(found) > 0 {
				i = found[0]
			}
			if i.State != c.state || (i.Fault == why) != c.faulty || len(w.Existing("u")) != c.existing {
				t.Errorf("%s: %s, fault %v, %d exist", c.reason, i.State, i.Fault, len(w.Existing("u")))
			}
			if runs := w.Machines()[0].Runs(w.now); runs != (c.state == provider.Running) {
				t.Errorf("%s: runs %v", c.reason, runs)
			}
		})
	}
}

// TestFateOfWhatWasSentAway: an instance that is terminated before its failure never fails. An instance in error is
// terminated like any other.
func TestFateOfWhatWasSentAway(t *testing.T) {
	for name, c := range map[string]struct {
		startFailure StartFailure
		at           time.Duration
	}{
		"before it vanishes":    {StartFailure{After: time.Minute, Vanishes: true}, time.Second},
		"before it is given up": {StartFailure{After: time.Minute}, time.Second},
		"in error":              {StartFailure{After: time.Minute}, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(Traits{Stop: time.Second, Lingers: true})
			c.startFailure.Why = provider.Errorf(provider.Exhausted, "no room")
			w.StartFailure = func(*Machine) *StartFailure { return &c.startFailure }
			stopped := 0
			w.OnStop = func(*Machine) { stopped++ }
			s := w.open(t)
			i := make1(t, s)
			w.now = w.now.Add(c.at)
			for range 2 {
				if _, err := s.Delete(context.Background(), ref, []provider.Instance{i}); err != nil {
					t.Fatal(err)
				}
			}
			if got := find(t, s)[0]; got.State != provider.Stopping || stopped != 1 {
				t.Errorf("%s after it was terminated %d times", got.State, stopped)
			}
			w.now = w.now.Add(time.Second)
			done, err := s.Delete(context.Background(), ref, nil)
			if got := find(t, s)[0]; !done || err != nil || len(w.Existing("u"))+len(w.Parts("u")) != 0 || got.State != provider.Terminated || (got.Fault != nil) != (c.at == time.Hour) {
				t.Errorf("done %v, %v, %s with fault %v", done, err, got.State, got.Fault)
			}
		})
	}
}
