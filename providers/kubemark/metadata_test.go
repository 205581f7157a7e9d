package kubemark_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/millwright-dev/millwright/internal/engine/interruption"
	"github.com/millwright-dev/millwright/internal/runtime/termination/metadata"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/kubemark"
)

// watched is an instance with a metadata service.
type watched struct {
	t     *testing.T
	clock *clocktesting.FakeClock
	url   string
	provider.Session
	provider.Instance
}

func newWatched(t *testing.T, spec string) watched {
	t.Helper()
	c := inMemory(t)
	p := c.start()
	s := open(t, p, spec)
	i, err := s.Create(t.Context(), machine(1), provider.Want{})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(p.Metadata())
	t.Cleanup(server.Close)
	return watched{t, c.clock, server.URL + "/box/" + i.NodeName, s, i}
}

// tell makes a request at the path and returns the status.
func (w watched) tell(method, path string) (status int, body string) {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, http.NoBody)
	if err != nil {
		w.t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return answer.StatusCode, string(raw)
}

// source is a client of a metadata service.
type source interface {
	Look(ctx context.Context, hold time.Duration) (interruption.Report, error)
}

// sources are the clients of each cloud's service.
func (w watched) sources() map[string]source {
	h := metadata.NewHTTP()
	return map[string]source{
		"aws":   metadata.NewAWS(h, w.url, w.clock),
		"azure": metadata.NewAzure(h, w.url),
		"gcp":   metadata.NewGCP(h, w.url),
	}
}

// kinds are the kinds of notices that the sources report.
func (w watched) kinds(sources map[string]source) map[string]string {
	w.t.Helper()
	out := map[string]string{}
	for name, s := range sources {
		r, err := s.Look(w.t.Context(), 0)
		if err != nil {
			w.t.Errorf("%s: %v", name, err)
		}
		var kinds []string
		for _, n := range r.Notices {
			text := string(n.Kind)
			if !n.At.IsZero() {
				text += " at " + n.At.UTC().Format(time.TimeOnly)
			}
			kinds = append(kinds, text)
		}
		out[name] = strings.Join(kinds, ", ")
	}
	return out
}

func TestTold(t *testing.T) {
	w := newWatched(t, `{}`) // at 03:04:05
	sources := w.sources()
	for _, step := range []struct {
		reason, method, path string
		want                 map[string]string
	}{
		{"nothing is announced", "", "", map[string]string{"aws": "", "azure": "", "gcp": ""}},
		{
			"maintenance", "POST", "?announce=maintenance&in=1h",
			map[string]string{"aws": "Maintenance at 04:04:05", "azure": "Maintenance at 04:04:05", "gcp": "Maintenance"},
		},
		{
			"a recommendation besides", "POST", "?announce=rebalance&in=0s",
			map[string]string{"aws": "Rebalance, Maintenance at 04:04:05", "azure": "Maintenance at 04:04:05", "gcp": "Maintenance"},
		},
		{
			"an interruption: two minutes", "POST", "",
			map[string]string{
				"aws":   "Termination at 03:06:05, Termination at 03:06:05",
				"azure": "Termination at 03:06:05, Maintenance at 04:04:05",
				"gcp":   "Termination",
			},
		},
		{"all is taken back", "DELETE", "", map[string]string{"aws": "", "azure": "", "gcp": ""}},
	} {
		if step.method != "" {
			if status, body := w.tell(step.method, "/interruption"+step.path); status != http.StatusNoContent {
				t.Fatalf("%s: %d %s", step.reason, status, body)
			}
		}
		if diff := cmp.Diff(step.want, w.kinds(sources)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.reason, diff)
		}
	}
}

// An announced event happens, and every caller sees it.
func TestToldInterruption(t *testing.T) {
	w := newWatched(t, `{}`)
	if status, body := w.tell("POST", "/interruption?announce=terminate&in=30s"); status != http.StatusNoContent {
		t.Fatalf("%d %s", status, body)
	}
	w.clock.Step(29 * time.Second)
	if found, err := w.Find(t.Context(), machine(1)); err != nil || len(found) != 1 {
		t.Errorf("a second before there are %d instances, %v", len(found), err)
	}
	w.clock.Step(time.Second)
	if found, err := w.Find(t.Context(), machine(1)); err != nil || len(found) != 0 {
		t.Errorf("then there are %d instances, %v", len(found), err)
	}
	if status, _ := w.tell("GET", "/metadata/scheduledevents?api-version=2020-07-01"); status != http.StatusNotFound {
		t.Errorf("the metadata service of an instance that is gone answers %d", status)
	}
}

// The notices of a class are announced like requested ones.
func TestMetadataOfAClass(t *testing.T) {
	w := newWatched(t, `{"interruptAfter":"10m","interruptNotice":"2m"}`) // at 03:04:05
	sources := w.sources()
	w.clock.Step(8*time.Minute - time.Second)
	if got := w.kinds(sources)["azure"]; got != "" {
		t.Errorf("before the notice: %s", got)
	}
	w.clock.Step(time.Second)
	if got := w.kinds(sources)["azure"]; got != "Termination at 03:14:05" {
		t.Errorf("at the notice: %s", got)
	}
	if status, body := w.tell("POST", "/interruption?in=20m"); status != http.StatusNoContent {
		t.Fatalf("%d %s", status, body)
	}
	if got := w.kinds(sources)["azure"]; got != "Termination at 03:14:05" {
		t.Errorf("told a later time, the class's counts: %s", got)
	}
	if status, body := w.tell("POST", "/interruption?in=10s"); status != http.StatusNoContent {
		t.Fatalf("%d %s", status, body)
	}
	if got := w.kinds(sources)["azure"]; got != "Termination at 03:12:15" {
		t.Errorf("told an earlier one, that counts: %s", got)
	}
}

func TestMetadataRefuses(t *testing.T) {
	w := newWatched(t, `{}`)
	for _, c := range []struct {
		reason, method, path string
		status               int
		says                 string
	}{
		{"an announcement that there is not", "POST", "/interruption?announce=fire", 400, `not "fire"`},
		{"a time that is none", "POST", "/interruption?in=soon", 400, `not "soon"`},
		{"a time that is over", "POST", "/interruption?in=-1s", 400, `not "-1s"`},
		{"AWS without a token", "GET", "/latest/meta-data/instance-id", 401, ""},
		{"AWS: a token without a time to live", "PUT", "/latest/api/token", 400, ""},
		{"Azure without the header", "GET", "/metadata/scheduledevents?api-version=2020-07-01", 400, "Required metadata header"},
		{"GCP without the header", "GET", "/computeMetadata/v1/instance/preempted", 403, ""},
		{"another path", "GET", "/latest", 404, ""},
		{"another instance", "POST", "x/interruption", 404, "no such instance"},
	} {
		if status, body := w.tell(c.method, c.path); status != c.status || !strings.Contains(body, c.says) {
			t.Errorf("%s: %d %q, want %d %q", c.reason, status, body, c.status, c.says)
		}
	}
}

// GCP's request can wait for the value to change.
func TestMetadataWaits(t *testing.T) {
	w := newWatched(t, `{}`)
	gcp := metadata.NewGCP(metadata.NewHTTP(), w.url)
	if r, err := gcp.Look(t.Context(), 0); err != nil || r.Has(interruption.Termination) {
		t.Fatalf("%v, %v", r, err)
	}
	type answer struct {
		interruption.Report
		error
	}
	done := make(chan answer)
	go func() {
		r, err := gcp.Look(t.Context(), time.Hour)
		done <- answer{r, err}
	}()
	for !w.clock.HasWaiters() {
		time.Sleep(time.Millisecond)
	}
	if status, body := w.tell("POST", "/interruption?in=1h"); status != http.StatusNoContent {
		t.Fatalf("%d %s", status, body)
	}
	w.clock.Step(100 * time.Millisecond)
	if a := <-done; a.error != nil || !a.Has(interruption.Termination) {
		t.Errorf("the change was answered by %v, %v", a.Report, a.error)
	}
}

func TestServeMetadata(t *testing.T) {
	dir := t.TempDir()
	p, err := kubemark.New(kubemark.Config{Dir: dir, MetadataAddress: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- p.ServeMetadata(ctx) }()
	var url []byte
	for len(url) == 0 {
		url, _ = os.ReadFile(filepath.Join(dir, kubemark.MetadataFile))
	}
	answer, err := http.Get(fmt.Sprintf("%s/c/n/metadata/scheduledevents", url))
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusNotFound {
		t.Errorf("an instance that there is not: %d", answer.StatusCode)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}

	taken, err := kubemark.New(kubemark.Config{MetadataAddress: "no address"})
	if err != nil {
		t.Fatal(err)
	}
	if err := taken.ServeMetadata(t.Context()); err == nil {
		t.Error("an address that is none is served")
	}
	none, err := kubemark.New(kubemark.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := none.ServeMetadata(t.Context()); err != nil {
		t.Error("no address:", err)
	}
}
