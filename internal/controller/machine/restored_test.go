package machine_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
)

// TestWantedAgain: a cache shows that a machine was deleted, and the API server has
// gone back to before that, or knows better otherwise. The instance stays as long as
// the API server itself does not say that it is to go.
func TestWantedAgain(t *testing.T) {
	t.Run("openshift", func(t *testing.T) {
		wantedAgain(t, func(t *testing.T) *rig[*machinev1.Machine] { return openshiftRig(t) })
	})
	t.Run("gardener", func(t *testing.T) {
		wantedAgain(t, func(t *testing.T) *rig[*v1alpha1.Machine] { return gardenerRig(t) })
	})
}

func wantedAgain[M client.Object](t *testing.T, build func(*testing.T) *rig[M]) {
	for name, tc := range map[string]struct {
		reason string
		// server makes the API server what it is, given the machine before it was deleted.
		server  func(g *rig[M], before M)
		removed bool
	}{
		"deleted indeed":  {"the cache is right", func(*rig[M], M) {}, true},
		"went back":       {"nobody has deleted it by now", func(g *rig[M], before M) { g.puts(before) }, false},
		"of another UID":  {"it was restored as another object", func(g *rig[M], before M) { before.SetUID("uid-2"); g.puts(before) }, false},
		"gone by force":   {"somebody has moved it elsewhere, or let go of it", func(g *rig[M], _ M) { g.puts(*new(M)) }, false},
		"out of reach":    {"nobody says so", func(g *rig[M], _ M) { g.control.unread = errors.New("no route to host") }, false},
		"changed besides": {"it goes by all that the API server says", func(g *rig[M], _ M) { g.change(func(m M) { m.SetLabels(map[string]string{"a": "b"}) }) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := build(t)
			g.settle()
			before := g.read()
			g.delete()
			g.control.stale = g.read()
			tc.server(g, before)
			for range 5 {
				res, _ := g.try("m-1")
				g.clock.Step(max(min(res.RequeueAfter, time.Second/2), time.Second/20))
			}
			if removed := g.cloud.count("Delete") > 0; removed != tc.removed {
				t.Errorf("%s: the instance was removed: %v", tc.reason, removed)
			}
		})
	}
}

// puts makes the API server have the machine as it is given, or none.
func (g *rig[M]) puts(m M) {
	g.Helper()
	stale := g.control.stale
	defer func() { g.control.stale = stale }()
	g.control.stale = nil
	g.change(func(m M) { m.SetFinalizers(nil) })
	if any(m) == any(*new(M)) {
		return
	}
	m.SetResourceVersion("")
	if err := g.control.WithWatch.Create(g.Context(), m); err != nil {
		g.Fatal(err)
	}
}

// TestHookThatTheCacheHides: what the API server says is acted on, and not what the cache does.
func TestHookThatTheCacheHides(t *testing.T) {
	g := openshiftRig(t)
	g.settle()
	g.delete()
	g.control.stale = g.read()
	g.change(func(m *machinev1.Machine) {
		m.Spec.LifecycleHooks.PreTerminate = []machinev1.LifecycleHook{{Name: "Backup", Owner: "backup-operator"}}
	})
	for range 5 {
		g.clock.Step(max(g.pass().RequeueAfter, time.Second))
	}
	if g.cloud.count("Delete") > 0 {
		t.Error("the instance was removed, and its machine has a hook")
	}
	g.control.stale = nil
	g.change(func(m *machinev1.Machine) { m.Spec.LifecycleHooks.PreTerminate = nil })
	g.pass()
	if g.cloud.count("Delete") == 0 {
		t.Error("the instance stays, and its machine has no hook any more")
	}
}

// TestAnswersAreWhole: what is read of a machine that was written is what the API server has,
// and nothing that the answer does not mention.
func TestAnswersAreWhole(t *testing.T) {
	g := openshiftRig(t, held[*machinev1.Machine](openshiftFinalizer))
	before := g.read()
	g.control.refuse = func(w string) error {
		if w == "patch Machine/status!" {
			return errors.New("timeout")
		}
		return nil
	}
	g.r.Client = merging{g.control}
	if _, err := g.try("m-1"); err == nil {
		t.Fatal("the status was to be refused")
	}
	g.control.refuse, g.control.stale = nil, before
	g.joins()
	g.pass()
	if m := g.liveMachine(); ptr.Deref(m.Status.Phase, "") != "Running" || m.Status.NodeRef == nil || len(m.Status.Addresses) == 0 {
		t.Errorf("status %+v: what was not stored counts as stored", m.Status)
	}
}

// merging decodes answers as a client of a real server does: what an answer does not mention
// stays as it was.
type merging struct{ *recording }

func (c merging) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	answer := o.DeepCopyObject().(client.Object)
	if err := c.recording.Patch(ctx, answer, p, opts...); err != nil {
		return err
	}
	raw, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, o)
}
