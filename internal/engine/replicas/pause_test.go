package replicas

import (
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

func TestStatusPause(t *testing.T) {
	for _, c := range []struct {
		reason   string
		machines int
		recent   int
		want     time.Duration
	}{
		{"few machines: their events are gathered", 0, 0, 400 * time.Millisecond},
		{"the least pause still suffices", 133, 6, 400 * time.Millisecond},
		{"it follows their number", 500, 6, 1500 * time.Millisecond},
		{"many sets change", 10, 30, 1800 * time.Millisecond},
		{"people wait for the last counters", 5000, 0, 3 * time.Second},
		{"people wait for the last counters of many sets", 10, 1000, 3 * time.Second},
	} {
		t.Run(c.reason, func(t *testing.T) {
			if got := StatusPause(c.machines, c.recent); got != c.want {
				t.Errorf("%s: %s", c.reason, got)
			}
		})
	}
}

func TestRest(t *testing.T) {
	for _, c := range []struct {
		reason   string
		machines int
		acted    bool
		want     time.Duration
	}{
		{"a small set acts at once", 200, false, 0},
		{"a pass over a thousand takes 10 ms, garbage included", 1000, false, 200 * time.Millisecond},
		{"ten thousand", 10_000, false, 2 * time.Second},
		{"people wait for no more than two seconds", 100_000, false, 2 * time.Second},
		{"a thousand, which are being created", 1000, true, 50 * time.Millisecond},
		{"ten thousand, which are being created", 10_000, true, 500 * time.Millisecond},
	} {
		t.Run(c.reason, func(t *testing.T) {
			if got := Rest(c.machines, c.acted); got != c.want {
				t.Errorf("%s: %s, want %s", c.reason, got, c.want)
			}
		})
	}
}

// TestRestingEndsWithAnotherSpec: a change of a large set's size does not wait for its rest to end.
func TestRestingEndsWithAnotherSpec(t *testing.T) {
	begun := time.Unix(1000, 0)
	r := After(begun, 3, 10_000, false)
	for _, c := range []struct {
		reason     string
		after      time.Duration
		generation int64
		want       time.Duration
	}{
		{"the same spec", time.Second, 3, time.Second},
		{"another spec", time.Second, 4, 0},
		{"the rest is over", 2 * time.Second, 3, 0},
	} {
		if got := r.Left(begun.Add(c.after), c.generation); got != c.want {
			t.Errorf("%s: %s, want %s", c.reason, got, c.want)
		}
	}
	if got := (Resting{}).Left(begun, 0); got > 0 {
		t.Errorf("before the first pass %s are left", got)
	}
}

// TestBurstOfLargeSets: a pass creates or deletes a twentieth of a large set, and of others up to the burst.
func TestBurstOfLargeSets(t *testing.T) {
	p := replacing
	p.Burst = 100
	for _, c := range []struct{ machines, want int }{{50, 50}, {1000, 100}, {10_000, 500}} {
		if d := Decide(now, Set{Replicas: c.machines}, nil, p); d.Create != c.want {
			t.Errorf("of %d missing machines %d are created, want %d", c.machines, d.Create, c.want)
		}
		members := make([]Member, c.machines)
		for i := range members {
			members[i].UID = types.UID(strconv.Itoa(i))
		}
		if d := Decide(now, Set{}, members, p); len(d.Delete) != c.want {
			t.Errorf("of %d machines %d are deleted, want %d", c.machines, len(d.Delete), c.want)
		}
	}
}
