package quickstart

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// typed runs a block of commands as a user does, in the root of the repository.
func typed(ctx context.Context, block string) (string, error) {
	c := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", block)
	c.Dir, c.Env = host.root, host.env
	var said bytes.Buffer
	c.Stdout, c.Stderr = &said, &said
	c.WaitDelay = time.Second // controllers in the background do not block the output
	err := c.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	return said.String(), err
}

// must runs a block of commands, and fails the test if they fail.
func must(t *testing.T, block string) string {
	t.Helper()
	began := time.Now()
	said, err := typed(t.Context(), block)
	t.Logf("%5.1f s\n%s\n%s", time.Since(began).Seconds(), block, said)
	if err != nil {
		t.Fatal(err)
	}
	return said
}

// blocks returns the shell blocks of a section of the page.
func blocks(t *testing.T, section string) (all []string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(host.root, "docs", "quickstart.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(page), "\n## "+section+"\n")
	if !found {
		t.Fatalf("the page has no section %q", section)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	for {
		var block string
		if _, text, found = strings.Cut(text, "```sh\n"); !found {
			return all
		}
		block, text, _ = strings.Cut(text, "```")
		all = append(all, block)
	}
}

// TestPage runs the commands for controllers as processes. In between, the API server validates the manifests for controllers
// as pods.
func TestPage(t *testing.T) {
	all := blocks(t, "Controllers as processes")
	if len(all) != 6 {
		t.Fatalf("%d blocks, want 6: create, start, look, delete, stop, delete", len(all))
	}
	t.Cleanup(func() { // after a failure; the context of the test has ended
		for _, block := range all[len(all)-2:] {
			_, _ = typed(context.Background(), block)
		}
	})
	must(t, all[0])
	t.Log(must(t, "kubectl version"))
	must(t, all[1])
	if ready := must(t, "kubectl get nodes --no-headers"); strings.Count(ready, " Ready ") != 5 {
		t.Errorf("want five ready nodes:\n%s", ready)
	}
	if said := must(t, all[2]); !strings.Contains(said, "delete 4 machines of worker") || !strings.Contains(said, " is in order: ") {
		t.Errorf("plan or why says something else:\n%s", said)
	}
	must(t, all[3])
	manifests(t)
	must(t, all[4])
	if left := must(t, "kubectl get nodes --no-headers; kubectl get millwright -A --no-headers"); strings.Contains(left, "Ready") || strings.Contains(left, "worker") {
		t.Errorf("hack/quickstart down leaves\n%s", left)
	}
	must(t, "for i in $(seq 30); do pgrep -f 'target-kubeconfig=[b]in/quickstart' || exit 0; sleep 1; done; echo the controllers run on; exit 1")
	must(t, all[5])
}

// manifests applies the manifests for controllers as pods as a dry run. The other commands of that section need a container
// engine, or running pods.
func manifests(t *testing.T) {
	t.Helper()
	judged := 0
	for _, block := range blocks(t, "Controllers as pods") {
		for line := range strings.Lines(block) {
			line = strings.TrimSpace(line)
			switch {
			case strings.HasPrefix(line, "kubectl apply "):
				must(t, line+" --dry-run=server")
				judged++
			case strings.HasPrefix(line, "make image"), strings.HasPrefix(line, "kubectl -n millwright-system rollout status "), strings.HasPrefix(line, "kubectl delete "):
			default:
				t.Errorf("%s: neither tried here nor known to need pods", line)
			}
		}
	}
	if judged != 2 {
		t.Errorf("%d files are applied, want 2", judged)
	}
}

// TestRefusesOthers: the quickstart does not change a cluster that already has machines.
func TestRefusesOthers(t *testing.T) {
	must(t, "kwokctl create cluster --name others --runtime binary")
	t.Cleanup(func() { _, _ = typed(context.Background(), "kwokctl delete cluster --name others") })
	must(t, "kubectl apply --server-side -f config/crd/machine.openshift.io_machines.yaml")
	if said, err := typed(t.Context(), "hack/quickstart"); err == nil || !strings.Contains(said, "has machines already") {
		t.Errorf("%v\n%s", err, said)
	}
	must(t, `kubectl create namespace millwright-system
mkdir -p bin/quickstart
echo 999999999 >bin/quickstart/a.pid
echo another >bin/quickstart/cluster
cp "$KUBECONFIG" bin/quickstart/kubeconfig`)
	if said, err := typed(t.Context(), "hack/quickstart down"); err != nil || !strings.Contains(said, "is another one now") {
		t.Errorf("%v\n%s", err, said)
	}
	must(t, "rm -rf bin/quickstart; kubectl get namespace millwright-system")
	if said, err := typed(t.Context(), "hack/quickstart down"); err == nil || !strings.Contains(said, "does not run") {
		t.Errorf("%v\n%s", err, said)
	}
	if said := must(t, "kubectl get customresourcedefinitions -o name"); strings.Count(said, "customresourcedefinition.") != 1 {
		t.Errorf("it has changed the cluster:\n%s", said)
	}
}

// TestKwokConfiguration: kwok runs with the configuration for clusters of pods, and keeps the node of a simulated machine
// Ready. Its stages are the default stages of kwok.
func TestKwokConfiguration(t *testing.T) {
	file := filepath.Join(host.root, "examples", "quickstart", "kwok-config.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	kubectl, err := host.box.Path("kubectl")
	if err != nil {
		t.Fatal(err)
	}
	stages, err := exec.CommandContext(t.Context(), filepath.Join(filepath.Dir(kubectl), "box"), "kwok-stages").Output()
	if err != nil {
		t.Fatal(err)
	}
	if _, have, _ := strings.Cut(string(text), "\n---\n"); strings.TrimSpace(have) != strings.TrimSpace(string(stages)) {
		t.Errorf("%s has other stages than kwok: take those of `box kwok-stages`", file)
	}
	must(t, "kwokctl create cluster --name stages --runtime binary --disable kwok-controller")
	t.Cleanup(func() { _, _ = typed(context.Background(), "kwokctl delete cluster --name stages") })
	kwok := exec.CommandContext(t.Context(), filepath.Join(host.work, "bin", "kwok"), "--config="+file, "--kubeconfig="+filepath.Join(host.work, "kubeconfig"),
		"--server-address=127.0.0.1:0", "--node-ip=127.0.0.1")
	kwok.Env = host.env
	var log bytes.Buffer
	kwok.Stdout, kwok.Stderr = &log, &log
	if err := kwok.Start(); err != nil {
		t.Fatal(err)
	}
	node := `{"apiVersion":"v1","kind":"Node","metadata":{"name":"%s","annotations":{%s}}}`
	must(t, "kubectl apply -f - <<'E'\n"+fmt.Sprintf(node, "another", "")+"\nE\nkubectl apply -f - <<'E'\n"+fmt.Sprintf(node, "simulated", `"kwok.x-k8s.io/node":"fake"`)+"\nE")
	if said, err := typed(t.Context(), "kubectl wait node/simulated --for=condition=Ready --timeout=1m"); err != nil {
		t.Errorf("%v\n%s\n%s", err, said, log.String())
	}
	if said := must(t, "kubectl get node another -o 'jsonpath={.status.conditions}'"); strings.Contains(said, `"True"`) {
		t.Errorf("kwok has touched a node that is not simulated: %s", said)
	}
}
