package readyourwrites

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func version(uid, v string) client.Object {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid), ResourceVersion: v}}
}

// TestOver: what was written last is shown until the cache has it.
func TestOver(t *testing.T) {
	tests := map[string]struct {
		reason string
		writes [][2]string
		cached []string
		shows  string
	}{
		"nothing written":   {"the cache is all there is", nil, []string{"7"}, "7"},
		"behind":            {"the cache shows what was written over", [][2]string{{"7", "8"}}, []string{"7"}, "8"},
		"behind two writes": {"the last counts", [][2]string{{"7", "8"}, {"8", "9"}}, []string{"7"}, "9"},
		"behind one of two": {"the last counts", [][2]string{{"7", "8"}, {"8", "9"}}, []string{"8"}, "9"},
		"caught up":         {"it is what was written", [][2]string{{"7", "8"}}, []string{"8"}, "8"},
		"overtaken":         {"somebody wrote since", [][2]string{{"7", "8"}}, []string{"10"}, "10"},
		"caught up before":  {"forgotten then", [][2]string{{"7", "8"}}, []string{"8", "7"}, "7"},
		"restored":          {"the server has it as it was before the version that was looked at", [][2]string{{"7", "8"}}, []string{"5"}, "5"},
		"restored, written": {"between the two somebody wrote after a restore", [][2]string{{"7", "9"}}, []string{"8"}, "8"},
		"written anew":      {"by a version that somebody else wrote", [][2]string{{"5", "6"}, {"7", "8"}}, []string{"5"}, "5"},
		"another object":    {"of the same kind", [][2]string{{"7", "8"}}, nil, "1"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var w Writes
			for _, v := range tc.writes {
				w.Wrote(v[0], version("a", v[1]))
			}
			shown := w.Over(version("b", "1"))
			for _, v := range tc.cached {
				shown = w.Over(version("a", v))
			}
			if got := shown.GetResourceVersion(); got != tc.shows {
				t.Errorf("%s: version %s is shown, want %s", tc.reason, got, tc.shows)
			}
		})
	}
}

// TestWritesAreForgotten: a write that the cache shows is forgotten, and one that no pass reads back is
// forgotten after two sweeps.
func TestWritesAreForgotten(t *testing.T) {
	tests := map[string]struct {
		reason string
		after  func(w *Writes)
		kept   bool
	}{
		"caught up":        {"shown by the cache", func(w *Writes) { w.Over(version("a", "8")) }, false},
		"read, behind":     {"awaited still", func(w *Writes) { w.sweep(now.Add(idle)); w.Over(version("a", "7")); w.sweep(now.Add(2 * idle)) }, true},
		"swept once":       {"it may be read yet", func(w *Writes) { w.sweep(now.Add(idle)) }, true},
		"swept too soon":   {"it may be read yet", func(w *Writes) { w.sweep(now.Add(idle)); w.sweep(now.Add(2*idle - 1)) }, true},
		"swept twice":      {"gone, or of no interest", func(w *Writes) { w.sweep(now.Add(idle)); w.sweep(now.Add(2 * idle)) }, false},
		"written again":    {"it may be read yet", func(w *Writes) { w.sweep(now.Add(idle)); w.Wrote("8", version("a", "9")); w.sweep(now.Add(2 * idle)) }, true},
		"the server is as": {"only the cache is behind", func(w *Writes) { w.WentBack(now, version("a", "8")) }, true},
		"went back":        {"it has not happened", func(w *Writes) { w.WentBack(now, version("a", "7")) }, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var w Writes
			w.sweep(now)
			w.Wrote("7", version("a", "8"))
			tc.after(&w)
			if w.empty() == tc.kept {
				t.Errorf("%s: kept %v", tc.reason, !w.empty())
			}
		})
	}
}

// TestNothingChanged: a write that changed nothing is nothing that a cache could hide.
func TestNothingChanged(t *testing.T) {
	var w Writes
	if w.Wrote("7", version("a", "7")); !w.empty() {
		t.Error("the cache is waited for, which never shows another version")
	}
}

// TestAwaited: creations and deletions are awaited until the cache shows them, or a
// live listing says that they have come and gone.
func TestAwaited(t *testing.T) {
	there := func(uid string) client.Object { return version(uid, "1") }
	going := func(uid string) client.Object {
		o := version(uid, "1")
		o.SetDeletionTimestamp(&metav1.Time{Time: now})
		return o
	}
	list := func(objects ...client.Object) []client.Object { return objects }
	tests := map[string]struct {
		reason    string
		enter     func(a *Awaited)
		satisfied bool
	}{
		"new":                         {"nothing to await", func(*Awaited) {}, true},
		"live, equal":                 {"nothing to await", func(a *Awaited) { a.Live(now, list(there("a")), list(there("a"))) }, true},
		"live shows more":             {"awaited in the cache", func(a *Awaited) { a.Live(now, list(there("a")), nil) }, false},
		"live shows more, then seen":  {"settled", func(a *Awaited) { a.Live(now, list(there("a")), nil); a.Observe(list(there("a"))) }, true},
		"live shows one going":        {"its deletion is awaited", func(a *Awaited) { a.Live(now, list(going("a")), list(there("a"))) }, false},
		"live shows one less":         {"its end is awaited", func(a *Awaited) { a.Live(now, nil, list(there("a"))) }, false},
		"live shows less, but going":  {"the cache knows it is going", func(a *Awaited) { a.Live(now, nil, list(going("a"))) }, true},
		"live shows a new one going":  {"it came and goes: nothing to await", func(a *Awaited) { a.Live(now, list(going("a")), nil) }, true},
		"created":                     {"awaited", func(a *Awaited) { a.Created(now, "a") }, false},
		"created, another seen":       {"still awaited", func(a *Awaited) { a.Created(now, "a"); a.Observe(list(there("b"))) }, false},
		"created, seen":               {"settled", func(a *Awaited) { a.Created(now, "a"); a.Observe(list(there("a"))) }, true},
		"created, seen going":         {"it was there", func(a *Awaited) { a.Created(now, "a"); a.Observe(list(going("a"))) }, true},
		"deleted, still shown":        {"awaited", func(a *Awaited) { a.Deleted(now, "a"); a.Observe(list(there("a"))) }, false},
		"deleted, shown going":        {"settled", func(a *Awaited) { a.Deleted(now, "a"); a.Observe(list(going("a"))) }, true},
		"deleted, not shown":          {"settled", func(a *Awaited) { a.Deleted(now, "a"); a.Observe(nil) }, true},
		"created, deleted, not shown": {"its appearance is not awaited any more", func(a *Awaited) { a.Created(now, "a"); a.Deleted(now, "a"); a.Observe(nil) }, true},
		"created, gone unseen":        {"a live read ends the waiting", func(a *Awaited) { a.Created(now, "a"); a.Live(now, nil, nil) }, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var a Awaited
			tc.enter(&a)
			if a.Satisfied() != tc.satisfied {
				t.Errorf("%s: satisfied %v", tc.reason, a.Satisfied())
			}
		})
	}
}

func TestOverdue(t *testing.T) {
	var a Awaited
	if overdue, _ := a.Overdue(now); overdue {
		t.Error("overdue with nothing to await")
	}
	a.Created(now, "a")
	if overdue, left := a.Overdue(now.Add(Patience - time.Second)); overdue || left != time.Second {
		t.Errorf("a second early: overdue %v, left %v", overdue, left)
	}
	if overdue, _ := a.Overdue(now.Add(Patience)); !overdue {
		t.Error("not overdue although patience has run out")
	}
}
