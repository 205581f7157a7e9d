package v1alpha1

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/randfill"
)

func TestSchemeKnowsEveryKind(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{KindMachineClass, KindMachine, KindMachineSet, KindMachineDeployment} {
		for _, suffix := range []string{"", "List"} {
			if !scheme.Recognizes(GroupVersion.WithKind(kind + suffix)) {
				t.Errorf("%s%s is unknown", kind, suffix)
			}
		}
	}
}

func TestWireForm(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	cases := []struct {
		name, reason string
		object       any
		want         string
	}{{
		name: "empty machine", reason: "structs are always there, an unset time is null, scalars at zero are absent",
		object: Machine{},
		want: `{"metadata":{},"spec":{"class":{},"nodeTemplate":{"metadata":{},"spec":{}}},
			"status":{"lastOperation":{"lastUpdateTime":null},"currentStatus":{"lastUpdateTime":null}}}`,
	}, {
		name: "machine configuration", reason: "it has no name of its own: its fields stand in the spec",
		object: MachineSpec{MachineConfiguration: &MachineConfiguration{
			MachineDrainTimeout:         &metav1.Duration{Duration: 2 * time.Hour},
			MachineHealthTimeout:        &metav1.Duration{Duration: 10 * time.Minute},
			MachineCreationTimeout:      &metav1.Duration{Duration: 20 * time.Minute},
			MachineInPlaceUpdateTimeout: &metav1.Duration{Duration: time.Minute},
			MachinePreserveTimeout:      &metav1.Duration{Duration: 96 * time.Hour},
			DisableHealthTimeout:        ptr.To(false),
			MaxEvictRetries:             ptr.To[int32](0),
			NodeConditions:              ptr.To(""),
		}},
		want: `{"class":{},"nodeTemplate":{"metadata":{},"spec":{}},"drainTimeout":"2h0m0s","healthTimeout":"10m0s",
			"creationTimeout":"20m0s","inPlaceUpdateTimeout":"1m0s","machinePreserveTimeout":"96h0m0s",
			"disableHealthTimeout":false,"maxEvictRetries":0,"nodeConditions":""}`,
	}, {
		name: "machine status", reason: "names of the operation and of the phase",
		object: MachineStatus{
			LastOperation: LastOperation{Description: "d", ErrorCode: "e", LastUpdateTime: at, State: MachineStateProcessing, Type: MachineOperationCreate},
			CurrentStatus: CurrentStatus{Phase: MachinePending, TimeoutActive: true, LastUpdateTime: at, PreserveExpiryTime: &at},
		},
		want: `{"lastOperation":{"description":"d","errorCode":"e","lastUpdateTime":"2026-01-02T03:04:05Z","state":"Processing","type":"Create"},
			"currentStatus":{"phase":"Pending","timeoutActive":true,"lastUpdateTime":"2026-01-02T03:04:05Z","preserveExpiryTime":"2026-01-02T03:04:05Z"}}`,
	}, {
		name: "set at zero", reason: "replicas is a plain number: 0 is absent, and absent is 0",
		object: MachineSetSpec{Replicas: 0},
		want:   `{"machineClass":{},"template":{"metadata":{},"spec":{"class":{},"nodeTemplate":{"metadata":{},"spec":{}}}}}`,
	}, {
		name: "set status", reason: "conditions are called machineSetCondition; an empty list of failed machines is not an absent one",
		object: MachineSetStatus{
			Conditions:     []MachineSetCondition{{Type: MachineSetFrozen, Status: ConditionTrue, LastTransitionTime: at}},
			FailedMachines: &[]MachineSummary{},
			LabelSelector:  "a=b",
		},
		want: `{"machineSetCondition":[{"type":"Frozen","status":"True","lastTransitionTime":"2026-01-02T03:04:05Z"}],
			"lastOperation":{"lastUpdateTime":null},"failedMachines":[],"labelSelector":"a=b"}`,
	}, {
		name: "update in place", reason: "the bounds are inlined beside the orchestration type",
		object: MachineDeploymentStrategy{
			Type: InPlaceUpdateMachineDeploymentStrategyType,
			InPlaceUpdate: &InPlaceUpdateMachineDeployment{
				UpdateConfiguration: UpdateConfiguration{MaxUnavailable: ptr.To(intstr.FromString("10%")), MaxSurge: ptr.To(intstr.FromInt32(1))},
				OrchestrationType:   OrchestrationTypeManual,
			},
		},
		want: `{"type":"InPlaceUpdate","inPlaceUpdate":{"maxUnavailable":"10%","maxSurge":1,"orchestrationType":"Manual"}}`,
	}, {
		name: "class", reason: "a class has its fields at the top and always a providerSpec",
		object: MachineClass{NodeTemplate: &NodeTemplate{InstanceType: "m", Region: "r", Zone: "z"}},
		want:   `{"metadata":{},"nodeTemplate":{"capacity":null,"instanceType":"m","region":"r","zone":"z"},"providerSpec":null}`,
	}}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := json.Marshal(c.object)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(generic(t, []byte(c.want)), generic(t, got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func generic(t *testing.T, raw []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return v
}

func TestMachineConfigurationIsNilWhenNothingIsSet(t *testing.T) {
	var spec MachineSpec
	decode(t, `{"class":{"kind":"MachineClass","name":"a"}}`, &spec)
	if spec.MachineConfiguration != nil {
		t.Errorf("configuration is %+v", spec.MachineConfiguration)
	}
	decode(t, `{"maxEvictRetries":0}`, &spec)
	if spec.MachineConfiguration == nil || spec.MaxEvictRetries == nil || *spec.MaxEvictRetries != 0 {
		t.Errorf("configuration is %+v, not one with zero retries", spec.MachineConfiguration)
	}
}

func decode(t *testing.T, raw string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(raw), into); err != nil {
		t.Fatal(err)
	}
}

// TestRoundTrip encodes random objects and decodes them again; deep copies must be equal.
func TestRoundTrip(t *testing.T) {
	fill := randfill.NewWithSeed(1).NilChance(0.3).NumElements(1, 2).MaxDepth(12).Funcs(
		func(v *metav1.Time, c randfill.Continue) { *v = metav1.Unix(c.Int63n(1<<31), 0) },
		func(v *metav1.Duration, c randfill.Continue) { v.Duration = time.Duration(c.Int63n(1 << 40)) },
		func(v *metav1.FieldsV1, _ randfill.Continue) { v.SetRawBytes([]byte(`{}`)) },
		func(v *intstr.IntOrString, c randfill.Continue) { *v = intstr.FromInt32(c.Int31()) },
		func(v *runtime.RawExtension, _ randfill.Continue) { v.Raw = []byte(`{"kind":"Any","size":3}`) },
		fillQuantity, fillFailedMachines,
	)
	for _, sample := range []func() (in, out runtime.Object){
		func() (in, out runtime.Object) { return &MachineClass{}, &MachineClass{} },
		func() (in, out runtime.Object) { return &Machine{}, &Machine{} },
		func() (in, out runtime.Object) { return &MachineSet{}, &MachineSet{} },
		func() (in, out runtime.Object) { return &MachineDeployment{}, &MachineDeployment{} },
	} {
		for range 50 {
			in, out := sample()
			fill.Fill(in)
			raw, err := json.Marshal(in)
			if err != nil {
				t.Fatal(err)
			}
			decode(t, string(raw), out)
			again, err := json.Marshal(out)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(raw), string(again)); diff != "" {
				t.Fatalf("%T changes on its way through the wire:\n%s", in, diff)
			}
			if diff := cmp.Diff(in, in.DeepCopyObject(), cmp.Comparer(sameTime)); diff != "" {
				t.Fatalf("the copy of %T differs:\n%s", in, diff)
			}
		}
	}
}
