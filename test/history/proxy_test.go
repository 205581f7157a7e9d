package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// proxied is a proxy for an API server that counts writes and whose watches send a line every millisecond.
func proxied(t *testing.T) (p *proxy, client *http.Client, writes *atomic.Int64) {
	t.Helper()
	writes = &atomic.Int64{}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isWatch(r) {
			writes.Add(1)
			return
		}
		for r.Context().Err() == nil {
			fmt.Fprintln(w, "event")
			w.(http.Flusher).Flush()
			time.Sleep(time.Millisecond)
		}
	}))
	t.Cleanup(server.Close)
	p, err := newProxy(&rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := p.kubeconfig(path); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	if client, err = rest.HTTPClientFor(config); err != nil {
		t.Fatal(err)
	}
	return p, client, writes
}

const machinesPath = "/apis/machine.sapcloud.io/v1alpha1/namespaces/default/machines"

// post sends a write, and returns the status and Retry-After of the answer.
func post(ctx context.Context, t *testing.T, c *http.Client, p *proxy) (status int, after string, err error) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL+machinesPath, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := c.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	return res.StatusCode, res.Header.Get("Retry-After"), nil
}

// TestWeather: the answers to a request in each weather, and whether the API server has received the request.
func TestWeather(t *testing.T) {
	p, client, writes := proxied(t)
	tests := []struct {
		name    string
		weather weather
		status  int // 0: no answer
		after   string
		writes  int64
	}{
		{"fair", weather{}, http.StatusOK, "", 1},
		{"refused", weather{refuse: 1, code: http.StatusServiceUnavailable, retryAfter: 3}, http.StatusServiceUnavailable, "3", 0},
		{"lost reply", weather{lose: 1}, 0, "", 1},
		{"hanging", weather{hang: true}, 0, "", 0},
	}
	for _, tc := range tests {
		p.set(tc.weather)
		before := writes.Load()
		patience := 5 * time.Second
		if tc.weather.hang {
			patience = 100 * time.Millisecond
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		status, after, err := post(ctx, t, client, p)
		cancel()
		if status != tc.status || after != tc.after || (err == nil) != (tc.status != 0) || writes.Load()-before != tc.writes {
			t.Errorf("%s: %d, Retry-After %q, %v, and %d writes; want %d, %q and %d", tc.name, status, after, err, writes.Load()-before, tc.status, tc.after, tc.writes)
		}
	}
}

// TestWatches: watches become silent, continue and are cut, by resource.
func TestWatches(t *testing.T) {
	p, client, _ := proxied(t)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL+machinesPath+"?watch=true", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	lines := make(chan string, 1)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(res.Body); s.Scan(); {
			lines <- s.Text()
		}
	}()
	flows := func(within time.Duration) bool {
		for range cap(lines) + 64 { // lines on their way still arrive
			select {
			case _, ok := <-lines:
				if !ok {
					return false
				}
			case <-time.After(within):
				return false
			}
		}
		return true
	}
	if !flows(5 * time.Second) {
		t.Fatal("a watch in fair weather sends no events")
	}
	p.set(weather{silent: "nodes"})
	if !flows(5 * time.Second) {
		t.Error("the watch of machines is silent instead of the watch of nodes")
	}
	p.set(weather{silent: "machines"})
	if flows(200 * time.Millisecond) {
		t.Error("the watch of machines goes on while it should be silent")
	}
	p.set(weather{})
	if !flows(5 * time.Second) {
		t.Error("the watch does not go on in fair weather")
	}
	if p.cut("nodes") != 0 || p.cut("machines") != 1 {
		t.Error("one watch, of machines, was there to be cut")
	}
	for range lines { // ends with the watch
	}
}
