package cloud_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/kubeapi"
	"github.com/millwright-dev/millwright/dev/clouds/metal3"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
	"github.com/millwright-dev/millwright/provider/providertest"
	"github.com/millwright-dev/millwright/providers/metal3/cloud"
)

const pageSize = 5

// user is the user of the namespace demo, controller that of the cluster with both machines and hosts.
const (
	user       = "system:serviceaccount:demo:machines"
	controller = "system:serviceaccount:machines:controller"
)

// bench is one cluster under test.
type bench struct {
	t      *testing.T
	clock  *double.Clock
	cloud  *metal3.Cloud
	server *double.Server
	http   *httptest.Server
	sent   double.Recorder
	// here: hosts are in the cluster and the namespace of their machines.
	here bool
}

// worker and storage are hosts of the bench.
var (
	worker  = metal3.Hosts{Name: "worker", Count: 24, Labels: map[string]string{"role": "worker"}, CPUs: 16, MemoryMiB: 65536}
	storage = metal3.Hosts{Name: "storage", Count: 4, Labels: map[string]string{"role": "storage"}, CPUs: 32, MemoryMiB: 32768}
)

func newBench(t *testing.T, change ...func(*metal3.Options)) *bench {
	t.Helper()
	o := metal3.Options{Inventory: metal3.Sample(), PageSize: pageSize}
	o.Inventory.Hosts = []metal3.Hosts{worker, storage}
	for _, c := range change {
		c(&o)
	}
	b := &bench{t: t, clock: &double.Clock{}}
	b.cloud = metal3.New(b.clock, o)
	b.server = double.NewServer(b.clock, b.cloud)
	b.http = httptest.NewTLSServer(b.sent.Around(b.server))
	t.Cleanup(b.http.Close)
	return b
}

// longest is a namespace of the maximum length.
var longest = "n" + fmt.Sprintf("%062d", 7)

// besides is a bench whose hosts are in the machines' cluster.
func besides(t *testing.T, change ...func(*metal3.Options)) *bench {
	t.Helper()
	b := newBench(t, append([]func(*metal3.Options){func(o *metal3.Options) {
		o.Inventory.Namespaces = []kubeapi.Namespace{{Name: "machines", UID: "u1"}, {Name: longest, UID: "u2"}, {Name: "kube-system", UID: "u3"}}
		o.Inventory.Users = []kubeapi.User{{Name: controller, Token: "secret"}}
	}}, change...)...)
	b.here = true
	return b
}

// hosts replaces the hosts of the bench.
func hosts(all ...metal3.Hosts) func(*metal3.Options) {
	return func(o *metal3.Options) { o.Inventory.Hosts = all }
}

func (b *bench) authority() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: b.http.Certificate().Raw})
}

// start returns the provider of a new process.
func (b *bench) start() provider.Provider {
	config := cloud.Config{Clock: b.clock}
	if b.here {
		config.Control = &rest.Config{Host: b.http.URL, BearerToken: "secret", TLSClientConfig: rest.TLSClientConfig{CAData: b.authority()}}
	}
	return cloud.New(config)
}

const machine = `"image":{"url":"http://images.example.com/rhcos.qcow2","checksum":"http://images.example.com/rhcos.qcow2.sha256"},` +
	`"hostSelector":{"matchLabels":{"role":"worker"}}`

const openshiftSpec = `{"apiVersion":"baremetal.cluster.k8s.io/v1alpha1","kind":"BareMetalMachineProviderSpec",` + machine +
	`,"userData":{"name":"worker-user-data"},"credentialsSecret":{"name":"hosts"}}`

const gardenerSpec = `{` + machine + `}`

// credentials are a user's for a server with TLS: clients send a token to no other server.
func (b *bench) credentials(namespace, token string) map[string][]byte {
	if b.here {
		return map[string][]byte{"userData": []byte("#cloud-config")}
	}
	return map[string][]byte{"userData": []byte("#cloud-config"), "kubeconfig": fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters: [{name: infra, cluster: {server: %q, certificate-authority-data: %s}}]
users: [{name: machines, user: {token: %q}}]
contexts: [{name: machines, context: {cluster: infra, user: machines, namespace: %s}}]
current-context: machines
`, b.http.URL, base64.StdEncoding.EncodeToString(b.authority()), token, namespace)}
}

func (b *bench) class(api, cluster string) provider.Class {
	spec := openshiftSpec
	if api == provider.Gardener {
		spec = gardenerSpec
	}
	return provider.Class{API: api, Cluster: cluster, Spec: []byte(spec), Credentials: b.credentials("demo", "secret")}
}

func (b *bench) session(class provider.Class) provider.Session {
	b.t.Helper()
	s, err := b.start().Open(b.t.Context(), class)
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

// namespace is the namespace of the bench's hosts.
func (b *bench) namespace() string {
	if b.here {
		return "machines"
	}
	return "demo"
}

func machineRef(name string) provider.Ref {
	sum := sha256.Sum256([]byte(name))
	return provider.Ref{UID: fmt.Sprintf("5f1c5b5e-5d0f-4b8e-9a60-%012x", sum[:6]), Namespace: "machines", Name: name}
}

// operations maps a verb to the operation of the simulator that serves it.
var operations = map[providertest.Verb]string{
	providertest.Find: "baremetalhosts.list", providertest.Create: "baremetalhosts.patch", providertest.Delete: "baremetalhosts.patch",
	providertest.List: "baremetalhosts.list", providertest.Maintain: "baremetalhosts.patch", providertest.Power: "baremetalhosts.patch",
}

func (b *bench) inject(v providertest.Verb, f providertest.Fault) error {
	operation, ok := operations[v]
	switch {
	case !ok:
		return providertest.Skip("opening makes no call")
	case f.Scope == provider.ScopeZone, f.Scope == provider.ScopeType:
		return providertest.Skip("an API server refuses for quotas alone: that no host is free is found in a list")
	case f.Duplicate:
		return providertest.Skip("the secret of a machine means one host")
	}
	switch {
	case f.Partial > 0:
		operation += ".next"
	case f.Stall && f.Done: // callers have short deadlines: an early call is reached with certainty
		operation = "secrets.create"
	case f.Stall:
		operation = "secrets.get"
	}
	b.server.Inject(double.Fault{
		Failure:   double.Failure{Kind: string(f.Kind), After: f.After, Scope: string(f.Scope)},
		Operation: operation, Times: 1, Done: f.Done, Stall: f.Stall, Delay: f.Slow,
	})
	return nil
}

// versions are the API versions of consumers.
var versions = map[string]string{provider.OpenShift: "machine.openshift.io/v1beta1", provider.Gardener: "machine.sapcloud.io/v1alpha1"}

// planted is the label of planted hosts, with the cluster.
const planted = "tests.example.com/cluster"

// plant claims a host without the provider: with a UID and labels as this provider does, without a UID as the
// original does.
func (b *bench) plant(class provider.Class, i provider.Instance) error {
	p := metal3.Planted{
		Name: i.Name, Namespace: b.namespace(), Labels: map[string]string{"role": "worker", planted: class.Cluster}, Annotations: map[string]string{},
		Consumer: map[string]any{"kind": "Machine", "namespace": "machines", "name": i.Name, "apiVersion": versions[class.API]},
	}
	switch {
	case i.UID != "":
		p.Labels["millwright.dev/machine-uid"], p.Labels["millwright.dev/cluster"] = i.UID, class.Cluster
		for key, value := range map[string]string{"machine": i.Name, "owner": class.Owner, "machine-namespace": i.Namespace} {
			if value != "" {
				p.Annotations["millwright.dev/"+key] = value
			}
		}
	case !b.here:
		return providertest.Skip("the original has hosts in the cluster of its machines only")
	case strings.HasSuffix(class.Cluster, "-other"):
		return providertest.Skip("the original writes no cluster on a host: it knows of one only")
	}
	b.cloud.Plant(p)
	return nil
}

// strip removes the machine's namespace from a host.
func (b *bench) strip(_ provider.Class, id string) error {
	_, name, _ := strings.Cut(id, "/")
	return b.cloud.Change("baremetalhosts", b.namespace(), name, map[string]any{"metadata": map[string]any{
		"annotations": map[string]any{"millwright.dev/machine-namespace": nil},
	}})
}

// leave creates a machine's secret and ends before the host is claimed, as after a crash.
func (b *bench) leave(class provider.Class, ref provider.Ref) error {
	b.server.Inject(double.Fault{Failure: double.Failure{Kind: "Transient"}, Operation: "baremetalhosts.patch", Times: 1})
	s, err := b.start().Open(b.t.Context(), class)
	if err == nil {
		_, err = s.Create(b.t.Context(), ref, provider.Want{})
	}
	if provider.KindOf(err) != provider.Transient {
		return fmt.Errorf("the host was taken: %w", err)
	}
	return nil
}

// count counts the hosts of the cluster's machines, and their secrets.
func (b *bench) count(class provider.Class) (instances, dependants int, err error) {
	for _, i := range b.cloud.Instances() {
		if i.Tags["millwright.dev/cluster"] == class.Cluster || i.Tags[planted] == class.Cluster {
			instances++
		}
	}
	for _, s := range b.cloud.Secrets() {
		if s.Labels["millwright.dev/cluster"] == class.Cluster {
			dependants++
		}
	}
	return instances, dependants, nil
}

func (b *bench) harness() providertest.Harness {
	id := regexp.MustCompile(`baremetalhost:///` + b.namespace() + `/[-a-z0-9]+/[-0-9a-f]{36}`)
	h := providertest.Harness{
		Start:      func() provider.Provider { return decorate.Fallback(b.start()) },
		Class:      b.class,
		ProviderID: map[string]*regexp.Regexp{provider.OpenShift: id, provider.Gardener: id},
		PageSize:   pageSize,
		BadSpecs:   badSpecs,
		Spellings: func(i provider.Instance) []string {
			return []string{strings.ToUpper(i.ProviderID), strings.Replace(i.ProviderID, "baremetalhost", "BareMetalHost", 1)}
		},
		Changed: func(class provider.Class) provider.Class {
			class.Spec = []byte(strings.Replace(string(class.Spec), `"role":"worker"`, `"role":"storage"`, 1))
			return class
		},
		Choices: func(class provider.Class) provider.Class {
			class.Fallbacks = [][]byte{[]byte(`{"hostSelector":{"matchLabels":{"role":"storage"}}}`)}
			return class
		},
		Knobs: providertest.Knobs{
			Advance: b.clock.Advance,
			Inject:  b.inject,
			Plant:   b.plant,
			Remove:  func(_ provider.Class, id string) error { return b.cloud.Do("terminate", id) },
			Strip:   b.strip,
			Leave:   b.leave,
			Count:   b.count,
		},
	}
	if b.here {
		h.APIs = []string{provider.OpenShift} // the other API has no original whose hosts could be adopted
		return h
	}
	h.Rotate = func(class provider.Class) (provider.Class, error) {
		b.cloud.SetToken(user, "rotated")
		class.Credentials = b.credentials("demo", "rotated")
		return class, nil
	}
	h.Elsewhere = func(ctx context.Context, class provider.Class) (provider.Session, error) {
		class.Credentials = b.credentials("other", "other-secret")
		return b.start().Open(ctx, class)
	}
	return h
}

var badSpecs = []providertest.BadSpec{
	{Reason: "an unknown field", Spec: `{` + machine + `,"hostSelectr":{}}`, Field: "hostSelectr"},
	{Reason: "a text for a list", Spec: `{"image":{"url":"u","checksum":"c"},"hostSelector":{"matchExpressions":"a"}}`, Field: "hostSelector.matchExpressions"},
	{Reason: "no checksum", Spec: `{"image":{"url":"u"}}`, Field: "image.checksum"},
	{Reason: "no image", Spec: `{"image":{"checksum":"c"}}`, Field: "image.url"},
	{Reason: "no such operator", Spec: `{"customDeploy":{"method":"m"},"hostSelector":{"matchExpressions":[{"key":"a","operator":"Near","values":["b"]}]}}`, Field: "hostSelector.matchExpressions[0]"},
	{Reason: "a field of the other API's", API: provider.Gardener, Spec: `{` + machine + `,"userData":{"name":"u"}}`, Field: "userData"},
}

// TestConformance: hosts in the cluster of a kubeconfig. Lists of an API server do not lag: they include the
// last write.
func TestConformance(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Harness { return newBench(t).harness() })
}

// TestConformanceBesides: hosts in the machines' cluster, as in the original.
func TestConformanceBesides(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Harness { return besides(t).harness() })
}

// settle advances the clock until all hosts have reached a stable state.
func (b *bench) settle() {
	for range 12 {
		b.clock.Advance(time.Second)
		b.cloud.Instances()
	}
}
