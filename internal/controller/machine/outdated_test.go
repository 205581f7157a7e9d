package machine_test

import (
	"context"
	"errors"
	"testing"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
)

// fresh reads what the server has, whatever the cache shows.
type fresh struct{ *recording }

func (f fresh) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if f.unread != nil {
		return f.unread
	}
	stale := f.stale
	f.recording.stale = nil
	defer func() { f.recording.stale = stale }()
	return f.recording.Get(ctx, key, o, opts...)
}

func TestNoInstanceForAMachineThatIsGone(t *testing.T) {
	t.Run("openshift", func(t *testing.T) {
		outdated(t, func(t *testing.T) *rig[*machinev1.Machine] {
			return openshiftRig(t, held[*machinev1.Machine](openshiftFinalizer), kept[*machinev1.Machine])
		})
	})
	t.Run("gardener", func(t *testing.T) {
		outdated(t, func(t *testing.T) *rig[*v1alpha1.Machine] {
			return gardenerRig(t, held[*v1alpha1.Machine](gardenerFinalizer), kept[*v1alpha1.Machine])
		})
	})
}

// kept: an earlier process stored where the instance is asked for.
func kept[M client.Object](m M) {
	m.SetAnnotations(map[string]string{"millwright.dev/origin": `{"uid":"uid-1","cluster":"blue"}`})
}

// outdated: a process that has just taken over has a cache that still shows a
// machine, finalizer and all, which the one before has removed since.
func outdated[M client.Object](t *testing.T, rigOf func(t *testing.T) *rig[M]) {
	for name, r := range map[string]struct {
		reason string
		since  func(t *testing.T, g *rig[M], m M)
		made   int
		fails  bool
	}{
		"nothing happened": {"the cache is right", func(*testing.T, *rig[M], M) {}, 1, false},
		"it is gone": {
			"the process before took its finalizer off", func(t *testing.T, g *rig[M], m M) {
				g.delete()
				if err := g.control.Patch(t.Context(), m, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
					t.Fatal(err)
				}
			}, 0, false,
		},
		"it leaves": {"somebody deleted it", func(_ *testing.T, g *rig[M], _ M) { g.delete() }, 0, false},
		"it changed": {
			"what it says now may be that it has an instance", func(_ *testing.T, g *rig[M], _ M) {
				g.change(func(m M) { m.SetLabels(map[string]string{"a": "b"}) })
			}, 0, false,
		},
		"nobody can say": {"a failed answer is no answer", func(_ *testing.T, g *rig[M], _ M) { g.control.unread = errors.New("etcd is away") }, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := rigOf(t)
			before := g.read()
			r.since(t, g, before.DeepCopyObject().(M))
			g.control.stale = before
			res, err := g.try("m-1")
			if failed := err != nil; failed != r.fails {
				t.Fatalf("%s: %v", r.reason, err)
			}
			if made := len(g.cloud.instances); made != r.made {
				t.Errorf("%s: %d instances, want %d", r.reason, made, r.made)
			}
			if r.made == 0 && err == nil && res.RequeueAfter <= 0 {
				t.Errorf("nobody looks again: %+v", res)
			}
		})
	}
}
