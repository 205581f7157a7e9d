package install

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// must runs a command, as a user does.
func (h *machine) must(t *testing.T, args ...string) string {
	t.Helper()
	began := time.Now()
	out, err := h.kubectl(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%5.1f s  kubectl %s", time.Since(began).Seconds(), strings.Join(args, " "))
	return out
}

// mostLines limits the lines of one output, so that the reason for a failure is near the end of the log.
const mostLines = 15

// describe prints what a user would inspect after a failure.
func (h *installation) describe(t *testing.T) {
	t.Helper()
	if !t.Failed() {
		return
	}
	for _, args := range [][]string{
		{"get", "pods", "-A", "-o", "wide"},
		{"get", "events", "-A", "--sort-by=.lastTimestamp"},
		{"get", "machines.machine.openshift.io,machinesets.machine.openshift.io,machines.machine.sapcloud.io,machinesets.machine.sapcloud.io", "-A"},
		{"-n", h.namespace, "logs", "--tail=10", "--prefix", "--selector=app.kubernetes.io/part-of=millwright"},
	} {
		out, err := h.kubectl(context.Background(), args...) // the context of the test has ended
		lines := strings.Split(out, "\n")
		t.Logf("kubectl %s: %v\n%s", strings.Join(args, " "), err, strings.Join(lines[max(0, len(lines)-mostLines):], "\n"))
	}
}

// The pools in testdata.
const (
	mill  = "machinedeployments.machine.openshift.io/mill"
	shoot = "machinedeployments.machine.sapcloud.io/shoot"
)

// installation is Millwright in its own namespace.
type installation struct {
	*machine
	namespace          string
	deployments, pools []string
	// extra are additional objects that a test needs: kinds and a name. It is deleted after the machines.
	extra string
	// before are the objects of the cluster before the installation.
	before string
	// from is the position in the audit log at which the installation begins.
	from int64
}

// vanilla returns an installation of both APIs that has not begun.
func vanilla(t *testing.T) *installation {
	t.Helper()
	h := &installation{
		machine: host, namespace: "millwright-system", pools: []string{mill, shoot},
		deployments: []string{"machine-controller-manager", "machineset-controller", "machine-controller-kubemark"},
	}
	h.begins(t)
	return h
}

// begins records the state of the cluster, and creates the volume for the instances of the provider.
func (h *installation) begins(t *testing.T) {
	t.Helper()
	if err := os.Chmod(filepath.Join(h.work, "volumes"), 0o777); err != nil { // programs in containers are not root
		t.Fatal(err)
	}
	h.before, h.from = h.leavings(t), h.audited(t)
	h.must(t, "apply", "-f", h.manifest(t, "volume.yaml"))
	t.Cleanup(func() {
		h.describe(t)
		_, _ = h.kubectl(context.Background(), "delete", "-f", filepath.Join(h.work, "volume.yaml"), "--wait=false") // the context of the test has ended
	})
}

// manifest copies a file of testdata to the folder of kubectl, and returns its name.
func (h *installation) manifest(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(h.work, name)
	if err := os.WriteFile(file, []byte(strings.NewReplacer("WORK", h.work, "NAMESPACE", h.namespace).Replace(string(content))), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// fleet creates the pools.
func (h *installation) fleet(t *testing.T) {
	t.Helper()
	for _, pool := range h.pools {
		_, name, _ := strings.Cut(pool, "/")
		t.Log(h.must(t, "apply", "-f", h.manifest(t, name+".yaml")))
	}
	h.available(t)
	h.judges(t)
}

// judges sends objects that webhooks refuse. The API server must find the process of the webhooks, and trust it.
func (h *installation) judges(t *testing.T) {
	t.Helper()
	err := eventually(t.Context(), time.Minute, func() error {
		out, err := h.kubectl(t.Context(), "-n", h.namespace, "patch", "machinesets.machine.openshift.io", "--dry-run=server", "--type=merge",
			"-p", `{"spec":{"selector":{"matchLabels":{"pool":"another"}}}}`, strings.TrimSpace(h.must(t, "-n", h.namespace, "get", "machinesets.machine.openshift.io", "-o", "jsonpath={.items[0].metadata.name}")))
		if err == nil || !strings.Contains(out, "selector is immutable") {
			return fmt.Errorf("another selector is not refused by a webhook: %s", out)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestInstall(t *testing.T) {
	h := vanilla(t)
	h.must(t, "apply", "--server-side", "-f", h.previous(t))
	h.settle(t)
	h.fleet(t)

	h.changes(t, "apply", "--server-side", "--force-conflicts", "-f", "dist/packages/millwright.yaml")
	h.changes(t, "apply", "--server-side", "--force-conflicts", "-f", h.previous(t))
	h.changes(t, "apply", "--server-side", "--force-conflicts", "-f", "dist/packages/millwright.yaml")

	t.Run("tells", h.tells)
	t.Run("rolls", h.rolls)
	t.Run("heals", h.heals)
	t.Run("rests", h.rests)
	t.Log(h.must(t, "get", "nodes,pods,"+h.kinds(), "-A", "-o", "wide"))
	h.removed(t, "kubectl")
}

// previous writes the manifests of the previous commit, with its image, and returns the name of the file.
func (h *installation) previous(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(h.work, "previous.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "previous.yaml")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(content), "millwright-controllers:devel", "millwright-controllers:previous")), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// settle waits until only the applied programs run.
func (h *installation) settle(t *testing.T) {
	t.Helper()
	for _, d := range h.deployments {
		h.must(t, "-n", h.namespace, "rollout", "status", "deployment/"+d, "--timeout=3m")
	}
}

// pod returns a Pod that runs and is not being deleted. The kubelet reports a Pod as Running until all of its containers have
// ended, so a deleted Deployment leaves such Pods for a while.
func (h *installation) pod(t *testing.T, selector string) corev1.Pod {
	t.Helper()
	var pods corev1.PodList
	if err := json.Unmarshal([]byte(h.must(t, "-n", h.namespace, "get", "pods", "-l", selector, "--field-selector=status.phase=Running", "-o", "json")), &pods); err != nil {
		t.Fatal(err)
	}
	for _, p := range pods.Items {
		if p.DeletionTimestamp == nil && p.Status.PodIP != "" {
			return p
		}
	}
	t.Fatalf("no Pod with %s runs", selector)
	return corev1.Pod{}
}

// portOf returns the number of a container's port.
func portOf(t *testing.T, pod corev1.Pod, name string) string {
	t.Helper()
	for _, c := range pod.Spec.Containers {
		for _, p := range c.Ports {
			if p.Name == name {
				return strconv.Itoa(int(p.ContainerPort))
			}
		}
	}
	t.Fatalf("Pod %s has no port %q", pod.Name, name)
	return ""
}

// available waits until both pools have the wanted number of machines.
func (h *installation) available(t *testing.T) {
	t.Helper()
	for _, pool := range h.pools {
		h.must(t, "-n", h.namespace, "wait", pool, "--for=jsonpath={.status.availableReplicas}=2", "--timeout=3m")
		h.must(t, "-n", h.namespace, "wait", pool, "--for=jsonpath={.status.updatedReplicas}=2", "--timeout=3m")
		h.must(t, "-n", h.namespace, "wait", pool, "--for=jsonpath={.status.replicas}=2", "--timeout=3m")
	}
}

// kinds are the kinds of the machines of the pools.
func (h *installation) kinds() string {
	var kinds []string
	for _, pool := range h.pools {
		kind, _, _ := strings.Cut(pool, "/")
		kinds = append(kinds, strings.Replace(kind, "machinedeployments", "machines", 1))
	}
	return strings.Join(kinds, ",")
}

// uids returns the UIDs of all machines.
func (h *installation) uids(t *testing.T) string {
	t.Helper()
	return h.must(t, "-n", h.namespace, "get", h.kinds(), "--sort-by=.metadata.uid", "-o", `jsonpath={range .items[*]}{.metadata.name} {.metadata.uid}{"\n"}{end}`)
}

// changes replaces the running programs with others. No machine may be replaced, and the programs may write very little.
func (h *installation) changes(t *testing.T, apply ...string) {
	t.Helper()
	was, from := h.uids(t), h.audited(t)
	h.must(t, apply...)
	h.settle(t)
	time.Sleep(20 * time.Second) // the leases of the previous programs expire, and the new programs read all objects
	h.available(t)
	if is := h.uids(t); is != was {
		t.Fatalf("machines before:\n%s\nand after:\n%s", was, is)
	}
	writes := h.writes(t, from)
	t.Logf("writes of the programs in between: %v", writes)
	for what, n := range writes {
		if n > maxWrites {
			t.Errorf("%d writes: %s", n, what)
		}
	}
}

// tells reads the metrics of each program with a token, as Prometheus does.
func (h *installation) tells(t *testing.T) {
	h.must(t, "create", "clusterrolebinding", "scraper", "--clusterrole=millwright-metrics-reader", "--serviceaccount="+h.namespace+":default")
	defer h.must(t, "delete", "clusterrolebinding", "scraper")
	token := strings.TrimSpace(h.must(t, "-n", h.namespace, "create", "token", "default"))
	scraper := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	for _, d := range h.deployments {
		pod := h.pod(t, "app.kubernetes.io/name="+d)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+net.JoinHostPort(pod.Status.PodIP, portOf(t, pod, "metrics"))+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+token)
		answer, err := scraper.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusOK || !strings.Contains(string(page), "millwright_leading") {
			t.Errorf("%s tells a scraper %s (%v):\n%.500s", d, answer.Status, err, page)
		}
	}
}

// newTemplates are patches after which a pool replaces its machines.
var newTemplates = map[string]string{
	mill:  `{"spec":{"template":{"spec":{"providerSpec":{"value":{"instanceType":"hollow.huge"}}}}}}`,
	shoot: `{"spec":{"template":{"spec":{"class":{"name":"shoot-v2"}}}}}`,
}

func (h *installation) rolls(t *testing.T) {
	was := h.uids(t)
	for _, pool := range h.pools {
		h.must(t, "-n", h.namespace, "patch", pool, "--type=merge", "-p", newTemplates[pool])
	}
	h.replaced(t, was, 2*len(h.pools))
}

// heals removes an instance of each pool outside of the controllers. Its kubelet becomes silent, and its machine is replaced.
func (h *installation) heals(t *testing.T) {
	was := h.uids(t)
	for _, pool := range []string{"mill-", "shoot-"} {
		file, node := h.instance(t, pool)
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		// kwok simulates no node whose lease has another holder. kube-controller-manager ignores a lease that was written and
		// not renewed, because it treats its own cache as stale.
		renewed := time.Now().UTC().Format(metav1.RFC3339Micro)
		h.must(t, "-n", "kube-node-lease", "patch", "lease/"+node, "--type=merge", "-p", `{"spec":{"holderIdentity":"silent","leaseDurationSeconds":600,"renewTime":"`+renewed+`"}}`)
	}
	h.replaced(t, was, 2)
}

// instance returns the file and the node of an instance of a pool.
func (h *installation) instance(t *testing.T, pool string) (file, node string) {
	t.Helper()
	for _, file := range h.instances() {
		var record struct{ Name, Node string }
		content, err := os.ReadFile(file)
		if err == nil && json.Unmarshal(content, &record) == nil && strings.HasPrefix(record.Name, pool) {
			return file, record.Node
		}
	}
	t.Fatalf("no instance of %s in %v", pool, h.instances())
	return "", ""
}

// rests logs the cost of the programs for a fleet of 100 machines at rest.
func (h *installation) rests(t *testing.T) {
	for _, size := range []string{"50", "2"} {
		h.must(t, "-n", h.namespace, "scale", mill, shoot, "--replicas="+size)
		for _, pool := range []string{mill, shoot} {
			h.must(t, "-n", h.namespace, "wait", pool, "--for=jsonpath={.status.availableReplicas}="+size, "--timeout=5m")
			h.must(t, "-n", h.namespace, "wait", pool, "--for=jsonpath={.status.replicas}="+size, "--timeout=5m")
		}
		if size == "50" {
			time.Sleep(time.Minute)
			for _, line := range h.usage(t) {
				t.Log(line)
			}
		}
	}
}

// usage returns what the kubelet measures of our containers.
func (h *installation) usage(t *testing.T) (lines []string) {
	t.Helper()
	var summary struct {
		Pods []struct {
			PodRef     struct{ Name, Namespace string }
			Containers []struct {
				CPU    struct{ UsageNanoCores uint64 }
				Memory struct{ WorkingSetBytes uint64 }
			}
		}
	}
	if err := json.Unmarshal([]byte(h.must(t, "get", "--raw", "/api/v1/nodes/"+nodeName+"/proxy/stats/summary?only_cpu_and_memory=true")), &summary); err != nil {
		t.Fatal(err)
	}
	for _, p := range summary.Pods {
		if p.PodRef.Namespace != h.namespace {
			continue
		}
		for _, c := range p.Containers {
			lines = append(lines, fmt.Sprintf("%s: %.1f MiB, %.2f %% of a core", p.PodRef.Name, float64(c.Memory.WorkingSetBytes)/(1<<20), float64(c.CPU.UsageNanoCores)/1e7))
		}
	}
	if len(lines) == 0 {
		t.Error("kubelet measures no container of ours")
	}
	return lines
}

// instances returns the files in which the provider stores instances.
func (h *machine) instances() []string {
	files, _ := filepath.Glob(filepath.Join(h.work, "volumes", "clusters", "*", "machines", "*", "*.json"))
	return files
}

// replaced waits until the given number of former machines is deleted, and both pools are complete.
func (h *installation) replaced(t *testing.T, was string, count int) {
	t.Helper()
	err := eventually(t.Context(), 3*time.Minute, func() error {
		is, left := h.uids(t), 0
		lines := strings.Split(strings.TrimSpace(was), "\n")
		for _, line := range lines {
			if strings.Contains(is, line) {
				left++
			}
		}
		if left != len(lines)-count {
			return fmt.Errorf("%d of %d machines are left of\n%s\namong\n%s", left, len(lines), was, is)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	h.available(t)
}

// leavings lists the objects of a cluster outside of the namespace of an installation: cluster-scoped objects, namespaces, and
// objects in kube-system that grant rights or belong to the installation.
func (h *machine) leavings(t *testing.T) string {
	t.Helper()
	return h.must(t, "get", "-o", "name", "nodes,namespaces,crds,clusterroles,clusterrolebindings,priorityclasses,csr,"+
		"validatingwebhookconfigurations,mutatingwebhookconfigurations,validatingadmissionpolicies,validatingadmissionpolicybindings") +
		h.must(t, "-n", "kube-system", "get", "-o", "name", "roles,rolebindings,leases,configmaps,secrets")
}

// removed follows a section of docs/uninstall.md. Afterwards the cluster has the same objects as before the installation.
func (h *installation) removed(t *testing.T, section string) {
	t.Helper()
	machines := true
	for _, line := range commands(t, "uninstall.md", section) {
		if machines && !strings.Contains(line, " delete machine") {
			machines = false
			h.allowed(t) // the next commands may delete roles before the programs
			if h.extra != "" {
				h.types(t, "kubectl delete "+h.extra)
			}
		}
		h.types(t, line)
	}
	if after := h.leavings(t); after != h.before {
		t.Errorf("the cluster had before:\n%s\nand has after it:\n%s", h.before, after)
	}
	if left := h.instances(); len(left) > 0 {
		t.Errorf("instances are left: %v", left)
	}
}

// commands returns the commands in the first shell block after a heading of a document.
func commands(t *testing.T, document, heading string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../docs", document))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "# By "+heading+"\n")
	_, block, _ := strings.Cut(section, "```sh\n")
	block, _, whole := strings.Cut(block, "```")
	if !whole {
		t.Fatalf("docs/%s has no commands by %s", document, heading)
	}
	return strings.Split(strings.TrimSpace(strings.ReplaceAll(block, "\\\n", "")), "\n")
}

// types runs a line that a user copies from a document.
func (h *installation) types(t *testing.T, line string) {
	t.Helper()
	switch words := strings.Fields(line); words[0] {
	case "kubectl":
		h.must(t, words[1:]...)
	case "helm":
		t.Log(line)
		if out, err := h.helm(t.Context(), words[1:]...); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	default:
		t.Fatalf("the test cannot run the line %q", line)
	}
}
