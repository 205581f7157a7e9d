package test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	mcm "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/driver"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/adapters/gardener/internal/reference"
	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
)

const (
	namespace = "default"
	spec      = `{"apiVersion":"openstack.machine.gardener.cloud/v1alpha1","kind":"MachineProviderConfig","spec":{"imageName":"gardenlinux",` +
		`"region":"RegionOne","availabilityZone":"nova","flavorName":"m1.test","keyName":"k","networkID":"9dc8b730-e135-4551-9687-f176ba5bdf03",` +
		`"tags":{"kubernetes.io-cluster-shoot--mill--one":"1","kubernetes.io-role-node":"1"}}}`
	credentials = `
apiVersion: v1
kind: Secret
metadata: {name: credentials, namespace: default}
stringData:
  authURL: https://keystone.cloud.example.com:5000/v3
  username: machines
  password: secret
  domainName: Default
  tenantName: demo
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: default, namespace: default}
`
	class = `
apiVersion: machine.sapcloud.io/v1alpha1
kind: MachineClass
metadata: {name: %s, namespace: default}
provider: OpenStack
secretRef: {name: worker-user-data, namespace: default}
credentialsSecretRef: {name: credentials, namespace: default}
nodeTemplate:
  capacity: {cpu: "2", gpu: "0", memory: 4Gi}
  instanceType: m1.test
  region: RegionOne
  zone: nova
providerSpec: %s
`
	deployment = `
apiVersion: machine.sapcloud.io/v1alpha1
kind: MachineDeployment
metadata: {name: pool, namespace: default}
spec:
  replicas: 2
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}
  selector: {matchLabels: {name: pool}}
  template:
    metadata: {labels: {name: pool}}
    spec: {class: {kind: MachineClass, name: first}}
`
)

// TestLife: create, roll with a drain, crash, orphans and adoption, one after another in one fleet.
func TestLife(t *testing.T) {
	b := start(t)
	b.must(b.Create(t.Context(), []byte(credentials)))
	for _, name := range []string{"first", "second"} {
		b.must(b.Create(t.Context(), fmt.Appendf(nil, class, name, spec)))
	}
	b.must(b.Create(t.Context(), []byte(deployment)))
	b.settled("two machines are made, and run", 2)
	b.recordsWhatTheDriverSaid()
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

func (b *bench) machine(name string) *v1alpha1.Machine {
	b.t.Helper()
	m := &v1alpha1.Machine{}
	b.must(b.Client.Get(b.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, m))
	return m
}

// recordsWhatTheDriverSaid: provider ID, node and last known state are the driver's.
func (b *bench) recordsWhatTheDriverSaid() {
	b.t.Helper()
	for _, name := range b.ready() {
		m := b.machine(name)
		id, ok := strings.CutPrefix(m.Spec.ProviderID, "openstack:///RegionOne/")
		if !ok || m.Labels["node"] != name || m.Status.LastKnownState != "server "+id {
			b.t.Errorf("machine %s has provider ID %q, node %q and state %q", name, m.Spec.ProviderID, m.Labels["node"], m.Status.LastKnownState)
		}
	}
}

// change changes the deployment.
func (b *bench) change(change func(*v1alpha1.MachineDeployment)) {
	b.t.Helper()
	var d v1alpha1.MachineDeployment
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
			NodeName: name, Containers: []corev1.Container{{Name: "c", Image: "example.com/none"}},
		}}
		b.must(b.Client.Create(b.t.Context(), p))
		pods = append(pods, p)
	}
	b.change(func(d *v1alpha1.MachineDeployment) { d.Spec.Template.Spec.Class.Name = "second" })
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

// survivesACrash kills the process while the driver waits for servers to boot.
func (b *bench) survivesACrash() {
	b.t.Helper()
	b.change(func(d *v1alpha1.MachineDeployment) { d.Spec.Replicas = 5 })
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

// collectsOrphans: a server that nobody has a machine for goes after its quarantine. One whose node works stays until a person names it.
func (b *bench) collectsOrphans() {
	b.t.Helper()
	stray := b.makeServer("stray")
	_, err := b.Cloud.Ask(b.t.Context(), http.MethodPost, "do/stop?on="+stray[strings.LastIndexByte(stray, '/')+1:], nil)
	b.must(err)
	lost := b.machine(b.ready()[0])
	b.takeAway(lost.DeepCopy())
	b.eventually("what does not work is removed", func() string { return b.has("stray") })
	if b.has(lost.Name) == "" {
		b.t.Errorf("the server %s was removed, whose node is Ready", lost.Name)
	}
	var c v1alpha1.MachineClass
	b.must(b.Client.Get(b.t.Context(), client.ObjectKey{Namespace: namespace, Name: "second"}, &c))
	old := c.DeepCopy()
	c.Annotations = map[string]string{"millwright.dev/approve-orphan-removal": lost.Spec.ProviderID}
	b.must(b.Client.Patch(b.t.Context(), &c, client.MergeFrom(old)))
	b.eventually("and what works once it is named", func() string { return b.has(lost.Name) })
	b.settled("its machine is replaced", 5)
}

// takeAway deletes a machine behind the controller's back, as a wrong restore does.
func (b *bench) takeAway(m *v1alpha1.Machine) {
	b.t.Helper()
	b.kill()
	old := m.DeepCopy()
	m.Finalizers = nil
	b.must(b.Client.Patch(b.t.Context(), m, client.MergeFrom(old)))
	b.must(client.IgnoreNotFound(b.Client.Delete(b.t.Context(), m)))
	b.restart()
}

// has says how many servers of the name there are; empty: none.
func (b *bench) has(name string) string {
	b.t.Helper()
	if n := b.servers()[name]; n > 0 {
		return fmt.Sprintf("%d servers %s", n, name)
	}
	return ""
}

// adopts makes a machine whose server is there already, made by the driver in other hands.
func (b *bench) adopts() {
	b.t.Helper()
	b.kill()
	id := b.makeServer("adopted")
	m := &v1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "adopted"}}
	m.Spec.Class = v1alpha1.ClassSpec{Kind: v1alpha1.KindMachineClass, Name: "second"}
	b.must(b.Client.Create(b.t.Context(), m))
	b.restart()
	b.settled("a server that was there is adopted", 6)
	if got := b.machine("adopted").Spec.ProviderID; got != id {
		b.t.Errorf("the machine has %s, the server was %s", got, id)
	}
}

// makeServer has the driver make a server as another controller would.
func (b *bench) makeServer(name string) (providerID string) {
	b.t.Helper()
	ca, err := os.ReadFile(b.Cloud.CA)
	b.must(err)
	proxy, err := url.Parse(b.Cloud.URL)
	b.must(err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	d := &reference.Driver{Habits: reference.Habits{Poll: time.Second}, HTTP: &http.Client{Transport: &http.Transport{
		Proxy: http.ProxyURL(proxy), TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
	}}}
	var secret corev1.Secret
	b.must(b.Client.Get(b.t.Context(), client.ObjectKey{Namespace: namespace, Name: "credentials"}, &secret))
	secret.Data["userData"] = []byte("#cloud-config\n")
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute)
	defer cancel()
	r, err := d.CreateMachine(ctx, &driver.CreateMachineRequest{
		Machine:      &mcm.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}},
		MachineClass: &mcm.MachineClass{Provider: "OpenStack", ProviderSpec: runtime.RawExtension{Raw: []byte(spec)}},
		Secret:       &secret,
	})
	b.must(err)
	return r.ProviderID
}
