// Package statemetrics exposes the state of the objects of both machine APIs as Prometheus series, with the
// names, labels and meanings that the dashboards and alerts of the original systems expect.
//
// A [Collector] reads the objects of its kinds at each scrape and builds their series. From one scrape to
// the next it keeps only the number of failures, so the series of an object end with the object.
//
// Most series are per object, so their number grows with the number of machines, as it does in the
// originals: their alerts name single machines. To only count machines, use the *_items metrics.
//
// Sources: section 9.1 of the OpenShift notes, and sections 7.1 and 7.2 of the Gardener notes, in docs/originals.
package statemetrics

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// DefaultTimeout is how long a scrape waits for objects: as long as Prometheus waits for a scrape by default.
const DefaultTimeout = 10 * time.Second

// Options are what a Collector is made of.
type Options struct {
	// Reader reads the objects; it should be a cache, because it is asked at each scrape.
	Reader client.Reader
	// Kinds are the kinds whose objects are shown.
	Kinds []Kind
	// Timeout bounds the reading of all kinds in one scrape; by default [DefaultTimeout].
	Timeout time.Duration
	// Registry has the collector registered as long as [Collector.Start] runs. Collect does not need it.
	Registry prometheus.Registerer
	// Log records objects that could not be read; the zero value drops the lines.
	Log logr.Logger
}

// Collector shows the objects of some kinds. It implements [prometheus.Collector] and controller-runtime's Runnable.
type Collector struct {
	Options
	mu sync.Mutex
	// failures are how often each kind could not be read, in the order of Kinds.
	failures []int
}

// New returns a collector.
func New(o Options) *Collector {
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	return &Collector{Options: o, failures: make([]int, len(o.Kinds))}
}

// SetupWithManager adds a collector of the manager's objects of some kinds to it, which shows them in the registry of
// controller-runtime while the manager leads.
func SetupWithManager(mgr manager.Manager, log logr.Logger, kinds ...Kind) error {
	if len(kinds) == 0 {
		return nil
	}
	return mgr.Add(New(Options{Reader: mgr.GetClient(), Kinds: kinds, Registry: metrics.Registry, Log: log}))
}

// Start exposes the series in the registry until ctx ends. It fails if the registry has series with these
// names.
func (c *Collector) Start(ctx context.Context) error {
	if err := c.Registry.Register(c); err != nil {
		return fmt.Errorf("register the metrics of objects: %w", err)
	}
	defer c.Registry.Unregister(c)
	<-ctx.Done()
	return nil
}

// NeedLeaderElection says that only the leader shows objects: in a sum over all processes each object of a
// standby, whose cache is as full as the leader's, would count twice.
func (c *Collector) NeedLeaderElection() bool { return true }

// Describe implements [prometheus.Collector].
func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	for _, k := range c.Kinds {
		for _, d := range k.descs {
			to <- d
		}
	}
}

// Collect implements [prometheus.Collector]. An object that cannot be read is left out, and counted as the
// API's original does.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), c.Timeout)
	defer cancel()
	for i, k := range c.Kinds {
		err := k.collect(ctx, c.Reader, to)
		if err != nil {
			c.Log.Error(err, "cannot show objects in the metrics", "kind", k.name)
		}
		if k.reading.desc != nil {
			k.reading.tell(err == nil, c.count(i, err), to)
		}
	}
}

// count returns how often the kind has failed so far, err included.
func (c *Collector) count(kind int, err error) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.failures[kind]++
	}
	return c.failures[kind]
}
