package cloud_test

import (
	"context"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/kubevirt"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
	"github.com/millwright-dev/millwright/provider/providertest"
	"github.com/millwright-dev/millwright/providers/kubevirt/cloud"
)

const pageSize = 5

// user is the user of the namespace demo.
const user = "system:serviceaccount:demo:machines"

// bench is one cluster under test.
type bench struct {
	t      *testing.T
	clock  *double.Clock
	cloud  *kubevirt.Cloud
	server *double.Server
	http   *httptest.Server
	sent   double.Recorder
}

func newBench(t *testing.T, change ...func(*kubevirt.Options)) *bench {
	t.Helper()
	o := kubevirt.Options{Inventory: kubevirt.Sample(), PageSize: pageSize}
	for _, c := range change {
		c(&o)
	}
	b := &bench{t: t, clock: &double.Clock{}}
	b.cloud = kubevirt.New(b.clock, o)
	b.server = double.NewServer(b.clock, b.cloud)
	b.http = httptest.NewTLSServer(b.sent.Around(b.server))
	t.Cleanup(b.http.Close)
	return b
}

// start returns the provider of a new process.
func (b *bench) start() provider.Provider { return cloud.New(cloud.Config{Clock: b.clock}) }

const openshiftSpec = `{"apiVersion":"kubevirtproviderconfig.openshift.io/v1alpha1","kind":"KubevirtMachineProviderSpec","sourcePvcName":"rhcos",` +
	`"requestedMemory":"8Gi","requestedCPU":4,"requestedStorage":"50Gi","networkName":"default/machines","zone":"zone-1",` +
	`"userDataSecret":{"name":"worker-user-data"},"credentialsSecret":{"name":"kubevirt-credentials"}}`

const gardenerSpec = `{"region":"region-1","zone":"zone-1","resources":{"requests":{"cpu":"2","memory":"4Gi"}},` +
	`"rootVolume":{"source":{"http":{"url":"https://images.example.com/gardenlinux.qcow2"}},` +
	`"pvc":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"20Gi"}}}},` +
	`"additionalVolumes":[{"name":"data","dataVolume":{"source":{"blank":{}},"storage":{"resources":{"requests":{"storage":"10Gi"}}}}}],` +
	`"sshKeys":["ssh-ed25519 AAAA nobody@example.com"],"networks":[{"name":"storage"}],` +
	`"tags":{"mcm.gardener.cloud/cluster":"CLUSTER","mcm.gardener.cloud/role":"node"}}`

// kubeconfig returns a user's kubeconfig for a server with TLS: clients send a token to no other server.
func kubeconfig(server *httptest.Server, namespace, token string) []byte {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters: [{name: infra, cluster: {server: %q, certificate-authority-data: %s}}]
users: [{name: machines, user: {token: %q}}]
contexts: [{name: machines, context: {cluster: infra, user: machines, namespace: %s}}]
current-context: machines
`, server.URL, base64.StdEncoding.EncodeToString(ca), token, namespace)
}

func (b *bench) credentials(namespace, token string) map[string][]byte {
	return map[string][]byte{"kubeconfig": kubeconfig(b.http, namespace, token), "userData": []byte("#cloud-config")}
}

func (b *bench) class(api, cluster string) provider.Class {
	spec := openshiftSpec
	if api == provider.Gardener {
		spec = gardenerSpec
	}
	return provider.Class{
		API: api, Cluster: cluster, Spec: []byte(strings.ReplaceAll(spec, "CLUSTER", cluster)), Credentials: b.credentials("demo", "secret"),
	}
}

func (b *bench) session(class provider.Class) provider.Session {
	b.t.Helper()
	s, err := b.start().Open(b.t.Context(), class)
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

// operations maps a verb to the operation of the simulator that serves it.
var operations = map[providertest.Verb]string{
	providertest.Find: "virtualmachines.list", providertest.Create: "virtualmachines.create", providertest.Delete: "virtualmachines.delete",
	providertest.List: "virtualmachines.list", providertest.Maintain: "virtualmachines.patch", providertest.Power: "virtualmachines.patch",
	providertest.Leftovers: "secrets.list",
}

func (b *bench) inject(v providertest.Verb, f providertest.Fault) error {
	operation, ok := operations[v]
	switch {
	case !ok:
		return providertest.Skip("opening makes no call")
	case f.Scope == provider.ScopeZone, f.Scope == provider.ScopeType:
		return providertest.Skip("an API server refuses for quotas alone: that no node has room comes later, as a fault")
	case f.Duplicate:
		return providertest.Skip("a namespace has one virtual machine of a name")
	}
	if f.Partial > 0 {
		operation += ".next"
	}
	b.server.Inject(double.Fault{
		Failure:   double.Failure{Kind: string(f.Kind), After: f.After, Scope: string(f.Scope)},
		Operation: operation, Times: 1, Done: f.Done, Stall: f.Stall, Delay: f.Slow,
	})
	return nil
}

// plant creates a virtual machine without the provider: with a UID as this provider does, without one as
// either of the originals does.
func (b *bench) plant(class provider.Class, i provider.Instance) error {
	p := kubevirt.Planted{
		Name: i.Name, Namespace: "demo", Zone: "zone-1", Annotations: map[string]string{},
		Labels: map[string]string{
			"kubevirt.io/vm": i.Name, "mcm.gardener.cloud/cluster": class.Cluster, "mcm.gardener.cloud/role": "node",
			"tenantcluster-" + class.Cluster + "-machine.openshift.io": "owned",
		},
	}
	if i.UID != "" {
		p.Name += "-twin" // its name is not the machine's
		p.Labels["millwright.dev/machine-uid"], p.Labels["millwright.dev/cluster"] = i.UID, class.Cluster
		p.Annotations["millwright.dev/machine"] = i.Name
		for key, value := range map[string]string{"millwright.dev/owner": class.Owner, "millwright.dev/machine-namespace": i.Namespace} {
			if value != "" {
				p.Annotations[key] = value
			}
		}
	}
	b.cloud.Plant(p)
	return nil
}

// strip removes the machine's namespace and a user's label from a virtual machine.
func (b *bench) strip(_ provider.Class, id string) error {
	return b.cloud.Change("virtualmachines", "demo", id, map[string]any{"metadata": map[string]any{
		"annotations": map[string]any{"millwright.dev/machine-namespace": nil}, "labels": map[string]any{"kubevirt.io/vm": "another"},
	}})
}

// leave creates a machine's secrets and ends before the virtual machine, as after a crash.
func (b *bench) leave(class provider.Class, ref provider.Ref) error {
	b.server.Inject(double.Fault{Failure: double.Failure{Kind: "Transient"}, Operation: "virtualmachines.create", Times: 1})
	s, err := b.start().Open(b.t.Context(), class)
	if err == nil {
		_, err = s.Create(b.t.Context(), ref, provider.Want{})
	}
	if provider.KindOf(err) != provider.Transient {
		return fmt.Errorf("the virtual machine was made: %w", err)
	}
	return nil
}

// count counts the virtual machines of the cluster, and the dependants of its machines.
func (b *bench) count(class provider.Class) (instances, dependants int, err error) {
	ours := func(labels map[string]string) bool {
		return labels["millwright.dev/cluster"] == class.Cluster || labels["mcm.gardener.cloud/cluster"] == class.Cluster
	}
	for _, i := range b.cloud.Instances() {
		if ours(i.Tags) {
			instances++
		}
	}
	for _, d := range b.cloud.Dependants() {
		if ours(d.Labels) {
			dependants++
		}
	}
	return instances, dependants, nil
}

func (b *bench) harness() providertest.Harness {
	const name = `[a-z0-9]([-a-z0-9.]*[a-z0-9])?`
	return providertest.Harness{
		Start: func() provider.Provider { return decorate.Fallback(b.start()) },
		Class: b.class,
		ProviderID: map[string]*regexp.Regexp{
			provider.OpenShift: regexp.MustCompile(`kubevirt://demo/` + name), provider.Gardener: regexp.MustCompile(`kubevirt://` + name),
		},
		PageSize: pageSize,
		// The provider waits for a node for a minute.
		Patience: 3 * time.Minute,
		BadSpecs: badSpecs,
		Spellings: func(i provider.Instance) []string {
			return []string{"KubeVirt://" + i.ID, "kubevirt:///" + i.ID, "kubevirt://demo/" + strings.ToUpper(i.ID)}
		},
		Changed: func(class provider.Class) provider.Class {
			class.Spec = slices.Concat([]byte(`{"cpu":{"sockets":8},`), class.Spec[1:])
			return class
		},
		Choices: func(class provider.Class) provider.Class {
			class.Fallbacks = [][]byte{[]byte(`{"zone":"zone-2"}`)}
			return class
		},
		Knobs: providertest.Knobs{
			Advance: b.clock.Advance,
			Inject:  b.inject,
			Lag:     func(d time.Duration) error { b.cloud.SetLag(d); return nil },
			Plant:   b.plant,
			Remove:  func(_ provider.Class, id string) error { return b.cloud.Do("terminate", id) },
			Strip:   b.strip,
			GiveUp:  func(_ provider.Class, id string) error { return b.cloud.Do("fail", id) },
			Leave:   b.leave,
			Count:   b.count,
			Rotate: func(class provider.Class) (provider.Class, error) {
				b.cloud.SetToken(user, "rotated")
				class.Credentials = b.credentials("demo", "rotated")
				return class, nil
			},
			Elsewhere: func(ctx context.Context, class provider.Class) (provider.Session, error) {
				class.Credentials = b.credentials("other", "other-secret")
				return b.start().Open(ctx, class)
			},
		},
	}
}

var badSpecs = []providertest.BadSpec{
	{Reason: "an unknown field", API: provider.Gardener, Spec: `{"zonez":"z"}`, Field: "zonez"},
	{Reason: "a text for a list", Spec: `{"networks":"n"}`, Field: "networks"},
	{Reason: "no memory", Spec: `{"rootVolume":{"source":{"blank":{}},"storage":{"resources":{"requests":{"storage":"1Gi"}}}}}`, Field: "resources.requests.memory"},
	{Reason: "nothing to boot from", Spec: `{"resources":{"requests":{"memory":"1Gi"}}}`, Field: "rootVolume.source"},
	{Reason: "no size", API: provider.OpenShift, Spec: `{"sourcePvcName":"p","requestedStorage":"big"}`, Field: "requestedStorage"},
	{Reason: "two ways to say what is booted", API: provider.OpenShift, Spec: `{"sourcePvcName":"p","rootVolume":{"source":{"blank":{}}}}`, Field: "sourcePvcName"},
	{Reason: "a field of the other API's", API: provider.Gardener, Spec: `{"sourcePvcName":"p"}`, Field: "sourcePvcName"},
	{Reason: "no key", API: provider.Gardener, Spec: strings.Replace(gardenerSpec, "ssh-ed25519 AAAA nobody@example.com", "", 1), Field: "sshKeys[0]"},
}

func TestConformance(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Harness { return newBench(t).harness() })
}
