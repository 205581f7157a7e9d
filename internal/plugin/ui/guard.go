package ui

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
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

// reading refuses requests that do not only read.
func reading(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			http.Error(w, "only GET", http.StatusMethodNotAllowed)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// mostBody is the size of the largest body of a request, in bytes.
const mostBody = 1 << 20

// posts refuses requests with a body that the page did not send: those of another origin, and those of forms, which
// browsers send to other sites without asking.
func (s Site) posts(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if site := r.Header.Get("Sec-Fetch-Site"); !s.origin(r) || site != "" && site != "same-origin" {
			http.Error(w, "requests of other sites are refused", http.StatusForbidden)
			return
		}
		if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
			http.Error(w, "Content-Type: must be application/json", http.StatusUnsupportedMediaType)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, mostBody)
		next(w, r)
	})
}

// read reads the body of a request into v, and reports whether it could. If not, it has answered.
func read(w http.ResponseWriter, r *http.Request, v any) bool {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if err == nil && d.Decode(new(any)) != io.EOF {
		err = errors.New("must be one JSON object")
	}
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		http.Error(w, fmt.Sprintf("request: larger than %d bytes", large.Limit), http.StatusRequestEntityTooLarge)
		return false
	}
	if err != nil {
		http.Error(w, "request: "+err.Error(), http.StatusBadRequest)
		return false
	}
	return true
}

// policy is the page's content security policy: everything comes from this server, and nothing is sent elsewhere.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// harden refuses requests that name another host, which a page of another site sends after it has changed where
// its own name leads, and sets the headers that confine the page.
func (s Site) harden(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.known(r.Host) {
			http.Error(w, s.unknown(), http.StatusForbidden)
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
