package rehearsal

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/millwright-dev/millwright/internal/verify/apiproxy"
)

// gate stands between the machine controller and its API server. It withholds the answer to one write after the API server has
// executed it.
type gate struct {
	*httptest.Server

	mu       sync.Mutex
	left     int    // the number of writes until the one without an answer; not positive: none
	withheld string // the write without an answer
}

// newGate starts a gate for the user of the kubeconfig. From then on, the kubeconfig leads through the gate.
func newGate(kubeconfig string) (*gate, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	g := &gate{}
	if g.Server, err = apiproxy.Start(config, g.answer, nil); err != nil {
		return nil, err
	}
	raw, err := apiproxy.Kubeconfig(g.Server)
	if err != nil {
		return nil, err
	}
	return g, os.WriteFile(kubeconfig, raw, 0o600)
}

// end closes all connections, without waiting for watches.
func (g *gate) end() {
	if g != nil {
		_ = g.Config.Close()
	}
}

// set withholds the answer to the n-th write from now, or to none for 0.
func (g *gate) set(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.left, g.withheld = n, ""
}

func (g *gate) hit() bool { return g.what() != "" }

func (g *gate) what() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.withheld
}

// answer forwards an answer, unless it is the one to be withheld.
func (g *gate) answer(r *http.Response) error {
	if !g.withholds(r) {
		return nil
	}
	<-r.Request.Context().Done()
	return r.Request.Context().Err()
}

func (g *gate) withholds(r *http.Response) bool {
	what := writeOf(r.Request)
	if what == "" || r.StatusCode >= http.StatusMultipleChoices {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.left--; g.left != 0 {
		return false
	}
	g.withheld = what
	return true
}

// writeOf returns what a request writes: "PATCH machines/NAME/status". It is empty for a request that changes nothing, and for
// leases and events.
func writeOf(r *http.Request) string {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return ""
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/") // apis/GROUP/VERSION or api/VERSION, and perhaps namespaces/NAMESPACE
	skip := 2
	if parts[0] == "apis" {
		skip = 3
	}
	if len(parts) > skip+2 && parts[skip] == "namespaces" {
		skip += 2
	}
	if len(parts) <= skip {
		return ""
	}
	resource := parts[skip]
	if resource == "leases" || resource == "events" || strings.HasSuffix(resource, "reviews") {
		return ""
	}
	return r.Method + " " + strings.Join(parts[skip:], "/")
}

// TestWriteOf: a request that changes nothing is no step, and neither are writes of leases and events, which continue while no
// machine changes.
func TestWriteOf(t *testing.T) {
	for _, test := range []struct{ method, path, want string }{
		{"PATCH", "/apis/machine.sapcloud.io/v1alpha1/namespaces/default/machines/m/status", "PATCH machines/m/status"},
		{"POST", "/api/v1/namespaces/kube-system/secrets", "POST secrets"},
		{"PATCH", "/api/v1/nodes/n", "PATCH nodes/n"},
		{"DELETE", "/api/v1/namespaces/n", "DELETE namespaces/n"},
		{"GET", "/api/v1/nodes/n", ""},
		{"PUT", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/l", ""},
		{"POST", "/api/v1/namespaces/default/events", ""},
		{"POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", ""},
	} {
		if got := writeOf(httptest.NewRequest(test.method, test.path, http.NoBody)); got != test.want {
			t.Errorf("%s %s is %q, want %q", test.method, test.path, got, test.want)
		}
	}
}
