package kubevirt_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/kubevirt"
)

// TestTokensAreLent: the API server refuses a revoked token, and accepts an issued one, in its own namespace.
func TestTokensAreLent(t *testing.T) {
	clock := &double.Clock{}
	cloud := kubevirt.Administered{Cloud: kubevirt.New(clock, kubevirt.Options{Inventory: kubevirt.Sample()})}
	server := double.NewServer(clock, cloud)
	list := func(namespace, token string) int {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/apis/kubevirt.io/v1/namespaces/"+namespace+"/virtualmachines", http.NoBody)
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		return w.Code
	}
	issue := func(account string) (token string, replaced map[string]string) {
		t.Helper()
		replaced, err := cloud.Issue(account)
		if err != nil {
			t.Fatal(err)
		}
		return replaced["secret"], replaced
	}
	cloud.Revoke()
	issued, _ := issue("")
	other, replaced := issue("other")
	if replaced["namespace: demo"] != "namespace: other" {
		t.Errorf("the kubeconfig of another account is made by %v", replaced)
	}
	for _, r := range []struct {
		reason, namespace, token string
		want                     int
	}{
		{"the sample's token was revoked", "demo", "secret", http.StatusUnauthorized},
		{"another was issued instead", "demo", issued, http.StatusOK},
		{"which is of the first namespace", "other", issued, http.StatusForbidden},
		{"one of another account", "other", other, http.StatusOK},
		{"is of no other", "demo", other, http.StatusForbidden},
		{"those of the other account were not revoked", "other", "other-secret", http.StatusOK},
	} {
		if got := list(r.namespace, r.token); got != r.want {
			t.Errorf("%s: %d, want %d", r.reason, got, r.want)
		}
	}
	cloud.Restore()
	if got := list("demo", "secret"); got != http.StatusOK {
		t.Errorf("once restored, the sample's token is answered with %d", got)
	}
	if _, err := cloud.Issue("nobody"); err == nil {
		t.Error("a token for a namespace that is not there was issued")
	}
}

// TestPlantedLike: the planted copy of a virtual machine runs, with its own name and labels, besides the
// original.
func TestPlantedLike(t *testing.T) {
	clock := &double.Clock{}
	cloud := kubevirt.Administered{Cloud: kubevirt.New(clock, kubevirt.Options{Inventory: kubevirt.Sample()})}
	cloud.Plant(kubevirt.Planted{
		Name: "mill-1", Namespace: "demo", Zone: "zone-1", Labels: map[string]string{"tenantcluster-demo-machine.openshift.io": "owned"},
		Annotations: map[string]string{"millwright.dev/machine": "mill-1"},
	})
	rename := strings.NewReplacer("mill-", "neighbour-", "-demo-", "-another-").Replace
	if err := cloud.PlantLike("mill-1", rename); err != nil {
		t.Fatal(err)
	}
	clock.Advance(10 * time.Second)
	all := cloud.Instances()
	n := slices.IndexFunc(all, func(i double.Listed) bool { return i.Name == "neighbour-1" })
	if len(all) != 2 || n < 0 {
		t.Fatalf("there are %+v", all)
	}
	i := all[n]
	if i.State != "Running" || i.Zone != "zone-1" || i.Tags["tenantcluster-another-machine.openshift.io"] != "owned" || i.Tags["millwright.dev/machine"] != "neighbour-1" {
		t.Errorf("it is %+v", i)
	}
	if err := cloud.PlantLike("nobody", rename); err == nil {
		t.Error("one like none was planted")
	}
}
