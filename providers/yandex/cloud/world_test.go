package cloud_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/yandex-cloud/go-genproto/yandex/cloud/compute/v1"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/yandex"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/fieldsdoc"
	"github.com/millwright-dev/millwright/providers/yandex/cloud"
)

// world is the Yandex Cloud of one test.
type world struct {
	yandex.Administered
	clock  *double.Clock
	server *double.Server
	url    string
	// key is the valid key of the service account.
	key []byte
}

// newWorld starts a cloud with the sample's inventory, as far as change does not change it.
func newWorld(t testing.TB, change ...func(*yandex.Options)) *world {
	t.Helper()
	w, o := &world{clock: &double.Clock{}}, yandex.Options{Inventory: yandex.Sample()}
	for _, f := range change {
		f(&o)
	}
	w.Cloud = yandex.New(w.clock, o)
	w.server = double.NewServer(w.clock, w.Cloud)
	s := httptest.NewUnstartedServer(w.server)
	s.Config.Protocols = &http.Protocols{}
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(s.Close)
	w.url = s.URL
	w.issue(t)
	return w
}

// issue issues a key.
func (w *world) issue(t testing.TB) {
	t.Helper()
	var err error
	if w.key, err = w.IssueKey(yandex.SampleAccount); err != nil {
		t.Fatal(err)
	}
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

// classSpec is a spec; its verb is the name of the cluster.
const classSpec = `{"labels":{"kubernetes-io-cluster-%s":"1","kubernetes-io-role-worker":"1"},"metadata":{"ssh-keys":"ops:ssh-ed25519 A"},"zoneID":"ru-central1-a",
"platformID":"standard-v3","resourcesSpec":{"cores":2,"memory":8589934592},"bootDiskSpec":{"autoDelete":true,"typeID":"network-ssd","size":53687091200,"imageID":"fd8example0000000001"},
"networkInterfaceSpecs":[{"subnetID":"e9bexample0000000001"}],"schedulingPolicy":{"preemptible":false}}`

func (w *world) class(cluster string) provider.Class {
	return provider.Class{
		API: provider.Gardener, Cluster: cluster, Spec: fmt.Appendf(nil, classSpec, cluster), Region: "ru-central1",
		Credentials: map[string][]byte{"serviceAccountJSON": w.key, "folderID": []byte(yandex.SampleFolder), "userData": []byte("#cloud-config")},
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
func patched(t testing.TB, class provider.Class, patch string) provider.Class {
	t.Helper()
	class.Spec = fieldsdoc.Patched(t, class.Spec, patch)
	return class
}

var want = provider.Want{UserData: []byte("#cloud-config\n"), Role: "worker"}

// refOf is a machine whose UID depends on its name.
func refOf(name string) provider.Ref {
	sum := sha256.Sum256([]byte(name))
	return provider.Ref{UID: fmt.Sprintf("0b8f5c3e-1d2a-4c6b-9e7f-%x", sum[:6]), Namespace: "machines", Name: name}
}

// requests are the received requests to create an instance.
func (w *world) requests() (all []*compute.CreateInstanceRequest) {
	for _, r := range w.Received("Instance.Create") {
		all = append(all, r.Message.(*compute.CreateInstanceRequest))
	}
	return all
}

// plant creates an instance as this provider does, or as the original does: with the labels of the class, and
// none of ours.
func (w *world) plant(class provider.Class, i provider.Instance) error {
	labels := map[string]string{"kubernetes-io-cluster-" + class.Cluster: "1", "kubernetes-io-role-worker": "1"}
	if i.UID != "" {
		labels["millwright.dev/machine-uid"], labels["millwright.dev/machine-namespace"] = i.UID, i.Namespace
		if class.Owner != "" {
			labels["millwright.dev/owner"] = class.Owner
		}
	}
	name := i.Name
	if slices.ContainsFunc(w.Instances(), func(l double.Listed) bool { return l.Name == name }) { // a folder has no two of one name
		name += "-2"
		labels["millwright.dev/machine-name"] = i.Name
	}
	_, err := w.Plant(&compute.CreateInstanceRequest{
		FolderId: yandex.SampleFolder, Name: name, Hostname: name, Labels: labels, ZoneId: "ru-central1-a", PlatformId: "standard-v3",
		ResourcesSpec:         &compute.ResourcesSpec{Cores: 2, Memory: 8 << 30},
		BootDiskSpec:          &compute.AttachedDiskSpec{AutoDelete: true},
		NetworkInterfaceSpecs: []*compute.NetworkInterfaceSpec{{SubnetId: "e9bexample0000000001"}},
	})
	return err
}

// created creates a machine and lets it run.
func (w *world) created(t testing.TB, s provider.Session, ref provider.Ref) provider.Instance {
	t.Helper()
	if _, err := s.Create(t.Context(), ref, want); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(minute)
	return found(t, s, ref)
}

// found is the only instance of a machine.
func found(t testing.TB, s provider.Session, ref provider.Ref) provider.Instance {
	t.Helper()
	all, err := s.Find(t.Context(), ref)
	if err != nil || len(all) != 1 {
		t.Fatalf("found %+v, %v", all, err)
	}
	return all[0]
}

// deleted deletes a machine until nothing is left.
func (w *world) deleted(ctx context.Context, s provider.Session, ref provider.Ref, given ...provider.Instance) error {
	for range 5 {
		done, err := s.Delete(ctx, ref, given)
		if done || err != nil {
			return err
		}
		w.clock.Advance(5 * second)
	}
	return fmt.Errorf("%s is not deleted", ref.Name)
}
