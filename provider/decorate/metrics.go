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
//   - mcm_cloud_api_driver_request_duration_seconds{provider,operation}, a
//     histogram of successful calls, and
//   - mcm_cloud_api_driver_requests_failed_total{provider,operation,error_code},
//     both as dashboards of the Gardener machine API expect them; error_code is
//     the number of the code that the Gardener driver contract has for the kind.
//
// Decorators of several providers may share a registry. It is an error when the
// registry holds other metrics of these names.
func Metrics(p provider.Provider, registry prometheus.Registerer, clock provider.Clock) (provider.Provider, error) {
	m := &metrics{clock: clock}
	var err error
	m.calls, err = register(registry, prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "millwright_provider_call_seconds",
		Help:    "Duration of provider calls by verb and outcome.",
		Buckets: prometheus.ExponentialBuckets(0.005, 2, 14), // 5 ms to 41 s
	}, []string{"provider", "verb", "outcome"}))
	if err != nil {
		return nil, err
	}
	m.exhausted, err = register(registry, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "millwright_provider_exhausted_total",
		Help: "Provider calls that found capacity or a quota used up, by how far.",
	}, []string{"provider", "scope"}))
	if err != nil {
		return nil, err
	}
	m.succeeded, err = register(registry, prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "mcm_cloud_api_driver_request_duration_seconds",
		Help: "Duration of successful driver operations.",
	}, []string{"provider", "operation"}))
	if err != nil {
		return nil, err
	}
	m.failed, err = register(registry, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "mcm_cloud_api_driver_requests_failed_total",
		Help: "Number of failed driver operations by error code.",
	}, []string{"provider", "operation", "error_code"}))
	if err != nil {
		return nil, err
	}
	return Calls(p, m.around), nil
}

type metrics struct {
	clock             provider.Clock
	calls, succeeded  *prometheus.HistogramVec
	failed, exhausted *prometheus.CounterVec
}

// register adds c to the registry, or finds the equal one already there.
func register[C prometheus.Collector](registry prometheus.Registerer, c C) (C, error) {
	err := registry.Register(c)
	if err == nil {
		return c, nil
	}
	if there, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
		if existing, ok := there.ExistingCollector.(C); ok {
			return existing, nil
		}
	}
	return c, fmt.Errorf("register provider metrics: %w", err)
}

func (m *metrics) around(ctx context.Context, c Call, do func(context.Context) error) error {
	start := m.clock.Now()
	err := do(ctx)
	seconds := m.clock.Now().Sub(start).Seconds()
	m.calls.WithLabelValues(c.Provider, c.Verb, outcome(err)).Observe(seconds)
	if e, ok := errors.AsType[*provider.Error](err); ok && e.Kind == provider.Exhausted {
		m.exhausted.WithLabelValues(c.Provider, cmp.Or(string(e.Scope), "unknown")).Inc()
	}
	operation, ok := operations[c.Verb]
	switch {
	case !ok:
	case err == nil:
		m.succeeded.WithLabelValues(c.Provider, operation).Observe(seconds)
	default:
		m.failed.WithLabelValues(c.Provider, operation, code(err)).Inc()
	}
	return err
}

func outcome(err error) string {
	if err == nil {
		return "ok"
	}
	return string(provider.KindOf(err))
}

// operations names our verbs as the drivers of the Gardener machine API do;
// verbs that those do not have are left out.
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

// code is the number for err's kind; that of Unknown for a kind that is not
// one of ours.
func code(err error) string {
	if c, ok := codes[provider.KindOf(err)]; ok {
		return c
	}
	return "2"
}
