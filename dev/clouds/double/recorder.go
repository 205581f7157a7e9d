package double

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
)

// Recorder keeps complete requests to a simulator: "POST /path?query body". Queries are unescaped. The log of a [Server] has
// no bodies.
type Recorder struct {
	mu   sync.Mutex
	sent []string
}

// Around records each request before it is answered.
func (r *Recorder) Around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		q.Body = io.NopCloser(bytes.NewReader(body))
		query, _ := url.QueryUnescape(q.URL.RawQuery)
		r.mu.Lock()
		r.sent = append(r.sent, q.Method+" "+q.URL.Path+"?"+query+" "+string(body))
		r.mu.Unlock()
		next.ServeHTTP(w, q)
	})
}

// With returns the requests that begin with a text, in the order of their arrival.
func (r *Recorder) With(beginning string) (all []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.sent {
		if strings.HasPrefix(s, beginning) {
			all = append(all, s)
		}
	}
	return all
}
