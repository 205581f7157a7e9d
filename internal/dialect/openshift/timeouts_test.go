package openshift

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// TestTimeoutsAreAskedFor: no machine of this API has timeouts unless its
// annotations say so.
func TestTimeoutsAreAskedFor(t *testing.T) {
	type asked struct {
		Join, Health time.Duration
		Tracks       bool
		Conditions   []string
	}
	for _, c := range []struct {
		reason      string
		annotations map[string]string
		want        asked
	}{
		{"nothing is asked for", nil, asked{}},
		{"a start", map[string]string{dialect.CreationTimeoutAnnotation: "20m"}, asked{Join: 20 * time.Minute}},
		{"health", map[string]string{dialect.HealthTimeoutAnnotation: "10m"}, asked{Health: 10 * time.Minute, Tracks: true}},
		{
			"health, by more conditions",
			map[string]string{dialect.HealthTimeoutAnnotation: "10m", dialect.NodeConditionsAnnotation: "DiskPressure, KernelDeadlock"},
			asked{Health: 10 * time.Minute, Tracks: true, Conditions: []string{"DiskPressure", "KernelDeadlock"}},
		},
		{"conditions alone mean nothing", map[string]string{dialect.NodeConditionsAnnotation: "DiskPressure"}, asked{}},
		{"no durations", map[string]string{dialect.CreationTimeoutAnnotation: "long", dialect.HealthTimeoutAnnotation: "-1m"}, asked{}},
		{"zero is none", map[string]string{dialect.CreationTimeoutAnnotation: "0s", dialect.HealthTimeoutAnnotation: "0"}, asked{}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			p := Machines{}.Policy(&machinev1.Machine{ObjectMeta: metav1.ObjectMeta{Annotations: c.annotations}})
			if d := cmp.Diff(c.want, asked{p.Join.Timeout, p.Health.Timeout, p.Health.Tracked, p.Health.Conditions}); d != "" {
				t.Errorf("%s:\n%s", c.reason, d)
			}
			if p.Health.FailedRecovers || p.Health.NodeLossDeletes {
				t.Errorf("%s: what is Failed recovers, or who loses a node is deleted", c.reason)
			}
		})
	}
}

func TestGroups(t *testing.T) {
	for _, c := range []struct {
		reason, set, cluster, key, value string
	}{
		{"the set's label", "workers", "blue", SetLabel, "workers"},
		{"none: the cluster's", "", "blue", ClusterLabel, "blue"},
		{"neither", "", "", ClusterLabel, ""},
	} {
		t.Run(c.reason, func(t *testing.T) {
			key, value := Machines{}.Group(&machinev1.Machine{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{SetLabel: c.set, ClusterLabel: c.cluster}}})
			if key != c.key || value != c.value {
				t.Errorf("%s: %s=%s", c.reason, key, value)
			}
		})
	}
}

// A node that is not well is remembered since when, through all else that is
// written meanwhile, and forgotten when it is.
func TestUnhealthySince(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	m := &machinev1.Machine{}
	m.Status.Phase = ptr.To(machinev1.PhaseRunning)
	record := func(stage lifecycle.Stage, after time.Duration) {
		Machines{}.Record(m, lifecycle.Outcome{Decision: lifecycle.Decision{Step: lifecycle.Await, Stage: stage}, At: at.Add(after)})
	}
	record(lifecycle.StageLost, 0)
	record(lifecycle.StageLost, time.Minute)
	if v := (Machines{}).View(m); v.Stage != lifecycle.StageLost || !v.StageSince.Equal(at) || *m.Status.Phase != machinev1.PhaseRunning {
		t.Errorf("lost: %s since %s, phase %s", v.Stage, v.StageSince, *m.Status.Phase)
	}
	record(lifecycle.StageRunning, 2*time.Minute)
	if (Machines{}).View(m).Stage != lifecycle.StageRunning || find(m, NodeHealthyCondition).Type != "" {
		t.Errorf("recovered: %v", m.Status.Conditions)
	}
	record(lifecycle.StageLost, 3*time.Minute)
	if v := (Machines{}).View(m); !v.StageSince.Equal(at.Add(3 * time.Minute)) {
		t.Errorf("and written anew: since %s", v.StageSince)
	}
}

func TestJoinTimeoutIsNamed(t *testing.T) {
	for reason, want := range map[lifecycle.Reason]machinev1.MachineStatusError{
		lifecycle.ReasonJoinTimeout: machinev1.JoinClusterTimeoutMachineError, lifecycle.ReasonCreateTimeout: machinev1.JoinClusterTimeoutMachineError, lifecycle.ReasonHealthTimeout: "",
	} {
		m := &machinev1.Machine{}
		fail := lifecycle.Decision{Step: lifecycle.Fail, Reason: reason, Stage: lifecycle.StageFailed, Message: "too late"}
		Machines{}.Record(m, lifecycle.Outcome{Decision: fail, Steps: []lifecycle.Decision{fail}})
		if got := ptr.Deref(m.Status.ErrorReason, ""); got != want || ptr.Deref(m.Status.ErrorMessage, "") != "too late" {
			t.Errorf("%s: %q %q", reason, got, ptr.Deref(m.Status.ErrorMessage, ""))
		}
	}
}
