package install

import (
	"context"
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

func TestInstall(t *testing.T) {
	h := host
	if err := os.Chmod(filepath.Join(h.work, "volumes"), 0o777); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.describe(t) })
	h.must(t, "apply", "-f", h.manifest(t, "volume.yaml"))
	h.must(t, "apply", "--server-side", "-k", "config/default")
	for _, d := range []string{"machine-controller-manager", "machineset-controller", "machine-controller-kubemark"} {
		h.must(t, "-n", namespace, "rollout", "status", "deployment/"+d, "--timeout=2m")
	}
	h.must(t, "apply", "-f", h.manifest(t, "fleet.yaml"))
	for _, pool := range []string{"machinedeployments.machine.openshift.io/mill", "machinedeployments.machine.sapcloud.io/shoot"} {
		h.must(t, "-n", namespace, "wait", pool, "--for=jsonpath={.status.availableReplicas}=2", "--timeout=2m")
	}
	t.Log(h.must(t, "get", "nodes,pods", "-A", "-o", "wide"))
}
