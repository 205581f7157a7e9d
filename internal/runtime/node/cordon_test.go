package node

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/millwright-dev/millwright/internal/engine/nodemeta"
)

func intOrString(n int32) intstr.IntOrString { return intstr.FromInt32(n) }

var master = withLabel("node-role.kubernetes.io/control-plane", "")

func (w *world) claim(t *testing.T) string {
	t.Helper()
	var l coordinationv1.Lease
	w.must(t, client.IgnoreNotFound(w.Live.Get(t.Context(), client.ObjectKey{Namespace: ClaimNamespace, Name: ClaimName}, &l)))
	return ptr.Deref(l.Spec.HolderIdentity, "")
}

func (w *world) cordonIt(t *testing.T, c *Cluster, name string) (held string) {
	t.Helper()
	_, held, err := c.Cordon(t.Context(), w.read(t, name), nodemeta.Want{})
	w.must(t, err)
	return held
}

// Two processes list at the same moment, and both see no other node cordoned:
// only one of them may go on (C17 of the OpenShift notes).
func TestTwoProcessesDoNotDrainTwoControlPlaneNodes(t *testing.T) {
	for range 20 {
		var looked sync.WaitGroup
		looked.Add(2)
		w := newWorld(t, interceptor.Funcs{}, node("cp1", master), node("cp2", master))
		var once [2]sync.Once
		process := func(i int) *Cluster {
			// Each process that lists waits until the other one has read the claim and lists, too.
			c := interceptor.NewClient(w.Client.(client.WithWatch), interceptor.Funcs{
				List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
					once[i].Do(func() { looked.Done(); looked.Wait() })
					return c.List(ctx, l, opts...)
				},
			})
			return New(c, c, w.clock)
		}
		var held [2]string
		var both sync.WaitGroup
		for i, name := range []string{"cp1", "cp2"} {
			n, c := w.read(t, name), process(i)
			both.Go(func() {
				var err error
				if _, held[i], err = c.Cordon(t.Context(), n, nodemeta.Want{}); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		if (held[0] == "") == (held[1] == "") {
			t.Fatalf("held %q and %q", held[0], held[1])
		}
		if one, two := w.read(t, "cp1"), w.read(t, "cp2"); one.Spec.Unschedulable == two.Spec.Unschedulable {
			t.Fatalf("unschedulable: %v and %v", one.Spec.Unschedulable, two.Spec.Unschedulable)
		}
	}
}

func TestClaimOfControlPlaneNodes(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{}, node("cp1", master), node("cp2", master, cordoned), node("cp3", master, cordoned))
	if held := w.cordonIt(t, w.Cluster, "cp1"); !strings.HasPrefix(held, "control-plane node cp2, cp3 is unschedulable") {
		t.Errorf("nodes that somebody else cordoned count: %q", held)
	}
	if held := w.cordonIt(t, w.Cluster, "cp2"); held != "" || w.claim(t) != "cp2" {
		t.Errorf("one that is cordoned already may be drained: %q, claim %q", held, w.claim(t))
	}
	if held := w.cordonIt(t, w.Cluster, "cp3"); !strings.HasPrefix(held, "control-plane node cp2 is being drained") {
		t.Errorf("but not a second one: %q", held)
	}
	w.must(t, w.Client.Delete(t.Context(), w.read(t, "cp2")))
	if held := w.cordonIt(t, w.Cluster, "cp3"); held != "" || w.claim(t) != "cp3" {
		t.Errorf("a claim ends with its node: %q, claim %q", held, w.claim(t))
	}
	n := w.read(t, "cp3")
	n.Spec.Unschedulable = false
	w.must(t, w.Client.Update(t.Context(), n))
	if held := w.cordonIt(t, w.Cluster, "cp1"); held == "" {
		t.Error("a claim that was just created counts before its node is cordoned")
	}
	w.clock.SetTime(w.clock.Now().Add(2 * time.Minute))
	if held := w.cordonIt(t, w.Cluster, "cp1"); held != "" || w.claim(t) != "cp1" {
		t.Errorf("and ends when that is uncordoned: %q, claim %q", held, w.claim(t))
	}
}

// A process that slept between its claim and the cordon finds another node
// claimed when it wakes: it does not drain.
func TestAClaimThatWasLostIsNoticed(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{}, node("cp1", master), node("cp2", master))
	slept := false
	c := interceptor.NewClient(w.Client.(client.WithWatch), interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if _, ok := o.(*corev1.Node); ok && !slept {
				slept = true
				w.clock.SetTime(w.clock.Now().Add(time.Hour))
				if held := w.cordonIt(t, w.Cluster, "cp2"); held != "" {
					t.Errorf("the other process: %q", held)
				}
			}
			return c.Patch(ctx, o, p, opts...)
		},
	})
	if held := w.cordonIt(t, New(c, c, w.clock), "cp1"); !strings.HasPrefix(held, "control-plane node cp2 is being drained") {
		t.Errorf("held %q", held)
	}
}

func TestWorkersNeedNoClaim(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{}, node("w1"), node("w2"))
	for _, name := range []string{"w1", "w2"} {
		if held := w.cordonIt(t, w.Cluster, name); held != "" {
			t.Errorf("%s: %q", name, held)
		}
	}
	if w.claim(t) != "" || len(w.writes) != 2 {
		t.Errorf("claim %q, writes %v", w.claim(t), w.writes)
	}
}
