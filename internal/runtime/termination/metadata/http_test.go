package metadata

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millwright-dev/millwright/internal/engine/interruption"
)

// page is what a test server answers to one question.
type page struct {
	status int
	body   string
	header map[string]string
	// cut ends the connection in the middle of the body, hang never answers.
	cut, hang bool
}

func (p page) serve(w http.ResponseWriter, r *http.Request) {
	if p.hang {
		<-r.Context().Done()
		return
	}
	for name, value := range p.header {
		w.Header().Set(name, value)
	}
	if p.cut {
		w.Header().Set("Content-Length", fmt.Sprint(len(p.body)+10))
	}
	if p.status == 0 {
		p.status = http.StatusOK
	}
	w.WriteHeader(p.status)
	_, _ = w.Write([]byte(p.body))
}

// double is a metadata service. Pages are found by "METHOD /path?query"; one
// that is missing is answered with 404.
type double struct {
	*httptest.Server
	mu    sync.Mutex
	pages map[string]page
	asked []string
	// guard answers before the pages do, if it is set and says so.
	guard func(w http.ResponseWriter, r *http.Request) (done bool)
	// dress is put on every answer.
	dress map[string]string
}

func newDouble(t *testing.T, pages map[string]page) *double {
	t.Helper()
	d := &double{pages: pages}
	d.Server = httptest.NewServer(d)
	t.Cleanup(d.Close)
	return d
}

func (d *double) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	question := r.Method + " " + r.URL.RequestURI()
	d.asked = append(d.asked, question)
	p, ok := d.pages[question]
	guard := d.guard
	for name, value := range d.dress {
		w.Header().Set(name, value)
	}
	d.mu.Unlock()
	if guard != nil && guard(w, r) {
		return
	}
	if !ok {
		p = page{status: http.StatusNotFound, body: "<html>404 - Not Found</html>"}
	}
	p.serve(w, r)
}

// set changes a page.
func (d *double) set(question string, p page) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pages[question] = p
}

// times is how often a question was asked.
func (d *double) times(question string) (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, q := range d.asked {
		if q == question {
			n++
		}
	}
	return n
}

// source is what all clouds have.
type source interface {
	Look(ctx context.Context, hold time.Duration) (interruption.Report, error)
}

// look is one look, whose error must hold the text; an empty one means none.
func look(t *testing.T, reason string, s source, want interruption.Report, fails string) {
	t.Helper()
	got, err := s.Look(t.Context(), 0)
	if fails == "" && err != nil || fails != "" && (err == nil || !strings.Contains(err.Error(), fails)) {
		t.Errorf("%s: error is %v, want %q", reason, err, fails)
	}
	if diff := cmp.Diff(want.Notices, got.Notices); diff != "" {
		t.Errorf("%s: notices (-want +got):\n%s", reason, diff)
	}
	for _, k := range interruption.Kinds {
		if got.Clear[k] != want.Clear[k] {
			t.Errorf("%s: clear of %s is %v", reason, k, got.Clear[k])
		}
	}
}

func clear(kinds ...interruption.Kind) map[interruption.Kind]bool {
	out := map[interruption.Kind]bool{}
	for _, k := range kinds {
		out[k] = true
	}
	return out
}

var all = clear(interruption.Kinds...)

// For any configured proxy, the host itself is asked; a server that redirects the request is not the metadata
// service.
func TestOnlyTheHostIsAsked(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	h := NewHTTP()
	if h.Transport.(*http.Transport).Proxy != nil {
		t.Error("the client uses a proxy")
	}
	elsewhere := newDouble(t, map[string]page{"GET " + gcpPreempted: {body: "TRUE", header: map[string]string{gcpFlavor: gcpGoogle}}})
	portal := newDouble(t, map[string]page{"GET " + gcpPreempted: {status: http.StatusFound, header: map[string]string{gcpFlavor: gcpGoogle, "Location": elsewhere.URL + gcpPreempted}}})
	got, err := NewGCP(h, portal.URL).Look(t.Context(), 0)
	if err == nil || len(got.Notices) > 0 || elsewhere.times("GET "+gcpPreempted) > 0 {
		t.Errorf("a redirection was followed: %v, %v", got, err)
	}
}

// An answer that does not come is an error once its time is over.
func TestSlowAnswer(t *testing.T) {
	d := newDouble(t, map[string]page{"GET /slow": {hang: true}})
	_, err := newService(NewHTTP(), d.URL).do(t.Context(), request{method: http.MethodGet, path: "/slow", within: 20 * time.Millisecond})
	if !timedOut(err) {
		t.Errorf("the error is %v", err)
	}
}

func TestEndlessAnswer(t *testing.T) {
	d := newDouble(t, map[string]page{"GET /long": {body: strings.Repeat("x", maxBody+1)}})
	_, err := newService(NewHTTP(), d.URL).do(t.Context(), request{method: http.MethodGet, path: "/long", within: quick})
	if err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("the error is %v", err)
	}
}

func TestDefaultAddress(t *testing.T) {
	if got := newService(NewHTTP(), "").base; got != "http://169.254.169.254" {
		t.Errorf("the metadata service is looked for at %s", got)
	}
}
