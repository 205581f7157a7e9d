package machine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect/gardener"
	"github.com/millwright-dev/millwright/provider"
)

// outage has three machines of one deployment and one of another, all of them
// lost for exactly as long as that is borne, with silent nodes.
func outage(t *testing.T) *rig[*v1alpha1.Machine] {
	objects := []client.Object{machineClass(), userData("x")}
	for i, deployment := range []string{"pool", "pool", "pool", "other"} {
		m := gardenerMachine(held[*v1alpha1.Machine](gardenerFinalizer))
		m.Name, m.UID, m.Labels = fmt.Sprintf("m-%d", i), types.UID(fmt.Sprintf("uid-%d", i)), map[string]string{"name": deployment, "node": fmt.Sprintf("node-%d", i)}
		m.Spec.ProviderID = fmt.Sprintf("memory:///i-%d", i)
		m.OwnerReferences = []metav1.OwnerReference{{APIVersion: "machine.sapcloud.io/v1alpha1", Kind: "MachineSet", Name: "set", UID: "set-1", Controller: ptr.To(true)}}
		m.Status.CurrentStatus = v1alpha1.CurrentStatus{Phase: "Unknown", LastUpdateTime: metav1.NewTime(start.Add(-10 * time.Minute))}
		objects = append(objects, m)
	}
	g := newRig[*v1alpha1.Machine](t, gardener.Machines{Defaults: gardener.StandardDefaults()}, objects...)
	for i := range 4 {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", i)}}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}
		if err := g.target.WithWatch.Create(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		g.cloud.instances = append(g.cloud.instances, provider.Instance{
			ID: fmt.Sprint(i), UID: fmt.Sprintf("uid-%d", i), ProviderID: fmt.Sprintf("memory:///i-%d", i), State: provider.Running,
		})
	}
	return g
}

func (g *rig[M]) phases(t *testing.T) (out []v1alpha1.MachinePhase) {
	t.Helper()
	var list v1alpha1.MachineList
	if err := g.control.List(t.Context(), &list, client.InNamespace(ns)); err != nil {
		t.Fatal(err)
	}
	for _, m := range list.Items {
		out = append(out, m.Status.CurrentStatus.Phase)
	}
	return out
}

func (g *rig[M]) passAll(t *testing.T) {
	t.Helper()
	for i := range 4 {
		if _, err := g.try(fmt.Sprintf("m-%d", i)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOneOfAGroup: an outage that makes all machines of a deployment unhealthy
// gets one of them replaced at a time.
func TestOneOfAGroup(t *testing.T) {
	g := outage(t)
	for range 3 {
		g.passAll(t)
		g.clock.Step(20 * time.Second)
	}
	if got := fmt.Sprint(g.phases(t)); got != "[Failed Unknown Unknown Failed]" {
		t.Errorf("phases %s, want one of each deployment Failed", got)
	}
}

// TestNobodyWaitsForAnOrphan: a failed machine that no set replaces stays
// failed, and must not keep the others of its group from being replaced.
func TestNobodyWaitsForAnOrphan(t *testing.T) {
	g := outage(t)
	orphan := &v1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "m-0"}}
	free := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"ownerReferences":null}}`))
	if err := g.control.WithWatch.Patch(t.Context(), orphan, free); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		g.passAll(t)
		g.clock.Step(20 * time.Second)
	}
	if got := fmt.Sprint(g.phases(t)); got != "[Failed Failed Unknown Failed]" {
		t.Errorf("phases %s, want the orphan and one of each deployment Failed", got)
	}
}

// TestPermitOutlastsTheCache: the decision reads a cache that need not show yet
// what was just done.
func TestPermitOutlastsTheCache(t *testing.T) {
	g := outage(t)
	if _, err := g.try("m-0"); err != nil {
		t.Fatal(err)
	}
	// The cache does not know yet that m-0 has Failed.
	var m v1alpha1.Machine
	if err := g.control.WithWatch.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "m-0"}, &m); err != nil {
		t.Fatal(err)
	}
	before := m.DeepCopy()
	m.Status.CurrentStatus.Phase = "Unknown"
	if err := g.control.WithWatch.Status().Patch(t.Context(), &m, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	if _, err := g.try("m-1"); err != nil {
		t.Fatal(err)
	}
	if got := g.phases(t)[1]; got != "Unknown" {
		t.Errorf("m-1 is %s: the permit did not outlast the cache", got)
	}
}

// TestUpdateCountsBeforeTheCache: while the node of one machine is away for an update in place, no other
// machine of its group fails, although the cache does not show yet that the update has begun. Gardener
// world 100312347.
func TestUpdateCountsBeforeTheCache(t *testing.T) {
	g := outage(t)
	var n corev1.Node
	if err := g.target.Get(t.Context(), client.ObjectKey{Name: "node-1"}, &n); err != nil {
		t.Fatal(err)
	}
	n.Status.Conditions[0].Status = corev1.ConditionTrue
	if err := g.target.SubResource("status").Patch(t.Context(), &n, client.Merge); err != nil {
		t.Fatal(err)
	}
	if _, err := g.try("m-1"); err != nil {
		t.Fatal(err)
	}
	shown := &v1alpha1.MachineList{}
	if err := g.control.List(t.Context(), shown, client.InNamespace(ns), client.MatchingLabels{"name": "pool"}); err != nil {
		t.Fatal(err)
	}
	g.label(candidateLabel, "true", selectedLabel, "true")
	if _, err := g.try("m-1"); err != nil {
		t.Fatal(err)
	}
	g.control.listed = shown
	if _, err := g.try("m-0"); err != nil {
		t.Fatal(err)
	}
	g.control.listed = nil
	if got := fmt.Sprint(g.phases(t)); got != "[Unknown InPlaceUpdating Unknown Unknown]" {
		t.Errorf("phases %s, want none given up beside the update", got)
	}
}

// TestNobodyIsGivenUpUncounted: as long as the state of the other machines of a group is unknown, none of
// them fails.
func TestNobodyIsGivenUpUncounted(t *testing.T) {
	g := outage(t)
	g.control.unlisted = errors.New("etcd is away")
	g.passAll(t)
	g.control.unlisted = nil
	if got := fmt.Sprint(g.phases(t)); got != "[Unknown Unknown Unknown Unknown]" {
		t.Errorf("phases %s, want none given up", got)
	}
	g.passAll(t)
	if got := fmt.Sprint(g.phases(t)); got != "[Failed Unknown Unknown Failed]" {
		t.Errorf("phases %s, want one of each deployment Failed", got)
	}
}

// TestRecoveredNeedsNoPermit: a machine whose node is healthy again does not
// keep the others from being replaced.
func TestRecoveredNeedsNoPermit(t *testing.T) {
	g := outage(t)
	var n corev1.Node
	if err := g.target.Get(t.Context(), client.ObjectKey{Name: "node-0"}, &n); err != nil {
		t.Fatal(err)
	}
	before := n.DeepCopy()
	n.Status.Conditions[0].Status = corev1.ConditionTrue
	if err := g.target.WithWatch.Status().Patch(t.Context(), &n, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	g.passAll(t)
	if got := fmt.Sprint(g.phases(t)); got != "[Running Failed Unknown Failed]" {
		t.Errorf("phases %s, want the first Running and the second given up", got)
	}
}

// TestWaitingForAGroupIsCheap: while one machine of a group is being replaced, the others ask for that one, and the group is not listed again; once
// it is out of the way, it is.
func TestWaitingForAGroupIsCheap(t *testing.T) {
	for name, leave := range map[string]func(g *rig[*v1alpha1.Machine], failed *v1alpha1.Machine) error{
		"deleted": func(g *rig[*v1alpha1.Machine], failed *v1alpha1.Machine) error {
			release := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
			return errors.Join(g.control.Patch(g.Context(), failed, release), g.control.Delete(g.Context(), failed))
		},
		"taken out of its group": func(g *rig[*v1alpha1.Machine], failed *v1alpha1.Machine) error {
			return g.control.Patch(g.Context(), failed, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"name":"elsewhere"}}}`)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := outage(t)
			g.passAll(t)
			g.clock.Step(20 * time.Second) // the permit is over, and the first has failed
			g.passAll(t)
			before := g.control.selections
			for range 5 {
				g.passAll(t)
				g.clock.Step(20 * time.Second)
			}
			if n := g.control.selections - before; n > 0 {
				t.Errorf("the group was listed %d times while its first machine is being replaced", n)
			}
			if err := leave(g, &v1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "m-0"}}); err != nil {
				t.Fatal(err)
			}
			for i := 1; i < 4; i++ {
				if _, err := g.try(fmt.Sprintf("m-%d", i)); err != nil {
					t.Fatal(err)
				}
			}
			if got := fmt.Sprint(g.phases(t)); !strings.HasSuffix(got, "Failed Unknown Failed]") {
				t.Errorf("phases %s, want the next one of the group Failed", got)
			}
		})
	}
}
