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
	b.Must(b.Create(t.Context(), []byte(credentials)))
	for _, name := range []string{"first", "second"} {
		b.Must(b.Create(t.Context(), fmt.Appendf(nil, class, name, spec)))
	}
	b.Must(b.Create(t.Context(), []byte(deployment)))
	b.Settled("two machines are made, and run", 2)
	b.recordsWhatTheDriverSaid()
	b.rolls()
	b.survivesACrash()
	b.collectsOrphans()
	b.adopts()
}

func (b *bench) machine(name string) *v1alpha1.Machine {
	b.T.Helper()
	m := &v1alpha1.Machine{}
	b.Must(b.Client.Get(b.T.Context(), client.ObjectKey{Namespace: namespace, Name: name}, m))
	return m
}

// recordsWhatTheDriverSaid: provider ID, node and last known state are the driver's.
func (b *bench) recordsWhatTheDriverSaid() {
	b.T.Helper()
	for _, name := range b.Ready() {
		m := b.machine(name)
		id, ok := strings.CutPrefix(m.Spec.ProviderID, "openstack:///RegionOne/")
		if !ok || m.Labels["node"] != name || m.Status.LastKnownState != "server "+id {
			b.T.Errorf("machine %s has provider ID %q, node %q and state %q", name, m.Spec.ProviderID, m.Labels["node"], m.Status.LastKnownState)
		}
	}
}

// change changes the deployment.
func (b *bench) change(change func(*v1alpha1.MachineDeployment)) {
	b.T.Helper()
	var d v1alpha1.MachineDeployment
	b.Must(b.Client.Get(b.T.Context(), client.ObjectKey{Namespace: namespace, Name: "pool"}, &d))
	old := d.DeepCopy()
	change(&d)
	b.Must(b.Client.Patch(b.T.Context(), &d, client.MergeFrom(old)))
}

// rolls replaces both machines by those of another class. Nodes have the machines' names.
func (b *bench) rolls() {
	b.T.Helper()
	b.Rolls(namespace, func(machine string) string { return machine }, func() {
		b.change(func(d *v1alpha1.MachineDeployment) { d.Spec.Template.Spec.Class.Name = "second" })
	})
}

// survivesACrash kills the process while the driver waits for servers to boot.
func (b *bench) survivesACrash() {
	b.T.Helper()
	b.SurvivesACrash(func() { b.change(func(d *v1alpha1.MachineDeployment) { d.Spec.Replicas = 5 }) })
}

// collectsOrphans: a server without a machine is deleted after its quarantine. If its node works, it stays
// until a user allows its deletion.
func (b *bench) collectsOrphans() {
	b.T.Helper()
	stray := b.makeServer("stray")
	b.SwitchOff(stray)
	lost := b.machine(b.Ready()[0])
	b.takeAway(lost.DeepCopy())
	b.Eventually("what does not work is removed", func() string { return b.Has("stray") })
	if b.Has(lost.Name) == "" {
		b.T.Errorf("the server %s was removed, whose node is Ready", lost.Name)
	}
	var c v1alpha1.MachineClass
	b.Must(b.Client.Get(b.T.Context(), client.ObjectKey{Namespace: namespace, Name: "second"}, &c))
	old := c.DeepCopy()
	c.Annotations = map[string]string{"millwright.dev/approve-orphan-removal": lost.Spec.ProviderID}
	b.Must(b.Client.Patch(b.T.Context(), &c, client.MergeFrom(old)))
	b.Eventually("and what works once it is named", func() string { return b.Has(lost.Name) })
	b.Settled("its machine is replaced", 5)
}

// takeAway deletes a machine without the controller, like a wrong restore.
func (b *bench) takeAway(m *v1alpha1.Machine) {
	b.T.Helper()
	b.Kill()
	old := m.DeepCopy()
	m.Finalizers = nil
	b.Must(b.Client.Patch(b.T.Context(), m, client.MergeFrom(old)))
	b.Must(client.IgnoreNotFound(b.Client.Delete(b.T.Context(), m)))
	b.Restart()
}

// adopts creates a machine whose server already exists, created by the driver in another controller.
func (b *bench) adopts() {
	b.T.Helper()
	b.Kill()
	id := b.makeServer("adopted")
	m := &v1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "adopted"}}
	m.Spec.Class = v1alpha1.ClassSpec{Kind: v1alpha1.KindMachineClass, Name: "second"}
	b.Must(b.Client.Create(b.T.Context(), m))
	b.Restart()
	b.Settled("a server that was there is adopted", 6)
	if got := b.machine("adopted").Spec.ProviderID; got != id {
		b.T.Errorf("the machine has %s, the server was %s", got, id)
	}
}

// makeServer lets the driver create a server as another controller would.
func (b *bench) makeServer(name string) (providerID string) {
	b.T.Helper()
	ca, err := os.ReadFile(b.Cloud.CA)
	b.Must(err)
	proxy, err := url.Parse(b.Cloud.URL)
	b.Must(err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	d := &reference.Driver{Habits: reference.Habits{Poll: time.Second}, HTTP: &http.Client{Transport: &http.Transport{
		Proxy: http.ProxyURL(proxy), TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
	}}}
	var secret corev1.Secret
	b.Must(b.Client.Get(b.T.Context(), client.ObjectKey{Namespace: namespace, Name: "credentials"}, &secret))
	secret.Data["userData"] = []byte("#cloud-config\n")
	ctx, cancel := context.WithTimeout(b.T.Context(), time.Minute)
	defer cancel()
	r, err := d.CreateMachine(ctx, &driver.CreateMachineRequest{
		Machine:      &mcm.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}},
		MachineClass: &mcm.MachineClass{Provider: "OpenStack", ProviderSpec: runtime.RawExtension{Raw: []byte(spec)}},
		Secret:       &secret,
	})
	b.Must(err)
	return r.ProviderID
}
