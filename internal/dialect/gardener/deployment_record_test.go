package gardener

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

type deploymentOutcome = dialect.DeploymentOutcome[*v1alpha1.MachineSet]

// complete is a rollout that has come to its end.
func complete() rollout.Status {
	return rollout.Status{
		Replicas: 3, Updated: 3, Ready: 3, Available: 3, Complete: true, Enough: true, Floor: 3,
		Progress: rollout.Progress{Status: rollout.True, Reason: rollout.SetAvailable, Message: "set workers-5dd59 has all 3 machines available", Since: setNow},
	}
}

// TestDeploymentRecordGolden: section 4.6, and the mirror of 5.1.
func TestDeploymentRecordGolden(t *testing.T) {
	earlier := setNow.Add(-time.Hour)
	recorded := func(edit func(*deploymentOutcome)) change {
		return func(d *deployment) {
			o := deploymentOutcome{Now: earlier, Plan: rollout.Plan{Status: complete()}}
			o.Plan.Status.Progress.Since = earlier
			edit(&o)
			Deployments{}.Record(d, o)
		}
	}
	usual := recorded(func(*deploymentOutcome) {})
	cold := func(reason string) *v1alpha1.MachineSet {
		return sampleSet(func(s *v1alpha1.MachineSet) {
			s.Name, s.Labels = "workers-cold", map[string]string{"freeze": "True"}
			if reason != "" {
				s.Status.Conditions = []v1alpha1.MachineSetCondition{{Type: v1alpha1.MachineSetFrozen, Status: "True", Reason: reason}}
			}
		})
	}
	failed := func(names ...string) *v1alpha1.MachineSet {
		return sampleSet(func(s *v1alpha1.MachineSet) {
			s.Status.FailedMachines = &[]v1alpha1.MachineSummary{}
			for _, n := range names {
				*s.Status.FailedMachines = append(*s.Status.FailedMachines, v1alpha1.MachineSummary{Name: n, OwnerRef: s.Name})
			}
		})
	}
	progress := func(t rollout.Truth, r rollout.Reason, message string) func(*deploymentOutcome) {
		return func(o *deploymentOutcome) {
			o.Plan.Status.Progress = rollout.Progress{Status: t, Reason: r, Message: message, Since: setNow}
		}
	}
	tests := map[string]struct {
		before change
		edit   func(*deploymentOutcome)
	}{
		"complete": {func(*deployment) {}, func(*deploymentOutcome) {}},
		"underway": {usual, func(o *deploymentOutcome) { *o = underway(*o) }},
		"gets-on":  {recorded(func(o *deploymentOutcome) { *o = underway(*o) }), func(o *deploymentOutcome) { *o = underway(*o) }},
		"stuck":    {recorded(func(o *deploymentOutcome) { *o = underway(*o) }), progress(rollout.False, rollout.DeadlineExceeded, "no progress for 10m")},
		"paused":   {usual, progress(rollout.Unknown, rollout.IsPaused, "the rollout is paused")},
		"resumed":  {recorded(progress(rollout.Unknown, rollout.IsPaused, "the rollout is paused")), progress(rollout.Unknown, rollout.IsResumed, "the rollout is resumed")},
		"created":  {func(*deployment) {}, progress(rollout.True, rollout.SetCreated, "a set of the current template is being created")},
		"found":    {func(*deployment) {}, progress(rollout.True, rollout.SetFound, "set workers has the current template")},
		"unmade":   {usual, func(o *deploymentOutcome) { o.CreateErr = errors.New("quota of machinesets is used up") }},
		"collided": {usual, func(o *deploymentOutcome) { o.Collided, o.CreateErr = true, errors.New("already exists") }},
		"invalid":  {usual, func(o *deploymentOutcome) { *o = faulty(*o, "spec.strategy.type", "must be RollingUpdate") }},
		"failing": {usual, func(o *deploymentOutcome) {
			o.Plan.Status.Failure = &rollout.Failure{Reason: "FailedCreate", Message: "no room"}
		}},
		"works": {recorded(func(o *deploymentOutcome) {
			o.Plan.Status.Failure = &rollout.Failure{Reason: "FailedCreate", Message: "no room"}
		}), func(*deploymentOutcome) {}},
		"frozen": {usual, func(o *deploymentOutcome) {
			o.Sets = []*v1alpha1.MachineSet{sampleSet(), cold("OverShootingReplicaCount")}
		}},
		"frozen-set": {usual, func(o *deploymentOutcome) { o.Sets = []*v1alpha1.MachineSet{cold("")} }},
		"thawed":     {recorded(func(o *deploymentOutcome) { o.Sets = []*v1alpha1.MachineSet{cold("")} }), func(o *deploymentOutcome) { o.Sets = []*v1alpha1.MachineSet{sampleSet()} }},
		"failed": {usual, func(o *deploymentOutcome) {
			o.Sets = []*v1alpha1.MachineSet{failed("m-c", "m-a"), sampleSet(), failed("m-b")}
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d := sampleDeployment(tc.before)
			before := d.DeepCopy()
			o := deploymentOutcome{Now: setNow.Add(300 * time.Millisecond), Plan: rollout.Plan{Status: complete()}}
			o.Plan.Status.Progress.Since = earlier
			tc.edit(&o)
			Deployments{}.Record(d, o)
			setGolden(t, "deployment/record-"+name, d.Status)
			before.Status = d.Status
			if diff := cmp.Diff(before, d); diff != "" {
				t.Errorf("writes outside the status:\n%s", diff)
			}
			again := d.DeepCopy()
			if o.Now = setNow.Add(time.Hour); o.Collided {
				o.Collided, o.CreateErr = false, nil
			}
			if o.Plan.Status.Faulty {
				o.Plan.Status.Progress.Since = o.Now
			}
			Deployments{}.Record(again, o)
			if diff := cmp.Diff(d, again); diff != "" {
				t.Errorf("recording the same again an hour later changes something:\n%s", diff)
			}
		})
	}
}

func underway(o deploymentOutcome) deploymentOutcome {
	o.Plan.Status = rollout.Status{
		Replicas: 4, Updated: 1, Ready: 2, Available: 2, Kept: 1, Unavailable: 2, Floor: 3,
		Progress: rollout.Progress{Status: rollout.True, Reason: rollout.SetUpdated, Message: "1 of 3 machines updated", Since: o.Now},
	}
	return o
}

// faulty has numbers that must not be recorded: nothing was counted.
func faulty(o deploymentOutcome, field, message string) deploymentOutcome {
	f := lifecycle.Fault{Field: field, Message: message}
	o.Deployment.Faults = []lifecycle.Fault{f}
	o.Plan = rollout.Plan{Status: rollout.Status{Faulty: true, Progress: rollout.Progress{Status: rollout.False, Reason: rollout.InvalidObject, Message: f.String(), Since: o.Now}}}
	return o
}

// TestHappyPathConditions: section 12, exactly Available and Progressing.
func TestHappyPathConditions(t *testing.T) {
	d := sampleDeployment()
	Deployments{}.Record(d, deploymentOutcome{Now: setNow, Plan: rollout.Plan{Status: complete()}, Sets: []*v1alpha1.MachineSet{sampleSet()}})
	var types []string
	for _, c := range d.Status.Conditions {
		types = append(types, string(c.Type)+"="+string(c.Status))
	}
	if diff := cmp.Diff([]string{"Available=True", "Progressing=True"}, types); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestVerdicts: what clients go by that know no more than Reconciling and Stalled, and that neither is there when all is well again.
func TestVerdicts(t *testing.T) {
	d := sampleDeployment()
	progress := func(t rollout.Truth, r rollout.Reason, message string) func(*deploymentOutcome) {
		return func(o *deploymentOutcome) {
			*o = underway(*o)
			o.Plan.Status.Progress = rollout.Progress{Status: t, Reason: r, Message: message, Since: setNow}
		}
	}
	for n, tc := range []struct {
		edit func(*deploymentOutcome)
		want []string
	}{
		{func(*deploymentOutcome) {}, nil},
		{func(o *deploymentOutcome) { *o = underway(*o) }, []string{"Reconciling MachineSetUpdated: 1 of 3 machines updated"}},
		{progress(rollout.Unknown, rollout.IsPaused, "the rollout is paused"), []string{"Reconciling DeploymentPaused: the rollout is paused"}},
		{progress(rollout.False, rollout.DeadlineExceeded, "no progress for 10m"), []string{"Stalled ProgressDeadlineExceeded: no progress for 10m"}},
		{progress(rollout.False, rollout.Stopped, "3 machines failed"), []string{"Stalled RolloutStopped: 3 machines failed"}},
		{func(o *deploymentOutcome) { o.CreateErr = errors.New("no more sets") }, []string{"Reconciling MachineSetCreateError: no more sets"}},
		{func(o *deploymentOutcome) { *o = faulty(*o, "spec.strategy.type", "must be RollingUpdate") }, []string{"Stalled InvalidSpec: spec.strategy.type: must be RollingUpdate"}},
		{func(*deploymentOutcome) {}, nil},
		{func(o *deploymentOutcome) {
			o.Plan.Status.Complete, o.Plan.Status.Available, o.Deployment.Replicas = false, 2, 3
		}, []string{"Reconciling MinimumReplicasUnavailable: 2 of 3 machines are available, 3 are up to date"}},
		{func(o *deploymentOutcome) { *o = underway(*o); o.Deployment.Deleting = true }, nil},
	} {
		o := deploymentOutcome{Now: setNow, Plan: rollout.Plan{Status: complete()}}
		tc.edit(&o)
		Deployments{}.Record(d, o)
		var got []string
		for _, c := range d.Status.Conditions {
			if c.Type == v1alpha1.MachineDeploymentReconciling || c.Type == v1alpha1.MachineDeploymentStalled {
				got = append(got, string(c.Type)+" "+c.Reason+": "+c.Message)
			}
			if c.Type == "Ready" {
				t.Errorf("%d: Ready is there, by which clients of the original do not go", n)
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%d (-want +got):\n%s", n, diff)
		}
	}
}

// TestConditionTimes: the update's time moves with what is said, the
// transition's with the status only.
func TestConditionTimes(t *testing.T) {
	begin := setNow.Add(-time.Hour)
	tests := map[string]struct {
		reason              string
		next                rollout.Progress
		updated, transition time.Time
	}{
		"the same":         {"nothing is written", rollout.Progress{Status: "True", Reason: "A", Message: "a", Since: begin}, begin, begin},
		"got on":           {"the same words at another time", rollout.Progress{Status: "True", Reason: "A", Message: "a", Since: setNow}, setNow, begin},
		"another message":  {"an estimate does not count as progress", rollout.Progress{Status: "True", Reason: "A", Message: "b", Since: begin}, begin, begin},
		"another reason":   {"", rollout.Progress{Status: "True", Reason: "B", Message: "a", Since: setNow}, setNow, begin},
		"another status":   {"", rollout.Progress{Status: "False", Reason: "A", Message: "a", Since: setNow}, setNow, setNow},
		"nothing to say":   {"stays as it was", rollout.Progress{}, begin, begin},
		"no time is given": {"now, where it says something else", rollout.Progress{Status: "True", Reason: "B"}, setNow, begin},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d := sampleDeployment()
			says := func(now time.Time, p rollout.Progress) {
				Deployments{}.Record(d, deploymentOutcome{Now: now, Plan: rollout.Plan{Status: rollout.Status{Progress: p}}})
			}
			says(begin, rollout.Progress{Status: "True", Reason: "A", Message: "a", Since: begin})
			says(setNow, tc.next)
			c := deploymentCondition(&d.Status, v1alpha1.MachineDeploymentProgressing)
			if !c.LastUpdateTime.Time.Equal(tc.updated) || !c.LastTransitionTime.Time.Equal(tc.transition) {
				t.Errorf("%s: updated %v, want %v; turned %v, want %v", tc.reason, c.LastUpdateTime, tc.updated, c.LastTransitionTime, tc.transition)
			}
		})
	}
}

// TestCollisionCount: section 4.3; each collision gives the next name.
func TestCollisionCount(t *testing.T) {
	d := sampleDeployment()
	names := map[string]bool{}
	for n := range int32(3) {
		names[deployedSets{}.New(d, sampleWant(3)).Name] = true
		Deployments{}.Record(d, deploymentOutcome{Now: setNow, Plan: rollout.Plan{Status: complete()}, Collided: true})
		if got := ptr.Deref(d.Status.CollisionCount, 0); got != n+1 {
			t.Errorf("counted %d, want %d", got, n+1)
		}
	}
	if len(names) != 3 {
		t.Errorf("names %v", names)
	}
}

// TestRecordSharesNothing: the summaries belong to sets in a cache.
func TestRecordSharesNothing(t *testing.T) {
	s := sampleSet(func(s *v1alpha1.MachineSet) { s.Status.FailedMachines = &[]v1alpha1.MachineSummary{{Name: "m-a"}} })
	d := sampleDeployment()
	Deployments{}.Record(d, deploymentOutcome{Now: setNow, Plan: rollout.Plan{Status: complete()}, Sets: []*v1alpha1.MachineSet{s}})
	d.Status.FailedMachines[0].Name = "changed"
	if (*s.Status.FailedMachines)[0].Name != "m-a" {
		t.Error("the deployment and the set share memory")
	}
	if !d.Status.Conditions[0].LastUpdateTime.Equal(&metav1.Time{Time: setNow}) {
		t.Errorf("%v", d.Status.Conditions[0])
	}
}
