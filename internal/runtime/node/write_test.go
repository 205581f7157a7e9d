package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/millwright-dev/millwright/internal/engine/nodemeta"
)

func (w *world) read(t *testing.T, name string) *corev1.Node {
	t.Helper()
	var n corev1.Node
	if err := w.Live.Get(t.Context(), client.ObjectKey{Name: name}, &n); err != nil {
		t.Fatal(err)
	}
	return &n
}

func TestApplyWritesOnce(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{}, node("w1"))
	want := additive(nodemeta.Want{
		Labels: map[string]string{"a": "1"}, MarkAnnotations: map[string]string{MachineAnnotation: "ns/m1"},
		Taints: []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}, Finalizer: finalizer,
	})
	n, wrote, err := w.Apply(t.Context(), w.read(t, "w1"), want)
	if err != nil || !wrote || n.Labels["a"] != "1" || len(n.Finalizers) != 1 || len(n.Spec.Taints) != 1 || n.Annotations[MachineAnnotation] != "ns/m1" {
		t.Fatalf("got %+v, %v, %v", n, wrote, err)
	}
	if _, wrote, err = w.Apply(t.Context(), w.read(t, "w1"), want); wrote || err != nil {
		t.Errorf("applied a second time: %v, %v", wrote, err)
	}
	if !slices.Equal(w.writes, []string{"patch"}) {
		t.Errorf("writes: %v", w.writes)
	}
}

func TestApplyWritesCapacityFirst(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{}, node("w1", withCapacity("cpu", "4")))
	want := threeWay(nodemeta.Want{Capacity: corev1.ResourceList{"x.io/v": resource.MustParse("2")}})
	n, wrote, err := w.Apply(t.Context(), w.read(t, "w1"), want)
	if err != nil || !wrote {
		t.Fatal(wrote, err)
	}
	if q := n.Status.Capacity["x.io/v"]; q.String() != "2" || n.Annotations[capacityKey] != `{"x.io/v":"2"}` {
		t.Errorf("capacity %v, record %q", n.Status.Capacity, n.Annotations[capacityKey])
	}
	if !slices.Equal(w.writes, []string{"patch status", "patch"}) {
		t.Errorf("writes: %v", w.writes)
	}
}

// C6 and C18 of Gardener: a list is rewritten whole. What another writer put into
// it since it was read, finalizers too, must survive, and a conflict is planned
// anew.
func TestApplyKeepsWhatOthersAddMeanwhile(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{}, node("w1"))
	stale := w.read(t, "w1")
	theirs := w.read(t, "w1")
	theirs.Finalizers = []string{"example.com/theirs"}
	theirs.Spec.Taints = []corev1.Taint{{Key: "theirs", Effect: corev1.TaintEffectNoExecute}}
	if err := w.Client.Update(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	want := additive(nodemeta.Want{Finalizer: finalizer, Taints: []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}})
	if _, _, err := w.Apply(t.Context(), stale, want); err != nil {
		t.Fatal(err)
	}
	if n := w.read(t, "w1"); len(n.Finalizers) != 2 || len(n.Spec.Taints) != 2 {
		t.Errorf("finalizers %v, taints %v", n.Finalizers, n.Spec.Taints)
	}
}

// TestApplyAsksAnewWhoseItIs: a node that was marked as a machine's since the cache has
// seen it may not be what the plan is for any more.
func TestApplyAsksAnewWhoseItIs(t *testing.T) {
	for _, tt := range []struct {
		reason   string
		mark     func(*corev1.Node)
		conflict bool
	}{
		{"nobody marked it", func(*corev1.Node) {}, false},
		{"a machine of the other API did", withLabel(MachineNameLabel, "m1"), true},
		{"another machine did", withAnnotation(MachineAnnotation, "ns/m2"), true},
		{"another process did, for this machine", withAnnotation(MachineAnnotation, "ns/m1"), false},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			w := newWorld(t, interceptor.Funcs{}, node("w1"))
			stale, now := w.read(t, "w1"), w.read(t, "w1")
			withAnnotation("heard", "1")(now)
			tt.mark(now)
			if err := w.Client.Update(t.Context(), now); err != nil {
				t.Fatal(err)
			}
			want := additive(nodemeta.Want{
				MarkAnnotations: map[string]string{MachineAnnotation: "ns/m1"},
				Taints:          []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}},
			})
			_, wrote, err := w.Apply(t.Context(), stale, want)
			if apierrors.IsConflict(err) != tt.conflict || wrote == tt.conflict {
				t.Errorf("%s: wrote %v, %v", tt.reason, wrote, err)
			}
		})
	}
}

// A node that was deleted a moment ago, which the cache does not show yet, keeps the finalizer while it is
// cordoned; otherwise it would disappear before its pods.
func TestCordonKeepsTheFinalizerOfANodeThatIsDeletedMeanwhile(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{}, node("w1", func(n *corev1.Node) { n.Finalizers = []string{finalizer} }))
	stale := w.read(t, "w1")
	if err := w.Client.Delete(t.Context(), w.read(t, "w1")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.Apply(t.Context(), stale, nodemeta.Want{DropFinalizer: finalizer, Unschedulable: ptr.To(true)}); err != nil {
		t.Fatal(err)
	}
	if n := w.read(t, "w1"); !n.Spec.Unschedulable || !slices.Equal(n.Finalizers, []string{finalizer}) {
		t.Errorf("unschedulable %v, finalizers %v", n.Spec.Unschedulable, n.Finalizers)
	}
}

func TestApplyGivesUpOnEndlessConflicts(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{
		Patch: func(_ context.Context, _ client.WithWatch, o client.Object, _ client.Patch, _ ...client.PatchOption) error {
			return apierrors.NewConflict(corev1.Resource("nodes"), o.GetName(), fmt.Errorf("busy"))
		},
	}, node("w1"))
	if _, _, err := w.Apply(t.Context(), w.read(t, "w1"), nodemeta.Want{Finalizer: finalizer}); !apierrors.IsConflict(err) {
		t.Errorf("got %v", err)
	}
	if len(w.writes) != conflicts+1 {
		t.Errorf("%d writes", len(w.writes))
	}
}

func TestCordonOneControlPlaneNodeAtATime(t *testing.T) {
	master := withLabel("node-role.kubernetes.io/control-plane", "")
	old := withLabel("node-role.kubernetes.io/master", "")
	w := newWorld(t, interceptor.Funcs{}, node("cp1", master), node("cp2", master, old), node("cp3", old), node("w1"))
	for _, step := range []struct {
		name, held string
	}{
		{"cp2", ""},
		{"cp1", "control-plane node cp2 is being drained; control-plane nodes are drained one at a time"},
		{"cp3", "control-plane node cp2 is being drained; control-plane nodes are drained one at a time"},
		{"cp2", ""}, // again: it is the one
		{"w1", ""},  // a worker does not count
	} {
		n, held, err := w.Cordon(t.Context(), w.read(t, step.name), nodemeta.Want{})
		if err != nil || held != step.held || n.Spec.Unschedulable != (held == "") {
			t.Errorf("%s: held %q, unschedulable %v, %v", step.name, held, n.Spec.Unschedulable, err)
		}
	}
}

func TestCordonDropsTheFinalizerInTheSamePatch(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{}, node("w1", withFinalizers(finalizer)))
	n, _, err := w.Cordon(t.Context(), w.read(t, "w1"), nodemeta.Want{DropFinalizer: finalizer})
	if err != nil || !n.Spec.Unschedulable || len(n.Finalizers) != 0 || len(w.writes) != 1 {
		t.Errorf("got %+v after %v, %v", n, w.writes, err)
	}
}

func TestDelete(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{}, node("w1", withFinalizers(finalizer)))
	n := w.read(t, "w1")
	if err := w.Delete(t.Context(), n, finalizer); err != nil {
		t.Fatal(err)
	}
	if err := w.Live.Get(t.Context(), client.ObjectKeyFromObject(n), &corev1.Node{}); !apierrors.IsNotFound(err) {
		t.Errorf("the node is still there: %v", err)
	}
	if err := w.Delete(t.Context(), n, finalizer); err != nil {
		t.Errorf("deleting what is gone: %v", err)
	}
}

// TestDeleteMeansOneNode: a node that was created again under the same name is another one. The request has
// to name its UID: it may be created after the last read.
func TestDeleteMeansOneNode(t *testing.T) {
	var meant []*types.UID
	w := newWorld(t, interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			options := (&client.DeleteOptions{}).ApplyOptions(opts)
			if options.Preconditions != nil {
				meant = append(meant, options.Preconditions.UID)
			}
			return c.Delete(ctx, o, opts...)
		},
	}, node("w1"))
	if err := w.Delete(t.Context(), w.read(t, "w1"), ""); err != nil {
		t.Fatal(err)
	}
	if len(meant) != 1 || meant[0] == nil || *meant[0] != "uid-w1" {
		t.Errorf("deleted those with UIDs %v", meant)
	}
}

// TestSuccessorIsLeftAlone: what was planned for a node is not written to the one
// that came back under its name.
func TestSuccessorIsLeftAlone(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return apierrors.NewConflict(corev1.Resource("nodes"), "w1", errors.New("changed"))
		},
	}, node("w1"))
	before := w.read(t, "w1")
	before.UID = "uid-before"
	if _, _, err := w.Cordon(t.Context(), before, nodemeta.Want{}); !apierrors.IsNotFound(err) {
		t.Errorf("cordoned the successor: %v", err)
	}
	if err := w.Delete(t.Context(), before, finalizer); err != nil || slices.Contains(w.writes, "delete") {
		t.Errorf("deleted the successor: %v, %v", w.writes, err)
	}
}

// TestApplyProviderID: it is written once, over the version that was looked at, and never over another.
func TestApplyProviderID(t *testing.T) {
	for _, tt := range []struct {
		reason string
		// has is what the node shows as it is looked at, meanwhile what becomes of it before it is written.
		has       string
		meanwhile func(*corev1.Node)
		want      string
		conflict  bool
	}{
		{"it shows none", "", nil, "ours", false},
		{"it shows it", "ours", nil, "ours", false},
		{"it shows another", "theirs", nil, "theirs", false},
		{"somebody marked it since", "", withLabel("a", "1"), "ours", false},
		{"it was given it since", "", withProviderID("ours"), "ours", false},
		{"it was given another since", "", withProviderID("theirs"), "theirs", true},
		{"it reports another address since", "", func(n *corev1.Node) { n.Status.Addresses[0].Address = "10.0.0.9" }, "", true},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			w := newWorld(t, interceptor.Funcs{}, node("w1", withIPs("10.0.0.1"), withProviderID(tt.has)))
			seen := w.read(t, "w1")
			if tt.meanwhile != nil {
				now := w.read(t, "w1")
				tt.meanwhile(now)
				if err := w.Client.Update(t.Context(), now.DeepCopy()); err != nil {
					t.Fatal(err)
				}
				status := w.read(t, "w1")
				status.Status = now.Status
				if err := w.Client.Status().Update(t.Context(), status); err != nil {
					t.Fatal(err)
				}
			}
			_, _, err := w.Apply(t.Context(), seen, additive(nodemeta.Want{ProviderID: "ours"}))
			if apierrors.IsConflict(err) != tt.conflict || err != nil && !tt.conflict {
				t.Errorf("%s: %v", tt.reason, err)
			}
			if got := w.read(t, "w1").Spec.ProviderID; got != tt.want {
				t.Errorf("%s: it shows %q, want %q", tt.reason, got, tt.want)
			}
		})
	}
}

// TestApplyProviderIDToThisVeryNode: a node that has taken the name since is another's.
func TestApplyProviderIDToThisVeryNode(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{}, node("w1"))
	seen := w.read(t, "w1")
	if err := w.Client.Delete(t.Context(), w.read(t, "w1")); err != nil {
		t.Fatal(err)
	}
	if err := w.Client.Create(t.Context(), node("w1", func(n *corev1.Node) { n.UID = "another" })); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.Apply(t.Context(), seen, additive(nodemeta.Want{ProviderID: "ours"})); !apierrors.IsNotFound(err) {
		t.Errorf("applied to a namesake: %v", err)
	}
	if got := w.read(t, "w1").Spec.ProviderID; got != "" {
		t.Errorf("a namesake shows %q", got)
	}
}
