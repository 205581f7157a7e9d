package machineset_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/controller/machineset"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/gardener"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
	"github.com/millwright-dev/millwright/internal/engine/turn"
)

// TestTurnOfASet: a set that lacks machines goes before one that has too many, and that before one of which only counters change.
func TestTurnOfASet(t *testing.T) {
	eachAPI(t, turnStory[*machinev1.MachineSet], turnStory[*v1alpha1.MachineSet])
}

func turnStory[S client.Object](t *testing.T, g *guarded[S]) {
	expect := func(when string, want turn.Class) {
		t.Helper()
		g.sync(t, true, true)
		if got := g.controller.Turn(t.Context(), g.key()); got != want {
			t.Errorf("%s: class %d, want %d", when, got, want)
		}
	}
	expect("ten machines of ten", turn.Settled)
	g.scale(t, 12)
	expect("ten of twelve", turn.Asking)
	g.passes(t)
	expect("twelve of twelve", turn.Settled)
	g.scale(t, 11)
	expect("twelve of eleven", turn.Leaving)
	g.passes(t)
	expect("one is being deleted, and is not counted", turn.Settled)
	g.scale(t, 250)
	g.rest(t, g.controller)
	for _, m := range g.machinesOf(t, g.Client)[:40] {
		m.SetFinalizers([]string{"example.com/held"})
		if err := errors.Join(g.Client.Update(t.Context(), m), g.Client.Delete(t.Context(), m)); err != nil {
			t.Fatal(err)
		}
	}
	g.scale(t, 240)
	g.passes(t)
	g.scale(t, 245)
	g.clock.SetTime(g.clock.Now().Add(time.Minute))
	expect("more than are counted anew, of which those that are being deleted do not count", turn.Asking)
	if got := g.controller.Turn(t.Context(), types.NamespacedName{Namespace: namespace, Name: "no-set"}); got != turn.Settled {
		t.Errorf("one that does not exist: class %d", got)
	}
}

// listing counts the listings of a cache.
type listing struct {
	client.Client
	n int
}

func (l *listing) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	l.n++
	return l.Client.List(ctx, list, opts...)
}

// TestTurnOfALargeSetBeforeItsFirstPass: a cache that begins reports each machine, and each report asks for the turn of the set. The
// machines are not listed for each report: with 10,000 machines that takes a quarter of an hour.
func TestTurnOfALargeSetBeforeItsFirstPass(t *testing.T) {
	w := newWorld(openshiftAPI)
	w.declare(t, 250)
	w.rest(t, w.controller())
	w.sync(t, true, true)
	l := &listing{Client: w}
	r := machineset.New(w.lens, machineset.Options{
		Client: l, Live: w.Client, Clock: w.clock, Recorder: &events.FakeRecorder{}, Creates: replicas.Sequential, Deletes: replicas.Sequential,
	})
	for range 250 {
		if got := r.Turn(t.Context(), w.key()); got != turn.Settled {
			t.Fatalf("class %d, want %d", got, turn.Settled)
		}
	}
	if l.n != 1 {
		t.Errorf("the machines were listed %d times, want once", l.n)
	}
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	if r.Turn(t.Context(), w.key()); l.n != 2 {
		t.Errorf("a minute later, the machines were listed %d times, want twice", l.n)
	}
}

// copying counts how often a machine is made of a template.
type copying struct {
	dialect.Sets[*v1alpha1.MachineSet]
	n int
}

func (c *copying) NewMachine(s *v1alpha1.MachineSet, name string) client.Object {
	c.n++
	return c.Sets.NewMachine(s, name)
}

// TestSetsAreComparedOnceEach: after a start each set is compared with each other, and no template is copied more than once for that.
func TestSetsAreComparedOnceEach(t *testing.T) {
	const sets = 30
	lens := &copying{Sets: gardener.Sets{}}
	a := gardenerAPI
	a.lens = lens
	w := newWorld(a)
	w.declare(t, 0)
	for i := range sets {
		s := a.set(fmt.Sprintf("other-%d", i), 0)
		s.Namespace, s.UID, s.Generation = namespace, types.UID(s.Name), 1
		s.Finalizers = []string{lens.Traits().Finalizer}
		s.Spec.Selector.MatchLabels = map[string]string{"pool": s.Name}
		s.Spec.Template.Labels = s.Spec.Selector.MatchLabels
		w.others = append(w.others, s)
	}
	w.sync(t, true, true)
	r := w.controller()
	for i := range sets {
		if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: fmt.Sprintf("other-%d", i)}}); err != nil {
			t.Fatal(err)
		}
	}
	if lens.n > sets+1 {
		t.Errorf("%d copies of the templates of %d sets", lens.n, sets+1)
	}
}

// blind reads nodes, and fails.
type blind struct{ client.Reader }

func (blind) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("the cache of nodes has stopped")
}

func (blind) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("nodes are read one by one")
}

// TestNodesThatCannotBeRead: a set whose machines' nodes cannot be read does nothing: which machines go is decided by their nodes.
func TestNodesThatCannotBeRead(t *testing.T) {
	w := newWorld(openshiftAPI)
	w.declare(t, 3)
	w.rest(t, w.controller())
	for _, o := range w.machinesOf(t, w.Client) {
		m := o.(*machinev1.Machine)
		m.Status.NodeRef = &corev1.ObjectReference{Kind: "Node", Name: "node-" + m.Name}
		if err := w.Client.Status().Update(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	w.scale(t, 1)
	w.sync(t, true, true)
	r := machineset.New(w.lens, machineset.Options{
		Client: w, Live: w.Client, Nodes: blind{}, Clock: w.clock, Recorder: &events.FakeRecorder{}, Creates: replicas.Sequential, Deletes: replicas.Sequential,
	})
	if _, err := w.reconcile(t, r); err == nil {
		t.Error("the pass succeeds")
	}
	if n := w.replicas(t); n != 3 {
		t.Errorf("%d machines are left of 3", n)
	}
}
