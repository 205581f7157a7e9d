package sim

import (
	"errors"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/controller/expectations"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
	"github.com/millwright-dev/millwright/internal/verify/sim/store"
)

// TestDoubtedDeletionIsRepeated: a set that wants two of its three machines has requested the deletion of b. While the
// outcome is unknown, the set must choose b again: if it deleted a, the first by rank, only one machine might be left.
func TestDoubtedDeletionIsRepeated(t *testing.T) {
	machines := schema.GroupResource{Resource: "machines"}
	failed, lost := apierrors.NewInternalError(errors.New("leader changed")), errReplyLost
	denied := apierrors.NewForbidden(machines, "b", errors.New("not now"))
	for _, tt := range []struct {
		reason  string
		answers []error
		want    string
	}{
		{"nothing was asked: by rank", nil, "a"},
		{"a server in trouble may have done it", []error{failed}, "b"},
		{"a reply that was lost says nothing", []error{lost}, "b"},
		{"nor does a connection that was refused, to whom sees only its end", []error{errUnreachable}, "b"},
		{"a server that is busy did nothing", []error{apierrors.NewTooManyRequestsError("busy")}, "a"},
		{"nor did one whose webhook denies it", []error{denied}, "a"},
		{"which says nothing about the request before", []error{lost, denied}, "b"},
		{"being busy says nothing about the request before", []error{lost, apierrors.NewTooManyRequestsError("busy")}, "b"},
		{"it was done", []error{lost, nil}, "a"},
		{"it is gone", []error{lost, apierrors.NewNotFound(machines, "b")}, "a"},
		{"another has its name", []error{lost, apierrors.NewConflict(machines, "b", errors.New("uid"))}, "a"},
	} {
		w := newWorld(1, Options{Dialect: Gardener})
		p, members := setOfThree(t, w)
		for _, err := range tt.answers {
			p.doubts(store.Call{Verb: "delete", Kind: w.store.KindOf(w.adapter.machine), Object: members["b"], Key: client.ObjectKeyFromObject(members["b"])}, err)
		}
		p.running.saw = p.observes()
		for name, m := range members {
			if why := p.plans(p.running, m, nil); (why == "") != (name == tt.want) {
				t.Errorf("%s: the deletion of %s is answered by %q, want that of %s and no other", tt.reason, name, why, tt.want)
			}
		}
		w.shutdown()
	}
}

// TestDoubtsOfAPass: the answers to a pass's own deletions change the decision of the next pass, not of this one.
func TestDoubtsOfAPass(t *testing.T) {
	w := newWorld(1, Options{Dialect: Gardener})
	defer w.shutdown()
	p, members := setOfThree(t, w)
	b := store.Call{Verb: "delete", Kind: w.store.KindOf(w.adapter.machine), Object: members["b"], Key: client.ObjectKeyFromObject(members["b"])}
	p.doubts(b, errReplyLost)
	for _, want := range []string{"b", "a"} {
		p.running.saw = p.observes()
		p.doubts(b, nil)
		for name, m := range members {
			if why := p.plans(p.running, m, nil); (why == "") != (name == want) {
				t.Errorf("the deletion of %s is answered by %q, want that of %s and no other", name, why, want)
			}
		}
	}
}

// TestOvertakenPass: a pass read its set before the world continued, and reads its machines after that. The test judges it
// only by its live listing.
func TestOvertakenPass(t *testing.T) {
	w := newWorld(1, Options{Dialect: Gardener})
	defer w.shutdown()
	p, members := setOfThree(t, w)
	for _, tt := range []struct {
		overtaken, live, judged bool
	}{{false, false, true}, {true, false, false}, {true, true, true}} {
		p.running.saw.overtaken, p.running.saw.live = tt.overtaken, tt.live
		if why := p.plans(p.running, members["c"], nil); (why != "") != tt.judged {
			t.Errorf("overtaken %v, live %v: the deletion of c is answered by %q", tt.overtaken, tt.live, why)
		}
	}
}

// setOfThree makes a set of two that has three machines, and begins a pass over it.
func setOfThree(t *testing.T, w *World) (*process, map[string]client.Object) {
	t.Helper()
	set, err := w.store.Create(w.adapter.newSet("three", 2))
	if err != nil {
		t.Fatal(err)
	}
	members := map[string]client.Object{}
	for _, name := range []string{"a", "b", "c"} {
		m := w.adapter.newMachine(name)
		m.SetLabels(map[string]string{"set": "three"})
		m.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(set, v1alpha1.GroupVersion.WithKind("MachineSet"))})
		if members[name], err = w.store.Create(m); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range w.procs {
		if p.role == setRole {
			w.catchUp(p)
			p.running = &task{by: p, key: reconcile.Request{NamespacedName: client.ObjectKeyFromObject(set)}, saw: p.observes()}
			return p, members
		}
	}
	t.Fatal("nobody looks after sets")
	return nil, nil
}

// TestUndoneWriteIsGoneBy: a deployment whose machines users replace shrank its old set to zero, and a restore undid that
// write. The process does not know that, and may create the new machines, but no other number of them.
func TestUndoneWriteIsGoneBy(t *testing.T) {
	for _, tt := range []struct {
		reason  string
		goes    bool
		allowed int
	}{
		{"the old set has them, as the cache shows", false, 0},
		{"it was told that the old set has none any more", true, 3},
	} {
		w := newWorld(1, Options{Dialect: OpenShift, Mutation: &Mutation{Setting: func(c *profile) {
			*c = profile{deployments: 1, strategy: rollout.OnDelete, wider: wider{backupProfile: backupProfile{restores: true}}}
		}}})
		p, old, fresh := twoSets(t, w)
		w.backups.last = w.store.Backup()
		if tt.goes {
			was := w.store.Lookup(old, client.ObjectKeyFromObject(old))
			w.edit(was, "", func(o client.Object) { o.(*machinev1.MachineSet).Spec.Replicas = ptr.To(int32(0)) })
			p.running = &task{by: p, saw: p.observes()}
			p.keeps(w.store, store.Call{Verb: "patch", Kind: w.store.KindOf(was), Object: was, Key: client.ObjectKeyFromObject(was)}, was)
		}
		w.backups.restored++
		w.store.Restore(w.backups.last)
		clear(p.wrote)
		w.catchUp(p)
		task := &task{by: p, key: reconcile.Request{NamespacedName: client.ObjectKeyFromObject(w.deployments()[0])}, saw: p.observes()}
		for n := 1; n <= 4; n++ {
			grown := fresh.DeepCopyObject().(*machinev1.MachineSet)
			grown.Spec.Replicas = ptr.To(int32(n))
			if why := p.plans(task, fresh, grown); (why == "") != (n == tt.allowed) {
				t.Errorf("%s: %d new machines are answered by %q, allowed are %d", tt.reason, n, why, tt.allowed)
			}
		}
		w.shutdown()
	}
}

// TestWriteIsRememberedUntilItIsReadBack: the cache showed a process its own write to a set before the server was
// restored. Only a pass that reads the set notices the restore: a pass over another deployment does not drop the write.
// World 100313200 of gardener.
func TestWriteIsRememberedUntilItIsReadBack(t *testing.T) {
	for _, tt := range []struct {
		reason string
		read   func(p *process, set client.Object) error
		goes   bool
	}{
		{"nobody read it", func(*process, client.Object) error { return nil }, true},
		{"it was read by its name", func(p *process, set client.Object) error {
			return p.client.Get(t.Context(), client.ObjectKeyFromObject(set), &machinev1.MachineSet{})
		}, false},
		{"it was listed", func(p *process, set client.Object) error {
			return p.client.List(t.Context(), &machinev1.MachineSetList{}, client.InNamespace(set.GetNamespace()))
		}, false},
		{"another namespace was listed", func(p *process, _ client.Object) error {
			return p.client.List(t.Context(), &machinev1.MachineSetList{}, client.InNamespace("elsewhere"))
		}, true},
	} {
		w := newWorld(1, Options{Dialect: OpenShift, Mutation: &Mutation{Setting: func(c *profile) {
			*c = profile{deployments: 1, strategy: rollout.OnDelete, wider: wider{backupProfile: backupProfile{restores: true}}}
		}}})
		p, was, _ := twoSets(t, w)
		w.backups.last = w.store.Backup()
		w.edit(was, "", func(o client.Object) { o.(*machinev1.MachineSet).Spec.Replicas = ptr.To(int32(0)) })
		p.running = &task{by: p, saw: p.observes()}
		p.keeps(w.store, store.Call{Verb: "patch", Kind: w.store.KindOf(was), Object: was, Key: client.ObjectKeyFromObject(was)}, was)
		w.catchUp(p)
		p.running = &task{by: p, saw: p.observes()}
		if err := tt.read(p, was); err != nil {
			t.Fatal(err)
		}
		w.backups.restored++
		w.store.Restore(w.backups.last)
		clear(p.wrote)
		w.catchUp(p)
		set := p.observes().recalled.objects["MachineSet"][was.GetUID()].(*machinev1.MachineSet)
		if goes := *set.Spec.Replicas == 0; goes != tt.goes {
			t.Errorf("%s: the process goes by what it wrote: %v, want %v", tt.reason, goes, tt.goes)
		}
		w.shutdown()
	}
}

// twoSets lets a deployment of three create its set, and then a set of another template.
func twoSets(t *testing.T, w *World) (p *process, old, fresh client.Object) {
	t.Helper()
	for _, p = range w.procs {
		if p.role == fleetRole {
			break
		}
	}
	w.adapter = w.apis[0]
	d := w.deployments()[0]
	w.edit(d, "", func(o client.Object) { w.adapter.fleet.resize(o, 3) })
	w.step = -1
	for n := range 2 {
		w.edit(w.deployments()[0], "", func(o client.Object) { w.adapter.fleet.roll(o, n) })
		w.until(w.now.Add(time.Minute))
	}
	for _, s := range w.setsOf(d) {
		if w.adapter.fleet.set(w.deployments()[0], s).Current {
			fresh = s
		} else {
			old = s
		}
	}
	if old == nil || fresh == nil {
		t.Fatalf("no two sets: %v", w.setsOf(d))
	}
	return p, old, fresh
}

// TestDoubtEnds: the API server ends a request after some time, and the set chooses by rank again. The controller may
// assume a pending deletion a little longer: it counts from the end of the pass that sent the request.
func TestDoubtEnds(t *testing.T) {
	w := newWorld(1, Options{Dialect: Gardener})
	defer w.shutdown()
	p, members := setOfThree(t, w)
	p.doubts(store.Call{Verb: "delete", Kind: w.store.KindOf(w.adapter.machine), Object: members["b"], Key: client.ObjectKeyFromObject(members["b"])}, errReplyLost)
	p.running.saw = p.observes()
	began := p.running.saw.at
	for _, tt := range []struct {
		after time.Duration
		want  string
	}{{0, "b"}, {expectations.Lingers - time.Second, "b"}, {expectations.Lingers, "ab"}, {2 * expectations.Lingers, "a"}} {
		p.running.saw.at = began.Add(tt.after)
		got := ""
		for _, name := range []string{"a", "b", "c"} {
			if p.plans(p.running, members[name], nil) == "" {
				got += name
			}
		}
		if got != tt.want {
			t.Errorf("after %s the deletion of %q is as decided, want %q", tt.after, got, tt.want)
		}
	}
}

// TestAdoptedSetIsDecidedAbout: the decision of a pass includes the set that it adopts. Users replace the machines
// themselves: while the old machines exist, the new set gets none.
func TestAdoptedSetIsDecidedAbout(t *testing.T) {
	w := newWorld(1, Options{Dialect: OpenShift, Mutation: &Mutation{Setting: func(c *profile) {
		*c = profile{deployments: 1, strategy: rollout.OnDelete}
	}}})
	defer w.shutdown()
	p, old, fresh := twoSets(t, w)
	owners := old.GetOwnerReferences()
	own := func(refs []metav1.OwnerReference) (was client.Object) {
		was = w.store.Lookup(old, client.ObjectKeyFromObject(old))
		w.edit(was, "", func(o client.Object) { o.SetOwnerReferences(refs) })
		return was
	}
	own(nil)
	clear(p.wrote)
	w.catchUp(p)
	p.running = &task{by: p, key: reconcile.Request{NamespacedName: client.ObjectKeyFromObject(w.deployments()[0])}, saw: p.observes()}
	for _, allowed := range []int{3, 0} {
		for n := 1; n <= 4; n++ {
			grown := fresh.DeepCopyObject().(*machinev1.MachineSet)
			grown.Spec.Replicas = ptr.To(int32(n))
			if why := p.plans(p.running, fresh, grown); (why == "") != (n == allowed) {
				t.Errorf("%d new machines are answered by %q, allowed are %d", n, why, allowed)
			}
		}
		was := own(owners)
		p.keeps(w.store, store.Call{Verb: "patch", Kind: w.store.KindOf(was), Object: was, Key: client.ObjectKeyFromObject(was)}, was)
	}
}

// TestMachineThatWasTakenOutIsSeenInTheCache: a deployment lists machines live by its selector. It reads from its cache a
// machine with other labels that was released since.
func TestMachineThatWasTakenOutIsSeenInTheCache(t *testing.T) {
	w := newWorld(1, Options{Dialect: OpenShift, Mutation: &Mutation{Setting: func(c *profile) {
		*c = profile{deployments: 1, strategy: rollout.OnDelete}
	}}})
	defer w.shutdown()
	p, old, fresh := twoSets(t, w)
	var out client.Object
	for _, m := range w.store.All(w.adapter.machine) {
		if metav1.IsControlledBy(m, old) {
			out = m
		}
	}
	w.edit(out, "", func(o client.Object) { o.SetLabels(nil) })
	clear(p.wrote)
	w.catchUp(p)
	p.running = &task{by: p, key: reconcile.Request{NamespacedName: client.ObjectKeyFromObject(w.deployments()[0])}, saw: p.observes()}
	w.edit(w.store.Lookup(out, client.ObjectKeyFromObject(out)), "", func(o client.Object) { o.SetOwnerReferences(nil) })
	p.listed(w.store.KindOf(out), w.store.All(w.adapter.machine))
	for n := 1; n <= 3; n++ {
		grown := fresh.DeepCopyObject().(*machinev1.MachineSet)
		grown.Spec.Replicas = ptr.To(int32(n))
		if why := p.plans(p.running, fresh, grown); why == "" {
			t.Errorf("%d new machines beside 3 old ones are as decided", n)
		}
	}
}
