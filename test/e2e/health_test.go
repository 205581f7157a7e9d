package e2e

import (
	"context"
	"slices"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
	"github.com/millwright-dev/millwright/provider"
)

// signal sends a signal to all processes that simulate machines.
func signal(t *testing.T, f *fleet.Fleet, s syscall.Signal, of ...fleet.Machine) {
	t.Helper()
	var pids []int
	for _, m := range of {
		found := kubelets(t, f, m.Name)
		if len(found) != 1 {
			t.Fatalf("processes %v stand for machine %s, want exactly one", found, m.Name)
		}
		pids = append(pids, found...)
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, s); err != nil {
			t.Fatal(err)
		}
	}
}

func uids(list []fleet.Machine) (out []string) {
	for _, m := range list {
		out = append(out, m.UID)
	}
	slices.Sort(out)
	return out
}

// lost returns the machines of before that are missing in after.
func lost(before, after []fleet.Machine) (out []fleet.Machine) {
	there := uids(after)
	for _, m := range before {
		if !slices.Contains(there, m.UID) {
			out = append(out, m)
		}
	}
	return out
}

// settled waits until the given number of machines exists and all are Running, after some were replaced.
func settled(t *testing.T, f *fleet.Fleet, api, prefix string, n int, gone ...fleet.Machine) (out []fleet.Machine) {
	t.Helper()
	eventually(t, prefix+"* replaced", func(ctx context.Context) (string, error) {
		now, err := machines(ctx, f, api, prefix)
		for _, m := range now {
			if slices.Contains(uids(gone), m.UID) {
				return m.Name + " is still there, " + m.Phase, err
			}
		}
		return "", err
	})
	return running(t, f, api, prefix, n)
}

// checkSays waits until a condition of a check contains all the words.
func checkSays(t *testing.T, f *fleet.Fleet, check, kind string, words ...string) {
	t.Helper()
	path := `jsonpath={range .status.conditions[?(@.type=="` + kind + `")]}{.status} {.reason} {.message}{end}`
	eventually(t, check+" says "+strings.Join(words, ", "), func(context.Context) (string, error) {
		said := kubectl(t, f, "", "-n", fleet.OpenShiftNamespace, "get", "machinehealthchecks.machine.openshift.io", check, "-o", path)
		for _, w := range words {
			if !strings.Contains(said, w) {
				return "it says " + said, nil
			}
		}
		return "", nil
	})
}

// TestHealthCheck follows the example exactly: the check replaces one of three machines that becomes silent, but not two at
// once.
func TestHealthCheck(t *testing.T) {
	t.Parallel()
	f := hollow(t)
	r := readRecipe(t, f, "openshift-machinehealthcheck.yaml")
	r.play(t, 1)
	before := running(t, f, provider.OpenShift, "healthy-", 3)

	r.play(t, 2)
	said := r.play(t, 3)
	after := running(t, f, provider.OpenShift, "healthy-", 3)
	gone := lost(before, after)
	if len(gone) != 1 {
		t.Fatalf("one kubelet was stopped, but %d machines are replaced", len(gone))
	}
	title := "openshift-machine-api/healthy/" + gone[0].Name + "/" + gone[0].Name
	for _, words := range []string{"Machine " + title + " has unhealthy node " + gone[0].Name, "Machine " + title + " has been remediated by requesting to delete Machine object"} {
		if !strings.Contains(said, words) {
			t.Errorf("no event says %q:\n%s", words, said)
		}
	}
	if left := kubelets(t, f, gone[0].Name); len(left) > 0 {
		t.Errorf("processes %v are left of it", left)
	}

	if said := r.play(t, 4); !strings.Contains(said, "(total: 3, unhealthy: 2, maxUnhealthy: 1)") {
		t.Errorf("with two of three silent, the check says %s", said)
	}
	// Only after their timeouts is it certain that the check does nothing.
	checkSays(t, f, "healthy", "Calm", "2 of 3 machines are unhealthy, and maxUnhealthy allows 1", "0 remediated, 2 left alone")
	events := kubectl(t, f, "", "-n", fleet.OpenShiftNamespace, "get", "events", "--field-selector", "reason=RemediationRestricted")
	if !strings.Contains(events, "(total: 3, unhealthy: 2, maxUnhealthy: 1)") {
		t.Errorf("no event says so:\n%s", events)
	}
	held, err := machines(t.Context(), f, provider.OpenShift, "healthy-")
	if err != nil || len(lost(after, held)) > 0 {
		t.Fatalf("%v were replaced, %v", lost(after, held), err)
	}
	r.play(t, 5)
	if gone := lost(held, running(t, f, provider.OpenShift, "healthy-", 3)); len(gone) != 1 || gone[0].NodeReady == corev1.ConditionTrue {
		t.Errorf("one came back, but %v were replaced", gone)
	}
	r.play(t, 6)
}

// TestOldHealthCheck follows the other example: the original test of the health check, in the API in which it was written.
func TestOldHealthCheck(t *testing.T) {
	t.Parallel()
	f := hollow(t)
	r := readRecipe(t, f, "healthchecking-machinehealthcheck.yaml")
	r.play(t, 1)
	before := running(t, f, provider.OpenShift, "cluster-worker-", 2)
	r.play(t, 2)
	said := r.play(t, 3)
	r.play(t, 4)
	gone := lost(before, running(t, f, provider.OpenShift, "cluster-worker-", 2))
	if len(gone) != 1 || !strings.Contains(said, "Machine default/example/"+gone[0].Name+"/"+gone[0].Name+" has been remediated") {
		t.Errorf("replaced %v; said\n%s", gone, said)
	}
	r.play(t, 5)
}

// A silent machine of the other API fails after its own timeout, without a check, and is replaced.
func TestSilentGardenerMachine(t *testing.T) {
	t.Parallel()
	f := hollow(t)
	const name = "silent-gardener"
	kubectl(t, f, manifest(t, "health-gardener.yaml", name), "apply", "-f", "-")
	before := running(t, f, provider.Gardener, name, 2)
	signal(t, f, syscall.SIGSTOP, before[0])
	after := settled(t, f, provider.Gardener, name, 2, before[0])
	if gone := lost(before, after); len(gone) != 1 {
		t.Errorf("one kubelet was stopped, but %d machines are replaced", len(gone))
	}
	kubectl(t, f, "", "-n", fleet.GardenerNamespace, "delete", "machinesets.machine.sapcloud.io", name, "--wait=false")
}
