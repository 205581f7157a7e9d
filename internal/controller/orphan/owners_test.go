package orphan_test

import (
	"context"
	"strings"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/internal/engine/orphan"
	"github.com/millwright-dev/millwright/internal/runtime/node"
	"github.com/millwright-dev/millwright/provider"
)

// approve writes the annotation of approvals on a class.
func (w *world) approve(value string) {
	w.Helper()
	c := machineClass("pool-b")
	if err := w.api.Get(w.Context(), client.ObjectKeyFromObject(c), c); err != nil {
		w.Fatal(err)
	}
	c.Annotations = map[string]string{orphan.ApproveAnnotation: value}
	if err := w.api.Update(w.Context(), c); err != nil {
		w.Fatal(err)
	}
}

// Another process serves the namespace "other", whose machine has the same cluster
// label: one infrastructure ID, one account.
func TestOtherNamespace(t *testing.T) {
	w := newWorld(t)
	id := w.makeFor(us, provider.Ref{UID: "uid-x1", Namespace: "other", Name: "x-1"})
	m := w.openshiftMachine("x-1", id)
	m.Namespace = "other"
	w.create(m)
	w.survives(id, "its machine is in a namespace that this process does not see")
	if told := w.told(); len(told) > 0 {
		t.Errorf("told %q of what is in order", told)
	}
	// An orphan of ours beside it goes all the same.
	w.goes(w.plant("uid-lost", "lost"), "it has no machine")
	if !w.exists(id) {
		t.Error("the other's went too")
	}
}

// A second cluster shares account and ownership scope: it has the same
// infrastructure ID, or was restored from a backup of this one.
func TestOtherControlPlane(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, owner, says string
	}{
		"another's": {"it has machines of its own", them, "it was created by another control plane, " + them},
		"nobody's":  {"an older version made it", "", "it does not say which control plane created it"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			id := w.makeFor(tc.owner, provider.Ref{UID: "uid-x1", Namespace: ns, Name: "x-1"})
			w.approve("99")
			w.survives(id, tc.reason)
			told := strings.Join(w.told(), "\n")
			allow := `annotation millwright.dev/approve-orphan-removal: "example://` + id + `" allows its removal`
			if !strings.Contains(told, "Warning OrphanNotDeleted instance "+id) || !strings.Contains(told, tc.says) || !strings.Contains(told, allow) || strings.Count(told, id+" (") != 1 {
				t.Errorf("told %q", told)
			}
			if w.metric("millwright_orphans", "unowned") != 1 || w.metric("millwright_orphans", "held") != 0 {
				t.Error("not counted as one that nobody here owns")
			}
			w.approve("example://" + id)
			w.goes(id, "somebody has named it")
		})
	}
}

// Machines that another implementation, or an older version, has made instances
// for keep them.
func TestTakenOver(t *testing.T) {
	w := newWorld(t)
	id := w.makeFor("", provider.Ref{UID: "uid-gnew", Name: "g-new"})
	w.create(w.gardenerMachine("g-new", id))
	w.survives(id, "its machine has it recorded")
	if told := w.told(); len(told) > 0 {
		t.Errorf("told %q", told)
	}
}

// An instance without a machine's UID belongs to another implementation if an API says so, which is
// reported; otherwise it belongs to a user.
func TestUntagged(t *testing.T) {
	w := newWorld(t)
	w.survives(w.plant("", "bastion"), "clusters of one of the APIs have instances that people made")

	w = newWorld(t)
	w.delete(machineSet("set"))
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
	w.survives(w.plant("", "shoot--x-worker-1"), "another implementation made it, and may look after it")
	if told := strings.Join(w.told(), "\n"); !strings.Contains(told, "OrphanNotDeleted") || !strings.Contains(told, "it does not say which control plane created it") {
		t.Errorf("told %q", told)
	}
}

// Where the process may not read its identity it removes nothing, and says why.
func TestIdentityUnknown(t *testing.T) {
	w := newWorld(t)
	w.policy.Owner, w.policy.Lacks = "", "namespaces kube-system is forbidden"
	w.restart()
	w.survives(w.plant("uid-lost", "lost"), "who we are is not known")
	told := strings.Join(w.told(), "\n")
	if !strings.Contains(told, "or of a ConfigMap of its own, is unknown") {
		t.Errorf("told %q", told)
	}
	if strings.Count(told, "OrphansNotCollected") != 1 || !strings.Contains(told, "only reported: the identity of this control plane is not known: namespaces kube-system is forbidden") {
		t.Errorf("want it to be told once on the class, and what lacks, even before there is an orphan: told %q", told)
	}
	if w.metric("millwright_orphan_collection_without_identity", "") != 1 {
		t.Error("the gauge does not say it")
	}
	if w.calls["delete"] > 0 || w.metric("millwright_orphans", "unowned") != 1 {
		t.Error("something was removed, or is not counted")
	}
}

// Two believed listings, an hour apart, are no grace.
func TestOutageIsNoGrace(t *testing.T) {
	w := newWorld(t)
	id := w.plant("uid-lost", "lost")
	w.c.Pass(t.Context())
	w.clock.Step(time.Hour)
	w.c.Pass(t.Context())
	if !w.exists(id) || w.calls["delete"] > 0 {
		t.Error("removed when it was seen for the second time")
	}
	w.clock.Step(15 * time.Minute)
	w.goes(id, "it was watched since")
}

// target is a cluster with one ready node of the instance, and a pod on it that a budget protects as long
// as it is set to.
func (w *world) target(n *corev1.Node) (c client.Client, guarded *bool) {
	w.Helper()
	guarded = new(bool)
	b := fake.NewClientBuilder().WithObjects(n, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web", UID: "pod-1"}, Spec: corev1.PodSpec{NodeName: n.Name},
	}).WithInterceptorFuncs(interceptor.Funcs{
		SubResourceCreate: func(ctx context.Context, c client.Client, sub string, o, body client.Object, opts ...client.SubResourceCreateOption) error {
			if *guarded {
				refusal := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
				refusal.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: policyv1.DisruptionBudgetCause}}
				return refusal
			}
			return c.SubResource(sub).Create(ctx, o, body, opts...)
		},
	})
	for _, i := range node.Indexes() {
		b = b.WithIndex(i.Object, i.Name, i.Extract)
	}
	c = b.Build()
	w.joined = node.New(c, c, w.clock)
	w.restart()
	return c, guarded
}

// An orphan whose node is ready is reported and left alone: its pods are in use. It is removed once a user
// names it, after its drain, and no earlier than budgets allow.
func TestReadyOrphanIsDrained(t *testing.T) {
	for name, id := range map[string]string{"by provider ID": "example://", "by name": ""} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			i := w.plant("uid-lost", "lost")
			n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "lost", UID: "node-1"}}
			if id != "" {
				n.Name, n.Spec.ProviderID = "ip-10-0-0-1", id+i
			}
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
			api, guarded := w.target(n)
			w.survives(i, "its node is ready")
			if told := strings.Join(w.told(), "\n"); !strings.Contains(told, "OrphanNotDeleted") || !strings.Contains(told, "its node "+n.Name+" is Ready") {
				t.Errorf("told %q", told)
			}
			w.approve("99")
			w.survives(i, "a number says nothing of this one")
			var pods corev1.PodList
			get := func() {
				t.Helper()
				if err := api.Get(t.Context(), client.ObjectKeyFromObject(n), n); err != nil {
					t.Fatal(err)
				}
				if err := api.List(t.Context(), &pods); err != nil {
					t.Fatal(err)
				}
			}
			if get(); n.Spec.Unschedulable || len(pods.Items) != 1 {
				t.Error("its node was touched")
			}

			*guarded = true
			w.approve("example://" + i)
			w.survives(i, "a budget protects its pod")
			if get(); !n.Spec.Unschedulable || len(pods.Items) != 1 {
				t.Errorf("unschedulable %t, %d pods", n.Spec.Unschedulable, len(pods.Items))
			}

			*guarded = false
			w.goes(i, "its pods have left")
			if get(); len(pods.Items) != 0 {
				t.Error("the pod went with its instance, and was not evicted")
			}
		})
	}
}

// A node that becomes ready after the listing keeps its instance; one that is not
// known to be ready or not keeps all.
func TestNodeTurnsReady(t *testing.T) {
	w := newWorld(t)
	id := w.plant("uid-lost", "lost")
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "lost", UID: "node-1"}}
	api, _ := w.target(n)
	w.hook = func(verb string) {
		if verb != "find" { // the last look before the removal
			return
		}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		if err := api.Status().Update(w.Context(), n); err != nil && !apierrors.IsConflict(err) {
			t.Error(err)
		}
	}
	w.survives(id, "its node is ready by now")
	if w.calls["find"] == 0 || w.calls["delete"] > 0 {
		t.Errorf("%d looks, %d removals", w.calls["find"], w.calls["delete"])
	}
}

// The machine that is there by now keeps what was named.
func TestNamedIsLookedAtAgain(t *testing.T) {
	w := newWorld(t)
	id := w.makeFor(them, provider.Ref{UID: "uid-x1", Namespace: ns, Name: "x-1"})
	w.approve("example://" + id)
	w.pass()
	m := w.openshiftMachine("x-1", id)
	w.create(m)
	w.survives(id, "a machine has it")
	var list machinev1.MachineList
	if err := w.api.List(t.Context(), &list); err != nil || len(list.Items) != 11 {
		t.Errorf("%d machines: %v", len(list.Items), err)
	}
}

// TestNamesakeElsewhere: a machine was lost, and another one was created under its name in another scope.
// The new machine's instance is never listed here, and does not keep what the first has left. If the class
// of a machine cannot be opened, the place of its instance is unknown.
func TestNamesakeElsewhere(t *testing.T) {
	for name, tc := range map[string]struct {
		cluster string
		goes    bool
	}{
		"in another scope":   {"green", true},
		"in this scope":      {ns, false},
		"nobody knows where": {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			id := w.plant("uid-lost", "x-1")
			m := w.openshiftMachine("x-1", "")
			m.Spec.ProviderID, m.Status.Phase = ptr.To("example://elsewhere"), ptr.To("Running")
			m.Labels[openshift.ClusterLabel] = tc.cluster
			w.create(m)
			other := w.openshiftMachine("y-1", "")
			other.Labels[openshift.ClusterLabel] = "green"
			w.create(other)
			w.passes(90 * time.Minute)
			if w.exists(id) == tc.goes {
				t.Errorf("the instance exists: %v", !tc.goes)
			}
		})
	}
}
