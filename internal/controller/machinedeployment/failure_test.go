package machinedeployment_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

func TestRefusedCreation(t *testing.T) { both(t, refusedCreation, refusedCreation) }

// A refused set is reported once, however often its creation is tried; the condition says so, and the set
// is created as soon as that is possible.
func refusedCreation[D, S client.Object](t *testing.T, a api[D, S]) {
	w := newWorld(t, a)
	w.declare(2)
	w.fate = func(o client.Object) fate {
		if o.GetUID() == "" {
			return rejected
		}
		return fine
	}
	r := w.controller()
	for range 5 {
		w.sync()
		if _, err := w.reconcile(r); err == nil {
			t.Error("the failure is swallowed, and so is the back-off")
		}
		w.clock.SetTime(w.clock.Now().Add(time.Second))
	}
	if told := w.recorded(); len(told) != 1 || !strings.HasPrefix(told[0], "Warning MachineSetCreateError create machine set roll-") {
		t.Errorf("told %q", told)
	}
	if got := w.facts().Last.Progress; got.Status != rollout.False || got.Reason != rollout.SetCreateError {
		t.Errorf("recorded %+v", got)
	}
	w.fate = func(client.Object) fate { return fine }
	w.rest(r)
	if got := w.facts().Last.Progress; got.Reason != rollout.SetAvailable || len(w.machines()) != 2 {
		t.Errorf("at rest with %d machines and %+v", len(w.machines()), got)
	}
}

func TestBrokenSpec(t *testing.T) { both(t, brokenSpec, brokenSpec) }

// A deployment at fault waits for its author: nothing is created, nothing is retried, one event reports it
// and the condition says so.
func brokenSpec[D, S client.Object](t *testing.T, a api[D, S]) {
	faults := map[string]struct {
		reason, event string
		edit          func(D)
	}{
		"negative replicas":   {"no number of machines", a.lens.Traits().Events.Invalid, func(d D) { a.size(d, -2) }},
		"empty selector":      {"it would select every set", a.lens.Traits().Events.SelectsAll, func(d D) { a.selector(d, &metav1.LabelSelector{}) }},
		"unmatching selector": {"its sets would not be its own", a.lens.Traits().Events.Invalid, func(d D) { a.selector(d, &metav1.LabelSelector{MatchLabels: map[string]string{"x": "y"}}) }},
	}
	for name, tc := range faults {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, a)
			w.declare(2, tc.edit)
			r := w.controller()
			for range 5 {
				w.sync()
				if res, err := w.reconcile(r); err != nil || res.RequeueAfter != 0 {
					t.Fatalf("tried again: %v, %v", res, err)
				}
				w.clock.SetTime(w.clock.Now().Add(time.Minute))
			}
			if told := w.recorded(); len(told) != 1 || !strings.HasPrefix(told[0], "Warning "+tc.event+" spec.") {
				t.Errorf("%s: told %q, want one %s", tc.reason, told, tc.event)
			}
			if got := w.facts().Last.Progress; got.Status != rollout.False || !strings.HasPrefix(got.Message, "spec.") {
				t.Errorf("%s: recorded %+v", tc.reason, got)
			}
			if n := len(w.sets()); n != 0 {
				t.Errorf("%s: %d sets made", tc.reason, n)
			}
			if f := w.deployment().GetFinalizers(); len(f) != 0 {
				t.Errorf("%s: held by %v although nothing was made", tc.reason, f)
			}
		})
	}
}

func TestBrokenSpecLeavesMachinesAlone(t *testing.T) {
	both(t, brokenLater, brokenLater)
}

// A deployment that becomes invalid later keeps its sets as they are, and continues when it is fixed.
func brokenLater[D, S client.Object](t *testing.T, a api[D, S]) {
	w := newWorld(t, a)
	w.declare(2)
	r := w.controller()
	w.rest(r)
	w.change(func(d D) { a.template(d, "v2"); a.size(d, -1) })
	w.rest(r)
	if views := w.views(); len(views) != 1 || views[0].Replicas != 2 {
		t.Errorf("the deployment has %+v, want the set as it was", views)
	}
	w.change(func(d D) { a.size(d, 3) })
	w.rest(r)
	if got := w.facts().Last.Progress; got.Reason != rollout.SetAvailable || len(w.machines()) != 3 {
		t.Errorf("mended, and at rest with %d machines and %+v", len(w.machines()), got)
	}
}

func TestRest(t *testing.T) { both(t, rest, rest) }

// At rest a pass writes nothing and asks for nothing, after a restart as well.
func rest[D, S client.Object](t *testing.T, a api[D, S]) {
	w := newWorld(t, a)
	w.declare(3)
	w.rest(w.controller())
	w.change(func(d D) { a.template(d, "v2") })
	w.rest(w.controller())
	w.recorded()
	before := w.deployment().GetResourceVersion()
	w.writes = 0
	r := w.controller()
	for range 3 {
		w.clock.SetTime(w.clock.Now().Add(time.Hour))
		w.sync()
		if res, err := w.reconcile(r); err != nil || res.RequeueAfter != 0 {
			t.Errorf("asks for another pass: %v, %v", res, err)
		}
	}
	if told := w.recorded(); w.writes != 0 || w.deployment().GetResourceVersion() != before || len(told) != 0 {
		t.Errorf("passes at rest made %d writes and told %q", w.writes, told)
	}
}

func TestEventsOfScaling(t *testing.T) { both(t, eventsOfScaling, eventsOfScaling) }

// A rollout in many small steps tells the first size of each set at once, the
// last in the end, and in between one every few seconds.
func eventsOfScaling[D, S client.Object](t *testing.T, a api[D, S]) {
	w := newWorld(t, a)
	w.declare(20)
	r := w.controller()
	w.rest(r)
	w.recorded()
	w.change(func(d D) { a.template(d, "v2") })
	start := w.clock.Now()
	for range 200 { // five steps in a second
		w.work()
		w.sync()
		if _, err := w.reconcile(r); err != nil {
			t.Fatal(err)
		}
		w.clock.SetTime(w.clock.Now().Add(200 * time.Millisecond))
	}
	took := w.clock.Now().Sub(start)
	told := w.recorded()
	last := map[string]string{}
	for _, e := range told {
		_, what, _ := strings.Cut(e, " machine set ")
		name, size, _ := strings.Cut(what, " to ")
		last[name] = size
	}
	if most := 2 * (2 + int(took/(5*time.Second))); len(told) > most {
		t.Errorf("%d events in %s, want at most %d: %q", len(told), took, most, told)
	}
	for _, v := range w.views() {
		if !strings.HasPrefix(last[v.Name], fmt.Sprintf("%d from ", v.Replicas)) {
			t.Errorf("set %s has %d replicas in the end, last told: %q", v.Name, v.Replicas, last[v.Name])
		}
	}
	if !slices.ContainsFunc(told, func(e string) bool { return strings.Contains(e, " to 1 from 0") }) {
		t.Errorf("the first size of the new set was not told: %q", told)
	}
}

func TestStatusWritesAreFew(t *testing.T) {
	both(t, statusWrites, statusWrites)
}

// Counters that change with every pass are written every 400 ms, those of
// larger fleets more rarely, and the last of them in the end.
func statusWrites[D, S client.Object](t *testing.T, a api[D, S]) {
	for _, c := range []struct {
		reason          string
		size, step, max int
	}{
		{"30 machines in 1.5 s: one every 400 ms", 30, 1, 8},
		{"200 machines in 2 s: one every 600 ms", 200, 5, 5},
	} {
		t.Run(c.reason, func(t *testing.T) { countStatusWrites(t, a, c.size, c.step, c.max) })
	}
}

// countStatusWrites lets so many machines join every 50 ms.
func countStatusWrites[D, S client.Object](t *testing.T, a api[D, S], size, step, most int) {
	w := newWorld(t, a)
	w.declare(size)
	r := w.controller()
	w.sync()
	if _, err := w.reconcile(r); err != nil {
		t.Fatal(err)
	}
	for _, s := range w.sets() {
		w.fill(s)
	}
	versions := map[string]bool{}
	for some := range slices.Chunk(w.machines(), step) {
		for _, m := range some {
			w.join(m)
		}
		w.sync()
		if _, err := w.reconcile(r); err != nil {
			t.Fatal(err)
		}
		versions[w.deployment().GetResourceVersion()] = true
		w.clock.SetTime(w.clock.Now().Add(50 * time.Millisecond))
	}
	if n := len(versions); n > most {
		t.Errorf("%d writes of the deployment, want at most %d", n, most)
	}
	w.rest(r)
	if got := w.facts().Last; got.Available != size {
		t.Errorf("%d available recorded, want %d", got.Available, size)
	}
}

func TestSetGoesInTheMiddle(t *testing.T) { both(t, setGoesInTheMiddle, setGoesInTheMiddle) }

// Another client deletes a set while a pass scales both down: the other set keeps its machines, because the
// plan counted on those of the first.
func setGoesInTheMiddle[D, S client.Object](t *testing.T, a api[D, S]) {
	w := newWorld(t, a)
	r := w.controller()
	w.begun(r, 6)
	for range 20 {
		if v1, v2 := w.sizes(); v1 <= 3 && v2 >= 3 {
			break
		}
		w.sync()
		w.pass(r)
		w.work()
	}
	w.change(func(d D) { a.pause(d, true); a.size(d, 2) })
	w.sync()
	sizes := func() map[string]int {
		out := map[string]int{}
		for _, s := range w.sets() {
			out[s.GetName()] = w.setSize(s)
		}
		return out
	}
	gone, before := "", sizes()
	w.fate = func(o client.Object) fate {
		if s, is := o.(S); is && gone == "" {
			gone = s.GetName()
			now := a.lens.Sets().Lens().New()
			w.must(w.Client.Get(t.Context(), client.ObjectKeyFromObject(s), now))
			now.SetFinalizers(nil)
			w.must(w.Client.Update(t.Context(), now))
			w.must(client.IgnoreNotFound(w.Client.Delete(t.Context(), now)))
		}
		return fine
	}
	if res, err := w.reconcile(r); err != nil || res.RequeueAfter == 0 {
		t.Errorf("looks again after %v, %v", res.RequeueAfter, err)
	}
	delete(before, gone)
	if now := sizes(); gone == "" || !maps.Equal(now, before) {
		t.Errorf("set %q went: the other is to have %v, and had %v", gone, now, before)
	}
}
