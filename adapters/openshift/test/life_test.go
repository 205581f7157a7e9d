package test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
)

const (
	namespace = "openshift-machine-api"
	spec      = `{"apiVersion":"reference.example.com/v1","kind":"ReferenceSpec","region":"RegionOne","availabilityZone":"nova","image":"rhcos","flavor":"m1.test",` +
		`"network":"9dc8b730-e135-4551-9687-f176ba5bdf03","userDataSecret":{"name":"worker-user-data"},"cloudSecret":{"name":"cloud"}%s}`
	credentials = `
apiVersion: v1
kind: Secret
metadata: {name: cloud, namespace: openshift-machine-api}
stringData:
  authURL: https://keystone.cloud.example.com:5000/v3
  username: machines
  password: secret
  domain: Default
  project: demo
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: default, namespace: openshift-machine-api}
`
	deployment = `
apiVersion: machine.openshift.io/v1beta1
kind: MachineDeployment
metadata: {name: pool, namespace: openshift-machine-api}
spec:
  replicas: 2
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}
  selector: {matchLabels: {pool: a}}
  template:
    metadata: {labels: {pool: a, machine.openshift.io/cluster-api-cluster: c1}}
    spec:
      metadata: {labels: {node-role.kubernetes.io/worker: ""}}
      providerSpec: {value: %s}
`
)

// TestLife: create, roll with a drain, crash, orphans and adoption, one after another in one fleet.
func TestLife(t *testing.T) {
	b := start(t)
	b.Must(b.Create(t.Context(), []byte(credentials)))
	b.Must(b.Create(t.Context(), fmt.Appendf(nil, deployment, fmt.Sprintf(spec, ""))))
	b.Settled("two machines are made, and run", 2)
	b.keepsWhatTheActuatorSaid()
	b.rolls()
	b.survivesACrash()
	b.collectsOrphans()
	b.adopts()
}

func (b *bench) machine(name string) *machinev1.Machine {
	b.T.Helper()
	m := &machinev1.Machine{}
	b.Must(b.Client.Get(b.T.Context(), client.ObjectKey{Namespace: namespace, Name: name}, m))
	return m
}

// keepsWhatTheActuatorSaid: provider ID, labels and provider status are the actuator's, and a running machine
// is not written repeatedly.
func (b *bench) keepsWhatTheActuatorSaid() {
	b.T.Helper()
	versions := map[string]string{}
	b.Eventually("machines come to rest", func() (moves string) {
		for _, name := range b.Ready() {
			if m := b.machine(name); versions[name] != m.ResourceVersion {
				versions[name], moves = m.ResourceVersion, name
			}
		}
		time.Sleep(5 * time.Second)
		return moves
	})
	for name := range versions {
		m := b.machine(name)
		id, ok := strings.CutPrefix(ptr.Deref(m.Spec.ProviderID, ""), "openstack:///RegionOne/")
		said := string(m.Status.ProviderStatus.Raw)
		if !ok || !strings.Contains(said, `"instanceId":"`+id+`"`) || !strings.Contains(said, `"ordered":`) || m.Labels["machine.openshift.io/instance-type"] != "m1.test" {
			b.T.Errorf("machine %s has provider ID %q, labels %v and status %s", name, ptr.Deref(m.Spec.ProviderID, ""), m.Labels, said)
		}
	}
}

// change changes the deployment.
func (b *bench) change(change func(*v1beta1.MachineDeployment)) {
	b.T.Helper()
	var d v1beta1.MachineDeployment
	b.Must(b.Client.Get(b.T.Context(), client.ObjectKey{Namespace: namespace, Name: "pool"}, &d))
	old := d.DeepCopy()
	change(&d)
	b.Must(b.Client.Patch(b.T.Context(), &d, client.MergeFrom(old)))
}

// rolls replaces both machines by those of another spec.
func (b *bench) rolls() {
	b.T.Helper()
	b.Rolls(namespace, func(machine string) string { return b.machine(machine).Status.NodeRef.Name }, func() {
		b.change(func(d *v1beta1.MachineDeployment) {
			d.Spec.Template.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: fmt.Appendf(nil, spec, `,"generation":2`)}
		})
	})
}

// survivesACrash kills the process while servers boot.
func (b *bench) survivesACrash() {
	b.T.Helper()
	b.SurvivesACrash(func() { b.change(func(d *v1beta1.MachineDeployment) { d.Spec.Replicas = ptr.To[int32](5) }) })
}

// collectsOrphans: a machine is deleted without its finalizer while the process that remembers it runs. While
// its node is Ready, the server stays; after the server is stopped, it is deleted after its quarantine.
func (b *bench) collectsOrphans() {
	b.T.Helper()
	lost := b.machine(b.Ready()[0])
	old := lost.DeepCopy()
	lost.Finalizers = nil
	b.Must(b.Client.Delete(b.T.Context(), lost.DeepCopy(), client.GracePeriodSeconds(0), client.PropagationPolicy(metav1.DeletePropagationOrphan)))
	b.Must(client.IgnoreNotFound(b.Client.Patch(b.T.Context(), lost, client.MergeFrom(old))))
	b.SwitchOff(ptr.Deref(old.Spec.ProviderID, ""))
	b.Eventually("what has no machine is removed", func() string { return b.Has(lost.Name) })
	b.Settled("its machine is replaced", 5)
}

// adopts deletes a machine's object while no process runs, and creates it again: the existing server gets its
// machine.
func (b *bench) adopts() {
	b.T.Helper()
	b.Kill()
	was := b.machine(b.Ready()[0])
	gone := was.DeepCopy()
	gone.Finalizers = nil
	b.Must(b.Client.Patch(b.T.Context(), gone, client.MergeFrom(was)))
	b.Must(b.Client.Delete(b.T.Context(), gone))
	again := &machinev1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: was.Name, Labels: map[string]string{
		"machine.openshift.io/cluster-api-cluster": "c1",
	}}}
	again.Spec.ProviderSpec = was.Spec.ProviderSpec
	b.Must(b.Client.Create(b.T.Context(), again))
	b.Restart()
	b.Settled("a server that was there is adopted", 6)
	if got := b.machine(was.Name); ptr.Deref(got.Spec.ProviderID, "") != ptr.Deref(was.Spec.ProviderID, "") || got.UID == was.UID {
		b.T.Errorf("machine %s has %v, and had %v", was.Name, ptr.Deref(got.Spec.ProviderID, ""), ptr.Deref(was.Spec.ProviderID, ""))
	}
}
