package kwok

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// api notes what it is asked for. The names in taken exist.
func api(t *testing.T, taken ...string) (h *Hypervisor, asked *[]string) {
	t.Helper()
	asked = &[]string{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		*asked = append(*asked, r.Method+" "+r.URL.Path+" "+string(raw))
		var n struct {
			Metadata struct {
				Name string `json:"name"`
			} `json:"metadata"`
		}
		_ = json.Unmarshal(raw, &n)
		for _, name := range taken {
			if r.Method == http.MethodPost && n.Metadata.Name == name {
				w.WriteHeader(http.StatusConflict)
			}
		}
	}))
	t.Cleanup(server.Close)
	return &Hypervisor{server: server.URL, client: server.Client(), nodes: map[string]string{}}, asked
}

func TestNodeComesAndFails(t *testing.T) {
	h, asked := api(t)
	guest := double.Guest{ID: "i-1", NodeName: "n1", ProviderID: "aws:///a/i-1", VCPUs: 4, MemoryMiB: 2048, Zone: "a", Addresses: []string{"192.0.2.1"}}
	if err := h.Start(t.Context(), guest); err != nil {
		t.Fatal(err)
	}
	h.Stop("i-1")
	h.Stop("i-1")
	h.Stop("i-2")
	if len(*asked) != 3 {
		t.Fatalf("%q", *asked)
	}
	for _, want := range []string{`"providerID":"aws:///a/i-1"`, `"topology.kubernetes.io/zone":"a"`, `"cpu":"4"`, `"memory":"2048Mi"`, `"address":"192.0.2.1"`} {
		if !strings.Contains((*asked)[0], want) {
			t.Errorf("no %s in %s", want, (*asked)[0])
		}
	}
	if stop := (*asked)[1]; !strings.HasPrefix(stop, "PATCH /api/v1/nodes/n1 ") || !strings.Contains(stop, `"value":"i-1"`) {
		t.Error(stop)
	}
	if status := (*asked)[2]; !strings.HasPrefix(status, "PATCH /api/v1/nodes/n1/status ") || !strings.Contains(status, `"status":"Unknown"`) {
		t.Error(status)
	}
}

func TestNodeIsTakenUpAgain(t *testing.T) {
	h, asked := api(t, "n1")
	if err := h.Start(t.Context(), double.Guest{ID: "i-1", NodeName: "n1"}); err != nil {
		t.Fatal(err)
	}
	if len(*asked) != 2 || !strings.HasPrefix((*asked)[1], "PATCH /api/v1/nodes/n1 ") {
		t.Errorf("%q", *asked)
	}
}
