package cloud_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/prism"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/fieldsdoc"
	"github.com/millwright-dev/millwright/providers/nutanix/cloud"
)

// world is the Prism Central of one test.
type world struct {
	*prism.Cloud
	clock  *double.Clock
	server *double.Server
	url    string
	pages  int
}

func newWorld(t testing.TB, o prism.Options) *world {
	t.Helper()
	w := &world{clock: &double.Clock{}, pages: o.PageSize}
	w.Cloud = prism.New(w.clock, o)
	w.server = double.NewServer(w.clock, w.Cloud)
	s := httptest.NewServer(w.server)
	t.Cleanup(s.Close)
	w.url = s.URL
	return w
}

// sample is a world with the sample's inventory.
func sample(t testing.TB) *world {
	t.Helper()
	return newWorld(t, prism.Options{Inventory: prism.Sample()})
}

func (w *world) start() *cloud.Provider { return w.startWith(nil) }

func (w *world) startWith(o provider.Objects) *cloud.Provider {
	return cloud.New(cloud.Options{Clock: w.clock, Objects: o, Endpoint: w.url, PageSize: w.pages})
}

func (w *world) open(t testing.TB, class provider.Class) provider.Session {
	t.Helper()
	s, err := w.start().Open(t.Context(), class)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// objects are objects of the control cluster, by kind.
type objects map[string]string

func (o objects) Object(_ context.Context, ref provider.ObjectRef) ([]byte, error) {
	if raw, ok := o[ref.Kind]; ok {
		return []byte(raw), nil
	}
	return nil, provider.ErrNoObject
}

const machine = `{"apiVersion":"machine.openshift.io/v1","kind":"NutanixMachineProviderConfig","cluster":{"type":"name","name":"cluster-a"},
"image":{"type":"name","name":"c1-rhcos"},"subnets":[{"type":"name","name":"machines-a"}],"vcpusPerSocket":1,"vcpuSockets":4,"memorySize":"16Gi","systemDiskSize":"120Gi",
"categories":[{"key":"AppTier","value":"Web"}],"userDataSecret":{"name":"worker-user-data"},"credentialsSecret":{"name":"nutanix-credentials"}}`

func secretOf(c prism.Credential) map[string][]byte {
	return map[string][]byte{"credentials": fmt.Appendf(nil, `[{"type":"basic_auth","data":{"prismCentral":{"username":%q,"password":%q},"prismElements":null}}]`, c.Username, c.Password)}
}

func classOf(_, cluster string) provider.Class {
	return provider.Class{API: provider.OpenShift, Cluster: cluster, Spec: []byte(machine), Credentials: secretOf(prism.Sample().Credentials[0])}
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
	return provider.Ref{UID: fmt.Sprintf("0b8f5c3e-1d2a-4c6b-9e7f-%x", sum[:6]), Namespace: "machines", Name: name}
}

// plant creates a virtual machine as this provider does, or as the original does: with the cluster's category, and no marks.
func (w *world) plant(class provider.Class, i provider.Instance) error {
	uuid, words := double.UUID(), []string{}
	if i.UID != "" {
		words = append(words, "millwright.dev/cluster="+class.Cluster, "millwright.dev/machine-uid="+i.UID, "millwright.dev/vm="+uuid)
		for key, value := range map[string]string{"machine-namespace": i.Namespace, "owner": class.Owner} {
			if value != "" {
				words = append(words, "millwright.dev/"+key+"="+value)
			}
		}
	}
	slices.Sort(words)
	return w.plantNamed(i.Name, uuid, strings.Join(words, " "), map[string]string{"kubernetes-io-cluster-" + class.Cluster: "owned"})
}

func (w *world) plantNamed(name, uuid, description string, categories map[string]string) error {
	type object = map[string]any
	body, err := json.Marshal(object{
		"metadata": object{"kind": "vm", "categories": categories},
		"spec": object{
			"name": name, "description": description, "cluster_reference": object{"kind": "cluster", "uuid": prism.Sample().Clusters[0].UUID},
			"resources": object{
				"power_state": "ON", "num_sockets": 4, "num_vcpus_per_socket": 1, "memory_size_mib": 16384,
				"nic_list":  []object{{"subnet_reference": object{"kind": "subnet", "uuid": prism.Sample().Subnets[0].UUID}}},
				"disk_list": []object{{"disk_size_mib": 122880}},
			},
		},
	})
	if err != nil {
		return err
	}
	return w.Plant(body, uuid)
}

// certificate is the certificate of a server, in PEM.
func certificate(s *httptest.Server) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
}

// quoted is a text in JSON.
func quoted(text string) string {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(raw)
}
