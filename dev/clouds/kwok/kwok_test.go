package kwok

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// api is an API server with Nodes, which records all requests but reads.
type api struct {
	mu    sync.Mutex
	asked []string
	// taken are the existing names, shown their Nodes.
	taken map[string]bool
	shown string
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	raw, _ := io.ReadAll(r.Body)
	if r.Method == http.MethodGet {
		if a.shown == "" {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = io.WriteString(w, a.shown)
		return
	}
	a.asked = append(a.asked, r.Method+" "+r.URL.Path+" "+string(raw))
	var n struct {
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
	}
	_ = json.Unmarshal(raw, &n)
	if r.Method == http.MethodPost && a.taken[n.Metadata.Name] {
		w.WriteHeader(http.StatusConflict)
	}
}

// show sets the Node that reads return from now on: managed by kwok, or not.
func (a *api) show(instance string, played bool, ready string) {
	annotations := map[string]string{instanceAnnotation: instance}
	if played {
		annotations[fakeAnnotation] = "fake"
	}
	raw, _ := json.Marshal(map[string]any{
		"metadata": map[string]any{"annotations": annotations},
		"status":   map[string]any{"conditions": []map[string]string{{"type": "Ready", "status": ready}}},
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	a.shown = string(raw)
}

// has waits for a request, and returns it.
func (a *api) has(t *testing.T, what string) string {
	t.Helper()
	for range 1000 {
		a.mu.Lock()
		for n, one := range a.asked {
			if strings.HasPrefix(one, what) {
				a.asked = slices.Delete(a.asked, n, n+1)
				a.mu.Unlock()
				return one
			}
		}
		a.mu.Unlock()
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("nobody asks for %s: %q", what, a.asked)
	return ""
}

// quiet fails if a request is made within a while.
func (a *api) quiet(t *testing.T) {
	t.Helper()
	a.mu.Lock()
	a.asked = nil
	a.mu.Unlock()
	time.Sleep(50 * time.Millisecond)
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.asked) > 0 {
		t.Errorf("still asked for: %q", a.asked)
	}
}

func start(t *testing.T, taken ...string) (*Hypervisor, *api) {
	t.Helper()
	a := &api{taken: map[string]bool{}}
	for _, name := range taken {
		a.taken[name] = true
	}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	return &Hypervisor{server: server.URL, client: server.Client(), pause: time.Millisecond, nodes: map[string]string{}}, a
}

func TestNodeComesAndFails(t *testing.T) {
	h, a := start(t)
	guest := double.Guest{ID: "i-1", NodeName: "n1", ProviderID: "aws:///a/i-1", VCPUs: 4, MemoryMiB: 2048, Zone: "a", Addresses: []string{"192.0.2.1"}}
	if err := h.Start(t.Context(), guest); err != nil {
		t.Fatal(err)
	}
	made := a.has(t, "POST ")
	for _, want := range []string{`"providerID":"aws:///a/i-1"`, `"topology.kubernetes.io/zone":"a"`, `"cpu":"4"`, `"memory":"2048Mi"`, `"address":"192.0.2.1"`} {
		if !strings.Contains(made, want) {
			t.Errorf("no %s in %s", want, made)
		}
	}
	a.show("i-1", true, "True")
	h.Stop("i-1")
	h.Stop("i-2")
	if stop := a.has(t, "PATCH /api/v1/nodes/n1 "); !strings.Contains(stop, `"value":"i-1"`) {
		t.Error(stop)
	}
	if status := a.has(t, "PATCH /api/v1/nodes/n1/status "); !strings.Contains(status, `"status":"Unknown"`) {
		t.Error(status)
	}
	a.show("i-1", false, "Unknown")
	time.Sleep(50 * time.Millisecond) // an earlier read
	a.quiet(t)
	a.show("i-1", false, "True") // kwok has not noticed yet
	a.has(t, "PATCH /api/v1/nodes/n1/status ")
}

// TestSilenceEnds: a Node of another instance, or of another boot, is not silenced.
func TestSilenceEnds(t *testing.T) {
	h, a := start(t)
	for id, over := range map[string]func(){
		"i-1": func() { a.show("i-9", true, "True") },
		"i-2": func() { _ = h.Start(t.Context(), double.Guest{ID: "i-2", NodeName: "n1"}) },
	} {
		if err := h.Start(t.Context(), double.Guest{ID: id, NodeName: "n1"}); err != nil {
			t.Fatal(err)
		}
		a.show(id, true, "True")
		h.Stop(id)
		a.has(t, "PATCH /api/v1/nodes/n1/status ")
		over()
		time.Sleep(50 * time.Millisecond) // a read in progress
		a.quiet(t)
	}
}

func TestNodeIsTakenUpAgain(t *testing.T) {
	h, a := start(t, "n1")
	if err := h.Start(t.Context(), double.Guest{ID: "i-1", NodeName: "n1"}); err != nil {
		t.Fatal(err)
	}
	if len(a.asked) != 2 || !strings.HasPrefix(a.asked[1], "PATCH /api/v1/nodes/n1 ") {
		t.Errorf("%q", a.asked)
	}
}
