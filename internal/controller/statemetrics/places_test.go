package statemetrics_test

import (
	"maps"
	"testing"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/controller/statemetrics"
	"github.com/millwright-dev/millwright/internal/runtime/run"
)

// TestPlaces: machines of both APIs are counted by zone, type and phase, also those whose class does not exist.
func TestPlaces(t *testing.T) {
	object := func(name string, labels map[string]string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "n", Name: name, Labels: labels}
	}
	inA := map[string]string{"machine.openshift.io/zone": "a", "machine.openshift.io/instance-type": "m5"}
	of := func(name, class string, phase v1alpha1.MachinePhase) *v1alpha1.Machine {
		m := &v1alpha1.Machine{ObjectMeta: object(name, nil)}
		m.Spec.Class.Name, m.Status.CurrentStatus.Phase = class, phase
		return m
	}
	objects := []client.Object{
		&machinev1.Machine{ObjectMeta: object("o-1", inA), Status: machinev1.MachineStatus{Phase: ptr.To("Running")}},
		&machinev1.Machine{ObjectMeta: object("o-2", inA), Status: machinev1.MachineStatus{Phase: ptr.To("Running")}},
		&machinev1.Machine{ObjectMeta: object("o-3", nil)},
		&v1alpha1.MachineClass{ObjectMeta: object("c", nil), NodeTemplate: &v1alpha1.NodeTemplate{Zone: "z", InstanceType: "big"}},
		of("g-1", "c", v1alpha1.MachineRunning), of("g-2", "c", v1alpha1.MachineFailed), of("g-3", "lost", v1alpha1.MachineRunning),
	}
	r := fake.NewClientBuilder().WithScheme(run.Scheme()).WithObjects(objects...).Build()
	want := map[string]float64{
		"machine.openshift.io,aws,n,a,m5,Running": 2, "machine.openshift.io,aws,n,,,": 1,
		"machine.sapcloud.io,aws,n,z,big,Running": 1, "machine.sapcloud.io,aws,n,z,big,Failed": 1, "machine.sapcloud.io,aws,n,,,Running": 1,
	}
	got := read(t, shown(t, r, statemetrics.OpenShiftPlaces("aws", "machine.openshift.io/zone", "machine.openshift.io/instance-type"), statemetrics.GardenerPlaces("aws"))["millwright_machines"], "api,provider,namespace,zone,instance_type,phase")
	if !maps.Equal(got, want) {
		t.Errorf("counted %v, want %v", got, want)
	}
}

// TestOpenShiftDeployments: deployments of machine.openshift.io have metrics of their own, beside those of sets in one registry.
func TestOpenShiftDeployments(t *testing.T) {
	d := &v1beta1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "d"}}
	d.Spec.Replicas, d.Status.Replicas, d.Status.UpdatedReplicas, d.Status.AvailableReplicas = ptr.To[int32](5), 6, 2, 4
	r := fake.NewClientBuilder().WithScheme(run.Scheme()).WithObjects(d).Build()
	got := shown(t, r, statemetrics.OpenShiftMachineSets(), statemetrics.OpenShiftMachineDeployments())
	for metric, want := range map[string]float64{"spec_replicas": 5, "status_replicas": 6, "status_updated_replicas": 2, "status_available_replicas": 4} {
		if is := read(t, got["millwright_machine_deployment_"+metric], "namespace,name")["n,d"]; is != want {
			t.Errorf("%s is %v, want %v", metric, is, want)
		}
	}
}
