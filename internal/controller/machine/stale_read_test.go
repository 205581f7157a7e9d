package machine_test

import (
	"context"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/provider"
)

// logged makes a pass, and returns what it took and how many lines it logged.
func (g *rig[M]) logged(lines *int) reconcile.Result {
	g.Helper()
	l := funcr.New(func(string, string) { *lines++ }, funcr.Options{})
	res, err := g.r.Reconcile(log.IntoContext(g.Context(), l), reconcile.Request{NamespacedName: client.ObjectKey{Namespace: ns, Name: "m-1"}})
	if err != nil {
		g.Fatal(err)
	}
	return res
}

// TestServerGoesBack: etcd was restored, and has the machine as it was before our
// last write. It is deleted then, and goes all the same, within seconds.
func TestServerGoesBack(t *testing.T) {
	g := openshiftRig(t)
	g.settle()
	back := &versions{recording: g.control, version: "1"}
	g.r.Client, g.r.Live = back, back
	var waited time.Duration
	passes, lines, calls := 0, 0, len(g.cloud.calls)
	for ; len(g.cloud.calls) == calls && passes < 50; passes++ {
		res := g.logged(&lines)
		waited += res.RequeueAfter
		g.clock.Step(res.RequeueAfter)
	}
	if len(g.cloud.calls) == calls || waited > 15*time.Second || passes > 20 || lines != 1 {
		t.Errorf("%d calls, %d passes in %v, %d lines: the machine stands still, or nobody hears of it", len(g.cloud.calls)-calls, passes, waited, lines)
	}
}

// versions answers reads with an old resource version.
type versions struct {
	*recording
	version string
}

func (v *versions) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	err := v.recording.Get(ctx, key, o, opts...)
	if _, ok := o.(*machinev1.Machine); ok {
		o.SetResourceVersion(v.version)
	}
	return err
}

// TestCacheHasStopped: a machine goes on, past a cache that does not catch up with
// what was written, and does not ask for it twenty times a second.
func TestCacheHasStopped(t *testing.T) {
	g := openshiftRig(t)
	g.pass()
	g.control.stale = g.read()
	g.joins()
	g.change(func(m *machinev1.Machine) { m.Labels["a"] = "b" })
	g.control.stale.SetResourceVersion("1")
	passes, began := 0, g.clock.Now()
	for ; g.clock.Since(began) < 20*time.Second; passes++ {
		g.clock.Step(max(g.pass().RequeueAfter, time.Second/20))
		if ptr.Deref(g.liveMachine().Status.Phase, "") == "Running" {
			break
		}
	}
	if m := g.liveMachine(); ptr.Deref(m.Status.Phase, "") != "Running" || passes > 20 {
		t.Errorf("phase %q after %d passes", ptr.Deref(m.Status.Phase, ""), passes)
	}
}

func (g *rig[M]) liveMachine() *machinev1.Machine {
	g.Helper()
	m := &machinev1.Machine{}
	if err := (fresh{g.control}).Get(g.Context(), client.ObjectKey{Namespace: ns, Name: "m-1"}, m); err != nil {
		g.Fatal(err)
	}
	return m
}

// TestReleasedIsThereAgain: a machine that was let go is restored with its
// finalizer, under its UID and not deleted. It is looked after again.
func TestReleasedIsThereAgain(t *testing.T) {
	g := openshiftRig(t)
	g.settle()
	restored := g.read()
	g.delete()
	g.pass()
	if !g.gone() {
		t.Fatal("not gone")
	}
	g.forgetNodeIfThere()
	restored.ResourceVersion = ""
	if err := g.control.WithWatch.Create(t.Context(), restored); err != nil {
		t.Fatal(err)
	}
	finds := g.cloud.count("Find")
	for range 20 {
		g.clock.Step(max(g.pass().RequeueAfter, time.Second/20))
	}
	if g.cloud.count("Find") == finds {
		t.Error("nobody looks after it")
	}
}

func (g *rig[M]) forgetNodeIfThere() {
	g.Helper()
	if g.count(&corev1.NodeList{}) > 0 {
		g.forgetNode()
	}
}

// TestNoInstanceBeforeItsFinalizer: world 100000898 of both APIs. The API server goes back to
// when the machine had no finalizer, and the cache shows that, which looks like a cache that has
// not seen our last write. No instance is asked for until the finalizer is there again.
func TestNoInstanceBeforeItsFinalizer(t *testing.T) {
	g := openshiftRig(t)
	before := g.read()
	g.cloud.createErr = provider.Errorf(provider.Denied, "not allowed")
	g.pass()
	g.r.Client, g.r.Live = wentBack{g.control, before}, wentBack{g.control, before}
	g.clock.Step(10 * time.Minute)
	calls := g.cloud.count("Create")
	if res := g.pass(); g.cloud.count("Create") != calls || res.RequeueAfter == 0 {
		t.Errorf("an instance is asked for without a finalizer; again after %v", res.RequeueAfter)
	}
}

// wentBack shows a machine as it was.
type wentBack struct {
	*recording
	was *machinev1.Machine
}

func (w wentBack) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if m, ok := o.(*machinev1.Machine); ok {
		w.was.DeepCopyInto(m)
		return nil
	}
	return w.recording.Get(ctx, key, o, opts...)
}
