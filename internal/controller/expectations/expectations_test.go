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

func there(uid string) Object { return Object{UID: types.UID(uid), Name: "name-" + uid} }

func going(uid string) Object {
	o := there(uid)
	o.Terminating = true
	return o
}

func TestLedger(t *testing.T) {
	tests := map[string]struct {
		reason  string
		enter   func(l *Expectations)
		settled bool
		trusted bool
	}{
		"new":                         {"distrusts the cache until a live read", func(*Expectations) {}, true, false},
		"live, equal":                 {"nothing to await", func(l *Expectations) { l.Live(now, []Object{there("a")}, []Object{there("a")}) }, true, true},
		"live shows more":             {"awaited in the cache", func(l *Expectations) { l.Live(now, []Object{there("a")}, nil) }, false, true},
		"live shows more, then seen":  {"settled", func(l *Expectations) { l.Live(now, []Object{there("a")}, nil); l.Observe([]Object{there("a")}) }, true, true},
		"live shows one going":        {"its deletion is awaited", func(l *Expectations) { l.Live(now, []Object{going("a")}, []Object{there("a")}) }, false, true},
		"live shows one less":         {"its end is awaited", func(l *Expectations) { l.Live(now, nil, []Object{there("a")}) }, false, true},
		"live shows less, but going":  {"the cache knows it is going", func(l *Expectations) { l.Live(now, nil, []Object{going("a")}) }, true, true},
		"live shows a new one going":  {"it came and goes: nothing to await", func(l *Expectations) { l.Live(now, []Object{going("a")}, nil) }, true, true},
		"created":                     {"awaited", func(l *Expectations) { l.Live(now, nil, nil); l.Created(now, "a") }, false, true},
		"created, another seen":       {"still awaited", func(l *Expectations) { l.Live(now, nil, nil); l.Created(now, "a"); l.Observe([]Object{there("b")}) }, false, true},
		"created, seen":               {"settled", func(l *Expectations) { l.Live(now, nil, nil); l.Created(now, "a"); l.Observe([]Object{there("a")}) }, true, true},
		"deleted, still shown":        {"awaited", func(l *Expectations) { l.Live(now, nil, nil); l.Deleted(now, "a"); l.Observe([]Object{there("a")}) }, false, true},
		"deleted, shown going":        {"settled", func(l *Expectations) { l.Live(now, nil, nil); l.Deleted(now, "a"); l.Observe([]Object{going("a")}) }, true, true},
		"deleted, not shown":          {"settled", func(l *Expectations) { l.Live(now, nil, nil); l.Deleted(now, "a"); l.Observe(nil) }, true, true},
		"created, deleted, not shown": {"its appearance is not awaited any more", func(l *Expectations) { l.Live(now, nil, nil); l.Created(now, "a"); l.Deleted(now, "a"); l.Observe(nil) }, true, true},
		"created, gone unseen":        {"a live read ends the waiting", func(l *Expectations) { l.Live(now, nil, nil); l.Created(now, "a"); l.Live(now, nil, nil) }, true, true},
		"unsure":                      {"needs a live read", func(l *Expectations) { l.Live(now, nil, nil); l.CreationUnknown("name-a") }, true, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var l Expectations
			tc.enter(&l)
			if l.Satisfied() != tc.settled || l.Trusted() != tc.trusted {
				t.Errorf("%s: settled %v, trusted %v; want %v, %v", tc.reason, l.Satisfied(), l.Trusted(), tc.settled, tc.trusted)
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
		"still there":          {"it may yet happen", func(l *Expectations) { l.Observe([]Object{there("a")}) }, Lingers},
		"live, there":          {"it may yet happen", func(l *Expectations) { l.Live(now, []Object{there("a")}, nil) }, Lingers},
		"seen going":           {"it happened", func(l *Expectations) { l.Observe([]Object{going("a")}) }, 0},
		"live, going":          {"it happened", func(l *Expectations) { l.Live(now, []Object{going("a")}, nil) }, 0},
		"asked again":          {"the answer has come", func(l *Expectations) { l.Deleted(now, "a") }, 0},
		"server back":          {"it happened, and was undone", func(l *Expectations) { l.Observe([]Object{going("a")}); l.Observe([]Object{there("a")}) }, 0},
		"asked again, in vain": {"it may yet happen, from now on", func(l *Expectations) { l.ExpectDeletion(now.Add(time.Second), "a") }, Lingers + time.Second},
		"another went":         {"that says nothing", func(l *Expectations) { l.Observe([]Object{going("b")}) }, Lingers},
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

// TestDoomEnds: what has not happened by the time that the API server gives up does not
// happen any more.
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
	for _, name := range []string{"name-c", "name-a", "name-b", "name-d"} {
		l.CreationUnknown(name)
	}
	l.CreationKnown("name-d")
	l.Live(now, []Object{there("b")}, nil)
	if got := l.UnknownCreations(); !slices.Equal(got, []string{"name-a", "name-c"}) {
		t.Errorf("got %v: what a live listing shows, or what was settled, is not unsure", got)
	}
}

func TestOverdue(t *testing.T) {
	var l Expectations
	if overdue, _ := l.Overdue(now); overdue {
		t.Error("overdue with nothing to await")
	}
	l.Created(now, "a")
	if overdue, left := l.Overdue(now.Add(Patience - time.Second)); overdue || left != time.Second {
		t.Errorf("a second early: overdue %v, left %v", overdue, left)
	}
	if overdue, _ := l.Overdue(now.Add(Patience)); !overdue {
		t.Error("not overdue although patience has run out")
	}
}

func TestOverlay(t *testing.T) {
	version := func(v, note string) client.Object {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: "a", ResourceVersion: v, Annotations: map[string]string{"note": note}}}
	}
	note := func(o client.Object) string { return o.GetAnnotations()["note"] }
	var o Written
	o.Wrote("1", version("2", "first"))
	o.Wrote("2", version("3", "second"))
	for _, stale := range []string{"1", "2"} {
		if got := note(o.Over(version(stale, "stale"))); got != "second" {
			t.Errorf("version %s of the cache is shown as %q, want what was written last", stale, got)
		}
	}
	if got := note(o.Over(version("3", "cached"))); got != "cached" {
		t.Errorf("the cache has caught up and %q is shown", got)
	}
	if got := note(o.Over(version("1", "stale"))); got != "stale" {
		t.Errorf("forgotten once caught up, and %q is shown", got)
	}
	o.Wrote("5", version("5", "no change"))
	if got := note(o.Over(version("5", "cached"))); got != "cached" {
		t.Errorf("an update that changed nothing is shown as %q", got)
	}
	o.Wrote("7", version("8", "later"))
	o.Prune(nil)
	if got := note(o.Over(version("7", "cached"))); got != "cached" {
		t.Errorf("pruned, and %q is shown", got)
	}
}

// TestOverlayGoesBack: what the cache hides for too long is asked for, and forgotten
// where the API server has it as it was before.
func TestOverlayGoesBack(t *testing.T) {
	version := func(v string) client.Object {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: "a", ResourceVersion: v}}
	}
	tests := map[string]struct {
		reason string
		cached string
		after  time.Duration
		live   string
		asks   bool
		shows  string
	}{
		"in time":       {"a cache may be behind for a while", "7", Patience - time.Second, "", false, "9"},
		"caught up":     {"nothing is hidden", "9", Patience, "", false, "9"},
		"went back":     {"the update has not happened by now", "7", Patience, "7", true, "7"},
		"written again": {"it went back, and somebody wrote since", "7", Patience, "8", true, "7"},
		"only behind":   {"the server has what was written", "7", Patience, "9", true, "9"},
		"overtaken":     {"others wrote later, which the cache will show", "7", Patience, "12", true, "9"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var o Written
			o.Wrote("7", version("8"))
			o.Wrote("8", version("9"))
			o.Over(version("7"))
			if asked, left := o.Hidden(now); len(asked) > 0 || left != Patience {
				t.Fatalf("at once %d are asked for, again after %v", len(asked), left)
			}
			o.Over(version(tc.cached))
			asked, _ := o.Hidden(now.Add(tc.after))
			if len(asked) > 0 != tc.asks {
				t.Fatalf("%s: asked for %d", tc.reason, len(asked))
			}
			if tc.asks {
				went := o.Live(now.Add(tc.after), version(tc.live))
				if went != (tc.shows == tc.cached) {
					t.Errorf("%s: went back %v", tc.reason, went)
				}
			}
			if got := o.Over(version(tc.cached)).GetResourceVersion(); got != tc.shows {
				t.Errorf("%s: version %s is shown, want %s", tc.reason, got, tc.shows)
			}
		})
	}
}
