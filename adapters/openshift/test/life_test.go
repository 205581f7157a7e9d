package test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	b.must(b.Create(t.Context(), []byte(credentials)))
	b.must(b.Create(t.Context(), fmt.Appendf(nil, deployment, fmt.Sprintf(spec, ""))))
	b.settled("two machines are made, and run", 2)
	b.keepsWhatTheActuatorSaid()
	b.rolls()
	b.survivesACrash()
	b.collectsOrphans()
	b.adopts()
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) machine(name string) *machinev1.Machine {
	b.t.Helper()
	m := &machinev1.Machine{}
	b.must(b.Client.Get(b.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, m))
	return m
}

// keepsWhatTheActuatorSaid: provider ID, labels and provider status are the actuator's, and a machine that runs is not written again and again.
func (b *bench) keepsWhatTheActuatorSaid() {
	b.t.Helper()
	versions := map[string]string{}
	b.eventually("machines come to rest", func() (moves string) {
		for _, name := range b.ready() {
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
			b.t.Errorf("machine %s has provider ID %q, labels %v and status %s", name, ptr.Deref(m.Spec.ProviderID, ""), m.Labels, said)
		}
	}
}

// change changes the deployment.
func (b *bench) change(change func(*v1beta1.MachineDeployment)) {
	b.t.Helper()
	var d v1beta1.MachineDeployment
	b.must(b.Client.Get(b.t.Context(), client.ObjectKey{Namespace: namespace, Name: "pool"}, &d))
	old := d.DeepCopy()
	change(&d)
	b.must(b.Client.Patch(b.t.Context(), &d, client.MergeFrom(old)))
}

// rolls replaces both machines, one at a time, and moves a pod off each before its server goes.
func (b *bench) rolls() {
	b.t.Helper()
	old := b.ready()
	var pods []*corev1.Pod
	for _, name := range old {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "on-" + name}, Spec: corev1.PodSpec{
			NodeName: b.machine(name).Status.NodeRef.Name, Containers: []corev1.Container{{Name: "c", Image: "example.com/none"}},
		}}
		b.must(b.Client.Create(b.t.Context(), p))
		pods = append(pods, p)
	}
	b.change(func(d *v1beta1.MachineDeployment) {
		d.Spec.Template.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: fmt.Appendf(nil, spec, `,"generation":2`)}
	})
	most := 0
	b.eventually("both are replaced", func() string {
		servers, ready := b.servers(), b.ready()
		most = max(most, len(servers))
		for n, name := range old {
			err := b.Client.Get(b.t.Context(), client.ObjectKeyFromObject(pods[n]), &corev1.Pod{})
			if servers[name] == 0 && !apierrors.IsNotFound(err) {
				b.t.Fatalf("the server of %s went before its pod (error %v)", name, err)
			}
			if servers[name] > 0 {
				return name + " is still there"
			}
		}
		if len(ready) != 2 || len(servers) != 2 {
			return fmt.Sprintf("ready %v, servers %v", ready, servers)
		}
		return ""
	})
	if most > 3 {
		b.t.Errorf("there were %d servers at once, with a surge of one", most)
	}
}

// survivesACrash kills the process while servers boot.
func (b *bench) survivesACrash() {
	b.t.Helper()
	b.change(func(d *v1beta1.MachineDeployment) { d.Spec.Replicas = ptr.To[int32](5) })
	b.eventually("some servers are accepted", func() string {
		if len(b.servers()) < 4 {
			return fmt.Sprint(b.servers())
		}
		return ""
	})
	b.kill()
	b.restart()
	b.settled("after a crash each machine has its one server", 5)
}

// collectsOrphans: a machine is taken away around its finalizer while the process that knows it runs. What its node says for it keeps
// its server until that is switched off; then it goes after its quarantine.
func (b *bench) collectsOrphans() {
	b.t.Helper()
	lost := b.machine(b.ready()[0])
	old := lost.DeepCopy()
	lost.Finalizers = nil
	b.must(b.Client.Delete(b.t.Context(), lost.DeepCopy(), client.GracePeriodSeconds(0), client.PropagationPolicy(metav1.DeletePropagationOrphan)))
	b.must(client.IgnoreNotFound(b.Client.Patch(b.t.Context(), lost, client.MergeFrom(old))))
	id := ptr.Deref(old.Spec.ProviderID, "")
	_, err := b.Cloud.Ask(b.t.Context(), http.MethodPost, "do/stop?on="+id[strings.LastIndexByte(id, '/')+1:], nil)
	b.must(err)
	b.eventually("what has no machine is removed", func() string { return b.has(lost.Name) })
	b.settled("its machine is replaced", 5)
}

// has says how many servers of the name there are; empty: none.
func (b *bench) has(name string) string {
	b.t.Helper()
	if n := b.servers()[name]; n > 0 {
		return fmt.Sprintf("%d servers %s", n, name)
	}
	return ""
}

// adopts takes a machine's object away while no process runs, and declares it again: the server is there, and gets its machine.
func (b *bench) adopts() {
	b.t.Helper()
	b.kill()
	was := b.machine(b.ready()[0])
	gone := was.DeepCopy()
	gone.Finalizers = nil
	b.must(b.Client.Patch(b.t.Context(), gone, client.MergeFrom(was)))
	b.must(b.Client.Delete(b.t.Context(), gone))
	again := &machinev1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: was.Name, Labels: map[string]string{
		"machine.openshift.io/cluster-api-cluster": "c1",
	}}}
	again.Spec.ProviderSpec = was.Spec.ProviderSpec
	b.must(b.Client.Create(b.t.Context(), again))
	b.restart()
	b.settled("a server that was there is adopted", 6)
	if got := b.machine(was.Name); ptr.Deref(got.Spec.ProviderID, "") != ptr.Deref(was.Spec.ProviderID, "") || got.UID == was.UID {
		b.t.Errorf("machine %s has %v, and had %v", was.Name, ptr.Deref(got.Spec.ProviderID, ""), ptr.Deref(was.Spec.ProviderID, ""))
	}
}
