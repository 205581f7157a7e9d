package decorate

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millwright-dev/millwright/provider"
)

// Metrics decorates p so that its calls are counted and timed in registry:
//
//   - millwright_provider_call_seconds{provider,verb,outcome}, a histogram;
//     outcome is "ok" or the [provider.Kind] of the error;
//   - millwright_provider_exhausted_total{provider,scope}, a counter of calls that
//     found something used up; scope is the [provider.Scope], "unknown" without one;
//
// and, as dashboards of the Gardener machine API expect them:
//
//   - mcm_cloud_api_driver_request_duration_seconds{provider,operation}, a
//     histogram of successful calls;
//   - mcm_cloud_api_driver_requests_failed_total{provider,operation,error_code};
//     error_code is the number of the code that the Gardener driver contract has
//     for the kind;
//   - mcm_cloud_api_requests_total{provider,service}, a counter of successful
//     calls, mcm_cloud_api_requests_failed_total{provider,service} and the
//     histogram mcm_cloud_api_api_request_duration_seconds{provider,service} of
//     successful ones. There a service is a call of an infrastructure's SDK. Those
//     are a provider's own, and not seen from here: service is the verb.
//
// Decorators of several providers may share a registry. It is an error when the
// registry holds other metrics of these names.
func Metrics(p provider.Provider, registry prometheus.Registerer, clock provider.Clock) (provider.Provider, error) {
	v := vectors{registry: registry}
	m := &metrics{
		clock: clock,
		calls: v.histogram("millwright_provider_call_seconds", "Duration of provider calls by verb and outcome.",
			prometheus.ExponentialBuckets(0.005, 2, 14), "provider", "verb", "outcome"), // 5 ms to 41 s
		exhausted: v.counter("millwright_provider_exhausted_total", "Provider calls that found capacity or a quota exhausted, by the scope of the shortage.", "provider", "scope"),
		driver: outcomes{
			took:   v.histogram("mcm_cloud_api_driver_request_duration_seconds", "Duration of successful driver operations.", nil, "provider", "operation"),
			failed: v.counter("mcm_cloud_api_driver_requests_failed_total", "Number of failed driver operations by error code.", "provider", "operation", "error_code"),
		},
		requests: outcomes{
			took:   v.histogram("mcm_cloud_api_api_request_duration_seconds", "Duration of successful provider calls.", nil, "provider", "service"),
			failed: v.counter("mcm_cloud_api_requests_failed_total", "Provider calls that failed.", "provider", "service"),
		},
		succeeded: v.counter("mcm_cloud_api_requests_total", "Provider calls that succeeded.", "provider", "service"),
	}
	if v.err != nil {
		return nil, v.err
	}
	return Calls(p, m.around), nil
}

type metrics struct {
	clock                provider.Clock
	calls                *prometheus.HistogramVec
	exhausted, succeeded *prometheus.CounterVec
	driver, requests     outcomes
}

// outcomes are the durations of successful calls, and the number of failed ones.
type outcomes struct {
	took   *prometheus.HistogramVec
	failed *prometheus.CounterVec
}

// vectors registers metrics, or returns the equal ones that are registered already. err is the first error.
type vectors struct {
	registry prometheus.Registerer
	err      error
}

func (v *vectors) histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return register(v, prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels))
}

func (v *vectors) counter(name, help string, labels ...string) *prometheus.CounterVec {
	return register(v, prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels))
}

// register adds c to the registry, or returns the equal one that is registered already.
func register[C prometheus.Collector](v *vectors, c C) C {
	err := v.registry.Register(c)
	if err == nil {
		return c
	}
	if there, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
		if existing, ok := there.ExistingCollector.(C); ok {
			return existing
		}
	}
	if v.err == nil {
		v.err = fmt.Errorf("register provider metrics: %w", err)
	}
	return c
}

func (m *metrics) around(ctx context.Context, c Call, do func(context.Context) error) error {
	start := m.clock.Now()
	err := do(ctx)
	seconds := m.clock.Now().Sub(start).Seconds()
	m.calls.WithLabelValues(c.Provider, c.Verb, outcome(err)).Observe(seconds)
	if e, ok := errors.AsType[*provider.Error](err); ok && e.Kind == provider.Exhausted {
		m.exhausted.WithLabelValues(c.Provider, cmp.Or(string(e.Scope), "unknown")).Inc()
	}
	operation, driven := operations[c.Verb]
	if err != nil {
		m.requests.failed.WithLabelValues(c.Provider, c.Verb).Inc()
		if driven {
			m.driver.failed.WithLabelValues(c.Provider, operation, code(err)).Inc()
		}
		return err
	}
	m.succeeded.WithLabelValues(c.Provider, c.Verb).Inc()
	m.requests.took.WithLabelValues(c.Provider, c.Verb).Observe(seconds)
	if driven {
		m.driver.took.WithLabelValues(c.Provider, operation).Observe(seconds)
	}
	return nil
}

func outcome(err error) string {
	if err == nil {
		return "ok"
	}
	return string(provider.KindOf(err))
}

// operations maps our verbs to the names that the drivers of the Gardener machine API use; verbs that those
// do not have are left out.
var operations = map[string]string{
	Create:     "create_machine",
	Initialize: "initialize_machine",
	Delete:     "delete_machine",
	Find:       "get_machine_status",
	List:       "list_machine",
}

// codes are the numbers of the driver contract's status codes.
var codes = map[provider.Kind]string{
	provider.Invalid:   "3",  // InvalidArgument
	provider.Denied:    "7",  // PermissionDenied
	provider.Exhausted: "8",  // ResourceExhausted
	provider.Conflict:  "10", // Aborted
	provider.Throttled: "14", // Unavailable
	provider.Transient: "14", // Unavailable
}

// code is the number for err's kind; for an unknown kind it is that of Unknown.
func code(err error) string {
	if c, ok := codes[provider.KindOf(err)]; ok {
		return c
	}
	return "2"
}
