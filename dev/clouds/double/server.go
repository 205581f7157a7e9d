package double

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"
)

// Cloud is the part of a simulator that is particular to one cloud. Its methods are called concurrently.
type Cloud interface {
	// Operation names what r asks for by the API's own name ("RunInstances") or by method and resource ("PUT
	// virtualMachines"), and says whether it may change something. The body is read already, and may be read
	// again.
	Operation(r *http.Request, body []byte) (name string, writes bool)
	// Serve does what r asks for, credentials included.
	Serve(w http.ResponseWriter, r *http.Request, body []byte)
	// Fail answers r with a failure in the words of the cloud.
	Fail(w http.ResponseWriter, r *http.Request, f Failure)
}

// Request is one that was answered.
type Request struct {
	At        time.Time `json:"at"`
	Operation string    `json:"operation"`
	Writes    bool      `json:"writes,omitempty"`
	// Throttled was refused because there were too many: clouds have several statuses for that.
	Throttled bool          `json:"throttled,omitempty"`
	Status    int           `json:"status"`
	Took      time.Duration `json:"took"`
}

// Log is a part of the requests that were answered.
type Log struct {
	Requests []Request `json:"requests"`
	// Answered is how many there were by then.
	Answered int `json:"answered"`
}

// Limit is how often something may be asked for.
type Limit struct {
	// Operation is a pattern of [path.Match]; empty for all.
	Operation string `json:"operation,omitempty"`
	// PerSecond and Burst are those of a token bucket.
	PerSecond float64 `json:"perSecond"`
	Burst     float64 `json:"burst"`
}

// Server serves a cloud: an http.Handler.
type Server struct {
	Clock *Clock

	cloud  Cloud
	faults faults
	lives  lives

	looking sync.Mutex // of one that looks at what there is

	mu      sync.Mutex
	log     []Request
	logged  int // of all times
	counts  map[string]int
	buckets []*bucket
}

type bucket struct {
	Limit
	tokens float64
	at     time.Time
}

// mostLogged is how many requests are remembered one by one.
const mostLogged = 20_000

// NewServer returns a server of cloud, whose time is clock's.
func NewServer(clock *Clock, cloud Cloud) *Server {
	return &Server{Clock: clock, cloud: cloud, counts: map[string]int{}}
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, ConsolePath) {
		s.console(w, r)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 16<<20))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	operation, writes := s.cloud.Operation(r, body)
	began, seen, throttled := s.Clock.Now(), &statusWriter{ResponseWriter: w}, false
	defer func() {
		s.record(Request{At: began, Operation: operation, Writes: writes, Throttled: throttled, Status: seen.status, Took: s.Clock.Now().Sub(began)})
	}()
	if writes {
		s.look()
		defer s.look()
	}
	throttled = s.answer(seen, r, body, operation, writes)
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, body []byte, operation string, writes bool) (throttled bool) {
	if !s.allow(operation) {
		s.cloud.Fail(w, r, Failure{Kind: "Throttled"})
		return true
	}
	fault, ok := s.faults.take(operation, writes)
	if !ok {
		s.cloud.Serve(w, r, body)
		return false
	}
	s.wait(r, fault.Delay)
	if fault.Done {
		s.cloud.Serve(httptest.NewRecorder(), r, body)
	}
	switch {
	case fault.Stall:
		<-r.Context().Done()
	case fault.Kind == "Garbage":
		garbage(w)
	case fault.Kind != "":
		s.cloud.Fail(w, r, fault.Failure)
	default:
		s.cloud.Serve(w, r, body)
	}
	return fault.Kind == "Throttled"
}

// wait lets d pass in real time, or less if the caller is canceled.
func (s *Server) wait(r *http.Request, d time.Duration) {
	if d <= 0 {
		return
	}
	select {
	case <-time.After(d):
	case <-r.Context().Done():
	}
}

func garbage(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/html")
	w.WriteHeader(http.StatusOK)
	_, _ = io.WriteString(w, "<!DOCTYPE html><html><body>Please log in to the proxy.</body></html>")
}

// Inject adds a fault.
func (s *Server) Inject(f Fault) { s.faults.add(f) }

// Heal forgets all faults.
func (s *Server) Heal() { s.faults.clear() }

// Limit bounds requests from now on, besides the limits that there are.
func (s *Server) Limit(l Limit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.buckets = append(s.buckets, &bucket{Limit: l, tokens: l.Burst, at: s.Clock.Now()})
}

func (s *Server) allow(operation string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.Clock.Now()
	for _, b := range s.buckets {
		if !(Fault{Operation: b.Operation}).hits(operation) {
			continue
		}
		b.tokens = min(b.Burst, b.tokens+now.Sub(b.at).Seconds()*b.PerSecond)
		b.at = now
		if b.tokens < 1 {
			return false
		}
		b.tokens--
	}
	return true
}

func (s *Server) record(r Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[r.Operation]++
	s.logged++
	if len(s.log) == mostLogged {
		s.log = append(s.log[:0], s.log[mostLogged/2:]...)
	}
	s.log = append(s.log, r)
}

// Requests are those that were answered, the last 10,000 at least.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request{}, s.log...)
}

// After are the requests after the first n that were answered, as far as they are remembered.
func (s *Server) After(n int) Log {
	s.mu.Lock()
	defer s.mu.Unlock()
	later := min(max(s.logged-n, 0), len(s.log))
	return Log{Requests: append([]Request{}, s.log[len(s.log)-later:]...), Answered: s.logged}
}

// Counts says how often each operation was asked for.
func (s *Server) Counts() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make(map[string]int, len(s.counts))
	for k, v := range s.counts {
		out[k] = v
	}
	return out
}

// statusWriter remembers the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}
