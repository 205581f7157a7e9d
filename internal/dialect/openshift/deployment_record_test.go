package openshift

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

type deploymentOutcome = dialect.DeploymentOutcome[*machinev1.MachineSet]

// outcome is one of a deployment that wants three machines.
func outcome(st rollout.Status, changes ...func(*deploymentOutcome)) deploymentOutcome {
	o := deploymentOutcome{Now: setNow, Deployment: rollout.Deployment{Replicas: 3}, Plan: rollout.Plan{Status: st}}
	for _, c := range changes {
		c(&o)
	}
	return o
}

func counted(updated, all, available int, p rollout.Progress) rollout.Status {
	return rollout.Status{
		Replicas: all, Updated: updated, Ready: available, Available: available, Unavailable: max(0, 3-available),
		Complete: updated == 3 && all == 3 && available == 3, Enough: available >= 2, Floor: 2, Progress: p,
	}
}

func progress(t rollout.Truth, r rollout.Reason, message string) rollout.Progress {
	return rollout.Progress{Status: t, Reason: r, Message: message, Since: setNow}
}

func faulty(faults ...lifecycle.Fault) deploymentOutcome {
	return outcome(
		rollout.Status{Faulty: true, Progress: progress(rollout.False, rollout.InvalidObject, faults[0].String())},
		func(o *deploymentOutcome) { o.Deployment.Faults = faults },
	)
}

// situations are what a pass may come to, by the name of the golden file.
func situations() map[string]deploymentOutcome {
	updated := progress(rollout.True, rollout.SetUpdated, "1 of 3 machines updated")
	done := progress(rollout.True, rollout.SetAvailable, "set workers-x has all 3 machines available")
	return map[string]deploymentOutcome{
		"complete":          outcome(counted(3, 3, 3, done)),
		"created":           outcome(counted(0, 0, 0, progress(rollout.True, rollout.SetCreated, "a set of the current template is being created"))),
		"rolling":           outcome(counted(1, 4, 3, updated)),
		"degraded":          outcome(counted(3, 3, 1, done)),
		"paused":            outcome(counted(1, 4, 3, progress(rollout.Unknown, rollout.IsPaused, "the rollout is paused"))),
		"held":              outcome(counted(1, 4, 3, progress(rollout.Unknown, rollout.HeldBack, "set workers-w deletes no machine: 3 of 4 would be removed"))),
		"resumed":           outcome(counted(1, 4, 3, progress(rollout.Unknown, rollout.IsResumed, "the rollout is resumed"))),
		"stuck":             outcome(counted(1, 4, 2, progress(rollout.False, rollout.DeadlineExceeded, "no progress for 10m0s"))),
		"stopped":           outcome(counted(1, 4, 3, progress(rollout.False, rollout.Stopped, "3 machines of set x did not become ready"))),
		"paused-when-stuck": outcome(counted(3, 3, 3, progress(rollout.False, rollout.DeadlineExceeded, "no progress for 10m0s"))),
		"set-failed": outcome(counted(1, 4, 3, updated), func(o *deploymentOutcome) {
			o.Plan.Status.Failure = &rollout.Failure{Reason: "InvalidConfiguration", Message: "spec.replicas: x"}
		}),
		"create-failed": outcome(counted(0, 3, 3, progress(rollout.True, rollout.SetCreated, "")), func(o *deploymentOutcome) {
			o.CreateErr = errors.New("create set workers-x: exceeded quota")
		}),
		"collided": outcome(counted(0, 3, 3, progress(rollout.True, rollout.SetCreated, "a set is being made")), func(o *deploymentOutcome) {
			o.Collided, o.CreateErr = true, errors.New("create set workers-x: the name is taken")
		}),
		"invalid":     faulty(lifecycle.Fault{Field: "spec.strategy.type", Message: `must be RollingUpdate, OnDelete or Recreate, is "x"`}),
		"selects-all": faulty(lifecycle.Fault{Field: "spec.selector", Message: dialect.SelectsEverything}),
		"deleting":    outcome(counted(3, 3, 3, done), func(o *deploymentOutcome) { o.Deployment.Deleting = true }),
	}
}

func TestDeploymentRecordGolden(t *testing.T) {
	for name, o := range situations() {
		t.Run(name, func(t *testing.T) {
			d := sampleDeployment(func(d *v1beta1.MachineDeployment) { d.Status.Replicas = 9 })
			Deployments{}.Record(d, o)
			setGolden(t, "deployment-"+name, d.Status)
		})
	}
}

// kstatus is how tools that know no kind of ours sum it up; what they look at
// is the observed generation and three conditions.
func kstatus(d *v1beta1.MachineDeployment) string {
	is := func(kind string) bool {
		c := deploymentCondition(&d.Status, kind)
		return c != nil && c.Status == metav1.ConditionTrue
	}
	switch {
	case d.Status.ObservedGeneration != d.Generation, is(v1beta1.MachineDeploymentReconciling):
		return "InProgress"
	case is(v1beta1.MachineDeploymentStalled):
		return "Failed"
	case is(v1beta1.MachineDeploymentReady):
		return "Current"
	}
	return "InProgress"
}

func TestDeploymentIsUnderstoodByTools(t *testing.T) {
	want := map[string]string{
		"complete": "Current", "stuck": "Failed", "paused-when-stuck": "Failed", "stopped": "Failed", "invalid": "Failed", "selects-all": "Failed",
	}
	for name, o := range situations() {
		for _, before := range situations() { // whatever was there
			d := sampleDeployment()
			Deployments{}.Record(d, before)
			Deployments{}.Record(d, o)
			expected := want[name]
			if expected == "" {
				expected = "InProgress"
			}
			if got := kstatus(d); got != expected {
				t.Errorf("%s: %s, want %s: %+v", name, got, expected, d.Status.Conditions)
			}
			stalled, going := deploymentCondition(&d.Status, "Stalled") != nil, deploymentCondition(&d.Status, "Reconciling") != nil
			ready := deploymentCondition(&d.Status, "Ready").Status == metav1.ConditionTrue
			if stalled && going || ready && (stalled || going) {
				t.Errorf("%s: stalled %v, on its way %v, there %v", name, stalled, going, ready)
			}
		}
	}
}

func TestDeploymentFaultKeepsCounters(t *testing.T) {
	d := sampleDeployment()
	Deployments{}.Record(d, situations()["complete"])
	Deployments{}.Record(d, situations()["invalid"])
	if d.Status.Replicas != 3 || d.Status.AvailableReplicas != 3 || deploymentCondition(&d.Status, "Available").Status != metav1.ConditionTrue {
		t.Errorf("status %+v", d.Status)
	}
}

func TestDeploymentCollisionsAreCounted(t *testing.T) {
	d := sampleDeployment()
	for n := range int32(3) {
		before := deployedSets{}.New(d, rollout.SetWant{}).Name
		Deployments{}.Record(d, situations()["collided"])
		if ptr.Deref(d.Status.CollisionCount, 0) != n+1 || (deployedSets{}).New(d, rollout.SetWant{}).Name == before {
			t.Errorf("after %d: %v, name %s", n+1, d.Status.CollisionCount, before)
		}
	}
}

// Progress that is made counts from when it was made, though the condition has
// long been True.
func TestDeploymentProgressHasItsOwnTime(t *testing.T) {
	d := sampleDeployment()
	Deployments{}.Record(d, situations()["rolling"])
	later := situations()["rolling"]
	later.Now = setNow.Add(time.Hour)
	later.Plan.Status.Progress.Since = later.Now.Add(300 * time.Millisecond)
	Deployments{}.Record(d, later)
	c := deploymentCondition(&d.Status, v1beta1.MachineDeploymentProgressing)
	if !c.LastTransitionTime.Time.Equal(setNow) || !(Deployments{}).View(d, later.Now).Last.Progress.Since.Equal(later.Now) {
		t.Errorf("since %v, condition %v", d.Status.LastProgressTime, c.LastTransitionTime)
	}
	unset := later
	unset.Plan.Status.Progress = rollout.Progress{}
	before := d.Status.DeepCopy()
	Deployments{}.Record(d, unset)
	if diff := cmp.Diff(before.LastProgressTime, d.Status.LastProgressTime); diff != "" || deploymentCondition(&d.Status, "Progressing").Reason != "MachineSetUpdated" {
		t.Errorf("nothing said about progress changes it:\n%s", diff)
	}
}

// What a set or a server says may be anything; a condition may not.
func TestDeploymentConditionsAreWellFormed(t *testing.T) {
	d := sampleDeployment()
	Deployments{}.Record(d, outcome(counted(1, 4, 3, progress(rollout.True, rollout.SetUpdated, "m")), func(o *deploymentOutcome) {
		o.Plan.Status.Failure = &rollout.Failure{Reason: "no such thing!", Message: strings.Repeat("ü", 40_000)}
	}))
	c := deploymentCondition(&d.Status, v1beta1.MachineDeploymentReplicaFailure)
	if c.Reason != "Other" || len(c.Message) > 4096 || !strings.HasSuffix(c.Message, "ü") {
		t.Errorf("reason %q, %d bytes of message", c.Reason, len(c.Message))
	}
	Deployments{}.Record(d, situations()["rolling"])
	if deploymentCondition(&d.Status, v1beta1.MachineDeploymentReplicaFailure) != nil {
		t.Error("a failure that is over is still told")
	}
}
