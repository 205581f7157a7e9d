package ui

import (
	"crypto/subtle"
	"net"
	"net/http"
	"strings"
)

// codeHeader is the header of a request with the page's code.
const codeHeader = "Millwright-Code"

// code lets one user's browser in, and no other user of the machine: the page is served with the rights of the
// kubeconfig. The address that the command prints has the code behind its #, which browsers send to no server. The
// page keeps it in the storage of its own origin and sends it with each request. A cookie would not do: browsers send
// cookies to all ports of this machine, and another user may serve one of them.
type code string

// guard refuses requests without the code.
func (c code) guard(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get(codeHeader)), []byte(c)) != 1 {
			http.Error(w, "not signed in: use the address that the command printed", http.StatusUnauthorized)
			return
		}
		next(w, r)
	})
}

// policy is the page's content security policy: everything comes from this server, and nothing is sent elsewhere.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// harden refuses requests that name another host, which a page of another site sends after it has changed where
// its own name leads, and sets the headers that confine the page.
func harden(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !loopback(r.Host) {
			http.Error(w, "unknown host: the page is served on this machine only", http.StatusForbidden)
			return
		}
		if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
			http.Error(w, "requests of other sites are refused", http.StatusForbidden)
			return
		}
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// loopback reports whether a Host header names this machine.
func loopback(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.Trim(name, "[]")
	ip := net.ParseIP(name)
	return name == "localhost" || ip != nil && ip.IsLoopback()
}
