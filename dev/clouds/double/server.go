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

// Cloud is the part of a simulator that is specific to one cloud. Its methods are called concurrently.
type Cloud interface {
	// Operation returns the API's name of the request's operation ("RunInstances"), or method and resource ("PUT
	// virtualMachines"), and whether the request may change something. The body has already been read, and can be read
	// again.
	Operation(r *http.Request, body []byte) (name string, writes bool)
	// Serve serves the request, and checks its credentials.
	Serve(w http.ResponseWriter, r *http.Request, body []byte)
	// Fail answers r with a failure in the words of the cloud.
	Fail(w http.ResponseWriter, r *http.Request, f Failure)
}

// Request is an answered request.
type Request struct {
	At        time.Time `json:"at"`
	Operation string    `json:"operation"`
	Writes    bool      `json:"writes,omitempty"`
	// Throttled: the request exceeded a rate limit. Clouds use different statuses for that.
	Throttled bool          `json:"throttled,omitempty"`
	Status    int           `json:"status"`
	Took      time.Duration `json:"took"`
}

// Log is a part of the answered requests.
type Log struct {
	Requests []Request `json:"requests"`
	// Answered is the number of requests so far.
	Answered int `json:"answered"`
}

// Limit is a rate limit.
type Limit struct {
	// Operation is a pattern of [path.Match]; empty: all operations.
	Operation string `json:"operation,omitempty"`
	// PerSecond and Burst are the parameters of a token bucket.
	PerSecond float64 `json:"perSecond"`
	Burst     float64 `json:"burst"`
}

// Server serves a cloud: an http.Handler.
type Server struct {
	Clock *Clock

	cloud  Cloud
	faults faults
	lives  lives

	looking sync.Mutex // held while instances are listed

	mu      sync.Mutex
	log     []Request
	logged  int // since the start
	counts  map[string]int
	buckets []*bucket
}

type bucket struct {
	Limit
	tokens float64
	at     time.Time
}

// mostLogged is the number of requests that are kept.
const mostLogged = 20_000

// NewServer returns a server of a cloud, with its clock.
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
		answered := s.lives.asked(r.URL.Path + "\x00" + r.URL.RawQuery + "\x00" + string(body))
		defer func() {
			s.look()
			answered()
		}()
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

// wait lets d pass in real time, or less if the caller's request is canceled.
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

// Heal removes all faults.
func (s *Server) Heal() { s.faults.clear() }

// Limit adds a rate limit.
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

// Requests are the answered requests, at least the last 10,000.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request{}, s.log...)
}

// After returns the requests after the first n, as far as they are kept.
func (s *Server) After(n int) Log {
	s.mu.Lock()
	defer s.mu.Unlock()
	later := min(max(s.logged-n, 0), len(s.log))
	return Log{Requests: append([]Request{}, s.log[len(s.log)-later:]...), Answered: s.logged}
}

// Counts returns the number of requests of each operation.
func (s *Server) Counts() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make(map[string]int, len(s.counts))
	for k, v := range s.counts {
		out[k] = v
	}
	return out
}

// statusWriter records the status of an answer.
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
