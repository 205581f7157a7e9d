package gardener

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
)

var setNow = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func sampleSet(changes ...func(*v1alpha1.MachineSet)) *v1alpha1.MachineSet {
	pool := map[string]string{"name": "workers"}
	s := &v1alpha1.MachineSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "workers", UID: "set-uid", Generation: 4},
		Spec: v1alpha1.MachineSetSpec{
			Replicas: 3,
			Selector: &metav1.LabelSelector{MatchLabels: pool},
			Template: v1alpha1.MachineTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: pool, Finalizers: []string{"example.com/own"}},
				Spec:       v1alpha1.MachineSpec{Class: v1alpha1.ClassSpec{Kind: v1alpha1.KindMachineClass, Name: "class"}},
			},
		},
	}
	for _, c := range changes {
		c(s)
	}
	return s
}

// setGolden compares with testdata/<name>.yaml, which UPDATE_GOLDEN=1 writes.
func setGolden(t *testing.T, name string, object any) {
	t.Helper()
	got, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", name+".yaml")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func TestSetRecordGolden(t *testing.T) {
	broken := &v1alpha1.Machine{
		ObjectMeta: metav1.ObjectMeta{Name: "workers-bbbbb"},
		Spec:       v1alpha1.MachineSpec{ProviderID: "kubemark:///b"},
		Status: v1alpha1.MachineStatus{LastOperation: v1alpha1.LastOperation{
			Description: "no capacity", ErrorCode: "ResourceExhausted", State: v1alpha1.MachineStateFailed, Type: v1alpha1.MachineOperationCreate,
			LastUpdateTime: metav1.NewTime(setNow.Add(-time.Minute)),
		}},
	}
	kept := broken.DeepCopy()
	kept.Name, kept.Status.CurrentStatus.Phase = "workers-aaaaa", v1alpha1.MachineFailed
	kept.Status.CurrentStatus.PreserveExpiryTime = &metav1.Time{Time: setNow.Add(time.Hour)}
	labelled := func(s *v1alpha1.MachineSet) { s.Labels = map[string]string{"freeze": "True"} }
	frozen := func(s *v1alpha1.MachineSet) {
		labelled(s)
		s.Status.Conditions = []v1alpha1.MachineSetCondition{{Type: v1alpha1.MachineSetFrozen, Status: v1alpha1.ConditionTrue, Reason: v1alpha1.ReasonOverShootingReplicaCount}}
	}
	failing := func(s *v1alpha1.MachineSet) {
		Sets{}.Record(s, dialect.SetOutcome{Now: setNow.Add(-time.Hour), Failure: &dialect.SetFailure{Creating: true, Err: os.ErrPermission}})
	}
	tally := replicas.Tally{Replicas: 3, FullyLabeled: 3, Ready: 1, Available: 2, Kept: 1, AutoKept: 1}

	tests := map[string]struct {
		set     *v1alpha1.MachineSet
		outcome dialect.SetOutcome
	}{
		"set-counted":        {sampleSet(frozen), dialect.SetOutcome{Tally: tally, Judged: true}},
		"set-failedmachines": {sampleSet(), dialect.SetOutcome{Tally: tally, Judged: true, Machines: []client.Object{broken, kept}}},
		"set-failedcreate":   {sampleSet(frozen), dialect.SetOutcome{Tally: tally, Judged: true, Failure: &dialect.SetFailure{Creating: true, Err: os.ErrDeadlineExceeded}}},
		"set-faileddelete":   {sampleSet(), dialect.SetOutcome{Tally: tally, Judged: true, Failure: &dialect.SetFailure{Err: os.ErrDeadlineExceeded}}},
		"set-failingstill":   {sampleSet(failing), dialect.SetOutcome{Judged: true, Failure: &dialect.SetFailure{Creating: true, Err: os.ErrClosed}}},
		"set-undecided":      {sampleSet(failing), dialect.SetOutcome{}},
		"set-mended":         {sampleSet(failing), dialect.SetOutcome{Judged: true}},
		"set-frozen":         {sampleSet(labelled), dialect.SetOutcome{Tally: tally, Judged: true, Frozen: "12 machines, and 8 are too many"}},
		"set-thawed":         {sampleSet(frozen, func(s *v1alpha1.MachineSet) { s.Labels = nil }), dialect.SetOutcome{Tally: tally, Judged: true}},
		"set-invalid":        {sampleSet(), dialect.SetOutcome{Faults: []lifecycle.Fault{{Field: "spec.selector", Message: "must not be empty"}}}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tc.outcome.Now = setNow
			Sets{}.Record(tc.set, tc.outcome)
			setGolden(t, name, tc.set.Status)
			tc.outcome.Now = setNow.Add(time.Hour)
			again, pruned := tc.set.DeepCopy(), tc.set.DeepCopy()
			pruned.Status.LabelSelector = "" // as under the CRD of the original
			for _, s := range []*v1alpha1.MachineSet{again, pruned} {
				Sets{}.Record(s, tc.outcome)
				s.Status.LabelSelector = tc.set.Status.LabelSelector
				if diff := cmp.Diff(tc.set, s); diff != "" {
					t.Errorf("recording the same again an hour later changes something:\n%s", diff)
				}
			}
		})
	}
}

func TestSetMachineGolden(t *testing.T) {
	name := dialect.MachineName("workers", "x7k2p")
	setGolden(t, "set-machine", Sets{}.NewMachine(sampleSet(), name))
	setGolden(t, "set-machine-timeout", Sets{}.NewMachine(sampleSet(func(s *v1alpha1.MachineSet) {
		s.Annotations = map[string]string{v1alpha1.AnnotationKeyEffectiveCreationTimeout: "7m"}
	}), name))
}

func TestSetFaults(t *testing.T) {
	tests := map[string]struct {
		reason string
		change func(*v1alpha1.MachineSet)
		field  string
	}{
		"sound":             {"no fault", func(*v1alpha1.MachineSet) {}, ""},
		"negative replicas": {"below zero", func(s *v1alpha1.MachineSet) { s.Spec.Replicas = -1 }, "spec.replicas"},
		"no selector":       {"never a crash", func(s *v1alpha1.MachineSet) { s.Spec.Selector = nil }, "spec.selector"},
		"empty selector":    {"would match every machine", func(s *v1alpha1.MachineSet) { s.Spec.Selector = &metav1.LabelSelector{} }, "spec.selector"},
		"broken selector": {"no such operator", func(s *v1alpha1.MachineSet) {
			s.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}
		}, "spec.selector"},
		"foreign selector": {"would make machines for ever", func(s *v1alpha1.MachineSet) { s.Spec.Template.Labels = nil }, "spec.template.metadata.labels"},
		"no class kind":    {"required", func(s *v1alpha1.MachineSet) { s.Spec.Template.Spec.Class.Kind = "" }, "spec.template.spec.class.kind"},
		"no class name":    {"required", func(s *v1alpha1.MachineSet) { s.Spec.Template.Spec.Class.Name = "" }, "spec.template.spec.class.name"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			faults := Sets{}.View(sampleSet(tc.change)).Faults
			switch {
			case tc.field == "" && len(faults) > 0:
				t.Errorf("%s: got %v", tc.reason, faults)
			case tc.field != "" && (len(faults) != 1 || faults[0].Field != tc.field || faults[0].Message == ""):
				t.Errorf("%s: got %v, want one about %s", tc.reason, faults, tc.field)
			}
		})
	}
}

func TestSetView(t *testing.T) {
	tests := map[string]struct {
		reason string
		change func(*v1alpha1.MachineSet)
		want   replicas.Set
	}{
		"frozen":        {"exactly True", func(s *v1alpha1.MachineSet) { s.Labels = map[string]string{"freeze": "True"} }, replicas.Set{NoGrowth: "the set is frozen (label freeze)", Frozen: true}},
		"not frozen":    {"any other value", func(s *v1alpha1.MachineSet) { s.Labels = map[string]string{"freeze": "true"} }, replicas.Set{}},
		"no scaling up": {"the label's presence", func(s *v1alpha1.MachineSet) { s.Labels = map[string]string{v1alpha1.LabelKeyScaleUpDisabled: ""} }, replicas.Set{NoGrowth: "scaling up is disabled (label " + v1alpha1.LabelKeyScaleUpDisabled + ")"}},
		"scaled": {"RFC 3339", func(s *v1alpha1.MachineSet) {
			s.Annotations = map[string]string{v1alpha1.AnnotationKeyScalerReplicaChange: setNow.Format(time.RFC3339)}
		}, replicas.Set{Scaled: setNow}},
		"scaled, malformed": {"does not count", func(s *v1alpha1.MachineSet) {
			s.Annotations = map[string]string{v1alpha1.AnnotationKeyScalerReplicaChange: "noon"}
		}, replicas.Set{}},
		"orphaning": {"the garbage collector's finalizer", func(s *v1alpha1.MachineSet) {
			s.DeletionTimestamp, s.Finalizers = &metav1.Time{Time: setNow}, []string{"orphan"}
		}, replicas.Set{Deleting: true, Orphaning: true}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tc.want.UID, tc.want.Namespace, tc.want.Name, tc.want.Replicas = "set-uid", "ns", "workers", 3
			if diff := cmp.Diff(tc.want, Sets{}.View(sampleSet(tc.change)).Set); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestSetMember(t *testing.T) {
	in := func(phase v1alpha1.MachinePhase) *v1alpha1.Machine {
		return &v1alpha1.Machine{Status: v1alpha1.MachineStatus{CurrentStatus: v1alpha1.CurrentStatus{Phase: phase}}}
	}
	annotated := func(pairs ...string) *v1alpha1.Machine {
		m := in("")
		m.Annotations = map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			m.Annotations[pairs[i]] = pairs[i+1]
		}
		return m
	}
	const usual = 3
	tests := map[string]struct {
		reason  string
		machine *v1alpha1.Machine
		want    replicas.Member
	}{
		"new":                    {"scores as on its way out", in(""), replicas.Member{Priority: usual}},
		"in-place":               {"not in the order of phases", in(v1alpha1.MachineInPlaceUpdating), replicas.Member{Priority: usual}},
		"terminating":            {"no replica", in(v1alpha1.MachineTerminating), replicas.Member{Priority: usual, Leaving: true}},
		"failed":                 {"to be replaced", in(v1alpha1.MachineFailed), replicas.Member{Priority: usual, Failed: true, Phase: replicas.PhaseFailed}},
		"crashing":               {"", in(v1alpha1.MachineCrashLoopBackOff), replicas.Member{Priority: usual, Phase: replicas.PhaseCrashing}},
		"unknown":                {"", in(v1alpha1.MachineUnknown), replicas.Member{Priority: usual, Phase: replicas.PhaseLost}},
		"pending":                {"", in(v1alpha1.MachinePending), replicas.Member{Priority: usual, Phase: replicas.PhasePending}},
		"available":              {"usable, not ready", in(v1alpha1.MachineAvailable), replicas.Member{Priority: usual, Phase: replicas.PhaseDetached, Usable: true}},
		"running":                {"ready", in(v1alpha1.MachineRunning), replicas.Member{Priority: usual, Phase: replicas.PhaseRunning, Usable: true, Ready: true}},
		"priority":               {"", annotated(v1alpha1.AnnotationKeyMachinePriority, "-4"), replicas.Member{Priority: -4}},
		"priority, malformed":    {"the usual one", annotated(v1alpha1.AnnotationKeyMachinePriority, "high"), replicas.Member{Priority: usual}},
		"marked":                 {"", annotated(v1alpha1.AnnotationKeyMarkedForDeletionTime, setNow.Format(time.RFC3339)), replicas.Member{Priority: usual, Marked: setNow}},
		"kept by the set":        {"", annotated(v1alpha1.AnnotationKeyPreserve, "auto-preserved"), replicas.Member{Priority: usual, Preservation: lifecycle.Preservation{Own: lifecycle.WishOwner}}},
		"not to be kept":         {"decided against", annotated(v1alpha1.AnnotationKeyPreserve, "false"), replicas.Member{Priority: usual, Preservation: lifecycle.Preservation{Own: lifecycle.WishNot}}},
		"keep, malformed":        {"ignored", annotated(v1alpha1.AnnotationKeyPreserve, "please"), replicas.Member{Priority: usual, Preservation: lifecycle.Preservation{Own: lifecycle.WishUnknown}}},
		"node's wish over own":   {"what was last applied from the node", annotated(v1alpha1.AnnotationKeyPreserve, "now", v1alpha1.AnnotationKeyLastAppliedNodePreserve, "false"), replicas.Member{Priority: usual, Preservation: lifecycle.Preservation{Own: lifecycle.WishNow, LastApplied: lifecycle.WishNot}}},
		"updated in place":       {"shielded", &v1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{v1alpha1.LabelKeyNodeUpdateResult: "successful"}}}, replicas.Member{Priority: usual, Shielded: true}},
		"update in place failed": {"not shielded", &v1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{v1alpha1.LabelKeyNodeUpdateResult: "failed"}}}, replicas.Member{Priority: usual}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			owned := sampleSet(func(s *v1alpha1.MachineSet) {
				s.OwnerReferences = []metav1.OwnerReference{{Kind: "MachineDeployment", Name: "d", UID: "d", Controller: ptr.To(true)}}
			})
			if diff := cmp.Diff(tc.want, Sets{}.Member(owned, tc.machine, nil)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			tc.want.Shielded = false
			if diff := cmp.Diff(tc.want, Sets{}.Member(sampleSet(), tc.machine, nil)); diff != "" {
				t.Errorf("of a set without a deployment nothing is shielded (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSetPropagate(t *testing.T) {
	s := sampleSet(func(s *v1alpha1.MachineSet) {
		s.Spec.Template.Spec.NodeTemplateSpec.Labels = map[string]string{"tier": "x"}
		s.Annotations = map[string]string{v1alpha1.AnnotationKeyEffectiveCreationTimeout: "7m"}
	})
	fresh := Sets{}.NewMachine(s, "workers-x7k2p").(*v1alpha1.Machine)
	if (Sets{}).Propagate(s, fresh, true) {
		t.Error("a machine just made differs from its template already")
	}
	old := fresh.DeepCopy()
	old.Spec.NodeTemplateSpec.Labels, old.Spec.Class.Kind, old.Spec.ProviderID = map[string]string{"tier": "old"}, "Old", "kubemark:///b"
	untouched := old.DeepCopy()
	if !(Sets{}).Propagate(s, old, true) {
		t.Error("the difference is not seen")
	}
	if diff := cmp.Diff(untouched, old); diff != "" {
		t.Errorf("asking changes the object:\n%s", diff)
	}
	Sets{}.Propagate(s, old, false)
	fresh.Spec.ProviderID = "kubemark:///b"
	if diff := cmp.Diff(fresh, old); diff != "" {
		t.Errorf("after propagation (-template +machine):\n%s", diff)
	}
	failed := untouched.DeepCopy()
	failed.Status.CurrentStatus.Phase = v1alpha1.MachineFailed
	Sets{}.Propagate(s, failed, false)
	if failed.Spec.NodeTemplateSpec.Labels["tier"] != "old" || failed.Spec.Class.Kind != v1alpha1.KindMachineClass {
		t.Errorf("of a failed machine only the class kind is mended, got %+v", failed.Spec)
	}
}
