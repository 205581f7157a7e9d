package v1beta1

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"
)

// TestOneSchemeForTheGroup: both packages of the group fit into a scheme, in either order.
func TestOneSchemeForTheGroup(t *testing.T) {
	published, ours := machinev1.Install, AddToScheme
	for name, order := range map[string][]func(*runtime.Scheme) error{"published first": {published, ours}, "ours first": {ours, published}} {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			for _, add := range order {
				if err := add(scheme); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
			for _, kind := range []string{"Machine", "MachineSet", KindMachineDeployment, KindCluster} {
				for _, suffix := range []string{"", "List"} {
					if !scheme.Recognizes(machinev1.GroupVersion.WithKind(kind + suffix)) {
						t.Errorf("%s: %s%s is unknown", name, kind, suffix)
					}
				}
			}
		})
	}
}

// TestZeroCountersAreWritten: a column of the table is 0, not empty.
func TestZeroCountersAreWritten(t *testing.T) {
	raw, err := json.Marshal(MachineDeploymentStatus{})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"replicas":0,"updatedReplicas":0,"readyReplicas":0,"availableReplicas":0,"unavailableReplicas":0}`
	if string(raw) != want {
		t.Errorf("got %s, want %s", raw, want)
	}
}

// TestRoundTrip encodes random objects and decodes them again; deep copies must be equal.
func TestRoundTrip(t *testing.T) {
	fill := randfill.NewWithSeed(1).NilChance(0.3).NumElements(1, 2).MaxDepth(12).Funcs(
		func(v *metav1.Time, c randfill.Continue) { *v = metav1.Unix(c.Int63n(1<<31), 0) },
		func(v *metav1.FieldsV1, _ randfill.Continue) { v.SetRawBytes([]byte(`{}`)) },
		func(v *intstr.IntOrString, c randfill.Continue) { *v = intstr.FromInt32(c.Int31()) },
		func(v *runtime.RawExtension, _ randfill.Continue) { v.Raw = []byte(`{"kind":"Any","size":3}`) },
	)
	for _, sample := range []func() (in, out runtime.Object){
		func() (in, out runtime.Object) { return &MachineDeployment{}, &MachineDeployment{} },
		func() (in, out runtime.Object) { return &Cluster{}, &Cluster{} },
	} {
		for range 50 {
			in, out := sample()
			fill.Fill(in)
			raw, err := json.Marshal(in)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(raw, out); err != nil {
				t.Fatal(err)
			}
			again, err := json.Marshal(out)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(raw), string(again)); diff != "" {
				t.Fatalf("%T changes on its way through the wire:\n%s", in, diff)
			}
			if diff := cmp.Diff(in, in.DeepCopyObject(), cmp.Comparer(func(a, b metav1.Time) bool { return a.Equal(&b) })); diff != "" {
				t.Fatalf("the copy of %T differs:\n%s", in, diff)
			}
		}
	}
}
