package machinedeployment_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/openshift/machine/lenient"
	"github.com/millwright-dev/millwright/internal/controller/enqueue"
	"github.com/millwright-dev/millwright/internal/controller/machinedeployment"
	"github.com/millwright-dev/millwright/internal/controller/machinehealthcheck"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/internal/engine/health"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// checked is a world with a health check over all machines of the pool, whose
// word is worth mode.
func checked[D, S client.Object](t *testing.T, a api[D, S], mode string) *world[D, S] {
	t.Helper()
	w := newWorld(t, a)
	c := &lenient.MachineHealthCheck{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "workers"}}
	c.Spec.Selector.MatchLabels = pool
	dialect.SetAnnotation(c, dialect.BreakerAnnotation, mode)
	dialect.SetAnnotation(c, dialect.MachineAPIAnnotation, a.patients.API())
	w.must(w.store(t.Context(), c))
	w.alarms = &machinehealthcheck.Alarms{
		Client: w, Checks: []machinehealthcheck.Kind{machinehealthcheck.KindOf[*lenient.MachineHealthCheck](openshift.HealthChecks{})},
		Patients: a.patients, Sample: func(s client.Object) client.Object { return a.members.NewMachine(s.(S), "sample") },
	}
	return w
}

func (w *world[D, S]) healthCheck() *lenient.MachineHealthCheck {
	w.t.Helper()
	c := &lenient.MachineHealthCheck{}
	w.must(w.Client.Get(w.t.Context(), client.ObjectKey{Namespace: namespace, Name: "workers"}, c))
	return c
}

// remember makes the check remember these storms, of 3 of 4 machines.
func (w *world[D, S]) remember(storms ...health.Storm) {
	w.t.Helper()
	c := w.healthCheck()
	dialect.WriteMemory(c, health.Memory{Storms: storms})
	w.must(w.Client.Update(w.t.Context(), c))
}

func raging(template string) health.Storm {
	return health.Storm{Group: health.Group{Kind: health.Template, Name: template}, Sick: 3, Total: 4}
}

// begun declares a deployment of n machines, and begins to roll to v2 until
// some of its machines are there. It returns how a check names what they are
// made from.
func (w *world[D, S]) begun(r *machinedeployment.Reconciler[D, S], n int) (template string) {
	w.t.Helper()
	w.declare(n)
	w.rest(r)
	w.recorded()
	w.change(func(d D) { w.template(d, "v2") })
	for range 20 {
		w.sync()
		if _, err := w.reconcile(r); err != nil {
			w.t.Fatal(err)
		}
		w.work()
		for _, s := range w.sets() {
			if made := w.machinesOf(s); w.version(s) == "v2" && len(made) > 0 {
				return w.patients.Patient(made[0], nil).Template
			}
		}
	}
	w.t.Fatal("the rollout does not begin")
	return ""
}

// sizes are how many machines the sets of the two versions are to have.
func (w *world[D, S]) sizes() (v1, v2 int) {
	for _, s := range w.sets() {
		if w.version(s) == "v2" {
			v2 += w.setSize(s)
		} else {
			v1 += w.setSize(s)
		}
	}
	return v1, v2
}

func TestAStormStopsItsRollout(t *testing.T) { both(t, stormStops, stormStops) }

// A rollout to a template that a check finds in a storm stops where it is, also
// for a controller that has just begun, says so once, and goes on when the storm
// and its cooldown are over.
func stormStops[D, S client.Object](t *testing.T, a api[D, S]) {
	w := checked(t, a, "enforce")
	r := w.controller()
	bad := w.begun(r, 4)
	v1, v2 := w.sizes()
	w.remember(raging(bad))
	w.rest(r)
	w.rest(w.controller())
	if old, now := w.sizes(); old != v1 || now != v2 || v2 == 4 {
		t.Errorf("the storm was there when v1 had %d and v2 %d; now %d and %d", v1, v2, old, now)
	}
	want := "health check workers: 3 of 4 machines of template " + bad + " became unhealthy; keeping what there is"
	if got := w.facts().Last.Progress; got.Status != rollout.False || got.Reason != rollout.Stopped || got.Message != want {
		t.Errorf("records %+v, want %q", got, want)
	}
	for _, v := range w.views() {
		if v.NoGrowth != (v.Replicas == v2 && v.Current) {
			t.Errorf("set %s is held %v", v.Name, v.NoGrowth)
		}
	}
	over := raging(bad)
	over.Over = w.clock.Now()
	w.remember(over)
	w.sync()
	if res, err := w.reconcile(r); err != nil || res.RequeueAfter <= 9*time.Minute || res.RequeueAfter > 10*time.Minute {
		t.Errorf("after the storm it looks again in %s: %v", res.RequeueAfter, err)
	}
	if old, now := w.sizes(); old != v1 || now != v2 {
		t.Errorf("in the cooldown: %d and %d", old, now)
	}
	w.clock.SetTime(over.Over.Add(10 * time.Minute))
	w.rest(r)
	if old, now := w.sizes(); old != 0 || now != 4 || w.facts().Last.Progress.Reason != rollout.SetAvailable {
		t.Errorf("after the cooldown: %d and %d, %+v", old, now, w.facts().Last.Progress)
	}
	told := strings.Join(w.recorded(), "\n")
	if events := w.lens.Traits().Events; strings.Count(told, "Warning "+events.Stopped) != 1 || strings.Count(told, "Normal "+events.Resumed) != 1 {
		t.Errorf("told\n%s", told)
	}
}

func TestAStormEndsOtherwise(t *testing.T) { both(t, stormEnds, stormEnds) }

// What ends with its check, with another mode, or with another template does not
// stop the rollout for longer.
func stormEnds[D, S client.Object](t *testing.T, a api[D, S]) {
	for name, end := range map[string]func(w *world[D, S]){
		"the check is deleted": func(w *world[D, S]) { w.must(w.Client.Delete(t.Context(), w.healthCheck())) },
		"the check only reports": func(w *world[D, S]) {
			c := w.healthCheck()
			dialect.SetAnnotation(c, dialect.BreakerAnnotation, "report")
			w.must(w.Client.Update(t.Context(), c))
		},
		"a better template": func(w *world[D, S]) { w.change(func(d D) { w.template(d, "v3") }) },
		"going back":        func(w *world[D, S]) { w.change(func(d D) { w.template(d, "v1") }) },
	} {
		w := checked(t, a, "enforce")
		r := w.controller()
		w.remember(raging(w.begun(r, 3)))
		w.rest(r)
		if got := w.facts().Last.Progress.Reason; got != rollout.Stopped {
			t.Fatalf("%s: not stopped, %s", name, got)
		}
		end(w)
		w.rest(r)
		if got := w.facts().Last.Progress; got.Reason != rollout.SetAvailable || len(w.machines()) != 3 {
			t.Errorf("%s: comes to %+v with %d machines", name, got, len(w.machines()))
		}
	}
}

func TestAReportedStormIsTold(t *testing.T) { both(t, stormReported, stormReported) }

// A check that only reports stops nothing, and stands where people look.
func stormReported[D, S client.Object](t *testing.T, a api[D, S]) {
	w := checked(t, a, "report")
	r := w.controller()
	bad := w.begun(r, 4)
	w.remember(raging(bad))
	tells := false
	for range 200 {
		w.sync()
		res, err := w.reconcile(r)
		w.must(err)
		w.work()
		got := w.facts().Last.Progress
		tells = tells || strings.HasSuffix(got.Message, "; health check workers: 3 of 4 machines of template "+bad+" became unhealthy, which its breaker only reports")
		if got.Reason == rollout.SetAvailable {
			break
		}
		w.clock.SetTime(w.clock.Now().Add(max(time.Second, res.RequeueAfter)))
	}
	if v1, v2 := w.sizes(); v1 != 0 || v2 != 4 || !tells {
		t.Errorf("comes to %d and %d, told %v", v1, v2, tells)
	}
}

// unreadable fails to list.
type unreadable struct{ client.Reader }

func (unreadable) List(_ context.Context, _ client.ObjectList, _ ...client.ListOption) error {
	return errors.New("the cache is not there")
}

func TestUnreadableChecks(t *testing.T) { both(t, unreadableChecks, unreadableChecks) }

// Checks that cannot be read stop nothing, and free nothing.
func unreadableChecks[D, S client.Object](t *testing.T, a api[D, S]) {
	w := checked(t, a, "enforce")
	r := w.controller()
	alarms := w.alarms.(*machinehealthcheck.Alarms)
	readable := alarms.Client
	w.remember(raging(w.begun(r, 3)))
	w.rest(r)
	v1, v2 := w.sizes()
	alarms.Client = unreadable{}
	w.rest(r)
	if old, now := w.sizes(); old != v1 || now != v2 || w.facts().Last.Progress.Reason != rollout.Stopped {
		t.Errorf("freed: %d and %d, were %d and %d", old, now, v1, v2)
	}
	alarms.Client = readable
	w.remember()
	w.rest(r)
	if got := w.facts().Last.Progress.Reason; got != rollout.SetAvailable {
		t.Fatalf("comes to %s", got)
	}
	alarms.Client = unreadable{}
	w.change(func(d D) { w.template(d, "v3") })
	w.rest(r)
	if got := w.facts().Last.Progress.Reason; got != rollout.SetAvailable {
		t.Errorf("stopped by nobody: %s", got)
	}
}

func TestWakesOfCheck(t *testing.T) { both(t, wakesOfCheck, wakesOfCheck) }

// A check wakes the deployments of its namespace when its storms change, and no others.
func wakesOfCheck[D, S client.Object](t *testing.T, a api[D, S]) {
	w := checked(t, a, "enforce")
	r := w.controller()
	bad := w.begun(r, 3)
	elsewhere := w.api.deployment("roll", 1)
	elsewhere.SetNamespace("elsewhere")
	w.must(w.store(t.Context(), elsewhere))
	w.sync()
	calm := w.healthCheck()
	stormy := calm.DeepCopy()
	dialect.WriteMemory(stormy, health.Memory{Storms: []health.Storm{raging(bad)}})
	counted := stormy.DeepCopy()
	counted.Status.RemediationsAllowed = 7
	for name, tc := range map[string]struct {
		before, after client.Object
		wakes         bool
	}{
		"begins": {calm, stormy, true}, "ends": {stormy, calm, true}, "gone": {stormy, nil, true}, "made": {nil, stormy, true},
		"counters": {stormy, counted, false}, "calm": {calm, calm.DeepCopy(), false}, "made calm": {nil, calm, false}, "gone calm": {calm, nil, false},
	} {
		got := r.WakesOfCheck(t.Context(), tc.before, tc.after)
		if (len(got) == 1) != tc.wakes || len(got) > 1 || slices.ContainsFunc(got, func(x enqueue.Request) bool { return x.NamespacedName != key }) {
			t.Errorf("%s: wakes %v", name, got)
		}
	}
}
