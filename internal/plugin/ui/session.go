package ui

import (
	"crypto/rand"
	"crypto/subtle"
	"net"
	"net/http"
	"strings"
)

// session lets one user's browser in, and no other user of the machine: the page is served with the rights of the
// kubeconfig. The address that the command prints has a code behind its #, which browsers send to no server; the
// page exchanges it for a cookie.
type session struct{ code, cookie string }

func newSession() session { return session{rand.Text(), rand.Text()} }

// cookieName distinguishes the cookies of several pages: browsers share cookies between ports.
func (s session) cookieName() string { return "millwright-" + s.cookie[:8] }

// open answers the page's request for the cookie.
func (s session) open(w http.ResponseWriter, r *http.Request) {
	code := r.Header.Get("Millwright-Code")
	if subtle.ConstantTimeCompare([]byte(code), []byte(s.code)) != 1 {
		http.Error(w, "the code is not that of this page: use the address that the command printed", http.StatusForbidden)
		return
	}
	http.SetCookie(w, &http.Cookie{Name: s.cookieName(), Value: s.cookie, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
	w.WriteHeader(http.StatusNoContent)
}

// guard refuses requests without the cookie.
func (s session) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := r.Cookie(s.cookieName())
		if err != nil || subtle.ConstantTimeCompare([]byte(c.Value), []byte(s.cookie)) != 1 {
			http.Error(w, "not signed in: use the address that the command printed", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
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
