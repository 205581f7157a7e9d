package node

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/millwright-dev/millwright/internal/demo/devplane"
	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
	"github.com/millwright-dev/millwright/internal/engine/bootstrap"
	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/nodemeta"
	"github.com/millwright-dev/millwright/provider"
)

func TestMain(m *testing.M) {
	os.Exit(devplanetest.Main(m, devplanetest.Options{Components: []string{devplane.ControllerManager}, NoCRDs: true}))
}

// realCluster is a Cluster over a real API server, with a cache.
func realCluster(t *testing.T, clk clock.PassiveClock) (*Cluster, *devplanetest.Env) {
	t.Helper()
	env := devplanetest.Start(t)
	cl, err := cluster.New(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	if err := SetupIndexes(t.Context(), cl.GetFieldIndexer()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- cl.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error("the cache ended:", err)
		}
	})
	return New(cl.GetClient(), cl.GetAPIReader(), clk), env
}

// eventually polls until done reports true; what says what was waited for.
func eventually(t *testing.T, what string, done func(context.Context) (bool, error)) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 30*time.Second, true, done); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func createNode(t *testing.T, c *Cluster, n *corev1.Node) *corev1.Node {
	t.Helper()
	n.UID = ""
	if err := c.Client.Create(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name}}
		if err := client.IgnoreNotFound(c.Client.Delete(context.Background(), n)); err != nil {
			t.Error(err)
		}
	})
	return n
}

// readyPod creates a pod that runs on the node and is deleted at once: without a grace period no kubelet has
// to confirm its end.
func readyPod(t *testing.T, c *Cluster, namespace, node, name string) {
	t.Helper()
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{
			NodeName: node, TerminationGracePeriodSeconds: ptr.To(int64(0)),
			Containers: []corev1.Container{{Name: "c", Image: "example.com/none"}},
		},
	}
	eventually(t, "creating pod "+name, func(ctx context.Context) (bool, error) {
		err := c.Client.Create(ctx, p)
		if apierrors.IsForbidden(err) { // the namespace's service account is not there yet
			return false, nil
		}
		return err == nil, err
	})
	p.Status.Phase = corev1.PodRunning
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	if err := c.Client.Status().Update(t.Context(), p); err != nil {
		t.Fatal(err)
	}
}

// allowed waits until the budget's status shows so many disruptions allowed.
func allowed(t *testing.T, c *Cluster, namespace string, healthy, n int32) {
	t.Helper()
	eventually(t, fmt.Sprintf("budget with %d healthy and %d allowed", healthy, n), func(ctx context.Context) (bool, error) {
		var b policyv1.PodDisruptionBudget
		err := c.Live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "pdb"}, &b)
		return err == nil && b.Status.ObservedGeneration == b.Generation && b.Status.CurrentHealthy == healthy && b.Status.DisruptionsAllowed == n, err
	})
}

func TestDrainHonoursBudgetOfRealServer(t *testing.T) {
	clk := clocktesting.NewFakePassiveClock(time.Now())
	c, _ := realCluster(t, clk)
	namespace := devplanetest.Namespace(t)
	n := createNode(t, c, node("drain-"+namespace))
	elsewhere := createNode(t, c, node("other-"+namespace))
	readyPod(t, c, namespace, n.Name, "a")
	readyPod(t, c, namespace, elsewhere.Name, "b")
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "pdb"},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: ptr.To(intstr.FromInt32(2)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		},
	}
	if err := c.Client.Create(t.Context(), budget); err != nil {
		t.Fatal(err)
	}
	allowed(t, c, namespace, 2, 0)

	n, held, err := c.Cordon(t.Context(), n, nodemeta.Want{})
	if err != nil || held != "" || !n.Spec.Unschedulable {
		t.Fatalf("cordon: %v, %q, %v", n.Spec.Unschedulable, held, err)
	}
	d, err := c.Drain(t.Context(), n, drain.Policy{})
	if err != nil || d.Done || len(d.Blocked) != 1 || d.Blocked[0].Budget.Name != "pdb" {
		t.Fatalf("the budget is at its limit: %+v, %v", d, err)
	}
	eventually(t, "naming a budget that can never be met", func(ctx context.Context) (bool, error) {
		d, err = c.Drain(ctx, n, drain.Policy{})
		return err == nil && len(d.Blocked) == 1 && d.Blocked[0].Reason == drain.ReasonBudgetNever, err
	})
	if !strings.Contains(d.Blocked[0].Detail, "disruption budget") {
		t.Errorf("detail %q", d.Blocked[0].Detail)
	}

	readyPod(t, c, namespace, elsewhere.Name, "c")
	allowed(t, c, namespace, 3, 1)
	clk.SetTime(clk.Now().Add(10 * time.Second))
	eventually(t, "an eviction, as the budget has room", func(ctx context.Context) (bool, error) {
		d, err = c.Drain(ctx, n, drain.Policy{})
		return len(d.Evict) == 1 && len(d.Blocked) == 0, err
	})
	eventually(t, "done", func(ctx context.Context) (bool, error) {
		d, err = c.Drain(ctx, n, drain.Policy{})
		return d.Done, err
	})
	if err := c.Live.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "a"}, &corev1.Pod{}); !apierrors.IsNotFound(err) {
		t.Errorf("the pod is still there: %v", err)
	}
}

func TestDrainForcedPastBudgetOfRealServer(t *testing.T) {
	c, _ := realCluster(t, clock.RealClock{})
	namespace := devplanetest.Namespace(t)
	n := createNode(t, c, node("force-"+namespace))
	readyPod(t, c, namespace, n.Name, "a")
	for _, name := range []string{"pdb", "pdb2"} { // two for one pod: no eviction can ever be granted
		b := &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: ptr.To(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{}},
		}
		if err := c.Client.Create(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	var d drain.Decision
	eventually(t, "seeing both budgets", func(ctx context.Context) (bool, error) {
		var err error
		d, err = c.Drain(ctx, n, drain.Policy{})
		return err == nil && len(d.Blocked) == 1 && d.Blocked[0].Reason == drain.ReasonBudgets, err
	})
	if d.Done || !strings.Contains(d.Message, "several disruption budgets cover it: "+namespace+"/pdb, "+namespace+"/pdb2") {
		t.Errorf("message %q", d.Message)
	}
	eventually(t, "forcing it", func(ctx context.Context) (bool, error) {
		d, err := c.Drain(ctx, n, drain.Policy{Force: true, RetryEvery: time.Millisecond})
		return d.Done, err
	})
}

func TestApplyOnRealServer(t *testing.T) {
	c, _ := realCluster(t, clock.RealClock{})
	taints := func(t ...corev1.Taint) []corev1.Taint { return t }
	key := corev1.Taint{Key: "example.com/k", Value: "1", Effect: corev1.TaintEffectNoSchedule}
	rules := map[string]func(nodemeta.Want) nodemeta.Want{"additive": additive, "three-way": threeWay}
	for name, rule := range rules {
		t.Run(name, func(t *testing.T) {
			n := createNode(t, c, node("apply-"+name, withLabel("foreign", "1"), withTaint("foreign", "", corev1.TaintEffectNoExecute)))
			first := rule(nodemeta.Want{
				Labels: map[string]string{"a": "1"}, Annotations: map[string]string{"b": "1"}, Taints: taints(key),
				Finalizer: finalizer, Capacity: corev1.ResourceList{"example.com/v": resource.MustParse("2")},
			})
			stale := n.DeepCopy()
			n, wrote, err := c.Apply(t.Context(), n, first)
			if err != nil || !wrote || n.Labels["a"] != "1" || n.Annotations["b"] != "1" || !slices.Contains(n.Finalizers, finalizer) {
				t.Fatalf("%+v, %v, %v", n, wrote, err)
			}
			if _, wrote, err = c.Apply(t.Context(), n, first); wrote || err != nil {
				t.Fatalf("a second time: %v, %v", wrote, err)
			}
			// From a stale object, which has to be planned anew.
			second := rule(nodemeta.Want{Taints: taints(corev1.Taint{Key: "example.com/k2", Effect: corev1.TaintEffectNoSchedule})})
			put := first.Puts()
			second.Owned = &put
			if n, _, err = c.Apply(t.Context(), stale, second); err != nil {
				t.Fatal(err)
			}
			_, capacity := n.Status.Capacity["example.com/v"]
			has := func(t corev1.Taint) bool {
				return slices.ContainsFunc(n.Spec.Taints, func(o corev1.Taint) bool { return o.MatchTaint(&t) })
			}
			kept := has(key)
			if n.Labels["foreign"] != "1" || !has(second.Taints[0]) || kept != second.Additive || capacity {
				t.Errorf("labels %v, taints %v, capacity %v", n.Labels, n.Spec.Taints, n.Status.Capacity)
			}
			if err := c.Delete(t.Context(), n, finalizer); err != nil {
				t.Fatal(err)
			}
			if err := c.Live.Get(t.Context(), client.ObjectKeyFromObject(n), &corev1.Node{}); !apierrors.IsNotFound(err) {
				t.Errorf("the node is still there: %v", err)
			}
		})
	}
}

func TestDeleteSparesASuccessorOfTheSameName(t *testing.T) {
	c, _ := realCluster(t, clock.RealClock{})
	old := createNode(t, c, node("successor")).DeepCopy()
	if err := c.Client.Delete(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	createNode(t, c, node("successor"))
	if err := c.Delete(t.Context(), old, ""); err != nil {
		t.Fatal(err)
	}
	if err := c.Live.Get(t.Context(), client.ObjectKeyFromObject(old), &corev1.Node{}); err != nil {
		t.Errorf("the node that took the name: %v", err)
	}
}

func TestFindOnRealServer(t *testing.T) {
	c, _ := realCluster(t, clock.RealClock{})
	n := createNode(t, c, node("find-1", withProviderID("sim:///find/1")))
	base := n.DeepCopy() // a patch: kube-controller-manager writes new nodes, too
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "198.51.100.7"}}
	if err := c.Client.Status().Patch(t.Context(), n, client.MergeFrom(base)); err != nil {
		t.Fatal(err)
	}
	for _, q := range []Query{{Name: "find-1", Instance: true}, {ProviderID: "sim:///find/1"}, {InternalIPs: []string{"198.51.100.7"}, Instance: true}} {
		eventually(t, fmt.Sprintf("finding %+v", q), func(ctx context.Context) (bool, error) {
			got, err := c.Find(ctx, q)
			return got != nil && got.UID == n.UID, err
		})
	}
}

func TestTokenIsAcceptedByRealServer(t *testing.T) {
	c, env := realCluster(t, clock.RealClock{})
	machine := provider.Ref{Namespace: "ns", Name: "m1", UID: "u-token"}
	token, err := c.Token(t.Context(), TokenRequest{Machine: machine, Lifetime: time.Hour, Groups: devplane.BootstrapGroup})
	if err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(env.Config)
	config.BearerToken = token
	joining, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	whoami := func(ctx context.Context) (*authenticationv1.SelfSubjectReview, error) {
		return joining.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	}
	eventually(t, "being somebody", func(ctx context.Context) (bool, error) {
		me, err := whoami(ctx)
		if apierrors.IsUnauthorized(err) {
			return false, nil // the authenticator has not seen the secret yet
		}
		if err != nil {
			return false, err
		}
		id, _, _ := strings.Cut(token, ".")
		if me.Status.UserInfo.Username != bootstrap.UserPrefix+id || !slices.Contains(me.Status.UserInfo.Groups, devplane.BootstrapGroup) {
			return false, fmt.Errorf("the token makes %+v", me.Status.UserInfo)
		}
		return true, nil
	})
}
