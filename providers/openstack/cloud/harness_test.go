package cloud_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/nova"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
	"github.com/millwright-dev/millwright/provider/providertest"
	"github.com/millwright-dev/millwright/providers/openstack/cloud"
)

const pageSize = 5

// boot is the default user data of machines in tests.
var boot = []byte("#cloud-config")

// bench is one cloud under test.
type bench struct {
	t       *testing.T
	clock   *double.Clock
	cloud   *nova.Cloud
	server  *double.Server
	http    *httptest.Server
	objects objects
	sent    double.Recorder
}

func newBench(t *testing.T, change ...func(*nova.Options)) *bench {
	t.Helper()
	o := nova.Options{Inventory: nova.Sample(), PageSize: pageSize}
	for _, c := range change {
		c(&o)
	}
	b := &bench{t: t, clock: &double.Clock{}, objects: objects{}}
	b.cloud = nova.New(b.clock, o)
	b.server = double.NewServer(b.clock, b.cloud)
	b.http = httptest.NewServer(b.sent.Around(b.server))
	t.Cleanup(b.http.Close)
	return b
}

// start starts a new process.
func (b *bench) start() provider.Provider {
	return cloud.New(cloud.Config{Clock: b.clock, Objects: b.objects})
}

// objects are those of the control cluster.
type objects map[provider.ObjectRef]string

func (o objects) Object(_ context.Context, ref provider.ObjectRef) ([]byte, error) {
	if raw, ok := o[ref]; ok {
		return []byte(raw), nil
	}
	return nil, provider.ErrNoObject
}

const openshiftSpec = `{"apiVersion":"machine.openshift.io/v1alpha1","kind":"OpenstackProviderSpec","cloudName":"openstack",` +
	`"cloudsSecret":{"name":"openstack-cloud-credentials"},"flavor":"m1.test","image":"rhcos","networks":[{"subnets":[{"filter":{"name":"sub1"}}]}],` +
	`"securityGroups":[{"filter":{},"name":"default"}],"serverMetadata":{"Name":"c1-worker"},"tags":["openshiftClusterID=CLUSTER"],"trunk":false,` +
	`"userDataSecret":{"name":"worker-user-data"}}`

const gardenerSpec = `{"apiVersion":"openstack.machine.gardener.cloud/v1alpha1","kind":"MachineProviderConfig","spec":{"imageName":"rhcos",` +
	`"flavorName":"m1.test","region":"RegionOne","availabilityZone":"nova","keyName":"k","networkID":"9dc8b730-e135-4551-9687-f176ba5bdf03",` +
	`"subnetID":"6b7de768-d267-48b1-b917-31e861472aa4","podNetworkCIDRs":["100.96.0.0/11"],"securityGroups":["default"],` +
	`"tags":{"kubernetes.io-cluster-CLUSTER":"1","kubernetes.io-role-node":"1"}}}`

func (b *bench) credentials(api, project, password string) map[string][]byte {
	url := b.http.URL + "/identity/v3"
	if api == provider.OpenShift {
		return map[string][]byte{"clouds.yaml": fmt.Appendf(nil, `clouds:
  openstack:
    auth: {auth_url: %q, username: machines, password: %q, project_name: %s, user_domain_name: Default, project_domain_name: Default}
    region_name: RegionOne
    cacert: /etc/no/such/file.pem
`, url, password, project)}
	}
	return map[string][]byte{
		"authURL": []byte(url), "username": []byte("machines"), "password": []byte(password), "domainName": []byte("Default"),
		"tenantName": []byte(project), "userData": []byte("#cloud-config"),
	}
}

func (b *bench) class(api, cluster string) provider.Class {
	spec := openshiftSpec
	if api == provider.Gardener {
		spec = gardenerSpec
	}
	return provider.Class{
		API: api, Cluster: cluster, Spec: []byte(strings.ReplaceAll(spec, "CLUSTER", cluster)), Credentials: b.credentials(api, "demo", "secret"),
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

// operations are the simulator's names for the requests of a verb.
var operations = map[providertest.Verb]string{
	providertest.Find: "nova.GET.servers.detail", providertest.Create: "nova.POST.servers", providertest.Delete: "nova.DELETE.servers.id",
	providertest.List: "nova.GET.servers.detail", providertest.Maintain: "nova.GET.servers.id", providertest.Power: "nova.POST.servers.id.action",
	providertest.Leftovers: "neutron.GET.ports",
}

func (b *bench) inject(v providertest.Verb, f providertest.Fault) error {
	operation, ok := operations[v]
	switch {
	case !ok:
		return providertest.Skip("opening makes no call")
	case f.Scope == provider.ScopeZone:
		return providertest.Skip("OpenStack never says that a zone is full, but only that none of its hosts is enabled")
	case f.Duplicate:
		return providertest.Skip("Nova makes one server for each request")
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

// plant creates a server around the provider: with a UID as this provider does, without as either of the
// originals does.
func (b *bench) plant(class provider.Class, i provider.Instance) error {
	p := nova.Planted{
		Name: i.Name, Project: "demo", Flavor: "m1.test",
		Metadata: map[string]string{"kubernetes.io-cluster-" + class.Cluster: "1", "kubernetes.io-role-node": "1"},
		Tags:     []string{"cluster-api-provider-openstack", "openshift-machine-api-" + class.Cluster, "openshiftClusterID=" + class.Cluster},
	}
	if i.UID != "" {
		p.Metadata["millwright.dev-machine-uid"], p.Metadata["millwright.dev-cluster"] = i.UID, class.Cluster
		p.Tags = append(p.Tags, "millwright.dev", "millwright-machine-uid="+i.UID)
		for key, value := range map[string]string{"millwright.dev-owner": class.Owner, "millwright.dev-machine-namespace": i.Namespace} {
			if value != "" {
				p.Metadata[key] = value
			}
		}
	}
	b.cloud.Plant(p)
	return nil
}

// strip removes from a server the namespace of its machine, and the tag by which it is found.
func (b *bench) strip(_ provider.Class, id string) error {
	send := b.rest()
	send("DELETE", "/compute/v2.1/servers/"+id+"/metadata/millwright.dev-machine-namespace", "")
	send("DELETE", "/compute/v2.1/servers/"+id+"/tags/millwright.dev", "")
	return nil
}

// leave creates a server's port and not the server, as a process that crashed then. It advances the time
// beyond the lease.
func (b *bench) leave(class provider.Class, ref provider.Ref) error {
	b.server.Inject(double.Fault{Failure: double.Failure{Kind: "Transient"}, Operation: "nova.POST.servers", Times: 1})
	s, err := b.start().Open(b.t.Context(), class)
	if err == nil {
		_, err = s.Create(b.t.Context(), ref, provider.Want{UserData: boot})
	}
	if provider.KindOf(err) != provider.Transient {
		return fmt.Errorf("the server was made: %w", err)
	}
	b.clock.Advance(2 * time.Minute)
	return nil
}

// count counts servers of the cluster, and the ports and volumes of those and of the cluster's machines.
func (b *bench) count(class provider.Class) (instances, dependants int, err error) {
	ours := map[string]bool{}
	for _, i := range b.cloud.Instances() {
		_, role := i.Tags["kubernetes.io-cluster-"+class.Cluster]
		if i.Tags["millwright.dev-cluster"] == class.Cluster || role {
			instances++
			ours[i.ID] = true
		}
	}
	for _, d := range b.cloud.Dependants() {
		if ours[d.Server] || strings.Contains(d.Description, "cluster="+class.Cluster) || d.Metadata["millwright.dev-cluster"] == class.Cluster ||
			slices.Contains(d.Tags, "openshiftClusterID="+class.Cluster) {
			dependants++
		}
	}
	return instances, dependants, nil
}

// elsewhere are fallbacks in another zone and another network.
var elsewhere = map[string]string{
	provider.OpenShift: `{"availabilityZone":"az-2","networks":[{"uuid":"` + network2 + `"}]}`,
	provider.Gardener:  `{"spec":{"availabilityZone":"az-2","networkID":"` + network2 + `","subnetID":null}}`,
}

func (b *bench) harness() providertest.Harness {
	const id = `[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`
	return providertest.Harness{
		Start: func() provider.Provider { return decorate.Fallback(b.start()) },
		Class: b.class,
		ProviderID: map[string]*regexp.Regexp{
			provider.OpenShift: regexp.MustCompile(`openstack:///` + id), provider.Gardener: regexp.MustCompile(`openstack:///RegionOne/` + id),
		},
		PageSize: pageSize,
		BadSpecs: badSpecs,
		Spellings: func(i provider.Instance) []string {
			return []string{"openstack://RegionOne/" + i.ID, "OpenStack:///" + strings.ToUpper(i.ID)}
		},
		Changed: func(class provider.Class) provider.Class {
			class.Spec = bytes.ReplaceAll(class.Spec, []byte("m1.test"), []byte("m1.large"))
			return class
		},
		Choices: func(class provider.Class) provider.Class {
			class.Fallbacks = [][]byte{[]byte(elsewhere[class.API])}
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
				b.cloud.SetPassword("machines", "rotated")
				class.Credentials = b.credentials(class.API, "demo", "rotated")
				return class, nil
			},
			Elsewhere: func(ctx context.Context, class provider.Class) (provider.Session, error) {
				class.Credentials = b.credentials(class.API, "other", "secret")
				return b.start().Open(ctx, class)
			},
		},
	}
}

var badSpecs = []providertest.BadSpec{
	{Reason: "no flavor", API: provider.OpenShift, Spec: `{"image":"i"}`, Field: "flavor"},
	{Reason: "no image", API: provider.OpenShift, Spec: `{"flavor":"f","rootVolume":{"diskSize":10}}`, Field: "image"},
	{Reason: "a text for a number", API: provider.OpenShift, Spec: `{"flavor":"f","image":"i","rootVolume":{"diskSize":"big"}}`, Field: "rootVolume.diskSize"},
	{Reason: "a network that is none", API: provider.OpenShift, Spec: `{"flavor":"f","image":"i","networks":[{}]}`, Field: "networks[0]"},
	{Reason: "a port in no network", API: provider.OpenShift, Spec: `{"flavor":"f","image":"i","ports":[{"nameSuffix":"x"}]}`, Field: "ports[0].networkID"},
	{Reason: "no flavor", API: provider.Gardener, Spec: strings.Replace(gardenerSpec, "m1.test", "", 1), Field: "spec.flavorName"},
	{Reason: "no image", API: provider.Gardener, Spec: strings.Replace(gardenerSpec, "rhcos", "", 1), Field: "spec.imageName"},
	{Reason: "no range of addresses", API: provider.Gardener, Spec: strings.Replace(gardenerSpec, "100.96.0.0/11", "pods", 1), Field: "spec.podNetworkCIDRs[0]"},
}

func TestConformance(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Harness { return newBench(t).harness() })
}

// rest returns a function that calls the simulator as another client, and returns the ID of the new object.
func (b *bench) rest() func(method, path, body string) string {
	b.t.Helper()
	const login = `{"auth":{"identity":{"methods":["password"],"password":{"user":{"name":"machines","password":"secret","domain":{"name":"Default"}}}},` +
		`"scope":{"project":{"name":"demo","domain":{"name":"Default"}}}}}`
	token := ""
	ask := func(method, path, body string) (status int, id string) {
		r, err := http.NewRequestWithContext(b.t.Context(), method, b.http.URL+path, strings.NewReader(body))
		if err != nil {
			b.t.Fatal(err)
		}
		r.Header.Set("X-Auth-Token", token)
		r.Header.Set("OpenStack-API-Version", "compute 2.53")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			b.t.Fatal(err)
		}
		defer answer.Body.Close()
		if t := answer.Header.Get("X-Subject-Token"); t != "" {
			token = t
		}
		raw, _ := io.ReadAll(answer.Body)
		_, after, _ := strings.Cut(string(raw), `"id":"`)
		id, _, _ = strings.Cut(after, `"`)
		return answer.StatusCode, id
	}
	return func(method, path, body string) string {
		b.t.Helper()
		status, id := ask(method, path, body)
		if status == http.StatusUnauthorized { // the token has expired
			ask("POST", "/identity/v3/auth/tokens", login)
			status, id = ask(method, path, body)
		}
		if status >= http.StatusBadRequest {
			b.t.Fatalf("%s %s: %d", method, path, status)
		}
		return id
	}
}
