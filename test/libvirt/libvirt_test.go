// Package libvirt_test tests machines that are virtual machines. libvirt runs them with QEMU, the guests have a real kubelet
// and containerd, and the programs run as users run them. `make test-libvirt` starts libvirt; without libvirt the test is
// skipped.
package libvirt_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// story is the fleet of the test.
type story struct {
	t          *testing.T
	root, dir  string
	kubeconfig string
	kubectl    string
}

const (
	// patience limits the time of all machines on a busy computer without KVM.
	patience = 10 * time.Minute
	pod      = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q,"namespace":"default"},"spec":{"nodeName":%q,"automountServiceAccountToken":false,` +
		`"terminationGracePeriodSeconds":1,"containers":[{"name":"pause","image":"millwright.invalid/pause:devel","imagePullPolicy":"Never"}]}}`
)

// run runs a program. Its output is a part of the output of the test.
func (s *story) run(stdin, program string, args ...string) string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.t.Context()), patience+time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, program, args...)
	c.Dir, c.Stdin = s.root, strings.NewReader(stdin)
	c.Env = append(os.Environ(), "KUBECONFIG="+s.kubeconfig)
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		s.t.Fatalf("%s %s: %v: %s", filepath.Base(program), strings.Join(args, " "), err, out)
	}
	return string(out)
}

// up starts the fleet, and returns the nodes of its machines.
func (s *story) up() (nodes []string) {
	s.t.Helper()
	var fleet struct {
		Seconds    float64 `json:"seconds"`
		Kubeconfig string  `json:"kubeconfig"`
		Machines   []struct {
			API  string `json:"api"`
			Node string `json:"node"`
		} `json:"machines"`
	}
	millwright := filepath.Join(s.root, "bin", "millwright")
	s.t.Cleanup(func() { s.run("", millwright, "down", "--dir", s.dir) })
	out := s.run("", millwright, "up", "--provider", "libvirt", "--exit-when-ready", "--timeout", patience.String(), "--dir", s.dir, "-o", "json")
	if err := json.Unmarshal([]byte(out), &fleet); err != nil {
		s.t.Fatal(err)
	}
	s.kubeconfig = fleet.Kubeconfig
	apis := map[string]bool{}
	for _, m := range fleet.Machines {
		nodes = append(nodes, m.Node)
		apis[m.API] = true
	}
	if len(apis) != 2 {
		s.t.Fatalf("machines are those of %v, want both APIs", apis)
	}
	s.t.Logf("%d machines are ready after %.0f s; %s", len(nodes), fleet.Seconds, lastLine(s.run("", "hack/libvirt", "status")))
	return nodes
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// TestVirtualMachines: virtual machines boot, join, run a pod each, are drained, and leave nothing behind.
func TestVirtualMachines(t *testing.T) {
	if os.Getenv("LIBVIRTD") == "" {
		t.Skip("LIBVIRTD names no socket of a libvirtd: `make test-libvirt` starts one")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	s := &story{t: t, root: root, dir: t.TempDir()}
	s.kubectl = filepath.Join(strings.TrimSpace(s.run("", "go", "run", "./internal/demo/devplane/cmd/box-assets")), "kubectl")
	for _, node := range s.up() {
		s.run(fmt.Sprintf(pod, node, node), s.kubectl, "apply", "-f", "-")
		s.run("", s.kubectl, "wait", "--for=condition=Ready", "--timeout=5m", "pod/"+node)
		version := s.run("", s.kubectl, "get", "node", node, "-o", "jsonpath={.status.nodeInfo.containerRuntimeVersion} {.spec.providerID}")
		if !strings.HasPrefix(version, "containerd://") || !strings.Contains(version, " libvirt:///") {
			t.Errorf("node %s is %q", node, version)
		}
	}
	for _, set := range []string{"machinesets.machine.openshift.io/mill-worker-a", "machinesets.machine.sapcloud.io/mill-pool"} {
		namespace := "default"
		if strings.Contains(set, "openshift") {
			namespace = "openshift-machine-api"
		}
		s.run("", s.kubectl, "--namespace", namespace, "scale", "--replicas=0", set)
	}
	for s.run("", s.kubectl, "get", "--all-namespaces", "machines.machine.openshift.io,machines.machine.sapcloud.io", "-o", "name") != "" {
		time.Sleep(time.Second) // the deadline of the test ends the loop
	}
	for what, args := range map[string][]string{
		"domains": {"list", "--all", "--name"}, "volumes": {"vol-list", "default"}, "addresses": {"net-dumpxml", "default"},
	} {
		if left := s.run("", "hack/libvirt", append([]string{"virsh"}, args...)...); strings.Contains(left, "mill-") {
			t.Errorf("%s are left:\n%s", what, left)
		}
	}
	if left := s.run("", s.kubectl, "get", "nodes", "-o", "name"); left != "" {
		t.Errorf("nodes are left: %s", left)
	}
	// An evicted pod does not exist, or has ended.
	if running := s.run("", s.kubectl, "get", "pods", "--field-selector=status.phase=Running", "-o", "name"); running != "" {
		t.Errorf("pods run without a node: %s", running)
	}
}
