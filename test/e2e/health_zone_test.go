package e2e

import (
	"strings"
	"syscall"
	"testing"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
	"github.com/millwright-dev/millwright/provider"
)

// TestZoneOutage: all ten machines of a zone become silent at once, and one machine of another zone for another reason. While
// the breaker enforces, the check does not replace the machines of the zone, but replaces the other machine. In mode report,
// the check does what the API has always defined, and reports the objection of the breaker.
func TestZoneOutage(t *testing.T) {
	t.Parallel()
	f := hollow(t)
	const name = "outage"
	kubectl(t, f, manifest(t, "health-zones.yaml", name), "apply", "-f", "-")
	zone := running(t, f, provider.OpenShift, name+"-a-", 10)
	others := running(t, f, provider.OpenShift, name+"-b-", 3)

	signal(t, f, syscall.SIGSTOP, append(zone[:10:10], others[0])...)
	others = settled(t, f, provider.OpenShift, name+"-b-", 3, others[0])
	checkSays(t, f, name, "Calm", "False Storm", "10 of 10 machines of zone mill-a are sick", "0 remediated, 10 left alone")
	now, err := machines(t.Context(), f, provider.OpenShift, name+"-a-")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range now {
		if m.Deleted {
			t.Errorf("%s of the zone that is out is deleted", m.Name)
		}
	}
	if gone := lost(zone, now); len(gone) > 0 || len(now) != 10 {
		t.Errorf("of the failed zone, %v were deleted, %d exist", gone, len(now))
	}
	events := kubectl(t, f, "", "-n", fleet.OpenShiftNamespace, "get", "events", "--field-selector", "reason=RemediationStorm,involvedObject.name="+name)
	if !strings.Contains(events, "machines of zone mill-a are sick: they are left alone") {
		t.Errorf("no event tells of the storm:\n%s", events)
	}

	kubectl(t, f, "", "-n", fleet.OpenShiftNamespace, "annotate", "--overwrite", "machinehealthchecks.machine.openshift.io", name, "millwright.dev/remediation-breaker=report")
	checkSays(t, f, name, "Calm", "False Storm", "zone mill-a", ", which the breaker only reports; 11 remediated within the hour, of at most 3")
	settled(t, f, provider.OpenShift, name+"-a-", 10, zone...)
	if gone := lost(others, running(t, f, provider.OpenShift, name+"-b-", 3)); len(gone) > 0 {
		t.Errorf("%v were healthy, but are replaced", gone)
	}
	kubectl(t, f, "", "-n", fleet.OpenShiftNamespace, "delete", "machinesets.machine.openshift.io", name+"-a", name+"-b", "--wait=false")
}
