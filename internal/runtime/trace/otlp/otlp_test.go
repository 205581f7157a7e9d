package otlp

import (
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	oteltrace "go.opentelemetry.io/otel/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/millwright-dev/millwright/internal/runtime/trace"
)

func TestCollectorOf(t *testing.T) {
	for _, c := range []struct {
		reason, endpoint string
		env              map[string]string
		url, err         string
	}{
		{reason: "nobody asked"},
		{reason: "the flag", endpoint: "http://c:4318", url: "http://c:4318/v1/traces"},
		{reason: "the flag, behind a prefix", endpoint: "https://c/otlp/", url: "https://c/otlp/v1/traces"},
		{reason: "the variable for all signals", env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318/"}, url: "http://c:4318/v1/traces"},
		{reason: "the variable for traces is whole", env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://d/in"}, url: "http://d/in"},
		{reason: "the flag goes before variables", endpoint: "http://c:4318", env: map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://d/in", "OTEL_SDK_DISABLED": "true"}, url: "http://c:4318/v1/traces"},
		{reason: "turned off", env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318", "OTEL_SDK_DISABLED": "true"}},
		{reason: "no exporter", env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318", "OTEL_TRACES_EXPORTER": "none"}},
		{reason: "no URL, as gRPC has it", endpoint: "c:4317", err: "--tracing-endpoint: want a URL"},
		{reason: "the variable is named", env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "tcp://user:hunter2@c"}, err: "$OTEL_EXPORTER_OTLP_ENDPOINT: want a URL"},
		{reason: "what is not spoken", env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, err: "only http/protobuf"},
		{reason: "headers that are none", endpoint: "http://c", env: map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "hunter2"}, err: "$OTEL_EXPORTER_OTLP_HEADERS"},
		{reason: "a timeout that is none", endpoint: "http://c", env: map[string]string{"OTEL_EXPORTER_OTLP_TIMEOUT": "10s"}, err: "want milliseconds"},
		{reason: "a compression that is none", endpoint: "http://c", env: map[string]string{"OTEL_EXPORTER_OTLP_COMPRESSION": "zip"}, err: "want gzip or none"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			got, err := CollectorOf(c.endpoint, func(name string) string { return c.env[name] })
			said := ""
			if err != nil {
				said = err.Error()
			}
			if c.err == "" && said != "" || !strings.Contains(said, c.err) || strings.Contains(said, "hunter2") {
				t.Errorf("%s: error %q, want %q", c.reason, said, c.err)
			}
			if is := ""; err == nil {
				if got.URL != nil {
					is = got.URL.String()
				}
				if is != c.url {
					t.Errorf("%s: %q, want %q", c.reason, is, c.url)
				}
			}
		})
	}
}

// collector takes spans, as one of OpenTelemetry does.
type collector struct {
	*httptest.Server
	mu sync.Mutex
	// answers come first, each once.
	answers []int
	spans   []string
	asked   int
	header  http.Header
}

func newCollector(t *testing.T, answers ...int) *collector {
	c := &collector{answers: answers}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	if len(c.answers) > 0 {
		w.WriteHeader(c.answers[0])
		c.answers = c.answers[1:]
		return
	}
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		body, _ = gzip.NewReader(r.Body)
	}
	raw, _ := io.ReadAll(body)
	var data tracepb.TracesData
	if r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" || proto.Unmarshal(raw, &data) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.header = r.Header
	for _, of := range data.ResourceSpans {
		for _, scope := range of.ScopeSpans {
			for _, s := range scope.Spans {
				c.spans = append(c.spans, s.Name)
			}
		}
	}
}

func (c *collector) took() (spans string, asked int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.spans, " "), c.asked
}

// sends tells spans of these names, each in a batch of its own, and returns the log.
func sends(t *testing.T, where Collector, names ...string) string {
	t.Helper()
	var log strings.Builder
	s, err := Start(t.Context(), Options{Where: where, Service: "s", IDs: trace.IDs{}, Log: funcr.New(func(_, args string) { log.WriteString(args + "\n") }, funcr.Options{})})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		_, span := s.Tracer().Start(context.Background(), name, oteltrace.WithTimestamp(time.Now()))
		span.End()
		if err := s.spans.ForceFlush(t.Context()); err != nil {
			t.Error(err)
		}
	}
	s.Stop()
	return log.String()
}

func at(c *collector) Collector {
	u, _ := url.Parse(c.URL + "/v1/traces")
	return Collector{URL: u, Headers: http.Header{"Authorization": {"Bearer hunter2"}}, Timeout: 5 * time.Second}
}

func TestSends(t *testing.T) {
	for _, zip := range []bool{false, true} {
		c := newCollector(t)
		where := at(c)
		where.Gzip = zip
		log := sends(t, where, "a", "b")
		if spans, _ := c.took(); spans != "a b" || log != "" || c.header.Get("Authorization") != "Bearer hunter2" {
			t.Errorf("zipped %v: %q with %v; the log: %s", zip, spans, c.header, log)
		}
	}
}

// TestRefused: what is refused for good is not sent again, what may be taken later is. People
// hear of a collector that takes nothing once, and once of its return.
func TestRefused(t *testing.T) {
	c := newCollector(t, http.StatusForbidden, http.StatusForbidden, http.StatusServiceUnavailable)
	log := sends(t, at(c), "lost", "too", "kept")
	spans, asked := c.took()
	if spans != "kept" || asked != 4 {
		t.Errorf("%q in %d requests", spans, asked)
	}
	if strings.Count(log, "\n") != 2 || !strings.Contains(log, "cannot be sent") || !strings.Contains(log, "403 Forbidden") || !strings.Contains(log, "sent again") || strings.Contains(log, "hunter2") {
		t.Errorf("the log:\n%s", log)
	}
}

// TestNobodyWaits for a collector that takes requests and never answers.
func TestNobodyWaits(t *testing.T) {
	ended := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-ended:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(ended) })
	where, err := CollectorOf(server.URL, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	s, err := Start(t.Context(), Options{Where: where, IDs: trace.IDs{}, Log: funcr.New(func(_, _ string) {}, funcr.Options{})})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for range 50_000 { // many more than wait in the queue
		_, span := s.Tracer().Start(context.Background(), "a")
		span.End()
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("telling took %v", took)
	}
	began = time.Now()
	s.Stop()
	if took := time.Since(began); took > patience+2*time.Second {
		t.Errorf("stopping took %v", took)
	}
}
