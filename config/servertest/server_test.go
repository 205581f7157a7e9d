// Package servertest installs the manifests of config into a real API server, and checks which objects and fields it stores,
// refuses and drops.
package servertest

import (
	"context"
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
)

func TestMain(m *testing.M) { os.Exit(devplanetest.Main(m, devplanetest.Options{})) }

// connect returns a client, and a namespace for the test.
func connect(t *testing.T) (client.Client, string) {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, machinev1beta1.Install, v1beta1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c, err := client.New(devplanetest.Start(t).Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c, devplanetest.Namespace(t)
}

// manifest decodes JSON into an object of the test's namespace.
func manifest(t *testing.T, namespace, text string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(text), &object.Object); err != nil {
		t.Fatal(err)
	}
	object.SetNamespace(namespace)
	return object
}

func TestStoresWhatTheOriginalsStore(t *testing.T) {
	cases := []struct {
		name, object string
		stored       []string // the path of a field that must be stored
		reason       string
	}{
		{
			"empty OpenShift machine", `{"apiVersion":"machine.openshift.io/v1beta1","kind":"Machine","spec":{}}`,
			nil, "nothing below spec is required",
		},
		{
			"empty OpenShift set", `{"apiVersion":"machine.openshift.io/v1beta1","kind":"MachineSet","spec":{}}`,
			[]string{"spec", "replicas"},
			"replicas has a default of the schema",
		},
		{
			"empty health check", `{"apiVersion":"machine.openshift.io/v1beta1","kind":"MachineHealthCheck","spec":{}}`,
			nil, "nothing below spec is required",
		},
		{
			"empty Gardener machine", `{"apiVersion":"machine.sapcloud.io/v1alpha1","kind":"Machine"}`,
			nil, "nothing is required",
		},
		{
			"odd Gardener set",
			`{"apiVersion":"machine.sapcloud.io/v1alpha1","kind":"MachineSet","spec":{"minReadySeconds":-3,"template":{"metadata":{"creationTimestamp":null,"odd":1}}}}`,
			[]string{"spec", "template", "metadata", "odd"},
			"there is no minimum, and metadata of templates keeps what it does not know",
		},
		{
			"odd Gardener deployment",
			`{"apiVersion":"machine.sapcloud.io/v1alpha1","kind":"MachineDeployment","spec":{"strategy":{"type":"Anything","rollingUpdate":{"maxSurge":"200%"}},"template":{}}}`,
			[]string{"spec", "strategy", "rollingUpdate", "maxSurge"},
			"there is no enum and no pattern",
		},
		{
			"odd class",
			`{"apiVersion":"machine.sapcloud.io/v1alpha1","kind":"MachineClass","providerSpec":{"a":{"b":1}},"nodeTemplate":{"capacity":{"cpu":2},"instanceType":"","region":"","zone":"","more":1}}`,
			[]string{"nodeTemplate", "more"},
			"a node template keeps what it does not know, and may be empty",
		},
	}
	c, namespace := connect(t)
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			object := manifest(t, namespace, tc.object)
			object.SetGenerateName("a-")
			if err := c.Create(t.Context(), object); err != nil {
				t.Fatalf("refused, although %s: %v", tc.reason, err)
			}
			if tc.stored == nil {
				return
			}
			if _, found, err := unstructured.NestedFieldNoCopy(object.Object, tc.stored...); !found || err != nil {
				t.Errorf("%v was dropped, although %s: %v", tc.stored, tc.reason, object.Object)
			}
		})
	}
}

func TestRefuses(t *testing.T) {
	cases := []struct{ object, reason string }{
		{`{"apiVersion":"machine.sapcloud.io/v1alpha1","kind":"MachineDeployment","spec":{}}`, "the template is required"},
		{`{"apiVersion":"machine.sapcloud.io/v1alpha1","kind":"MachineClass"}`, "providerSpec is required"},
		{`{"apiVersion":"machine.sapcloud.io/v1alpha1","kind":"MachineSet","spec":{"replicas":-1}}`, "the server knows from the scale subresource what replicas are"},
		{`{"apiVersion":"machine.openshift.io/v1beta1","kind":"MachineSet","spec":{"replicas":-1}}`, "the server knows from the scale subresource what replicas are"},
	}
	c, namespace := connect(t)
	for _, tc := range cases {
		object := manifest(t, namespace, tc.object)
		object.SetGenerateName("a-")
		if err := c.Create(t.Context(), object); !apierrors.IsInvalid(err) {
			t.Errorf("%s: %v is the answer, although %s", tc.object, err, tc.reason)
		}
	}
}

// TestTypedStatus writes statuses with unset times, which are null in JSON: the API server drops them without an error.
func TestTypedStatus(t *testing.T) {
	c, namespace := connect(t)
	machine := &v1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"}}
	if err := c.Create(t.Context(), machine); err != nil {
		t.Fatal(err)
	}
	machine.Status.CurrentStatus.Phase = v1alpha1.MachinePending
	want := machine.Status.DeepCopy()
	if err := c.Status().Update(t.Context(), machine); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(*want, machine.Status); diff != "" {
		t.Errorf("the stored status differs:\n%s", diff)
	}
	set := &v1alpha1.MachineSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"}}
	if err := c.Create(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	set.Status.Conditions = []v1alpha1.MachineSetCondition{{Type: v1alpha1.MachineSetReplicaFailure, Status: v1alpha1.ConditionTrue}}
	set.Status.FailedMachines = &[]v1alpha1.MachineSummary{{Name: "m"}}
	wantSet := set.Status.DeepCopy()
	if err := c.Status().Update(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(*wantSet, set.Status); diff != "" {
		t.Errorf("the stored status differs:\n%s", diff)
	}
}

func TestScale(t *testing.T) {
	c, namespace := connect(t)
	set := &v1alpha1.MachineSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"}, Spec: v1alpha1.MachineSetSpec{Replicas: 2}}
	deployment := &v1alpha1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"}, Spec: v1alpha1.MachineDeploymentSpec{Replicas: 2}}
	scales(t, c, set, func() { set.Status = v1alpha1.MachineSetStatus{Replicas: 1, LabelSelector: "a=b"} })
	scales(t, c, deployment, func() { deployment.Status = v1alpha1.MachineDeploymentStatus{Replicas: 1, LabelSelector: "a=b"} })
}

// scales creates an object with two replicas, writes a status with one replica and the selector a=b, and checks its scale.
func scales(t *testing.T, c client.Client, object client.Object, setStatus func()) {
	t.Helper()
	if err := c.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	setStatus()
	if err := c.Status().Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	scale := readScale(t.Context(), t, c, object)
	if scale.Spec.Replicas != 2 || scale.Status.Replicas != 1 || scale.Status.Selector != "a=b" {
		t.Errorf("the scale of %T is %+v", object, scale)
	}
	zero := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":0}}`))
	if err := c.SubResource("scale").Patch(t.Context(), object, zero, client.WithSubResourceBody(&autoscalingv1.Scale{})); err != nil {
		t.Fatalf("scaling %T to zero: %v", object, err)
	}
	if scale = readScale(t.Context(), t, c, object); scale.Spec.Replicas != 0 {
		t.Errorf("the scale of %T is %+v after scaling to zero", object, scale)
	}
}

func readScale(ctx context.Context, t *testing.T, c client.Client, object client.Object) *autoscalingv1.Scale {
	t.Helper()
	scale := &autoscalingv1.Scale{}
	if err := c.SubResource("scale").Get(ctx, object, scale); err != nil {
		t.Fatalf("reading the scale of %T: %v", object, err)
	}
	return scale
}
