package kubemark_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/millwright-dev/millwright/internal/demo/devplane"
	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/kubemark"
)

func open(t *testing.T, p *kubemark.Provider, spec string) provider.Session {
	t.Helper()
	s, err := p.Open(t.Context(), provider.Class{API: provider.Gardener, Cluster: "box", Spec: []byte(spec)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// eventually checks every 50 ms, for a minute.
func eventually(t *testing.T, what string, look func() (bool, error)) {
	t.Helper()
	var last error
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		ok, err := look()
		if ok {
			return
		}
		last = err
	}
	t.Fatalf("not within a minute: %s (%v)", what, last)
}

func nodeReady(ctx context.Context, client kubernetes.Interface, name string) (*corev1.Node, corev1.ConditionStatus, error) {
	n, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, "", err
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return n, c.Status, nil
		}
	}
	return n, "", nil
}

func awaitReady(t *testing.T, client kubernetes.Interface, name string, want corev1.ConditionStatus) *corev1.Node {
	t.Helper()
	var node *corev1.Node
	eventually(t, fmt.Sprintf("node %s has Ready=%s", name, want), func() (bool, error) {
		n, status, err := nodeReady(t.Context(), client, name)
		node = n
		return err == nil && status == want, err
	})
	return node
}

const boxSpec = `{"zone":"z1","region":"r1","instanceType":"big","numCores":8,"memoryCapacity":"2Gi","maxPods":20,
	"gpus":2,"arch":"s390x","resources":{"hugepages-2Mi":"64Mi","ephemeral-storage":"10Gi","example.com/fpga":1},
	"labels":{"example.com/pool":"blue"},"taints":[{"key":"example.com/t","value":"v","effect":"NoSchedule"}]`

// checkNode compares a node with boxSpec and with the provider's instance.
func checkNode(t *testing.T, n *corev1.Node, i provider.Instance, size provider.Size) {
	t.Helper()
	want := quantities{
		"cpu": "8", "memory": "2Gi", "pods": "20", "hugepages-2Mi": "64Mi", "ephemeral-storage": "10Gi", "example.com/fpga": "1", "nvidia.com/gpu": "2",
	}
	if diff := cmp.Diff(want, amounts(n.Status.Capacity)); diff != "" {
		t.Errorf("capacity (-want +got):\n%s", diff)
	}
	want["memory"] = "1984Mi" // huge pages reduce the memory
	if diff := cmp.Diff(want, amounts(n.Status.Allocatable)); diff != "" {
		t.Errorf("allocatable (-want +got):\n%s", diff)
	}
	if size.VCPU != 8 || size.MemoryMiB != 2048 || size.MaxPods != 20 || size.EphemeralStorageMiB != 10240 || size.GPU != 2 {
		t.Errorf("autoscalers are told %+v", size)
	}
	if n.Spec.ProviderID != i.ProviderID || n.Name != i.NodeName {
		t.Errorf("node %s has the provider ID %q, the provider foretold %s and %q", n.Name, n.Spec.ProviderID, i.NodeName, i.ProviderID)
	}
	for k, v := range map[string]string{
		"example.com/pool": "blue", corev1.LabelTopologyZone: "z1", corev1.LabelTopologyRegion: "r1",
		corev1.LabelInstanceTypeStable: "big", corev1.LabelHostname: n.Name, corev1.LabelArchStable: size.Architecture,
	} {
		if n.Labels[k] != v {
			t.Errorf("label %s is %q, want %q", k, n.Labels[k], v)
		}
	}
	found := false
	for _, taint := range n.Spec.Taints {
		found = found || taint.Key == "example.com/t" && taint.Value == "v" && taint.Effect == corev1.TaintEffectNoSchedule
	}
	if !found {
		t.Errorf("taints %v", n.Spec.Taints)
	}
	addresses := map[corev1.NodeAddress]bool{}
	for _, a := range i.Addresses {
		addresses[a] = true
	}
	for _, a := range n.Status.Addresses {
		if !addresses[a] {
			t.Errorf("the node has the address %v, the provider foretold %v", a, i.Addresses)
		}
	}
}

func TestKwokNode(t *testing.T) {
	env := devplanetest.Start(t)
	p, err := kubemark.New(kubemark.Config{Backend: kubemark.Kwok, Target: env.Config, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, p, boxSpec+"}")
	ref := provider.Ref{UID: "kwok-1", Name: "kwok-1"}
	i, err := s.Create(t.Context(), ref, provider.Want{})
	if err != nil {
		t.Fatal(err)
	}
	n := awaitReady(t, env.Client, ref.Name, corev1.ConditionTrue)
	checkNode(t, n, i, sizeOf(t, s))
	// kwok v0.8.0 fails a node and makes it ready again through stages that the box may lack: the test checks
	// only the provider's writes.
	powerer, ok := provider.As[provider.Powerer](s)
	if !ok {
		t.Fatal("no Powerer")
	}
	for _, c := range []struct {
		op    provider.PowerOp
		label string
	}{{provider.PowerOff, "true"}, {provider.PowerOn, ""}} {
		if err := powerer.Power(t.Context(), ref, i, c.op, ""); err != nil {
			t.Fatal(err)
		}
		n, err := env.Client.CoreV1().Nodes().Get(t.Context(), ref.Name, metav1.GetOptions{})
		if err != nil || n.Labels["node-not-ready.stage.kwok.x-k8s.io"] != c.label {
			t.Errorf("after power %s the labels are %v, error %v", c.op, n.Labels, err)
		}
	}
	deleteNow(t, s, ref)
	if _, err := env.Client.CoreV1().Nodes().Get(t.Context(), ref.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the node is there after its instance: error %v", err)
	}
}

func deleteNow(t *testing.T, s provider.Session, ref provider.Ref) {
	t.Helper()
	eventually(t, "delete is done", func() (bool, error) { return s.Delete(t.Context(), ref, nil) })
}

// TestKwokForeignNode: a Node of another instance is not changed.
func TestKwokForeignNode(t *testing.T) {
	env := devplanetest.Start(t)
	ref := provider.Ref{UID: "kwok-2", Name: "kwok-2"}
	foreign := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: ref.Name, Labels: map[string]string{"whose": "foreign"}}}
	foreign, err := env.Client.CoreV1().Nodes().Create(t.Context(), foreign, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := kubemark.New(kubemark.Config{Backend: kubemark.Kwok, Target: env.Config})
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, p, "{}")
	if _, err := s.Create(t.Context(), ref, provider.Want{}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Sync(t.Context()); err != nil {
		t.Logf("as it should: %v", err)
	}
	deleteNow(t, s, ref)
	n, err := env.Client.CoreV1().Nodes().Get(t.Context(), ref.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(foreign.Labels, n.Labels); diff != "" || n.UID != foreign.UID || n.Spec.ProviderID != "" {
		t.Errorf("the node has changed (-was +is):\n%s", diff)
	}
}

// TestKwokFleet creates and deletes a fleet, through a restart of the provider, with one write each.
func TestKwokFleet(t *testing.T) {
	const fleet = 200
	env := devplanetest.Start(t)
	config := kubemark.Config{Backend: kubemark.Kwok, Target: env.Config, Dir: t.TempDir()}
	start := func() provider.Session {
		p, err := kubemark.New(config)
		if err != nil {
			t.Fatal(err)
		}
		return open(t, p, "{}")
	}
	ref := func(n int) provider.Ref {
		return provider.Ref{UID: fmt.Sprintf("fleet-%d", n), Name: fmt.Sprintf("fleet-%d", n)}
	}
	began := time.Now()
	s := start()
	for n := range fleet {
		if _, err := s.Create(t.Context(), ref(n), provider.Want{}); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d instances made in %v by one caller", fleet, time.Since(began))
	s = start()
	listed := 0
	for _, err := range s.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		listed++
	}
	if listed != fleet {
		t.Errorf("a fresh process lists %d instances, want %d", listed, fleet)
	}
	nodes := func() int {
		n := 0
		list, err := env.Client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, node := range list.Items {
			if _, ours := node.Annotations["millwright.dev/kubemark-instance"]; ours {
				n++
			}
		}
		return n
	}
	if n := nodes(); n != fleet {
		t.Errorf("%d nodes, want %d", n, fleet)
	}
	for n := range fleet {
		deleteNow(t, s, ref(n))
	}
	if n := nodes(); n != 0 {
		t.Errorf("%d nodes are left", n)
	}
}

// TestHollowKubelet: a real kubelet joins with the user data, outlives the provider, and ends with its
// instance.
func TestHollowKubelet(t *testing.T) {
	env := devplanetest.Start(t)
	assets, err := devplane.Ensure(t.Context(), devplane.BuildOptions{Programs: []string{devplane.Hollow}, Progress: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	program, err := assets.Path(devplane.Hollow)
	if err != nil {
		t.Fatal(err)
	}
	userData, err := env.TokenKubeconfig(devplanetest.BootstrapToken(t, env.Client))
	if err != nil {
		t.Fatal(err)
	}
	config := kubemark.Config{Dir: t.TempDir(), HollowBinary: program}
	start := func() provider.Session {
		p, err := kubemark.New(config)
		if err != nil {
			t.Fatal(err)
		}
		return open(t, p, boxSpec+"}")
	}
	ref := provider.Ref{UID: "hollow-1", Name: "hollow-1"}
	s := start()
	i, err := s.Create(t.Context(), ref, provider.Want{UserData: userData})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { showLog(t, config.Dir, i.ID) })
	approve(t, env.Client)
	checkNode(t, awaitReady(t, env.Client, ref.Name, corev1.ConditionTrue), i, sizeOf(t, s))

	s = start()
	found, err := s.Find(t.Context(), ref)
	if err != nil || len(found) != 1 || found[0].State != provider.Running {
		t.Fatalf("a fresh process finds %v, error %v", found, err)
	}
	deleteNow(t, s, ref)
	if out, err := exec.Command("pgrep", "-f", "--", config.Dir).Output(); err == nil {
		t.Errorf("processes are left: %s", out)
	}
}

func showLog(t *testing.T, dir, id string) {
	t.Helper()
	if !t.Failed() {
		return
	}
	log, err := os.ReadFile(dir + "/bodies/" + id + "/kubelet.log")
	t.Logf("kubelet.log (error %v): %s", err, log[max(0, len(log)-4000):])
}

// approve approves certificates, in place of the controller, until the kubelet has both of its own.
func approve(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	approved := 0
	eventually(t, "two certificates are approved", func() (bool, error) {
		requests, err := client.CertificatesV1().CertificateSigningRequests().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		for _, r := range requests.Items {
			if len(r.Status.Conditions) > 0 {
				continue
			}
			r.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{
				{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Test"},
			}
			_, err := client.CertificatesV1().CertificateSigningRequests().UpdateApproval(t.Context(), r.Name, &r, metav1.UpdateOptions{})
			if err != nil {
				return false, err
			}
			approved++
		}
		return approved >= 2, nil
	})
}
