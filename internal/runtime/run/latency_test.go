package run

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// TestLatency: requests of any client are measured, under the name and the labels that dashboards of machine.sapcloud.io know, and
// names of objects make no series.
func TestLatency(t *testing.T) {
	if err := measureRequests(); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"apiVersion":"v1","kind":"Status","status":"Success"}`))
	}))
	defer server.Close()
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(machinev1.GroupVersion.WithKind("Machine"), meta.RESTScopeNamespace)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Node"), meta.RESTScopeRoot)
	c, err := client.New(&rest.Config{Host: server.URL}, client.Options{Scheme: Scheme(), Mapper: mapper})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		name := fmt.Sprintf("m-%d", i)
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: "n" + name, Name: name}, &machinev1.Machine{}); err != nil {
			t.Fatal(err)
		}
		if err := c.Delete(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			t.Fatal(err)
		}
		if err := c.List(t.Context(), &corev1.NodeList{}, client.MatchingLabels{"a": name}); err != nil {
			t.Fatal(err)
		}
	}
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]uint64{}
	for _, f := range families {
		if f.GetName() != "rest_client_request_latency_seconds" {
			continue
		}
		for _, m := range f.GetMetric() {
			if u := labelOf(m, "url"); len(u) > len(server.URL) && u[:len(server.URL)] == server.URL {
				got[labelOf(m, "verb")+" "+u[len(server.URL):]] = m.GetHistogram().GetSampleCount()
			}
			if b := bounds(m); b[0] != 0.001 || b[9] != 0.512 {
				t.Errorf("the buckets are %v", b)
			}
		}
	}
	want := map[string]uint64{
		"GET /apis/machine.openshift.io/v1beta1/namespaces/%7Bnamespace%7D/machines/%7Bname%7D": 20,
		"DELETE /api/v1/nodes/%7Bname%7D":             20,
		"GET /api/v1/nodes?labelSelector=%7Bvalue%7D": 20,
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("measured are\n%v\nwant\n%v", got, want)
	}
}
