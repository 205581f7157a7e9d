package devplane

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/millwright-dev/millwright/internal/demo/devplane/proc"
)

const (
	hollowName     = "hollow-0"
	hollowProvider = "kubemark://zone-a/hollow-0"
	bootstrapToken = "abcdef.0123456789abcdef"
)

// The test runs all components, and a node that joins by bootstrap token and whose certificates only the test approves.
func TestNodeJoinsFullControlPlane(t *testing.T) {
	t.Parallel()
	began := time.Now()
	cp := startPlane(t, Options{
		Dir:        filepath.Join(t.TempDir(), "plane"),
		Components: []string{ControllerManager, Scheduler, Kwok},
		AuditLog:   true,
	})
	t.Logf("control plane ready after %s", time.Since(began))
	client := clientOf(t, cp)
	createBootstrapToken(t, client)

	began = time.Now()
	hollow := startHollow(t, cp)
	approved := approveNode(t, client)
	node := awaitReady(t, client, hollowName)
	t.Logf("hollow node ready after %s, %d certificates approved", time.Since(began), len(approved))
	checkNode(t, node)
	for _, signer := range []string{certificatesv1.KubeAPIServerClientKubeletSignerName, certificatesv1.KubeletServingSignerName} {
		if !approved[signer] {
			t.Errorf("no certificate of %s was requested", signer)
		}
	}
	checkPodRuns(t, client)
	checkNodeOutlivesItsObject(t, client, hollow)
	checkHollowEndsCleanly(t, hollow)
	checkKwokNode(t, client)
	checkUserHasOnlyTheirRights(t, cp)
	checkAuditLog(t, cp)
}

func createBootstrapToken(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	id, secret, _ := strings.Cut(bootstrapToken, ".")
	_, err := client.CoreV1().Secrets(metav1.NamespaceSystem).Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "bootstrap-token-" + id},
		Type:       corev1.SecretTypeBootstrapToken,
		StringData: map[string]string{
			"token-id": id, "token-secret": secret,
			"usage-bootstrap-authentication": "true", "auth-extra-groups": BootstrapGroup,
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func startHollow(t *testing.T, cp *ControlPlane) *proc.Process {
	t.Helper()
	// The names of sockets below this root folder would be too long to bind.
	root := filepath.Join(t.TempDir(), strings.Repeat("long-", 20))
	if err := os.MkdirAll(root, 0o700); err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := cp.TokenKubeconfig(bootstrapToken)
	if err != nil {
		t.Fatal(err)
	}
	bootstrap := filepath.Join(root, "bootstrap.kubeconfig")
	write(t, bootstrap, string(kubeconfig), 0o600)
	return runHollow(t, filepath.Join(root, "hollow.log"),
		"--name="+hollowName,
		"--root-dir="+root,
		"--bootstrap-kubeconfig="+bootstrap,
		"--client-ca-file="+cp.CAFile(),
		"--provider-id="+hollowProvider,
		"--cores=8", "--memory=32Gi", "--max-pods=42",
		"--resources=hugepages-2Mi=64Mi,example.com/device=2,ephemeral-storage=10Gi",
		"--node-labels=example.com/pool=blue,topology.kubernetes.io/zone=zone-a",
		"--register-with-taints=example.com/dedicated=blue:NoSchedule")
}

func runHollow(t *testing.T, log string, args ...string) *proc.Process {
	t.Helper()
	assets, err := Ensure(t.Context(), BuildOptions{Programs: []string{Hollow}, Progress: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	program, err := assets.Path(Hollow)
	if err != nil {
		t.Fatal(err)
	}
	process, err := proc.Start(proc.Spec{Path: program, Args: args, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := process.Stop(context.Background(), 5*time.Second); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(logTail(log))
		}
	})
	return process
}

// A kubelet that ends is restarted in the same process, as a service manager would do, because its owner knows that process.
func TestHollowStartsOver(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	log := filepath.Join(root, "hollow.log")
	process := runHollow(t, log, "--name=alone", "--root-dir="+root, "--bootstrap-kubeconfig="+filepath.Join(root, "nonexistent"))
	poll(t, "the second life", func(context.Context) (bool, error) {
		content, err := os.ReadFile(log)
		return strings.Count(string(content), "starting over") == 2, err
	})
	if !process.Alive() {
		t.Errorf("the process ended: %v", process.Err())
	}
	checkHollowEndsCleanly(t, process)
}

// approveNode approves all requested certificates until both kinds were requested, and returns the signers.
func approveNode(t *testing.T, client kubernetes.Interface) map[string]bool {
	t.Helper()
	approved := map[string]bool{}
	poll(t, "both certificate requests", func(ctx context.Context) (bool, error) {
		requests, err := client.CertificatesV1().CertificateSigningRequests().List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		for _, request := range requests.Items {
			if len(request.Status.Conditions) > 0 {
				continue
			}
			request.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{
				{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Test"},
			}
			_, err := client.CertificatesV1().CertificateSigningRequests().UpdateApproval(ctx, request.Name, &request, metav1.UpdateOptions{})
			if err != nil {
				return false, err
			}
			approved[request.Spec.SignerName] = true
		}
		return len(approved) == 2, nil
	})
	return approved
}

func awaitReady(t *testing.T, client kubernetes.Interface, name string) *corev1.Node {
	t.Helper()
	var node *corev1.Node
	poll(t, "node "+name+" Ready", func(ctx context.Context) (bool, error) {
		var err error
		node, err = client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, nil //nolint:nilerr // not registered yet
		}
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeReady {
				return condition.Status == corev1.ConditionTrue, nil
			}
		}
		return false, nil
	})
	return node
}

func checkNode(t *testing.T, node *corev1.Node) {
	t.Helper()
	taints := ""
	for _, taint := range node.Spec.Taints {
		taints += taint.ToString() + " "
	}
	for what, c := range map[string]struct{ got, want string }{
		"provider ID": {node.Spec.ProviderID, hollowProvider},
		"label":       {node.Labels["example.com/pool"], "blue"},
		"zone":        {node.Labels[corev1.LabelTopologyZone], "zone-a"},
		"cores":       {node.Status.Capacity.Cpu().String(), "8"},
		"memory":      {node.Status.Capacity.Memory().String(), "32Gi"},
		"for pods":    {node.Status.Allocatable.Memory().String(), "32704Mi"}, // without the huge pages
		"huge pages":  {quantity(node.Status.Allocatable, "hugepages-2Mi"), "64Mi"},
		"devices":     {quantity(node.Status.Allocatable, "example.com/device"), "2"},
		"storage":     {quantity(node.Status.Allocatable, corev1.ResourceEphemeralStorage), "10Gi"},
		"pods":        {node.Status.Capacity.Pods().String(), "42"},
		"version":     {node.Status.NodeInfo.KubeletVersion, "v1.37.2"},
	} {
		if c.got != c.want {
			t.Errorf("%s is %q, want %q", what, c.got, c.want)
		}
	}
	if !strings.Contains(taints, "example.com/dedicated=blue:NoSchedule") {
		t.Errorf("taints are %s", taints)
	}
	if port := node.Status.DaemonEndpoints.KubeletEndpoint.Port; port < 20000 || port > 32767 {
		t.Errorf("the chosen port is %d", port)
	}
}

func quantity(list corev1.ResourceList, name corev1.ResourceName) string {
	q := list[name]
	return q.String()
}

// checkPodRuns: the scheduler places a pod that requests a part of each resource of the hollow node, the node runs the pod, and
// the pod can be deleted. Its image has a tag, so the kubelet asks whether the image exists instead of pulling it for each
// container.
func checkPodRuns(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	pods := client.CoreV1().Pods("default")
	_, err := pods.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "pod"},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "c", Image: "image:1.27", Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("1Gi"),
				"hugepages-2Mi": resource.MustParse("4Mi"), "example.com/device": resource.MustParse("1"),
				corev1.ResourceEphemeralStorage: resource.MustParse("1Gi"),
			}}}},
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	poll(t, "pod Running", func(ctx context.Context) (bool, error) {
		pod, err := pods.Get(ctx, "pod", metav1.GetOptions{})
		return err == nil && pod.Status.Phase == corev1.PodRunning, err
	})
	now := int64(1)
	if err := pods.Delete(t.Context(), "pod", metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
		t.Fatal(err)
	}
	poll(t, "pod gone", func(ctx context.Context) (bool, error) {
		list, err := pods.List(ctx, metav1.ListOptions{})
		return err == nil && len(list.Items) == 0, err
	})
}

func checkNodeOutlivesItsObject(t *testing.T, client kubernetes.Interface, hollow *proc.Process) {
	t.Helper()
	if err := client.CoreV1().Nodes().Delete(t.Context(), hollowName, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-hollow.Done():
		t.Errorf("the process ended with its Node object: %v", hollow.Err())
	case <-time.After(2 * time.Second):
	}
}

func checkHollowEndsCleanly(t *testing.T, hollow *proc.Process) {
	t.Helper()
	if err := hollow.Stop(t.Context(), 5*time.Second); err != nil {
		t.Fatal(err)
	}
	<-hollow.Done()
	if hollow.Err() != nil {
		t.Errorf("after SIGTERM it ended with %v, want exit code 0", hollow.Err())
	}
}

func checkKwokNode(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	_, err := client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "fake-0", Annotations: map[string]string{KwokNodeAnnotation: KwokNodeValue}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	awaitReady(t, client, "fake-0")
}

func poll(t *testing.T, what string, condition func(context.Context) (bool, error)) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 30*time.Second, true, condition)
	if err != nil {
		t.Fatal(fmt.Errorf("waiting for %s: %w", what, err))
	}
}
