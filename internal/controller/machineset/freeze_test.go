package machineset_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/controller/machineset"
	"github.com/millwright-dev/millwright/internal/controller/readyourwrites"
	"github.com/millwright-dev/millwright/internal/engine/limits"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
)

// crowded is a world whose set wants more machines than are alive, while there
// are far too many: those on their way out do not end.
type crowded struct {
	*world[*v1alpha1.MachineSet]
	recorder *events.FakeRecorder
}

func newCrowded(t *testing.T) *crowded {
	t.Helper()
	return &crowded{world: newWorld(gardenerAPI), recorder: events.NewFakeRecorder(1000)}
}

// guard is a fresh controller that looks at frozen sets every minute.
func (c *crowded) guard(o ...func(*machineset.Options)) *machineset.Reconciler[*v1alpha1.MachineSet] {
	n := 0
	options := machineset.Options{
		Client: c, Live: c.Client, Clock: c.clock, Recorder: c.recorder, FreezePeriod: time.Minute,
		Names:   func() string { n++; return fmt.Sprintf("n%04d", n+c.uids) },
		Creates: replicas.Sequential, Deletes: replicas.Sequential,
	}
	for _, change := range o {
		change(&options)
	}
	return machineset.New(c.lens, options)
}

// put places machines on the server; owned ones are the set's already, going
// ones never end by themselves.
func (c *crowded) put(t *testing.T, n int, owned, going bool) {
	t.Helper()
	for range n {
		c.uids++
		name := fmt.Sprintf("by-hand-%d", c.uids)
		m := &v1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, UID: types.UID(name), Labels: pool, Finalizers: []string{v1alpha1.FinalizerMachine},
		}}
		if owned {
			m.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(c.read(t), c.lens.Traits().Kind)}
		}
		if err := c.Client.Create(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		if going {
			if err := c.Client.Delete(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func (c *crowded) read(t *testing.T) *v1alpha1.MachineSet {
	t.Helper()
	s := c.lens.New()
	if err := c.Client.Get(t.Context(), c.key(), s); err != nil {
		t.Fatal(err)
	}
	return s
}

func (c *crowded) edit(t *testing.T, change func(*v1alpha1.MachineSet)) {
	t.Helper()
	s := c.read(t)
	change(s)
	if err := c.Client.Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
}

// pass makes one with a cache that keeps up, a minute later.
func (c *crowded) pass(t *testing.T, r *machineset.Reconciler[*v1alpha1.MachineSet]) time.Duration {
	t.Helper()
	c.sync(t, true, true)
	c.clock.SetTime(c.clock.Now().Add(time.Minute))
	res, err := c.reconcile(t, r)
	if err != nil {
		t.Fatal(err)
	}
	return res.RequeueAfter
}

func (c *crowded) frozen(t *testing.T) bool { return c.read(t).Labels["freeze"] == "True" }

// condition is the message of the condition Frozen; empty without one.
func (c *crowded) condition(t *testing.T) string {
	t.Helper()
	for _, cond := range c.read(t).Status.Conditions {
		if cond.Type == "Frozen" && cond.Status == "True" && cond.Reason == "OverShootingReplicaCount" {
			return cond.Message
		}
	}
	return ""
}

// heard are the freezes and thaws told since last asked.
func (c *crowded) heard() (out []string) {
	for _, e := range told(c.recorder) {
		if strings.Contains(e, "rozeMachineSet") {
			out = append(out, e)
		}
	}
	return out
}

const (
	froze10 = "Normal FrozeMachineSet 10 machines, and 10 are too many: no more are created until there are 9"
	froze12 = "Normal FrozeMachineSet 12 machines, and 10 are too many: no more are created until there are 9"
)

// Ten machines made by hand are adopted by a set of 2. It freezes in the very
// pass that sees them, goes on scaling down, makes none although it is to have
// more meanwhile, and thaws when enough have gone.
func TestOvershoot(t *testing.T) {
	c := newCrowded(t)
	c.declare(t, 2)
	c.put(t, 10, false, false)
	r := c.guard()
	c.pass(t, r)
	if !c.frozen(t) {
		t.Error("the pass that adopts them does not freeze")
	}
	want := []string{"Normal FrozeMachineSet 10 machines, and 6 are too many: no more are created until there are 5"}
	if got := c.heard(); !slices.Equal(got, want) {
		t.Errorf("told %q", got)
	}
	if n := c.replicas(t); n != 2 {
		t.Errorf("%d machines stay, want 2: scaling down goes on", n)
	}
	c.pass(t, r)
	if got := c.condition(t); got != "10 machines, and 6 are too many: no more are created until there are 5" {
		t.Errorf("the condition says %q", got)
	}
	c.scale(t, 4)
	c.pass(t, r)
	c.pass(t, r)
	if n := c.created; n != 0 {
		t.Errorf("%d machines made by a frozen set", n)
	}
	c.bury(t)
	c.pass(t, r)
	if got := c.heard(); !slices.Equal(got, []string{"Normal UnfrozeMachineSet 2 machines: more may be created again"}) {
		t.Errorf("told %q", got)
	}
	c.pass(t, r)
	if c.frozen(t) || c.condition(t) != "" || c.created != 2 {
		t.Errorf("frozen %v, condition %q, %d made; want thawed and 2 made", c.frozen(t), c.condition(t), c.created)
	}
}

// A frozen set at rest is looked at every period, and costs no write.
func TestFrozenSetAtRest(t *testing.T) {
	c := newCrowded(t)
	c.declare(t, 4)
	c.put(t, 4, true, false)
	c.put(t, 6, true, true)
	r := c.guard()
	for range 3 {
		c.pass(t, r)
	}
	before := c.read(t).ResourceVersion
	if after := c.pass(t, r); after != time.Minute {
		t.Errorf("looked at again after %s, want the period of a minute", after)
	}
	if now := c.read(t).ResourceVersion; now != before || !slices.Equal(c.heard(), []string{froze10}) {
		t.Errorf("version %s became %s at rest", before, now)
	}
	c.bury(t)
	c.pass(t, r)
	if after := c.pass(t, r); after != 0 {
		t.Errorf("thawed, and looked at again after %s", after)
	}
}

// What the cache hides counts as well before anything is made.
func TestFreezeByLiveListing(t *testing.T) {
	c := newCrowded(t)
	c.declare(t, 4)
	c.put(t, 2, true, false)
	c.sync(t, true, true)
	c.put(t, 8, true, true)
	if _, err := c.reconcile(t, c.guard()); err != nil {
		t.Fatal(err)
	}
	if !c.frozen(t) || c.created != 0 || !slices.Equal(c.heard(), []string{froze10}) {
		t.Errorf("frozen %v, %d made", c.frozen(t), c.created)
	}
}

// A cache that hides machines thaws no set: neither the cache of a fresh controller nor one that does not
// show the set's own creations yet.
func TestThawIsSure(t *testing.T) {
	freeze := func(n int32) func(*v1alpha1.MachineSet) {
		return func(s *v1alpha1.MachineSet) { s.Labels, s.Spec.Replicas = map[string]string{"freeze": "True"}, n }
	}
	t.Run("restart", func(t *testing.T) {
		c := newCrowded(t)
		c.declare(t, 4)
		c.edit(t, freeze(4))
		c.put(t, 10, true, true)
		c.sync(t, true, false)
		if _, err := c.reconcile(t, c.guard()); err != nil {
			t.Fatal(err)
		}
		if got := c.heard(); !c.frozen(t) || len(got) > 0 || c.created > 0 {
			t.Errorf("frozen %v, told %q, %d made", c.frozen(t), got, c.created)
		}
	})
	t.Run("own creations", func(t *testing.T) {
		c := newCrowded(t)
		c.declare(t, 10)
		r := c.guard()
		c.pass(t, r)
		c.edit(t, freeze(1))
		c.sync(t, true, false)
		for _, wait := range []time.Duration{readyourwrites.Patience / 2, readyourwrites.Patience} {
			c.clock.SetTime(c.clock.Now().Add(wait))
			if _, err := c.reconcile(t, r); err != nil {
				t.Fatal(err)
			}
			if got := c.heard(); !c.frozen(t) || len(got) > 0 {
				t.Errorf("after %s: frozen %v, told %q", wait, c.frozen(t), got)
			}
		}
		c.bury(t) // the live listing showed nine too many
		c.pass(t, r)
		if got := c.heard(); c.frozen(t) || len(got) != 1 {
			t.Errorf("frozen %v, told %q in the end", c.frozen(t), got)
		}
	})
}

// The annotation thaws a set of any size, for one pass, and is then removed. A set that is too large still
// freezes again after its creations.
func TestUnfreezeAnnotation(t *testing.T) {
	c := newCrowded(t)
	c.declare(t, 4)
	c.put(t, 2, true, false)
	c.put(t, 8, true, true)
	r := c.guard()
	c.pass(t, r)
	c.pass(t, r)
	if got := c.heard(); !c.frozen(t) || c.created != 0 || !slices.Equal(got, []string{froze10}) {
		t.Fatalf("frozen %v, %d made, told %q", c.frozen(t), c.created, got)
	}
	c.edit(t, func(s *v1alpha1.MachineSet) {
		s.Annotations = map[string]string{"safety.machine.sapcloud.io/unfreeze": "True"}
	})
	c.pass(t, r)
	_, asked := c.read(t).Annotations["safety.machine.sapcloud.io/unfreeze"]
	if got := c.heard(); c.frozen(t) || asked || c.created != 2 || !slices.Equal(got, []string{"Normal UnfrozeMachineSet 10 machines, thawed on request"}) {
		t.Errorf("frozen %v, asked %v, %d made, told %q", c.frozen(t), asked, c.created, got)
	}
	c.pass(t, r)
	if got := c.heard(); !c.frozen(t) || c.created != 2 || !slices.Equal(got, []string{froze12}) {
		t.Errorf("frozen %v, %d made, told %q", c.frozen(t), c.created, got)
	}
}

// The same before the first freeze, and after a restart: the request is not
// lost to the live listing that comes before the first creation.
func TestUnfreezeAnnotationInAdvance(t *testing.T) {
	c := newCrowded(t)
	c.declare(t, 4)
	c.edit(t, func(s *v1alpha1.MachineSet) {
		s.Annotations = map[string]string{"safety.machine.sapcloud.io/unfreeze": ""}
	})
	c.put(t, 2, true, false)
	c.put(t, 8, true, true)
	c.pass(t, c.guard())
	if got := c.heard(); c.frozen(t) || len(c.read(t).Annotations) != 0 || c.created != 2 || len(got) != 0 {
		t.Errorf("frozen %v, %d made, told %q", c.frozen(t), c.created, got)
	}
}

// A pass that thaws on request and finds machines to delete by a live listing
// does not take back in the end what it granted in the beginning.
func TestUnfreezeHoldsForThePass(t *testing.T) {
	c := newCrowded(t)
	c.declare(t, 4)
	c.put(t, 5, true, false) // one to delete, so that the listing was read once
	c.put(t, 6, true, true)
	r := c.guard()
	c.pass(t, r)
	c.pass(t, r)
	c.edit(t, func(s *v1alpha1.MachineSet) {
		s.Annotations = map[string]string{"safety.machine.sapcloud.io/unfreeze": "True"}
		s.Spec.Replicas = 2
	})
	c.heard()
	c.pass(t, r)
	if got := c.heard(); c.frozen(t) || c.replicas(t) != 2 || !slices.Equal(got, []string{"Normal UnfrozeMachineSet 11 machines, thawed on request"}) {
		t.Errorf("frozen %v, %d machines stay, told %q", c.frozen(t), c.replicas(t), got)
	}
}

// A crash between the writes of label and condition heals both ways.
func TestFreezeHeals(t *testing.T) {
	c := newCrowded(t)
	c.declare(t, 4)
	c.put(t, 4, true, false)
	c.put(t, 5, true, true) // between the thaw at 9 and the freeze at 10..
	c.put(t, 1, true, true) // ..and one more
	c.edit(t, func(s *v1alpha1.MachineSet) { s.Labels = map[string]string{"freeze": "True"} })
	c.pass(t, c.guard())
	if got := c.condition(t); !c.frozen(t) || !strings.HasPrefix(got, "10 machines, and 10 are too many") {
		t.Errorf("label without condition: the condition says %q", got)
	}
	c.edit(t, func(s *v1alpha1.MachineSet) { s.Labels = nil })
	c.bury(t)
	c.pass(t, c.guard())
	if got := c.condition(t); c.frozen(t) || got != "" {
		t.Errorf("condition without label: the condition says %q", got)
	}
	if got := c.heard(); len(got) != 0 {
		t.Errorf("what was frozen and thawed before is told: %q", got)
	}
}

// unlabelled refuses to write metadata of sets.
type unlabelled struct{ *crowded }

func (u unlabelled) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	if _, ok := o.(*v1alpha1.MachineSet); ok {
		return errors.New("admission refuses it")
	}
	return u.crowded.Patch(ctx, o, p, opts...)
}

// A set that should be frozen and cannot be makes no machines all the same.
func TestFreezeThatFails(t *testing.T) {
	c := newCrowded(t)
	c.declare(t, 4)
	c.edit(t, func(s *v1alpha1.MachineSet) { s.Finalizers = []string{v1alpha1.FinalizerMachine} })
	c.put(t, 10, true, true)
	c.sync(t, true, true)
	r := c.guard(func(o *machineset.Options) { o.Client = unlabelled{c} })
	for range 3 {
		if _, err := c.reconcile(t, r); err == nil || err.Error() != "freeze set: admission refuses it" {
			t.Fatalf("got %v", err)
		}
	}
	if got := c.heard(); c.created != 0 || len(got) != 0 {
		t.Errorf("%d made, told %q", c.created, got)
	}
}

// The deployment counts that controls the set, by its UID. One whose surge
// makes no sense counts without.
func TestFreezeByParent(t *testing.T) {
	rolling := func(surge string) v1alpha1.MachineDeploymentStrategy {
		return v1alpha1.MachineDeploymentStrategy{Type: "RollingUpdate", RollingUpdate: &v1alpha1.RollingUpdateMachineDeployment{
			UpdateConfiguration: v1alpha1.UpdateConfiguration{MaxSurge: ptr.To(intstr.Parse(surge))},
		}}
	}
	tests := map[string]struct {
		reason   string
		parent   *v1alpha1.MachineDeployment
		machines int
		frozen   bool
	}{
		"none there, 2x4+2":         {"gone, or never there", nil, 10, true},
		"none there, one fewer":     {"", nil, 9, false},
		"rolling, 4+1+2":            {"a quarter of 4", &v1alpha1.MachineDeployment{Spec: v1alpha1.MachineDeploymentSpec{Strategy: rolling("25%")}}, 7, true},
		"rolling, one fewer":        {"", &v1alpha1.MachineDeployment{Spec: v1alpha1.MachineDeploymentSpec{Strategy: rolling("25%")}}, 6, false},
		"recreate, 4+0+2":           {"no surge", &v1alpha1.MachineDeployment{Spec: v1alpha1.MachineDeploymentSpec{Strategy: v1alpha1.MachineDeploymentStrategy{Type: "Recreate"}}}, 6, true},
		"recreate, one fewer":       {"", &v1alpha1.MachineDeployment{Spec: v1alpha1.MachineDeploymentSpec{Strategy: v1alpha1.MachineDeploymentStrategy{Type: "Recreate"}}}, 5, false},
		"rolling, nonsense, 4+0+2":  {"no surge", &v1alpha1.MachineDeployment{Spec: v1alpha1.MachineDeploymentSpec{Strategy: rolling("many")}}, 6, true},
		"another of the name, 10":   {"made anew since", &v1alpha1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{UID: "another"}, Spec: v1alpha1.MachineDeploymentSpec{Strategy: rolling("1")}}, 9, false},
		"another of the name, 2x4+": {"made anew since", &v1alpha1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{UID: "another"}, Spec: v1alpha1.MachineDeploymentSpec{Strategy: rolling("1")}}, 10, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c := newCrowded(t)
			c.declare(t, 4)
			parent := &v1alpha1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "fleet", UID: "fleet-uid"}}
			c.edit(t, func(s *v1alpha1.MachineSet) {
				s.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(parent, v1alpha1.GroupVersion.WithKind("MachineDeployment"))}
			})
			if tc.parent != nil {
				parent.Spec = tc.parent.Spec
				parent.Spec.Replicas = 4
				if tc.parent.UID != "" {
					parent.UID = tc.parent.UID
				}
				c.others = append(c.others, parent)
			}
			c.put(t, 4, true, false)
			c.put(t, tc.machines-4, true, true)
			c.pass(t, c.guard())
			if got := c.frozen(t); got != tc.frozen {
				t.Errorf("%s: %d machines, frozen %v", tc.reason, tc.machines, got)
			}
		})
	}
}

// Margins are those of the options; sets on their way out, and those of an API
// group that knows no freeze, are left alone.
func TestFreezeAppliesWhereItShould(t *testing.T) {
	t.Run("own margins", func(t *testing.T) {
		for machines, frozen := range map[int]bool{14: false, 15: true} {
			c := newCrowded(t)
			c.declare(t, 4)
			c.put(t, machines, true, true)
			c.pass(t, c.guard(func(o *machineset.Options) { o.Margins = &limits.Margins{Up: 7, Down: 1} }))
			if got := c.frozen(t); got != frozen {
				t.Errorf("%d machines, frozen %v", machines, got)
			}
		}
	})
	t.Run("deleting", func(t *testing.T) {
		c := newCrowded(t)
		c.declare(t, 1)
		c.put(t, 10, true, false)
		c.edit(t, func(s *v1alpha1.MachineSet) { s.Finalizers = []string{v1alpha1.FinalizerMachine} })
		if err := c.Client.Delete(t.Context(), c.read(t)); err != nil {
			t.Fatal(err)
		}
		c.pass(t, c.guard())
		if got := c.heard(); c.frozen(t) || len(got) != 0 || c.replicas(t) != 0 {
			t.Errorf("frozen %v, told %q, %d machines stay", c.frozen(t), got, c.replicas(t))
		}
	})
	t.Run("machine.openshift.io", func(t *testing.T) {
		w := newWorld(openshiftAPI)
		w.declare(t, 20)
		r, recorder := w.telling(t)
		w.sync(t, true, true)
		if _, err := w.reconcile(t, r); err != nil {
			t.Fatal(err)
		}
		w.scale(t, 1)
		w.rest(t, r)
		for _, e := range told(recorder) {
			if strings.Contains(e, "roze") {
				t.Errorf("told %q", e)
			}
		}
	})
}

// A set that froze and is then deleted may be there for long, held by machines that
// otherSets hold. It thaws like others, and its deployment is not frozen on its account.
func TestFreezeEndsWhileDeleting(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		left   int
		want   []string
	}{
		"few are left":  {"3 are one fewer than freeze a set of 1", 3, []string{"Normal UnfrozeMachineSet 3 machines: more may be created again"}},
		"many are left": {"4 freeze it", 4, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCrowded(t)
			c.declare(t, 1)
			c.put(t, tc.left, true, true)
			c.edit(t, func(s *v1alpha1.MachineSet) {
				s.Finalizers = []string{v1alpha1.FinalizerMachine}
				s.Labels = map[string]string{"freeze": "True"}
				s.Status.Conditions = []v1alpha1.MachineSetCondition{{Type: "Frozen", Status: "True", Reason: "OverShootingReplicaCount", Message: "10 machines"}}
			})
			if err := c.Client.Delete(t.Context(), c.read(t)); err != nil {
				t.Fatal(err)
			}
			r := c.guard()
			c.pass(t, r)
			after := c.pass(t, r)
			if thawed := len(tc.want) > 0; c.frozen(t) == thawed || (c.condition(t) == "") != thawed || after > 0 == thawed {
				t.Errorf("%s: frozen %v, condition %q, again after %v", tc.reason, c.frozen(t), c.condition(t), after)
			}
			if got := c.heard(); !slices.Equal(got, tc.want) {
				t.Errorf("%s: told %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
