package handler

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/klog/v2"

	"github.com/millwright-dev/millwright/internal/runtime/termination"
)

// endpoints are /healthz, /readyz and /metrics.
func endpoints(w *termination.Watcher, registry *prometheus.Registry) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", answer(w.Live))
	mux.HandleFunc("GET /readyz", answer(w.Ready))
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	return mux
}

// serve opens the configured addresses, and returns a function that closes them.
func (o *options) serve(w *termination.Watcher, registry *prometheus.Registry) (stop func(), err error) {
	var open []*http.Server
	stop = func() {
		for _, s := range open {
			_ = s.Close()
		}
	}
	for _, s := range []struct{ flag, address string }{{"health-addr", o.health}, {"metrics-bind-address", o.metrics}} {
		if s.address == "" || s.address == "0" {
			continue
		}
		listener, err := net.Listen("tcp", s.address)
		if err != nil {
			stop()
			return nil, fmt.Errorf("--%s: %w", s.flag, err)
		}
		server := &http.Server{Handler: endpoints(w, registry), ReadHeaderTimeout: 5 * time.Second}
		open = append(open, server)
		go func() {
			if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				klog.ErrorS(err, "An endpoint does not answer any more", "address", s.address)
			}
		}()
	}
	return stop, nil
}

// answer responds with 200 while check passes, otherwise with 503 and the error.
func answer(check func() error) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if err := check(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintln(w, "ok")
	}
}
