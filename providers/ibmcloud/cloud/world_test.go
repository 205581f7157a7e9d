package cloud_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/ibmcloud"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/fieldsdoc"
	"github.com/millwright-dev/millwright/providers/ibmcloud/cloud"
)

// world is the IBM Cloud of one test.
type world struct {
	ibmcloud.Administered
	clock  *double.Clock
	server *double.Server
	sent   double.Recorder
	url    string
}

// newWorld starts a cloud with the sample's inventory, as far as change does not change it.
func newWorld(t testing.TB, change ...func(*ibmcloud.Options)) *world {
	t.Helper()
	w, o := &world{clock: &double.Clock{}}, ibmcloud.Options{Inventory: ibmcloud.Sample()}
	for _, f := range change {
		f(&o)
	}
	w.Cloud = ibmcloud.New(w.clock, o)
	w.server = double.NewServer(w.clock, w.Cloud)
	s := httptest.NewServer(w.sent.Around(w.server))
	t.Cleanup(s.Close)
	w.url = s.URL
	return w
}

func (w *world) start() *cloud.Provider {
	return cloud.New(cloud.Options{Clock: w.clock, Endpoint: w.url})
}

func (w *world) open(t testing.TB, class provider.Class) provider.Session {
	t.Helper()
	s, err := w.start().Open(t.Context(), class)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// machine is a spec; its verb is the name of the VPC.
const machine = `{"apiVersion":"ibmcloudproviderconfig.openshift.io/v1beta1","kind":"IBMCloudMachineProviderSpec","vpc":"%s","image":"c1-rhcos","profile":"bx2-4x16",
"region":"us-south","zone":"us-south-1","resourceGroup":"c1","primaryNetworkInterface":{"subnet":"c1-subnet-compute-us-south-1","securityGroups":["c1-sg-cluster-wide","c1-sg-openshift-net"]},
"bootVolume":{"sizeGiB":120},"tags":[],"userDataSecret":{"name":"worker-user-data"},"credentialsSecret":{"name":"ibmcloud-credentials"}}`

// sampleKey is the API key of the sample's inventory.
var sampleKey = ibmcloud.Sample().Credentials[0].APIKey

// class is the class of a cluster, which has a VPC of its own.
func (w *world) class(cluster string) provider.Class {
	w.AddNetwork(cluster + "-vpc")
	return provider.Class{
		API: provider.OpenShift, Cluster: cluster, Spec: fmt.Appendf(nil, machine, cluster+"-vpc"), Region: "us-south",
		Credentials: map[string][]byte{"ibmcloud_api_key": []byte(sampleKey)},
	}
}

// with replaces a part of a spec.
func with(class provider.Class, old, text string) provider.Class {
	if !strings.Contains(string(class.Spec), old) {
		panic("the spec has no " + old)
	}
	class.Spec = []byte(strings.Replace(string(class.Spec), old, text, 1))
	return class
}

// patched is a class whose spec has a merge patch applied.
func patched(t *testing.T, class provider.Class, patch string) provider.Class {
	t.Helper()
	class.Spec = fieldsdoc.Patched(t, class.Spec, patch)
	return class
}

var want = provider.Want{UserData: []byte(`{"ignition":{"version":"3.2.0"}}`), Role: "worker"}

// refOf is a machine whose UID depends on its name.
func refOf(name string) provider.Ref {
	sum := sha256.Sum256([]byte(name))
	return provider.Ref{UID: fmt.Sprintf("0b8f5c3e-1d2a-4c6b-9e7f-%x", sum[:6]), Namespace: "openshift-machine-api", Name: name}
}

// plant creates an instance as the provider does or, without a UID, as the original does: without names of parts.
func (w *world) plant(class provider.Class, i provider.Instance) error {
	v, vpc := ibmcloud.Sample(), class.Cluster+"-vpc"
	p := ibmcloud.Prototype{
		Name: i.Name, Zone: ibmcloud.Ref{Name: "us-south-1"}, Image: ibmcloud.Ref{ID: v.Images[0].ID}, Profile: ibmcloud.Ref{Name: "bx2-4x16"},
		ResourceGroup: ibmcloud.Ref{ID: v.ResourceGroups[0].ID},
	}
	p.VPC.ID, p.Primary.Subnet.ID = w.Network(vpc, "us-south-1")
	for _, other := range w.Instances() {
		if other.Name == p.Name {
			p.Name += "-twin"
		}
	}
	if i.UID != "" {
		p.Primary.Name = "mw-" + i.UID + "-" + clusterHash(class.Cluster)
		p.Boot.Name = strings.TrimSuffix("mw-"+class.Owner+"-"+i.Namespace, "-")
		if class.Owner == "" {
			p.Boot.Name = strings.TrimSuffix("mw-unknown-"+i.Namespace, "-")
		}
	}
	_, err := w.Plant(p)
	return err
}

// prototypes are the bodies of the requests to create instances.
func (w *world) prototypes(t *testing.T) (all []ibmcloud.Prototype) {
	t.Helper()
	for _, r := range w.Received("create_instance") {
		var p ibmcloud.Prototype
		if err := json.Unmarshal(r.Body, &p); err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

// create creates the instance of a machine, and waits until it runs.
func (w *world) create(t *testing.T, s provider.Session, ref provider.Ref) provider.Instance {
	t.Helper()
	if _, err := s.Create(t.Context(), ref, want); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(minute)
	found, err := s.Find(t.Context(), ref)
	if err != nil || len(found) != 1 || found[0].State != provider.Running {
		t.Fatalf("%+v, %v", found, err)
	}
	return found[0]
}

// states are the names and states of the instances in the cloud.
func (w *world) states() (all []string) {
	for _, i := range w.Instances() {
		all = append(all, i.Name+" "+i.State)
	}
	slices.Sort(all)
	return all
}

// clusterHash is the hash of a cluster's name in the names of parts.
func clusterHash(cluster string) string {
	sum := sha256.Sum256([]byte(cluster))
	return hex.EncodeToString(sum[:8])
}
