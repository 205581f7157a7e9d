package expectations

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func there(uid string) client.Object {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid), Name: "name-" + uid}}
}

func going(uid string) client.Object {
	o := there(uid)
	o.SetDeletionTimestamp(&metav1.Time{Time: now})
	return o
}

func list(objects ...client.Object) []client.Object { return objects }

func TestTrusted(t *testing.T) {
	tests := map[string]struct {
		reason  string
		enter   func(l *Expectations)
		trusted bool
	}{
		"new":           {"distrusts the cache until a live read", func(*Expectations) {}, false},
		"cached":        {"a cached listing proves nothing", func(l *Expectations) { l.Observe(list(there("a"))) }, false},
		"live":          {"the API server was asked", func(l *Expectations) { l.Live(nil) }, true},
		"unknown":       {"needs a live read", func(l *Expectations) { l.Live(nil); l.CreationUnknown("name-a") }, false},
		"unknown, live": {"had it", func(l *Expectations) { l.CreationUnknown("name-a"); l.Live(nil) }, true},
		"unknown, known": {
			"what came of the one says nothing about the cache",
			func(l *Expectations) { l.Live(nil); l.CreationUnknown("name-a"); l.CreationKnown("name-a") }, false,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var l Expectations
			tc.enter(&l)
			if l.Trusted() != tc.trusted {
				t.Errorf("%s: trusted %v", tc.reason, l.Trusted())
			}
		})
	}
}

// TestDoomed: a deletion without an answer is asked for again before any other, but
// not once it was seen to have happened: after a restore it has not.
func TestDoomed(t *testing.T) {
	tests := map[string]struct {
		reason string
		enter  func(l *Expectations)
		doomed time.Duration
	}{
		"no answer":            {"it may have happened", func(*Expectations) {}, Lingers},
		"still there":          {"it may yet happen", func(l *Expectations) { l.Observe(list(there("a"))) }, Lingers},
		"live, there":          {"it may yet happen", func(l *Expectations) { l.Live(list(there("a"))) }, Lingers},
		"seen going":           {"it happened", func(l *Expectations) { l.Observe(list(going("a"))) }, 0},
		"live, going":          {"it happened", func(l *Expectations) { l.Live(list(going("a"))) }, 0},
		"asked again":          {"the answer has come", func(l *Expectations) { l.DeletionKnown("a") }, 0},
		"server back":          {"it happened, and was undone", func(l *Expectations) { l.Observe(list(going("a"))); l.Observe(list(there("a"))) }, 0},
		"asked again, in vain": {"it may yet happen, from now on", func(l *Expectations) { l.ExpectDeletion(now.Add(time.Second), "a") }, Lingers + time.Second},
		"another went":         {"that says nothing", func(l *Expectations) { l.Observe(list(going("b"))) }, Lingers},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var l Expectations
			l.ExpectDeletion(now, "a")
			tc.enter(&l)
			if got := l.DeletionPending(now, "a"); got != tc.doomed {
				t.Errorf("%s: doomed for %v", tc.reason, got)
			}
		})
	}
}

// TestDoomEnds: a write that has not happened when the API server aborts the request does not happen later.
func TestDoomEnds(t *testing.T) {
	var l Expectations
	l.ExpectDeletion(now, "a")
	for after, want := range map[time.Duration]time.Duration{
		0: Lingers, Lingers - time.Second: time.Second, Lingers: 0, Lingers + time.Hour: 0,
	} {
		if got := l.DeletionPending(now.Add(after), "a"); got != want {
			t.Errorf("after %v it is doomed for %v more, want %v", after, got, want)
		}
	}
}

func TestUnsureNames(t *testing.T) {
	var l Expectations
	for _, name := range []string{"name-c", "name-a", "name-b", "name-d", "name-e"} {
		l.CreationUnknown(name)
	}
	l.CreationKnown("name-e")
	l.Live(list(there("b"), going("d")))
	if got := l.UnknownCreations(); !slices.Equal(got, []string{"name-a", "name-c", "name-d"}) {
		t.Errorf("got %v: what a live listing shows, or what was settled, is not unsure; of one on its way out the name will be free", got)
	}
}
