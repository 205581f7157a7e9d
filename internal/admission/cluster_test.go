package admission_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/millwright-dev/millwright/internal/admission"
	"github.com/millwright-dev/millwright/provider/admit"
)

var (
	infrastructures = schema.GroupVersionResource{Group: "config.openshift.io", Version: "v1", Resource: "infrastructures"}
	dnses           = schema.GroupVersionResource{Group: "config.openshift.io", Version: "v1", Resource: "dnses"}
)

// configObject is one of config.openshift.io.
func configObject(kind string, rest map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: rest}
	o.SetAPIVersion("config.openshift.io/v1")
	o.SetKind(kind)
	o.SetName("cluster")
	return o
}

func infrastructure(name string, platform map[string]any) *unstructured.Unstructured {
	return configObject("Infrastructure", map[string]any{"status": map[string]any{"infrastructureName": name, "platformStatus": platform}})
}

func dynamicClient(objects ...runtime.Object) *dynamicfake.FakeDynamicClient {
	return dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		infrastructures: "InfrastructureList", dnses: "DNSList",
	}, objects...)
}

func TestClusterSaysWhereItRuns(t *testing.T) {
	given := admission.Cluster{Type: "GCP", Platform: admit.Platform{ID: "flag", Region: "flagged", Architecture: "arm64", Gates: map[string]bool{"G": true}}}
	private := configObject("DNS", map[string]any{"spec": map[string]any{"privateZone": map[string]any{"id": "z"}}})
	public := configObject("DNS", map[string]any{"spec": map[string]any{"publicZone": map[string]any{"id": "z"}}})
	platform := func(p admit.Platform) admit.Platform {
		p.Architecture, p.Gates = "arm64", map[string]bool{"G": true}
		return p
	}
	for _, c := range []struct {
		reason  string
		objects []runtime.Object
		want    admission.Cluster
	}{
		{"no config.openshift.io: what the flags say", nil, given},
		{
			"the objects overrule flags",
			[]runtime.Object{infrastructure("id-1", map[string]any{"type": "AWS", "aws": map[string]any{"region": "eu-1"}}), public},
			admission.Cluster{Type: "AWS", Platform: platform(admit.Platform{ID: "id-1", Region: "eu-1"})},
		},
		{
			"no public zone: nobody gets in from outside",
			[]runtime.Object{infrastructure("id-1", map[string]any{"type": "Azure", "azure": map[string]any{"cloudName": "AzureUSGovernmentCloud"}}), private},
			admission.Cluster{Type: "Azure", Platform: platform(admit.Platform{ID: "id-1", Region: "flagged", Cloud: "AzureUSGovernmentCloud", NoPublicZone: true})},
		},
		{
			"another infrastructure's region is not the cluster's",
			[]runtime.Object{infrastructure("id-1", map[string]any{"type": "GCP", "gcp": map[string]any{"region": "r", "projectID": "p"}, "aws": map[string]any{"region": "x"}})},
			admission.Cluster{Type: "GCP", Platform: platform(admit.Platform{ID: "id-1", Region: "r", Project: "p"})},
		},
		{
			"an old object has the type elsewhere",
			[]runtime.Object{configObject("Infrastructure", map[string]any{"status": map[string]any{"platform": "VSphere", "infrastructureName": "id-1"}})},
			admission.Cluster{Type: "VSphere", Platform: platform(admit.Platform{ID: "id-1", Region: "flagged"})},
		},
	} {
		t.Run(c.reason, func(t *testing.T) {
			f := admission.NewFacts(dynamicClient(c.objects...), given)
			if err := f.Refresh(t.Context()); err != nil {
				t.Errorf("%s: %v", c.reason, err)
			}
			if diff := cmp.Diff(c.want, f.Now()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// TestFactsFollowTheCluster: what changes there counts with the next look, and what cannot be read is as it was.
func TestFactsFollowTheCluster(t *testing.T) {
	c := dynamicClient(infrastructure("id-1", map[string]any{"type": "AWS"}))
	f := admission.NewFacts(c, admission.Cluster{})
	if f.Now().Type != "" {
		t.Errorf("before the first look it is known to be %q", f.Now().Type)
	}
	look := func(reason, id string, fails bool) {
		t.Helper()
		if err := f.Refresh(t.Context()); (err != nil) != fails || f.Now().Platform.ID != id {
			t.Errorf("%s: %q, %v", reason, f.Now().Platform.ID, err)
		}
	}
	look("the first look", "id-1", false)
	if _, err := c.Resource(infrastructures).Update(t.Context(), infrastructure("id-2", map[string]any{"type": "AWS"}), metav1UpdateOptions); err != nil {
		t.Fatal(err)
	}
	look("it changed", "id-2", false)
	c.PrependReactor("get", "infrastructures", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("no answer") })
	look("nobody answers", "id-2", true)
}
