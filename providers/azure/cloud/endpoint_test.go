package cloud

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	azcloud "github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"

	"github.com/millwright-dev/millwright/provider"
)

// TestEndpoints: each Azure cloud that specs and clusters name has its own.
func TestEndpoints(t *testing.T) {
	for name, endpoint := range map[string]string{
		"AzurePublicCloud": "https://management.azure.com", "AzurePublic": "https://management.azure.com",
		"AzureUSGovernmentCloud": "https://management.usgovcloudapi.net", "AzureGovernment": "https://management.usgovcloudapi.net",
		"AzureChinaCloud": "https://management.chinacloudapi.cn", "AzureChina": "https://management.chinacloudapi.cn",
	} {
		got, err := clusterConfig{cloud: name}.azure(t.Context())
		if err != nil || got.Services[azcloud.ResourceManager].Endpoint != endpoint || got.apart {
			t.Errorf("%s: %s, error %v", name, got.Services[azcloud.ResourceManager].Endpoint, err)
		}
	}
	if _, err := (clusterConfig{cloud: "AzureStackCloud"}).azure(t.Context()); provider.KindOf(err) != provider.Invalid {
		t.Errorf("a cloud without endpoints: %v", err)
	}
}

// TestEndpointsThatAreNone: an invalid endpoint answers as proxies do: the error names the request.
func TestEndpointsThatAreNone(t *testing.T) {
	for _, body := range []string{"<html>Please log in</html>", "{}", ""} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }))
		defer s.Close()
		_, err := clusterConfig{endpoint: s.URL}.azure(t.Context())
		if provider.KindOf(err) != provider.Transient || !strings.Contains(err.Error(), s.URL) {
			t.Errorf("%q: %v", body, err)
		}
	}
	if _, err := (clusterConfig{ca: []byte("x")}).http(); provider.KindOf(err) != provider.Invalid {
		t.Errorf("a bundle without certificates: %v", err)
	}
}

// TestOwnership has a row for each way in which a resource belongs to a cluster.
func TestOwnership(t *testing.T) {
	ours := ownership{cluster: "c1", keys: []string{"kubernetes.io-cluster-shoot", "kubernetes.io-role-node"}, clusters: []string{"shoot"}}
	plain := ownership{cluster: "c1"}
	for _, row := range []struct {
		reason string
		own    ownership
		tags   map[string]string
		want   bool
	}{
		{"nothing says whose it is", ours, map[string]string{"Name": "c1"}, false},
		{"the original of Gardener", ours, map[string]string{"kubernetes.io-cluster-shoot": "1", "kubernetes.io-role-node": "1"}, true},
		{"names of tags are of either case", ours, map[string]string{"KUBERNETES.IO-CLUSTER-SHOOT": "1", "kubernetes.io-role-node": "1"}, true},
		{"a bastion of the same cluster", ours, map[string]string{"kubernetes.io-cluster-shoot": "1", "kubernetes.io-role-bastion": "1"}, false},
		{"the original of OpenShift", ours, map[string]string{"kubernetes.io_cluster.c1": "owned"}, true},
		{"another cluster whose name begins alike", plain, map[string]string{"kubernetes.io_cluster.c1-other": "owned"}, false},
		{"ours, after the keys of the spec have changed", ours, map[string]string{tagCluster: "c1", "kubernetes.io-cluster-shoot": "1"}, true},
		{"another cluster's by its keys, of the same nameless control plane", ours, map[string]string{tagCluster: "c1", "kubernetes.io-cluster-other": "1"}, false},
		{"another cluster's", plain, map[string]string{tagCluster: "c2", "kubernetes.io-cluster-c1": "1"}, false},
		{"without a spec, ours", plain, map[string]string{tagCluster: "c1", "kubernetes.io-cluster-shoot": "1"}, true},
		{"without a spec, Gardener's of the name", plain, map[string]string{"kubernetes.io-cluster-c1": "1"}, true},
	} {
		if got := row.own.has(merged(row.tags)); got != row.want {
			t.Errorf("%s: %t", row.reason, got)
		}
	}
}

// TestUserTagsNeverStandInForOurs: a tag of ours in a spec is overwritten, whatever its case.
func TestUserTagsNeverStandInForOurs(t *testing.T) {
	o := ownership{cluster: "c1"}
	got := merged(map[string]string{"Millwright.dev_Machine-UID": "theirs", "team": "blue"}, o.mark(provider.Class{Cluster: "c1", Owner: "o"}, provider.Ref{UID: "u", Namespace: "n"}))
	if tagOf(got, tagUID) != "u" || tagOf(got, tagOwner) != "o" || tagOf(got, tagNamespace) != "n" || len(got) != 5 {
		t.Errorf("%d tags, UID %q", len(got), tagOf(got, tagUID))
	}
}

func TestNames(t *testing.T) {
	for machine, set := range map[string]string{"c1-worker-bcdfg": "c1-worker", "c1-worker-hj24x": "c1-worker", "master-0": "", "c1-worker-abcde": "", "-bcdfg": "", "x": ""} {
		if got := setOf(machine); got != set {
			t.Errorf("%s is of set %q, want %q", machine, got, set)
		}
	}
	for set, name := range map[string]string{"c1-worker": "c1-worker-as", "worker": "c1_worker-as", strings.Repeat("c1", 50): strings.Repeat("c1", 38) + "c-as"} {
		if got := availabilitySetName("c1", set); got != name || len(got) > 80 {
			t.Errorf("%s: %s", set, got)
		}
	}
	for resource, machine := range map[string]string{"m-nic": "m", "m_OSDisk": "m", "m-os-disk": "m", "pvc-1": ""} {
		if got := madeFor(resource); got != machine {
			t.Errorf("%s is made for %q", resource, got)
		}
	}
}
