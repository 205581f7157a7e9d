package cloud

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// faithful speaks to each service by the scheme of its endpoint in the catalog. Services behind a proxy that ends TLS do not know it, and
// may write the other one into links to next pages: by http the token would be sent in the clear, if anybody listens there at all.
type faithful struct {
	next      http.RoundTripper
	mu        sync.Mutex
	endpoints []*url.URL
}

// keep remembers endpoints.
func (f *faithful) keep(endpoints ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range endpoints {
		u, err := url.Parse(e)
		if err == nil && !slices.ContainsFunc(f.endpoints, func(o *url.URL) bool { return *o == *u }) {
			f.endpoints = append(f.endpoints, u)
		}
	}
}

// RoundTrip implements [http.RoundTripper].
func (f *faithful) RoundTrip(r *http.Request) (*http.Response, error) {
	if scheme := f.scheme(r.URL); scheme != r.URL.Scheme {
		r = r.Clone(r.Context())
		r.URL.Scheme = scheme
	}
	return f.next.RoundTrip(r)
}

// scheme is that of the endpoint that a URL lies under; its own, where there is none.
func (f *faithful) scheme(u *url.URL) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.endpoints {
		if e.Host == u.Host && strings.HasPrefix(u.Path, e.Path) {
			return e.Scheme
		}
	}
	return u.Scheme
}
