package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// millwright runs the command with its own home folder and returns its output.
func millwright(t *testing.T, home string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	c := exec.Command(filepath.Join(bin, "millwright"), args...)
	// The fleet's kubectl ignores a KUBECONFIG of another cluster.
	c.Env = append(os.Environ(), "MILLWRIGHT_HOME="+home, "KUBECONFIG=/another/cluster.kubeconfig")
	var out, messages bytes.Buffer
	c.Stdout, c.Stderr = &out, &messages
	err = c.Run()
	return out.String(), messages.String(), err
}

// reportedController is a controller in the document of up.
type reportedController struct {
	Program, Metrics, Log string
	PID                   int
	Running               bool
}

// serveMetrics: both controllers run, and their logs and metrics are at the places in the document.
func serveMetrics(t *testing.T, all []reportedController) {
	t.Helper()
	for _, c := range all {
		if _, err := os.Stat(c.Log); err != nil || !c.Running || c.PID == 0 {
			t.Errorf("reported as a controller: %+v: %v", c, err)
		}
		metrics, err := http.Get(c.Metrics)
		if err != nil {
			t.Fatalf("read the metrics of %s: %v", c.Program, err)
		}
		if text, err := io.ReadAll(metrics.Body); err != nil || !strings.Contains(string(text), "millwright_leading") {
			t.Errorf("metrics of %s at %s: %v\n%s", c.Program, c.Metrics, err, text)
		}
		_ = metrics.Body.Close()
	}
	if len(all) != 2 {
		t.Errorf("controllers: %+v", all)
	}
}

// TestUpAndDown follows the README's section for scripts.
func TestUpAndDown(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "home")
	t.Cleanup(func() { _ = down(home) })
	stdout, stderr, err := millwright(t, home, "up", "--exit-when-ready", "-o", "json")
	if err != nil {
		t.Fatalf("up: %v\n%s", err, stderr)
	}
	var report struct {
		Seconds                 float64
		Dir, Server, Kubeconfig string
		Controllers             []reportedController
		Machines                []struct {
			API, Namespace, Name, Node, Phase string
			Seconds                           float64
		}
	}
	decoder := json.NewDecoder(strings.NewReader(stdout))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&report); err != nil || decoder.More() {
		t.Fatalf("standard output is not one document of the kind that was promised: %v\n%s", err, stdout)
	}
	if report.Dir != home || !strings.HasPrefix(report.Server, "https://127.0.0.1:") {
		t.Errorf("the report does not lead to the fleet in %s: dir %s, server %s", home, report.Dir, report.Server)
	}
	if _, err := os.Stat(report.Kubeconfig); err != nil {
		t.Errorf("the report names a kubeconfig that cannot be read: %v", err)
	}
	serveMetrics(t, report.Controllers)
	perAPI := map[string]int{}
	for _, m := range report.Machines {
		if m.Phase != "Running" || m.Node == "" || m.Name == "" || m.Namespace == "" || m.Seconds <= 0 {
			t.Errorf("reported as ready: %+v", m)
		}
		perAPI[m.API]++
	}
	if perAPI["machine.openshift.io"] != 3 || perAPI["machine.sapcloud.io"] != 3 || report.Seconds <= 0 {
		t.Errorf("machines by API %v after %v s, want 3 of each", perAPI, report.Seconds)
	}

	if _, stderr, err := millwright(t, home, "up"); err == nil || !strings.Contains(stderr, "a fleet has been running") || !strings.Contains(stderr, "down --dir "+home+"`") {
		t.Errorf("a second up: %v, says %q; want a message that a fleet is running, and the command that ends it", err, stderr)
	}
	if nodes, stderr, err := millwright(t, home, "kubectl", "get", "nodes", "--no-headers"); err != nil || strings.Count(nodes, " Ready ") != 6 {
		t.Errorf("millwright kubectl get nodes: %v %s\n%s\nwant 6 Ready", err, stderr, nodes)
	}
	if _, stderr, err := millwright(t, home, "down"); err != nil {
		t.Errorf("down: %v\n%s", err, stderr)
	}
	if _, err := os.Stat(home); !os.IsNotExist(err) {
		t.Errorf("down leaves %s behind (%v)", home, err)
	}
	if left, _ := exec.Command("pgrep", "-f", home).Output(); len(left) > 0 {
		t.Errorf("down leaves processes behind: %s", left)
	}
	if _, stderr, err := millwright(t, home, "down"); err != nil || !strings.Contains(stderr, "No fleet") {
		t.Errorf("down where nothing is: %v %q", err, stderr)
	}
}
