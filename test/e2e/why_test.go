package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
	"github.com/millwright-dev/millwright/internal/engine/explain"
)

// asked runs `kubectl machine why` with an output for scripts. If there is nothing to explain, the command fails, but prints
// its answer.
func asked(t *testing.T, f *fleet.Fleet, args ...string) (a explain.Answer, failed bool) {
	t.Helper()
	c := exec.Command(filepath.Join(bin, "kubectl-machine"), append([]string{"why", "-o", "json", "--kubeconfig", f.Plane.KubeconfigPath}, args...)...)
	var out, messages bytes.Buffer
	c.Stdout, c.Stderr = &out, &messages
	err := c.Run()
	if exit := (&exec.ExitError{}); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if e := json.Unmarshal(out.Bytes(), &a); e != nil {
		t.Fatalf("why %s: %v %v\n%s%s", strings.Join(args, " "), err, e, out.String(), messages.String())
	}
	return a, err != nil
}

// TestWhy: a machine that cannot join is explained while it waits, after it has failed, and after its deletion from the stored
// evidence.
func TestWhy(t *testing.T) {
	t.Parallel()
	f := hollow(t)
	d, name := dialects[1], "why-never"
	userData(t, f, d, name)
	text := strings.Replace(manifest(t, "machine-gardener.yaml", name), "numCores: 2", "numCores: 2\n  neverJoins: true", 1)
	kubectl(t, f, text+"  creationTimeout: 40s\n", "apply", "-f", "-")

	becomes := func(state explain.State, reason string) (a explain.Answer) {
		t.Helper()
		eventually(t, "explained as "+string(state)+", "+reason, func(context.Context) (string, error) {
			if a, _ = asked(t, f, "machine/"+name); a.State != state || a.Reason != reason {
				return a.Sentence, nil
			}
			return "", nil
		})
		return a
	}
	a := becomes(explain.Degraded, "AwaitingNode")
	// These controllers lead without leases, and why reports that it found no lease.
	others := slices.DeleteFunc(slices.Clone(a.Gaps), func(gap string) bool { return strings.Contains(gap, "it has no lease") })
	if !strings.Contains(a.Sentence, "no node has joined") || !strings.Contains(a.Sentence, "(limit 40s)") || len(others) > 0 {
		t.Errorf("while it waits: %+v, not seen %q", a, others)
	}
	becomes(explain.Failed, "Failed")
	var kept *explain.Evidence
	eventually(t, "evidence kept", func(context.Context) (string, error) {
		a, _ := asked(t, f, d.machines()+"/"+name, "-n", d.namespace)
		kept = a.Evidence
		if kept == nil {
			return "none: " + a.Sentence, nil
		}
		return "", nil
	})
	r := kept.Record
	if r.Instance == nil || r.Instance.State != "Running" || len(r.Gaps) > 0 || !strings.Contains(r.Summary, "failed to join") {
		t.Errorf("kept is %+v", r)
	}
	if len(r.Events) == 0 {
		t.Error("no event is stored: its own failure was reported before")
	}

	kubectl(t, f, "", "-n", d.namespace, "delete", d.machines()+"/"+name, "--timeout=1m")
	d.gone(t, f, name)
	a = becomes(explain.Gone, "GivenUp")
	if a.Evidence == nil || a.API != d.group || a.Namespace != d.namespace {
		t.Errorf("after its deletion: %+v", a)
	}
	if a, failed := asked(t, f, "machine/why-unknown"); !failed || a.State != explain.Unknown {
		t.Errorf("of a machine that never was: failed=%v, %+v", failed, a)
	}
}

// TestWhyInOrder: running machines are reported as healthy, in both APIs. After their deletion, the record of deleted machines says
// why they do not exist.
func TestWhyInOrder(t *testing.T) {
	inBoth(t, func(t *testing.T, f *fleet.Fleet, d dialect) {
		d.machine(t, f, "why-"+d.name)
		eventually(t, "explained as healthy", func(context.Context) (string, error) {
			a, failed := asked(t, f, d.machines()+"/why-"+d.name)
			if failed || a.State != explain.Healthy || len(a.Gaps) > 0 {
				return a.Sentence + strings.Join(a.Gaps, " "), nil
			}
			return "", nil
		})
		a, _ := asked(t, f, d.machines()+"/why-"+d.name)
		_, rest, _ := strings.Cut(a.Sentence, "its node ")
		node, _, _ := strings.Cut(rest, " ")
		if a, failed := asked(t, f, "node/"+node); failed || a.State != explain.Healthy || len(a.Because) == 0 || !strings.Contains(a.Because[0].Message, "why-"+d.name) {
			t.Errorf("its node %q is explained as %+v", node, a)
		}
		if a, failed := asked(t, f, "-n", d.namespace); failed || a.Kind != "Namespace" || a.Name != d.namespace {
			t.Errorf("its namespace is explained as %+v", a)
		}
		out, err := exec.Command(filepath.Join(bin, "kubectl-machine"), "__complete", "why", "--kubeconfig", f.Plane.KubeconfigPath, "-n", d.namespace, d.machines()+"/why-").Output()
		if err != nil || !strings.Contains(string(out), d.machines()+"/why-"+d.name+"\n") {
			t.Errorf("completed to %q, %v", out, err)
		}
		kubectl(t, f, "", "-n", d.namespace, "delete", d.machines()+"/why-"+d.name, "--timeout=1m")
		d.gone(t, f, "why-"+d.name)
		eventually(t, "recorded as deleted by a client", func(context.Context) (string, error) {
			a, _ := asked(t, f, d.machines()+"/why-"+d.name)
			if a.State != explain.Gone || a.Reason != "Manual" || a.Evidence != nil || len(a.Gaps) > 0 {
				return a.Sentence + strings.Join(a.Gaps, " "), nil
			}
			return "", nil
		})
	})
}
