package orphan_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/orphan"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/providertest"
)

// T31: an instance that no machine has is reported, left alone for the grace
// period, and removed with its disk.
func TestStrayGoes(t *testing.T) {
	w := newWorld(t)
	id := w.plant("uid-lost", "lost")
	_, disks, err := w.cloud.Count(w.cloud.Class(provider.OpenShift, ns))
	if err != nil {
		t.Fatal(err)
	}
	w.pass()
	if !w.exists(id) || w.metric("millwright_orphans", "quarantined") != 1 {
		t.Fatal("not quarantined at first sight")
	}
	if told := strings.Join(w.told(), "\n"); !strings.Contains(told, "Warning OrphanQuarantined instance "+id+" (lost): it has no machine; it is removed unless a machine appears within 30m0s") {
		t.Errorf("told %q", told)
	}
	w.goes(id, "its grace is over")
	_, left, err := w.cloud.Count(w.cloud.Class(provider.OpenShift, ns))
	if err != nil || left != disks-1 {
		t.Errorf("%d disks, were %d: %v", left, disks, err)
	}
	if told := strings.Join(w.told(), "\n"); !strings.Contains(told, "Warning OrphanDeleted instance "+id) {
		t.Errorf("told %q", told)
	}
	if w.metric("millwright_orphan_deletions_total", "") != 1 || w.metric("millwright_orphans", "quarantined")+w.metric("millwright_orphans", "removing") != 0 {
		t.Error("not counted")
	}
}

// T31: what a machine may own survives.
func TestWantedSurvives(t *testing.T) {
	tests := map[string]struct {
		reason string
		set    func(*world) string
	}{
		"of a machine in creation, OpenShift": {"no provider ID is recorded yet", func(w *world) string {
			w.create(w.openshiftMachine("o-new", ""))
			return w.plant("uid-onew", "o-new")
		}},
		"of a machine in CrashLoopBackOff": {"creation is under way", func(w *world) string {
			m := w.gardenerMachine("g-new", "")
			m.Status.CurrentStatus.Phase = v1alpha1.MachineCrashLoopBackOff
			w.create(m)
			return w.plant("uid-gnew", "g-new")
		}},
		"of a machine in deletion": {"its own flow removes it", func(w *world) string {
			id := w.plant("uid-gnew", "g-new")
			m := w.gardenerMachine("g-new", id)
			m.Finalizers = []string{"machine.sapcloud.io/machine-controller-manager"}
			w.create(m)
			w.delete(m)
			return id
		}},
		"recorded in the other format": {"the machine was moved from the other API", func(w *world) string {
			id := w.plant("", "elsewhere")
			m := w.gardenerMachine("g-new", id)
			m.Spec.ProviderID = "example://" + strings.ToUpper(id)
			w.create(m)
			return id
		}},
		"of a restored machine": {"the machine got a new UID", func(w *world) string {
			id := w.plant("uid-before", "g-new")
			w.create(w.gardenerMachine("g-new", id))
			return id
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.policy.Limit.Min = 5
			w.restart()
			w.survives(tc.set(w), tc.reason)
		})
	}
}

// Of two instances of a machine the recorded one stays.
func TestDoubleGoes(t *testing.T) {
	w := newWorld(t)
	id := w.plant("uid-g1", "g-1")
	w.goes(id, "the machine has another")
	if told := strings.Join(w.told(), "\n"); !strings.Contains(told, "machine blue/g-1 has another one, example:///i-") {
		t.Errorf("told %q", told)
	}
}

// The last one of a machine stays although another is recorded, also when the
// other goes between the listing and the removal.
func TestLastOneStays(t *testing.T) {
	w := newWorld(t)
	id := w.plant("uid-g1", "g-1")
	w.pass()
	var m v1alpha1.Machine
	if err := w.api.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "g-1"}, &m); err != nil {
		t.Fatal(err)
	}
	recorded := strings.TrimPrefix(m.Spec.ProviderID, "example:///")
	w.live.before = func() {
		if err := w.cloud.Remove(provider.Class{}, recorded); err != nil {
			t.Error(err)
		}
	}
	w.passes(90 * time.Minute)
	if !w.exists(id) {
		t.Error("removed, and it was the last")
	}
}

// The same when the removal was asked for once and refused: what was true then
// may be true no more.
func TestLastOneStaysAfterARefusal(t *testing.T) {
	w := newWorld(t)
	w.refuse["delete"] = provider.Errorf(provider.Denied, "no")
	id := w.plant("uid-g1", "g-1")
	for w.calls["delete"] == 0 {
		w.pass()
	}
	var m v1alpha1.Machine
	if err := w.api.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "g-1"}, &m); err != nil {
		t.Fatal(err)
	}
	if err := w.cloud.Remove(provider.Class{}, strings.TrimPrefix(m.Spec.ProviderID, "example:///")); err != nil {
		t.Fatal(err)
	}
	delete(w.refuse, "delete")
	w.passes(90 * time.Minute)
	if !w.exists(id) {
		t.Error("removed, and it was the last")
	}
}

// C12, MCM#657: whatever blinds us, nothing is removed, and sight that comes
// back begins where it ended.
func TestBlindRemovesNothing(t *testing.T) {
	tests := map[string]struct {
		reason  string
		blind   func(*world)
		failure string
	}{
		"listing denied":   {"denied is not empty", func(w *world) { w.refuse["list"] = provider.Errorf(provider.Denied, "no") }, "Denied"},
		"listing fails":    {"it is not known", func(w *world) { w.refuse["list"] = errors.New("EOF") }, "Transient"},
		"throttled":        {"it is not known", func(w *world) { w.refuse["list"] = provider.ThrottledFor(time.Hour, errors.New("slow down")) }, "Throttled"},
		"find fails":       {"it may be gone, or another", func(w *world) { w.refuse["find"] = provider.Errorf(provider.Denied, "no") }, ""},
		"find finds none":  {"it may be gone", func(w *world) { w.provider = blindFinds{w.provider}; w.restart(); w.pass() }, ""},
		"API server down":  {"machines may be there", func(w *world) { w.live.err = errors.New("connection refused") }, "machines"},
		"API page missing": {"half of the machines are not all", func(w *world) { w.live.page, w.live.lost = 4, 1 }, "machines"},
		"API gone": {"a CRD that is gone takes its machines along", func(w *world) {
			w.live.err = &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "machine.sapcloud.io", Kind: "Machine"}}
		}, "machines"},
		"API empty": {"a store was lost", func(w *world) { w.live.Reader = fake.NewClientBuilder().WithScheme(scheme(w.T)).Build() }, ""},
		"cache down": {"classes are not known", func(w *world) {
			w.served = nil
			w.restart()
		}, ""},
		"cloud's class denied": {"no session, no listing", func(w *world) {
			if _, err := w.cloud.Rotate(provider.Class{}); err != nil {
				w.Fatal(err)
			}
		}, "Denied"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.plant("uid-lost", "lost")
			w.pass()
			tc.blind(w)
			w.passes(90 * time.Minute)
			if w.calls["delete"] > 0 {
				t.Fatalf("something was removed: %s", tc.reason)
			}
			if tc.failure != "" && w.metric("millwright_orphan_listing_failures_total", tc.failure) == 0 {
				t.Errorf("no failure %q is counted", tc.failure)
			}
		})
	}
}

// A listing that ends in the middle shows strays, and hides what machines have.
func TestPartialListing(t *testing.T) {
	w := newWorld(t)
	w.plant("uid-lost", "lost")
	w.pass()
	for range 20 {
		for range 2 {
			if err := w.cloud.Inject(providertest.List, providertest.Fault{Kind: provider.Throttled, Partial: 10}); err != nil {
				t.Fatal(err)
			}
		}
		w.pass()
	}
	if w.calls["delete"] > 0 || w.calls["list"] < 10 {
		t.Error("a partial listing is believed")
	}
}

// Blind time is no grace, sight returns, and the stray goes.
func TestSightReturns(t *testing.T) {
	w := newWorld(t)
	id := w.plant("uid-lost", "lost")
	w.pass()
	w.live.err = errors.New("connection refused")
	w.passes(2 * time.Hour)
	w.live.err = nil
	w.goes(id, "sight is back")
}

// The cache may lag as it likes: machines are read past it.
func TestStaleCache(t *testing.T) {
	w := newWorld(t)
	w.cache = fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(machineClass("pool-a"), secretOf(w)).Build()
	w.restart()
	id := w.plant("uid-gnew", "g-new")
	w.create(w.gardenerMachine("g-new", id))
	w.survives(id, "the cache does not know its machine")
}

// A machine that turns up after the listing keeps its instance.
func TestMachineTurnsUp(t *testing.T) {
	w := newWorld(t)
	id := w.plant("uid-gnew", "g-new")
	w.pass()
	w.live.before = func() {
		w.live.before = nil
		w.create(w.gardenerMachine("g-new", ""))
	}
	w.passes(2 * time.Hour)
	if !w.exists(id) || w.calls["delete"] > 0 {
		t.Error("removed although a machine of that name is being made")
	}
}

// Removals may take their time. Before each the machines are looked at again.
func TestMachineTurnsUpBetweenRemovals(t *testing.T) {
	w := newWorld(t)
	w.plant("uid-lost", "a-lost")
	late := w.plant("uid-gnew", "g-new")
	w.pass()
	w.hook = func(verb string) {
		if verb != "delete" {
			return
		}
		w.hook = nil
		w.clock.Step(time.Minute)
		for _, uid := range []string{"lost", "gnew"} {
			m := w.gardenerMachine("g-new", "")
			m.Name, m.UID = "g-"+uid, types.UID("uid-"+uid)
			w.create(m)
		}
	}
	w.passes(35 * time.Minute)
	if w.calls["delete"] == 0 || w.calls["delete"] > 2 || len(w.ids()) < 21 {
		t.Errorf("%d calls of delete, %d instances: the second (%s) has a machine by now", w.calls["delete"], len(w.ids()), late)
	}
}

// An instance and its machine that appear while the instances are listed are
// both seen: machines are read last.
func TestMachinesAreReadLast(t *testing.T) {
	w := newWorld(t)
	w.hook = func(verb string) {
		if verb == "list" {
			w.hook = nil
			w.create(w.gardenerMachine("g-new", w.plant("uid-gnew", "g-new")))
		}
	}
	w.pass()
	if told := w.told(); len(told) > 0 || w.metric("millwright_orphans", "quarantined") > 0 {
		t.Errorf("told %q", told)
	}
}

// Listings that lag do no harm: what they do not show yet is not judged, and
// what they still show is asked for again.
func TestLaggingListings(t *testing.T) {
	w := newWorld(t)
	if err := w.cloud.Lag(time.Minute); err != nil {
		t.Fatal(err)
	}
	id := w.plant("uid-lost", "lost")
	for n := range 5 {
		name := fmt.Sprintf("g-late%d", n)
		w.create(w.gardenerMachine(name, w.make(string(uidOf(name)), name)))
		w.pass()
	}
	w.goes(id, "it is listed by now")
}

// P10: one listing serves all classes of both APIs.
func TestOneListing(t *testing.T) {
	w := newWorld(t)
	w.pass()
	if w.calls["list"] != 1 || w.calls["leftovers"] != 1 {
		t.Errorf("%d listings of instances and %d of leftovers for 3 templates and 20 machines", w.calls["list"], w.calls["leftovers"])
	}
}

// An API that this process does not serve is asked all the same.
func TestOtherAPI(t *testing.T) {
	for _, served := range []string{provider.OpenShift, provider.Gardener} {
		t.Run(served, func(t *testing.T) {
			w := newWorld(t)
			w.policy.Limit.Percent = 100
			w.served = []string{served}
			w.restart()
			w.passes(90 * time.Minute)
			w.whole()
			if w.calls["delete"] > 0 {
				t.Error("machines of the other API lost their instances")
			}
		})
	}
}

// One that does not exist on this cluster has no machines.
func TestOtherAPIAbsent(t *testing.T) {
	w := newWorld(t)
	w.served = []string{provider.Gardener}
	w.live.Reader = noOpenShift{w.api}
	var list machinev1.MachineList
	if err := w.api.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		if err := w.cloud.Remove(provider.Class{}, strings.TrimPrefix(ptr.Deref(list.Items[i].Spec.ProviderID, ""), "example://")); err != nil {
			t.Fatal(err)
		}
		w.delete(&list.Items[i])
	}
	w.restart()
	w.goes(w.plant("uid-lost", "lost"), "the other API does not exist")
}

// The mass-deletion guard, and its approval on a class.
func TestMassDeletion(t *testing.T) {
	w := newWorld(t)
	var ids []string
	for n := range 8 {
		ids = append(ids, w.plant(fmt.Sprintf("uid-lost%d", n), fmt.Sprintf("lost-%d", n)))
	}
	w.passes(2 * time.Hour)
	if w.calls["delete"] > 0 || w.metric("millwright_orphans", "held") != 8 {
		t.Fatalf("%d of 28 are removed at once", w.calls["delete"])
	}
	told := strings.Join(w.told(), "\n")
	if strings.Count(told, "\n") > 3 || !strings.Contains(told, "OrphanNotDeleted 8: instance i-") || !strings.Contains(told, `annotation millwright.dev/approve-orphan-removal: "8" approves it`) {
		t.Errorf("told %q", told)
	}
	approve := func(key, value string) {
		c := machineClass("pool-b")
		if err := w.api.Get(t.Context(), client.ObjectKeyFromObject(c), c); err != nil {
			t.Fatal(err)
		}
		c.Annotations = map[string]string{key: value}
		if err := w.api.Update(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	for _, useless := range []struct{ key, value string }{
		{orphan.ApproveAnnotation, "7"}, {orphan.ApproveAnnotation, "true"}, {dialect.ApproveShrinkAnnotation, "8"},
	} {
		approve(useless.key, useless.value)
		w.passes(time.Hour)
		if w.calls["delete"] > 0 {
			t.Fatalf("%s: %q approves the removal of 8", useless.key, useless.value)
		}
	}
	approve(orphan.ApproveAnnotation, "8")
	w.passes(time.Hour)
	for _, id := range ids {
		if w.exists(id) {
			t.Errorf("%s is still there", id)
		}
	}
	w.whole()
}

func TestReportOnly(t *testing.T) {
	w := newWorld(t)
	w.policy.ReportOnly = true
	w.restart()
	w.survives(w.plant("uid-lost", "lost"), "orphans are only reported")
	if told := w.told(); len(told) != 2 || w.metric("millwright_orphans", "held") != 1 {
		t.Errorf("told %q", told)
	}
}

// Disks without instance and machine go too; those of living machines do not.
func TestLeftoversGo(t *testing.T) {
	w := newWorld(t)
	class := w.cloud.Class(provider.Gardener, ns)
	w.create(w.gardenerMachine("g-new", ""))
	for uid, owner := range map[string]string{"uid-lost": us, "uid-gnew": us, "uid-theirs": them} {
		class.Owner = owner
		if err := w.cloud.Leave(class, provider.Ref{UID: uid, Namespace: ns}); err != nil {
			t.Fatal(err)
		}
	}
	count := func() int {
		_, disks, err := w.cloud.Count(class)
		if err != nil {
			t.Fatal(err)
		}
		return disks
	}
	before := count()
	w.pass()
	if count() != before {
		t.Error("removed at first sight")
	}
	w.passes(90 * time.Minute)
	if count() != before-1 {
		t.Errorf("%d disks, were %d: one is nobody's, one of a machine in creation, one another control plane's", count(), before)
	}
	w.whole()
}

// A scope without a class is listed until it is empty.
func TestScopeWithoutClass(t *testing.T) {
	w := newWorld(t)
	id := w.plant("uid-lost", "lost")
	w.pass()
	for _, o := range []client.Object{machineSet("set"), machineClass("pool-a"), machineClass("pool-b")} {
		w.delete(o)
	}
	var g v1alpha1.MachineList
	if err := w.api.List(t.Context(), &g); err != nil {
		t.Fatal(err)
	}
	w.goes(id, "the credentials are still known")
	if !slices.ContainsFunc(w.told(), func(e string) bool { return strings.Contains(e, "OrphanDeleted") }) {
		t.Error("nobody is told, although there are machines left")
	}
}

// A removal that takes its time is asked for again until it is done, and also
// when the process changes in between.
func TestRemovalSurvivesRestart(t *testing.T) {
	w := newWorld(t)
	w.cloud.Shutdown = 20 * time.Minute
	id := w.plant("uid-lost", "lost")
	_, disks, err := w.cloud.Count(w.cloud.Class(provider.OpenShift, ns))
	if err != nil {
		t.Fatal(err)
	}
	w.passes(35 * time.Minute)
	if w.calls["delete"] == 0 {
		t.Fatal("the removal has not begun")
	}
	w.restart()
	w.passes(2 * time.Hour)
	if _, left, err := w.cloud.Count(w.cloud.Class(provider.OpenShift, ns)); w.exists(id) || left != disks-1 || err != nil {
		t.Errorf("the disk is left: %d, were %d", left, disks)
	}
	w.whole()
}
