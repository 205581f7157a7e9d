package servertest

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
)

// earlyDeployment is a manifest of an early generator, with fields that were removed since.
const earlyDeployment = `{"apiVersion":"machine.openshift.io/v1beta1","kind":"MachineDeployment",
	"metadata":{"creationTimestamp":null,"labels":{"api":"clusterapi"}},
	"spec":{"minReadySeconds":0,"paused":false,"progressDeadlineSeconds":600,"replicas":2,"revisionHistoryLimit":1,
		"selector":{"matchLabels":{"pool":"a"}},
		"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":1,"maxUnavailable":0}},
		"template":{"metadata":{"creationTimestamp":null,"labels":{"pool":"a"}},
			"spec":{"metadata":{"creationTimestamp":null},"providerSpec":{"value":{"kind":"Any","size":3},"valueFrom":null},
				"taints":[{"key":"k","effect":"NoSchedule"}],"versions":{"kubelet":"1.12.1","controlPlane":""},"configSource":null}}},
	"status":{}}`

const earlyCluster = `{"apiVersion":"machine.openshift.io/v1beta1","kind":"Cluster","metadata":{"creationTimestamp":null},
	"spec":{"clusterNetwork":{"services":{"cidrBlocks":["10.0.0.1/24"]},"pods":{"cidrBlocks":["10.0.0.2/24"]},"serviceDomain":"example.com"},
		"providerSpec":{"value":{"region":"north"}}},"status":{}}`

// kubectl apply sends requests with this option: an unknown field is an error.
func TestStoresWhatThereWasBefore(t *testing.T) {
	deployment := func(spec string) string {
		return `{"apiVersion":"machine.openshift.io/v1beta1","kind":"MachineDeployment","spec":` + spec + `}`
	}
	cluster := func(spec string) string {
		return `{"apiVersion":"machine.openshift.io/v1beta1","kind":"Cluster","spec":` + spec + `}`
	}
	cases := []struct {
		name, object string
		stored       []string // the path of a field that must be stored
		reason       string
	}{
		{"early deployment", earlyDeployment, []string{"spec", "template", "spec", "versions", "kubelet"}, "it is what is in people's archives"},
		{"empty deployment", deployment(`{}`), []string{"spec", "replicas"}, "nothing below spec is required, and replicas has a default"},
		{"unknown strategy", deployment(`{"strategy":{"type":"Anything"}}`), []string{"spec", "strategy", "type"}, "a condition explains it"},
		{"no room at all", deployment(`{"strategy":{"rollingUpdate":{"maxSurge":0,"maxUnavailable":0}}}`), []string{"spec", "strategy", "rollingUpdate", "maxSurge"}, "one machine may then be unavailable"},
		{"more than all", deployment(`{"strategy":{"rollingUpdate":{"maxSurge":"250%","maxUnavailable":"101%"}}}`), []string{"spec", "strategy", "rollingUpdate", "maxUnavailable"}, "bounds are kept within what there is"},
		{"no bound at all", deployment(`{"strategy":{"rollingUpdate":{"maxSurge":"many","deletePolicy":"Prettiest"}}}`), []string{"spec", "strategy", "rollingUpdate", "deletePolicy"}, "a condition explains it"},
		{"negative seconds", deployment(`{"minReadySeconds":-3,"progressDeadlineSeconds":-1,"revisionHistoryLimit":-1}`), []string{"spec", "minReadySeconds"}, "there is no minimum"},
		{"rollback", deployment(`{"rollbackTo":{"revision":0}}`), []string{"spec", "rollbackTo"}, "an empty object asks for the revision before"},
		{"early cluster", earlyCluster, []string{"spec", "providerSpec", "value", "region"}, "it is what is in people's archives"},
		{"empty cluster", cluster(`{}`), nil, "nothing is required"},
		{"cluster without ranges", cluster(`{"clusterNetwork":{"services":{"cidrBlocks":null},"pods":{"cidrBlocks":[]},"serviceDomain":""},"providerSpec":{"value":null}}`), nil, "empty lists came as null"},
	}
	c, namespace := connect(t)
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			object := manifest(t, namespace, tc.object)
			object.SetGenerateName("a-")
			if err := c.Create(t.Context(), object, client.FieldValidation("Strict")); err != nil {
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

// A typing error in the name of a field is reported as for machine sets, although obsolete fields are accepted.
func TestStrictClientsAreToldOfUnknownFields(t *testing.T) {
	c, namespace := connect(t)
	for _, spec := range []string{`{"replica":1}`, `{"template":{"spec":{"providerspec":{}}}}`, `{"template":{"spec":{"authoritativeAPI":"ClusterAPI"}}}`} {
		object := manifest(t, namespace, `{"apiVersion":"machine.openshift.io/v1beta1","kind":"MachineDeployment","spec":`+spec+`}`)
		object.SetGenerateName("a-")
		if err := c.Create(t.Context(), object, client.FieldValidation("Strict")); !apierrors.IsBadRequest(err) {
			t.Errorf("%s: %v is the answer, not that the field is unknown", spec, err)
		}
	}
}

func TestDeploymentDefaultsOfTheSchema(t *testing.T) {
	c, namespace := connect(t)
	d := &v1beta1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"}}
	if err := c.Create(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(v1beta1.MachineDeploymentSpec{Replicas: ptr.To(int32(1))}, d.Spec); diff != "" {
		t.Errorf("what the server adds: replicas alone, the rest are defaults in effect (-want +got):\n%s", diff)
	}
}

func TestDeploymentScale(t *testing.T) {
	c, namespace := connect(t)
	d := &v1beta1.MachineDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"}, Spec: v1beta1.MachineDeploymentSpec{Replicas: ptr.To(int32(2))},
	}
	scales(t, c, d, func() { d.Status = v1beta1.MachineDeploymentStatus{Replicas: 1, LabelSelector: "a=b"} })
}

// TestDeploymentRoundTrip: a status of the controller is stored without changes.
func TestDeploymentRoundTrip(t *testing.T) {
	c, namespace := connect(t)
	d := &v1beta1.MachineDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"},
		Spec: v1beta1.MachineDeploymentSpec{Strategy: v1beta1.MachineDeploymentStrategy{
			RollingUpdate: &v1beta1.MachineRollingUpdateDeployment{MaxSurge: ptr.To(intstr.FromString("10%"))},
		}},
	}
	if err := c.Create(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	at := metav1.Now().Rfc3339Copy()
	d.Status = v1beta1.MachineDeploymentStatus{
		ObservedGeneration: 1, Replicas: 3, CollisionCount: ptr.To(int32(1)), LastProgressTime: &at,
		Conditions: []metav1.Condition{{Type: v1beta1.MachineDeploymentAvailable, Status: metav1.ConditionTrue, Reason: "R", LastTransitionTime: at}},
	}
	want := d.Status.DeepCopy()
	if err := c.Status().Update(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(*want, d.Status); diff != "" {
		t.Errorf("the stored status differs:\n%s", diff)
	}
}

// TestDeploymentColumns requests the table that kubectl prints.
func TestDeploymentColumns(t *testing.T) {
	c, namespace := connect(t)
	d := &v1beta1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"}, Spec: v1beta1.MachineDeploymentSpec{Replicas: ptr.To(int32(4))}}
	if err := c.Create(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	d.Status = v1beta1.MachineDeploymentStatus{Replicas: 3, ReadyReplicas: 2, UpdatedReplicas: 1}
	if err := c.Status().Update(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	table := tableOf(t, namespace, "machinedeployments")
	var columns []string
	for _, column := range table.ColumnDefinitions {
		columns = append(columns, column.Name)
	}
	if diff := cmp.Diff([]string{"Name", "Desired", "Current", "Ready", "Up-to-date", "Available", "Age", "Why"}, columns); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
	if why := table.ColumnDefinitions[len(columns)-1]; why.Priority == 0 {
		t.Error("the reason makes the table wide without -o wide")
	}
	if diff := cmp.Diff([]any{"a", int64(4), int64(3), int64(2), int64(1), int64(0)}, table.Rows[0].Cells[:6]); diff != "" {
		t.Errorf("the row (-want +got):\n%s", diff)
	}
}

func tableOf(t *testing.T, namespace, resource string) metav1.Table {
	t.Helper()
	config := rest.CopyConfig(devplanetest.Start(t).Config)
	config.GroupVersion = &schema.GroupVersion{Group: v1beta1.GroupName, Version: "v1beta1"}
	config.APIPath, config.NegotiatedSerializer = "/apis", scheme.Codecs.WithoutConversion()
	c, err := rest.RESTClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := c.Get().Namespace(namespace).Resource(resource).SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var table metav1.Table
	if err := json.Unmarshal(raw, &table); err != nil {
		t.Fatal(err)
	}
	for i, row := range table.Rows {
		for j, cell := range row.Cells {
			if number, ok := cell.(float64); ok {
				table.Rows[i].Cells[j] = int64(number)
			}
		}
	}
	return table
}
