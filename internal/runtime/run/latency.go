package run

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	clientmetrics "k8s.io/client-go/tools/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// measured: client-go has one global metric of requests, for all clients.
var measured sync.Once

// measureRequests measures the requests of all clients of this program. It has to be called before the first request.
func measureRequests() (err error) {
	measured.Do(func() {
		l := requestLatency{NewRequestLatency()}
		clientmetrics.RequestLatency = l // Register of that package works once, and controller-runtime has called it
		err = metrics.Registry.Register(l.HistogramVec)
	})
	if err != nil {
		return fmt.Errorf("register the metric of requests: %w", err)
	}
	return nil
}

// NewRequestLatency returns the metric under the name that dashboards of machine.sapcloud.io know.
func NewRequestLatency() *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "rest_client_request_latency_seconds",
		Help: "Duration of requests to API servers, by verb and address, without names of objects and namespaces.",
		// From 1 ms to half a second, like older clients of Kubernetes.
		Buckets: prometheus.ExponentialBuckets(0.001, 2, 10),
	}, []string{"verb", "url"})
}

// requestLatency has as many series as there are kinds of requests: client-go replaces names of objects and
// namespaces in an address by "{name}", "{namespace}" and "{value}".
type requestLatency struct{ *prometheus.HistogramVec }

// Observe implements client-go's LatencyMetric.
func (l requestLatency) Observe(_ context.Context, verb string, u url.URL, took time.Duration) {
	l.WithLabelValues(verb, u.String()).Observe(took.Seconds())
}
