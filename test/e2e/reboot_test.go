package e2e

import (
	"context"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
	"github.com/millwright-dev/millwright/provider"
)

// TestRebootHeals: a kubelet hangs. Its check first requests a reboot, which starts another kubelet on the same instance, and
// no machine is replaced.
func TestRebootHeals(t *testing.T) {
	t.Parallel()
	f := hollow(t)
	const name = "hung"
	kubectl(t, f, manifest(t, "health-reboot.yaml", name), "apply", "-f", "-")
	before := running(t, f, provider.OpenShift, name+"-", 2)
	sick := before[0]
	field := func(path string) string {
		return strings.TrimSpace(kubectl(t, f, "", "-n", fleet.OpenShiftNamespace, "get", "machines.machine.openshift.io", sick.Name, "-o", "jsonpath="+path))
	}
	instance, process := field("{.status.providerStatus.instanceId}"), kubelets(t, f, sick.Name)

	signal(t, f, syscall.SIGSTOP, sick)
	eventually(t, sick.Name+" rebooted and Ready", func(ctx context.Context) (string, error) {
		if said := field(`{.metadata.annotations.millwright\.dev/reboot}`); !strings.Contains(said, `"state":"Done"`) {
			return "of a reboot it says " + said, nil
		}
		now, err := machines(ctx, f, provider.OpenShift, name+"-")
		for _, m := range now {
			if m.UID == sick.UID && m.NodeReady == corev1.ConditionTrue {
				return "", err
			}
		}
		return "its node is not Ready", err
	})
	if gone := lost(before, running(t, f, provider.OpenShift, name+"-", 2)); len(gone) > 0 {
		t.Errorf("%v are replaced", gone)
	}
	if got := field("{.status.providerStatus.instanceId}"); instance == "" || got != instance {
		t.Errorf("instance %q became %q", instance, got)
	}
	if after := kubelets(t, f, sick.Name); len(after) != 1 || len(process) != 1 || after[0] == process[0] {
		t.Errorf("processes %v became %v", process, after)
	}
	events := kubectl(t, f, "", "-n", fleet.OpenShiftNamespace, "get", "events", "--field-selector", "involvedObject.name="+sick.Name)
	for _, reason := range []string{"RebootRequested", "Rebooted"} {
		if !strings.Contains(events, reason) {
			t.Errorf("no event %s:\n%s", reason, events)
		}
	}
	kubectl(t, f, "", "-n", fleet.OpenShiftNamespace, "delete", "machinesets.machine.openshift.io", name, "--wait=false")
}
