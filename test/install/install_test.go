package install

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const namespace = "millwright-system"

// must runs what a user types.
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

// describe shows what a user would look at.
func (h *machine) describe(t *testing.T) {
	t.Helper()
	if !t.Failed() {
		return
	}
	for _, args := range [][]string{
		{"get", "pods", "-A", "-o", "wide"},
		{"get", "events", "-A", "--sort-by=.lastTimestamp"},
		{"get", "machines.machine.openshift.io,machinesets.machine.openshift.io,machines.machine.sapcloud.io,machinesets.machine.sapcloud.io", "-A"},
		{"-n", namespace, "logs", "--tail=30", "--prefix", "--selector=app.kubernetes.io/part-of=millwright"},
	} {
		out, err := h.kubectl(context.Background(), args...) // the test's own has ended
		t.Logf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// manifest writes a file of testdata to where kubectl reads it, and returns its name.
func (h *machine) manifest(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(content), "WORK", h.work)), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// The pools of testdata/fleet.yaml.
const (
	mill  = "machinedeployments.machine.openshift.io/mill"
	shoot = "machinedeployments.machine.sapcloud.io/shoot"
	both  = "machines.machine.openshift.io,machines.machine.sapcloud.io"
)

func TestInstall(t *testing.T) {
	h := host
	if err := os.Chmod(filepath.Join(h.work, "volumes"), 0o777); err != nil { // programs in containers are not root
		t.Fatal(err)
	}
	t.Cleanup(func() { h.describe(t) })
	before := h.clusterScoped(t)
	h.must(t, "apply", "-f", h.manifest(t, "volume.yaml"))
	h.must(t, "apply", "--server-side", "-f", h.previous(t))
	h.settle(t)
	t.Log(h.must(t, "apply", "-f", h.manifest(t, "fleet.yaml")))
	h.available(t)

	h.changes(t, "apply", "--server-side", "--force-conflicts", "-f", "deploy/millwright.yaml")
	h.changes(t, "apply", "--server-side", "--force-conflicts", "-f", h.previous(t))
	h.changes(t, "apply", "--server-side", "--force-conflicts", "-f", "deploy/millwright.yaml")

	t.Run("rolls", h.rolls)
	t.Run("heals", h.heals)
	t.Run("rests", h.rests)
	t.Log(h.must(t, "get", "nodes,pods,"+both, "-A", "-o", "wide"))
	h.removed(t, before)
}

// previous writes the manifests of the commit before, with its image, and returns the name of the file.
func (h *machine) previous(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(h.work, "previous", "deploy", "millwright.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "previous.yaml")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(content), "millwright-controllers:devel", "millwright-controllers:previous")), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// settle waits until the programs that were applied run, and no others.
func (h *machine) settle(t *testing.T) {
	t.Helper()
	for _, d := range []string{"machine-controller-manager", "machineset-controller", "machine-controller-kubemark"} {
		h.must(t, "-n", namespace, "rollout", "status", "deployment/"+d, "--timeout=3m")
	}
}

// available waits until both pools have what they shall have.
func (h *machine) available(t *testing.T) {
	t.Helper()
	for _, pool := range []string{mill, shoot} {
		h.must(t, "-n", namespace, "wait", pool, "--for=jsonpath={.status.availableReplicas}=2", "--timeout=3m")
		h.must(t, "-n", namespace, "wait", pool, "--for=jsonpath={.status.updatedReplicas}=2", "--timeout=3m")
		h.must(t, "-n", namespace, "wait", pool, "--for=jsonpath={.status.replicas}=2", "--timeout=3m")
	}
}

// uids are those of all machines.
func (h *machine) uids(t *testing.T) string {
	t.Helper()
	return h.must(t, "-n", namespace, "get", both, "--sort-by=.metadata.uid", "-o", `jsonpath={range .items[*]}{.metadata.name} {.metadata.uid}{"\n"}{end}`)
}

// changes puts other programs in the place of those that run: no machine is replaced, and next to nothing is written.
func (h *machine) changes(t *testing.T, apply ...string) {
	t.Helper()
	was, from := h.uids(t), h.audited(t)
	h.must(t, apply...)
	h.settle(t)
	time.Sleep(20 * time.Second) // the leases of the programs before run out, and others look at everything
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

func (h *machine) rolls(t *testing.T) {
	was := h.uids(t)
	h.must(t, "-n", namespace, "patch", mill, "--type=merge", "-p", `{"spec":{"template":{"spec":{"providerSpec":{"value":{"instanceType":"hollow.huge"}}}}}}`)
	h.must(t, "-n", namespace, "patch", shoot, "--type=merge", "-p", `{"spec":{"template":{"spec":{"class":{"name":"shoot-v2"}}}}}`)
	h.replaced(t, was, 4)
}

// heals takes an instance of each pool away, behind everybody's back. Its kubelet falls silent, and its machine is replaced.
func (h *machine) heals(t *testing.T) {
	was := h.uids(t)
	for _, pool := range []string{"mill-", "shoot-"} {
		file, node := h.instance(t, pool)
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		// kwok plays no node whose lease somebody else holds.
		h.must(t, "-n", "kube-node-lease", "patch", "lease/"+node, "--type=merge", "-p", `{"spec":{"holderIdentity":"nobody","leaseDurationSeconds":600}}`)
	}
	h.replaced(t, was, 2)
}

// instance is the file of an instance of a pool, and the node that it is.
func (h *machine) instance(t *testing.T, pool string) (file, node string) {
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

// rests tells what the programs cost while a fleet of 100 machines needs nothing.
func (h *machine) rests(t *testing.T) {
	for _, size := range []string{"50", "2"} {
		h.must(t, "-n", namespace, "scale", mill, shoot, "--replicas="+size)
		for _, pool := range []string{mill, shoot} {
			h.must(t, "-n", namespace, "wait", pool, "--for=jsonpath={.status.availableReplicas}="+size, "--timeout=5m")
			h.must(t, "-n", namespace, "wait", pool, "--for=jsonpath={.status.replicas}="+size, "--timeout=5m")
		}
		if size == "50" {
			time.Sleep(time.Minute)
			for _, line := range h.usage(t) {
				t.Log(line)
			}
		}
	}
}

// usage is what kubelet measures of our containers.
func (h *machine) usage(t *testing.T) (lines []string) {
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
		if p.PodRef.Namespace != namespace {
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

// instances are the files in which the provider keeps them.
func (h *machine) instances() []string {
	files, _ := filepath.Glob(filepath.Join(h.work, "volumes", "clusters", "*", "machines", "*", "*.json"))
	return files
}

// replaced waits until so many of the machines that were are gone, and both pools are whole.
func (h *machine) replaced(t *testing.T, was string, count int) {
	t.Helper()
	err := eventually(t.Context(), 3*time.Minute, func() error {
		is, left := h.uids(t), 0
		for _, line := range strings.Split(strings.TrimSpace(was), "\n") {
			if strings.Contains(is, line) {
				left++
			}
		}
		if left != 4-count {
			return fmt.Errorf("%d of 4 machines are left of\n%s\namong\n%s", left, was, is)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	h.available(t)
}

// clusterScoped lists what a cluster has outside of namespaces, and the namespaces.
func (h *machine) clusterScoped(t *testing.T) string {
	t.Helper()
	return h.must(t, "get", "-o", "name", "nodes,namespaces,crds,clusterroles,clusterrolebindings,priorityclasses,csr,"+
		"validatingwebhookconfigurations,mutatingwebhookconfigurations,validatingadmissionpolicies,validatingadmissionpolicybindings")
}

// removed follows docs/uninstall.md, after which the cluster is what it was before.
func (h *machine) removed(t *testing.T, before string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/uninstall.md")
	if err != nil {
		t.Fatal(err)
	}
	_, commands, _ := strings.Cut(string(text), "```sh\n")
	commands, _, _ = strings.Cut(commands, "```")
	for _, line := range strings.Split(strings.TrimSpace(commands), "\n") {
		h.must(t, strings.Fields(strings.TrimPrefix(line, "kubectl "))...)
	}
	if after := h.clusterScoped(t); after != before {
		t.Errorf("the cluster had before:\n%s\nand has after it:\n%s", before, after)
	}
	if left := h.instances(); len(left) > 0 {
		t.Errorf("instances are left: %v", left)
	}
}
