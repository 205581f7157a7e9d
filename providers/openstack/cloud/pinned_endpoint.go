package cloud

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// pinnedEndpoint calls each service with the URL scheme of its endpoint in the catalog. Services behind a proxy
// that ends TLS do not know it, and may write the other scheme into links to next pages: the token would
// then be sent in plain text over http, if the port is open at all.
type pinnedEndpoint struct {
	next      http.RoundTripper
	mu        sync.Mutex
	endpoints []*url.URL
}

// keep stores endpoints.
func (f *pinnedEndpoint) keep(endpoints ...string) {
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
func (f *pinnedEndpoint) RoundTrip(r *http.Request) (*http.Response, error) {
	if scheme := f.scheme(r.URL); scheme != r.URL.Scheme {
		r = r.Clone(r.Context())
		r.URL.Scheme = scheme
	}
	return f.next.RoundTrip(r)
}

// scheme returns the scheme of the endpoint that a URL belongs to; the URL's own, if it belongs to none.
func (f *pinnedEndpoint) scheme(u *url.URL) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.endpoints {
		if e.Host == u.Host && strings.HasPrefix(u.Path, e.Path) {
			return e.Scheme
		}
	}
	return u.Scheme
}
