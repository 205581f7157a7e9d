package e2e

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	lens "github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/verify/apiproxy"
)

// The name prefixes of machines that are about to get an instance when programs are exchanged. A program that receives SIGTERM
// has time to finish what it began. Then these machines are further before the next program starts.
const (
	freshMachines   = "fresh-"   // no request was sent for them
	askedMachines   = "asked-"   // their request is stored, and not sent
	createdMachines = "created-" // their instance exists, and the answer is not stored
)

// gate stands between the machine controller and its API server. It delays the writes for some machines until the program has
// ended.
type gate struct {
	*httptest.Server
	// hasInstance reports whether the machine with the name has an instance.
	hasInstance func(name string) bool

	mu   sync.Mutex
	open bool
	held map[string]bool
}

// newGate starts a gate for the user of the kubeconfig. From then on, the kubeconfig leads through the gate.
func newGate(t *testing.T, kubeconfig string, hasInstance func(string) bool) *gate {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{hasInstance: hasInstance, held: map[string]bool{}, open: true}
	g.Server, err = apiproxy.Start(config, g.answer, func(pass http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { g.serve(pass, w, r) })
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Config.Close() }) // without waiting for watches
	raw, err := apiproxy.Kubeconfig(g.Server)
	if err == nil {
		err = os.WriteFile(kubeconfig, raw, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// set opens the gate or closes it.
func (g *gate) set(open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = open
}

// holds reports whether a write for the machine is delayed.
func (g *gate) holds(name string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.held[name]
}

// stops reports whether a request writes a machine with one of the prefixes while the gate is closed. It also returns the
// machine.
func (g *gate) stops(r *http.Request, prefix string) (name string, is bool) {
	_, rest, found := strings.Cut(r.URL.Path, "/machines/")
	name, _, _ = strings.Cut(rest, "/")
	g.mu.Lock()
	defer g.mu.Unlock()
	return name, found && r.Method != http.MethodGet && strings.HasPrefix(name, prefix) && !g.open
}

// hold delays the answer to a request until its client has ended.
func (g *gate) hold(name string, r *http.Request) {
	g.mu.Lock()
	g.held[name] = true
	g.mu.Unlock()
	<-r.Context().Done()
}

// serve delays the writes for a machine that has an instance. The API server never receives them.
func (g *gate) serve(pass http.Handler, w http.ResponseWriter, r *http.Request) {
	if name, stops := g.stops(r, createdMachines); stops && g.hasInstance(name) {
		g.hold(name, r)
		panic(http.ErrAbortHandler)
	}
	pass.ServeHTTP(w, r)
}

// answer delays the answer to the write that stores a request for an instance.
func (g *gate) answer(r *http.Response) error {
	name, stops := g.stops(r.Request, askedMachines)
	if !stops || path.Base(r.Request.URL.Path) != "status" {
		return nil
	}
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(raw))
	if !bytes.Contains(raw, []byte(lens.RecordCondition)) {
		return nil
	}
	g.hold(name, r.Request)
	return r.Request.Context().Err()
}
