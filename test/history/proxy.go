package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"

	"k8s.io/client-go/rest"

	"github.com/millwright-dev/millwright/internal/verify/apiproxy"
)

// weather are the faults of requests that pass a proxy. The zero weather has no faults.
type weather struct {
	// hang delays requests and the events of watches until it is over.
	hang bool
	// refuse is the share of requests that the proxy answers with code and does not forward. If retryAfter, in seconds, is not
	// zero, the answer has it.
	refuse           float64
	code, retryAfter int
	// lose is the share of writes whose reply is lost after the API server has executed them.
	lose float64
	// silent is the resource whose watches send no events; "*" for all.
	silent string
}

// proxy forwards the requests of a controller to its API server.
type proxy struct {
	*httptest.Server

	mu      sync.Mutex
	rand    *rand.Rand
	now     weather
	changed chan struct{}
	watches map[*http.Request]watching
}

// watching is a watch that passes the proxy.
type watching struct {
	resource string
	cut      context.CancelFunc
}

// newProxy starts a proxy to the API server, as the user of the configuration.
func newProxy(config *rest.Config, seed uint64) (*proxy, error) {
	p := &proxy{rand: rand.New(rand.NewPCG(seed, 1)), changed: make(chan struct{}), watches: map[*http.Request]watching{}}
	var err error
	p.Server, err = apiproxy.Start(config, p.reply, func(pass http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.serve(pass, w, r) })
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// kubeconfig returns a kubeconfig for the proxy.
func (p *proxy) kubeconfig(path string) error {
	raw, err := apiproxy.Kubeconfig(p.Server)
	if err != nil {
		return err
	}
	return os.WriteFile(path, raw, 0o600)
}

// set changes the weather.
func (p *proxy) set(w weather) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = w
	close(p.changed)
	p.changed = make(chan struct{})
}

// cut ends the watches of a resource, or all with "*", and returns their number.
func (p *proxy) cut(resource string) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range p.watches {
		if resource == "*" || w.resource == resource {
			w.cut()
			n++
		}
	}
	return n
}

// falls draws whether a fault hits a request.
func (p *proxy) falls(share func(weather) float64) (weather, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now, p.rand.Float64() < share(p.now)
}

// await returns after the weather has changed, or after the client has ended the request.
func (p *proxy) await(ctx context.Context, so func(weather) bool) error {
	for {
		p.mu.Lock()
		now, changed := p.now, p.changed
		p.mu.Unlock()
		if !so(now) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (p *proxy) serve(pass http.Handler, w http.ResponseWriter, r *http.Request) {
	if p.await(r.Context(), func(w weather) bool { return w.hang }) != nil {
		panic(http.ErrAbortHandler)
	}
	if now, falls := p.falls(func(w weather) float64 { return w.refuse }); falls {
		if now.retryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(now.retryAfter))
		}
		http.Error(w, "refused by the test", now.code)
		return
	}
	if !isWatch(r) {
		pass.ServeHTTP(w, r)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	r = r.WithContext(ctx)
	p.mu.Lock()
	p.watches[r] = watching{resource: resourceOf(r.URL.Path), cut: cancel}
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.watches, r)
	}()
	pass.ServeHTTP(w, r)
}

// reply loses replies of writes, and delays the events of watches.
func (p *proxy) reply(r *http.Response) error {
	if isWatch(r.Request) {
		r.Body = &held{ReadCloser: r.Body, await: func() error {
			resource := resourceOf(r.Request.URL.Path)
			return p.await(r.Request.Context(), func(w weather) bool { return w.hang || w.silent == "*" || w.silent == resource })
		}}
		return nil
	}
	if r.Request.Method == http.MethodGet {
		return nil
	}
	if _, lost := p.falls(func(w weather) float64 { return w.lose }); lost {
		return fmt.Errorf("the reply is lost")
	}
	return nil
}

// held is a body that is read when the weather allows it.
type held struct {
	io.ReadCloser
	await func() error
}

func (h *held) Read(b []byte) (int, error) {
	n, err := h.ReadCloser.Read(b)
	if blocked := h.await(); blocked != nil {
		return 0, blocked
	}
	return n, err
}

func isWatch(r *http.Request) bool {
	v := r.URL.Query().Get("watch")
	return v == "true" || v == "1"
}

// resourceOf returns the resource in a path of the API: /apis/GROUP/VERSION/namespaces/NAMESPACE/RESOURCE/NAME.
func resourceOf(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	skip := 2 // api, v1
	if parts[0] == "apis" {
		skip = 3
	}
	if len(parts) > skip+2 && parts[skip] == "namespaces" {
		skip += 2
	}
	if len(parts) <= skip {
		return ""
	}
	return parts[skip]
}
