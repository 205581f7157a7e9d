package pages

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/engine/connectivity"
	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/engine/health"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
	"github.com/millwright-dev/millwright/internal/plugin/collect"
	"github.com/millwright-dev/millwright/internal/plugin/live"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// rolled is the detail of a deployment of three machines with two sets, mill-1 and the present one mill-2.
func rolled(change func(*v1alpha1.MachineDeployment)) collect.Detail {
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"pool": "mill"}}
	template := func(class string) v1alpha1.MachineTemplateSpec {
		return v1alpha1.MachineTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: selector.MatchLabels}, Spec: v1alpha1.MachineSpec{Class: v1alpha1.ClassSpec{Kind: "MachineClass", Name: class}}}
	}
	d := &v1alpha1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: "mill", UID: "d", Generation: 1}, Spec: v1alpha1.MachineDeploymentSpec{Replicas: 3, Selector: selector, Template: template("2")}}
	d.Spec.Strategy = v1alpha1.MachineDeploymentStrategy{Type: v1alpha1.RollingUpdateMachineDeploymentStrategyType, RollingUpdate: &v1alpha1.RollingUpdateMachineDeployment{}}
	d.Spec.Strategy.RollingUpdate.MaxSurge, d.Spec.Strategy.RollingUpdate.MaxUnavailable = ptr.To(intstr.FromString("50%")), ptr.To(intstr.FromInt32(1))
	d.Status = v1alpha1.MachineDeploymentStatus{ObservedGeneration: 1, Replicas: 4, UpdatedReplicas: 1, AvailableReplicas: 3}
	if change != nil {
		change(d)
	}
	out := collect.Detail{Object: d, Answer: explain.Answer{Subject: explain.Subject{API: v1alpha1.GroupName, Kind: "MachineDeployment", Namespace: "blue", Name: "mill"}}, Deployed: &collect.Deployed{}}
	for i := range 2 {
		name := fmt.Sprint("mill-", i+1)
		s := &v1alpha1.MachineSet{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(noon.Add(time.Duration(i-9) * time.Hour))}}
		s.Annotations = map[string]string{"deployment.kubernetes.io/revision": fmt.Sprint(i + 1), "kubernetes.io/change-cause": "cause " + name}
		s.Spec = v1alpha1.MachineSetSpec{Replicas: 2, Selector: selector, Template: template(fmt.Sprint(i + 1))}
		s.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(d, v1alpha1.GroupVersion.WithKind("MachineDeployment"))}
		out.Deployed.Sets = append([]client.Object{s}, out.Deployed.Sets...)
	}
	return out
}

// TestRolloutPage: bounds in machines, the progress in the words of the command, and the way back.
func TestRolloutPage(t *testing.T) {
	const undo = "kubectl machine rollout undo machinedeployments.machine.sapcloud.io/mill -n blue --to-revision=1"
	for _, c := range []struct {
		reason  string
		change  func(*v1alpha1.MachineDeployment)
		bounds  *Bounds
		status  string
		problem bool
		undo    string
		refused string
	}{
		{"under way", nil, &Bounds{Surge: "50%", Unavailable: "1", Most: 5, Least: 2, Deleting: true}, `Waiting for machinedeployment "mill" rollout to finish: 1 out of 3 new machines have been updated...`, false, undo, ""},
		{"paused", func(d *v1alpha1.MachineDeployment) { d.Spec.Paused = true }, &Bounds{Surge: "50%", Unavailable: "1", Most: 5, Least: 2, Deleting: true}, `Waiting for machinedeployment "mill" rollout to finish: 1 out of 3 new machines have been updated... It is paused.`, false, "", "is paused and cannot be rolled back: resume it first with 'rollout resume', and try again"},
		{"all at once has no bounds", func(d *v1alpha1.MachineDeployment) {
			d.Spec.Strategy = v1alpha1.MachineDeploymentStrategy{Type: v1alpha1.RecreateMachineDeploymentStrategyType}
		}, nil, `Waiting for machinedeployment "mill" rollout to finish: 1 out of 3 new machines have been updated...`, false, undo, ""},
		{"machines in deletion do not take room", func(d *v1alpha1.MachineDeployment) {
			d.Annotations = map[string]string{"millwright.dev/rollout-overlap": "true"}
		}, &Bounds{Surge: "50%", Unavailable: "1", Most: 5, Least: 2}, `Waiting for machinedeployment "mill" rollout to finish: 1 out of 3 new machines have been updated...`, false, undo, ""},
		{"late", func(d *v1alpha1.MachineDeployment) {
			d.Status.Conditions = []v1alpha1.MachineDeploymentCondition{{Type: v1alpha1.MachineDeploymentProgressing, Status: v1alpha1.ConditionFalse, Reason: "ProgressDeadlineExceeded", Message: "no progress for 10m0s"}}
		}, &Bounds{Surge: "50%", Unavailable: "1", Most: 5, Least: 2, Deleting: true}, "exceeded its progress deadline: no progress for 10m0s", true, undo, ""},
	} {
		t.Run(c.reason, func(t *testing.T) {
			p := RolloutOf(noon, rolled(c.change), nil)
			if diff := cmp.Diff(c.bounds, p.Bounds); diff != "" {
				t.Errorf("bounds (-want +got)\n%s", diff)
			}
			if p.Status != c.status || p.Problem != c.problem || len(p.Sets) != 2 || p.Sets[0].Name != "mill-1" || p.Sets[0].Current || !p.Sets[1].Current {
				t.Errorf("%+v", p)
			}
			if r := p.Revisions; len(r) != 2 || r[0].Number != 2 || r[0].Undo != "" || r[1].Undo != c.undo || r[1].Refused != c.refused || r[1].Cause != "cause mill-1" {
				t.Errorf("revisions %+v", r)
			}
		})
	}
	if RolloutOf(noon, collect.Detail{}, nil) != nil {
		t.Error("an object that is no deployment has a rollout")
	}
}

// TestHolders: machines that are not in order are shown while the rollout goes on, and only a few.
func TestHolders(t *testing.T) {
	d := rolled(nil)
	d.Deployed.Members = make([]explain.Answer, 9)
	if got := len(RolloutOf(noon, d, nil).Holders); got != mostHolders {
		t.Errorf("%d machines hold the rollout up, want %d", got, mostHolders)
	}
	done := rolled(func(d *v1alpha1.MachineDeployment) {
		d.Status = v1alpha1.MachineDeploymentStatus{ObservedGeneration: 1, Replicas: 3, UpdatedReplicas: 3, AvailableReplicas: 3}
	})
	done.Deployed.Members = make([]explain.Answer, 1)
	if p := RolloutOf(noon, done, nil); !p.Done || len(p.Holders) != 0 {
		t.Errorf("a complete rollout is held up: %+v", p)
	}
}

// TestSamplesOfThePage: the past before the record, the record, and now; without the machines only the record.
func TestSamplesOfThePage(t *testing.T) {
	d := rolled(nil)
	recorded := []live.Sample{{At: noon.Add(-time.Minute), Sets: []live.SetSample{{ID: "mill-1", Machines: 1}}}}
	if got := samplesOf(noon, d, recorded); len(got) != 1 {
		t.Errorf("without the machines: %+v", got)
	}
	born := func(minutes int) rollout.Machine {
		return rollout.Machine{Member: replicas.Member{Created: noon.Add(-time.Duration(minutes) * time.Minute)}}
	}
	d.Deployed.Rollout = &explain.Rollout{Sets: []rollout.Set{{UID: "mill-1", Machines: []rollout.Machine{born(60), born(0)}}}}
	var got []string
	for _, s := range samplesOf(noon, d, recorded) {
		got = append(got, fmt.Sprint(noon.Sub(s.At), s.Created, s.Sets[0].Machines))
	}
	if diff := cmp.Diff([]string{"1h0m0s true 1", "1m0s false 1", "0s false 2"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestCheckPage: machines to remediate come first, with what is done or why nothing is; a long list is cut.
func TestCheckPage(t *testing.T) {
	limit, err := health.ParseLimit("50%")
	if err != nil {
		t.Fatal(err)
	}
	check := health.Check{MaxUnhealthy: limit, Remediation: health.Delete, Breaker: health.DefaultBreaker()}
	target := func(name string) health.Target {
		return health.Target{UID: types.UID(name), Namespace: "blue", Name: name, NodeName: "n", Node: &health.Node{}, Owner: health.Owner{UID: "s", Kind: "MachineSet"}}
	}
	failed, leaving := target("b"), target("a")
	failed.Failed, leaving.Deleting = true, true
	cohort := collect.Cohort{API: "machine.openshift.io", Check: check, Past: []health.Past{{Name: "first", At: noon.Add(-time.Hour)}, {Name: "second", At: noon}}}
	for _, one := range []health.Target{leaving, failed, target("c"), target("d")} {
		j := health.Judge(noon, connectivity.State{}, &check, nil, &one)
		cohort.Machines = append(cohort.Machines, &j)
	}
	cohort.Plan = health.Decide(noon, health.Cohort{Check: check, Machines: cohort.Machines}, health.Connectivity{Nodes: 1}, health.Memory{})
	p := CheckOf(collect.Detail{Cohort: &cohort})
	var got []string
	for _, m := range p.Machines {
		got = append(got, fmt.Sprintf("%s %s %q %q", m.Name, m.State, m.Act, m.Why))
	}
	if diff := cmp.Diff([]string{`b Unhealthy "Do" "the machine failed"`, `a Leaving "" ""`}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if p.Expected != 4 || p.Healthy != 2 || p.Max != 2 || !p.Allowed || p.MaxUnhealthy != "50%" || p.Breaker.Mode != "report" || len(p.Recent) != 2 || p.Recent[0].Machine != "second" {
		t.Errorf("%+v", p)
	}
	for i := range mostChecked + 5 {
		one := target(fmt.Sprint("x", i))
		one.Deleting = true
		j := health.Judge(noon, connectivity.State{}, &check, nil, &one)
		cohort.Machines = append(cohort.Machines, &j)
	}
	if p := CheckOf(collect.Detail{Cohort: &cohort}); len(p.Machines) != mostChecked || p.Cut != 7 {
		t.Errorf("%d machines, and %d cut", len(p.Machines), p.Cut)
	}
	if CheckOf(collect.Detail{}) != nil {
		t.Error("an object that is no health check has a cohort")
	}
}
