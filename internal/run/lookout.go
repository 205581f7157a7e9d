package run

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/internal/sight"
	"github.com/millwright-dev/millwright/provider"
)

// Probe asks a cluster something. NotFound is an answer as good as another.
type Probe func(context.Context) error

// Lookout looks at the clusters in turn, in the leader and in standbys, and
// remembers what it saw. It is safe for concurrent use; one goroutine looks.
type Lookout struct {
	probes map[sight.Cluster]Probe
	policy sight.Policy
	clock  clock.WithTicker
	log    logr.Logger
	frozen prometheus.Gauge
	state  atomic.Pointer[sight.State]
	began  time.Time
	// told says that a freeze was logged.
	told bool
}

// NewLookout returns a lookout that has not looked yet.
func NewLookout(probes map[sight.Cluster]Probe, p sight.Policy, clk clock.WithTicker, log logr.Logger) *Lookout {
	l := &Lookout{probes: probes, policy: p, clock: clk, log: log, frozen: prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "mcm_machine_controller_frozen", Help: "1 while nothing is done because an API server has not answered for too long.",
	})}
	of := make([]sight.Cluster, 0, len(probes))
	for c := range probes {
		of = append(of, c)
	}
	l.began = clk.Now()
	s := sight.Begin(l.began, p, of...)
	l.state.Store(&s)
	return l
}

// State implements [sight.Source].
func (l *Lookout) State() sight.State { return *l.state.Load() }

// Start looks until ctx ends.
func (l *Lookout) Start(ctx context.Context) error {
	ticker := l.clock.NewTicker(l.policy.Interval)
	defer ticker.Stop()
	for {
		l.Look(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
	}
}

// Look asks every cluster once. None takes longer than half an interval.
func (l *Lookout) Look(ctx context.Context) {
	r := sight.Round{At: l.clock.Now(), Answers: map[sight.Cluster]sight.Answer{}}
	r.Ahead = r.At.Round(0).Sub(l.began.Round(0)) - l.clock.Since(l.began)
	why := map[sight.Cluster]error{}
	for c, probe := range l.probes {
		why[c] = l.ask(ctx, probe)
		r.Answers[c] = AnswerOf(why[c])
	}
	if ctx.Err() != nil {
		return // we end, not the clusters
	}
	before := l.State()
	after := before.After(r)
	l.state.Store(&after)
	l.tell(before, after, why)
}

func (l *Lookout) ask(ctx context.Context, probe Probe) error {
	ctx, cancel := context.WithTimeout(ctx, l.policy.Interval/2)
	defer cancel()
	return probe(ctx)
}

// AnswerOf reads what came of a question. Whoever is refused has reached the
// server and learnt nothing.
func AnswerOf(err error) sight.Answer {
	switch {
	case err == nil, apierrors.IsNotFound(err):
		return sight.Seen
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return sight.Denied
	}
	return sight.Down
}

// tell logs changes, and nothing else.
func (l *Lookout) tell(before, after sight.State, why map[sight.Cluster]error) {
	for c, err := range why {
		if a, b := before.Answer(c), after.Answer(c); a != b && (a != "" || b != sight.Seen) {
			l.log.Info("sight changed", "cluster", c.String(), "answer", b, "was", a, "why", fmt.Sprint(err))
		}
	}
	frozen := after.Frozen(l.clock.Now())
	is := frozen != ""
	switch {
	case is && !l.told:
		l.log.Info("frozen: nothing is created, replaced or judged", "why", frozen)
	case !is && l.told:
		l.log.Info("not frozen any more")
	}
	l.told = is
}

// Describe and Collect make a metric of the lookout, which is true at any time:
// a freeze begins between two looks.

// Describe implements [prometheus.Collector].
func (l *Lookout) Describe(ch chan<- *prometheus.Desc) { l.frozen.Describe(ch) }

// Collect implements [prometheus.Collector].
func (l *Lookout) Collect(ch chan<- prometheus.Metric) {
	l.frozen.Set(0)
	if l.State().Frozen(l.clock.Now()) != "" {
		l.frozen.Set(1)
	}
	l.frozen.Collect(ch)
}

// sightPolicy is what the flags ask for. A freeze takes five looks, as in the
// original once it has become suspicious; the period bounds the time between
// them from above.
func (f *Flags) sightPolicy() sight.Policy {
	interval := max(f.SightTimeout/5, time.Second)
	if f.SightPeriod > 0 {
		interval = min(interval, f.SightPeriod)
	}
	return sight.Policy{Timeout: f.SightTimeout, Interval: interval}
}

// probeName is the original's. No object can have it.
const probeName = "dummy_name"

// controlPaths are what is asked of the control cluster, by API.
func controlPath(api, namespace string) string {
	if namespace == "" {
		namespace = "default"
	}
	version := "v1alpha1"
	if api == provider.OpenShift {
		version = "v1beta1"
	}
	return "/apis/" + api + "/" + version + "/namespaces/" + namespace + "/machines/" + probeName
}

const targetPath = "/api/v1/nodes/" + probeName

// getProbe reads a path, with the connection and the rights that the rest of
// the process has.
func getProbe(c *rest.Config, path string) (Probe, error) {
	c = rest.CopyConfig(c)
	c.GroupVersion, c.NegotiatedSerializer = &schema.GroupVersion{}, scheme.Codecs.WithoutConversion()
	r, err := rest.UnversionedRESTClientFor(c)
	if err != nil {
		return nil, fmt.Errorf("make a client for looking at the cluster: %w", err)
	}
	return func(ctx context.Context) error { return r.Get().AbsPath(path).Do(ctx).Error() }, nil
}

// probes are those of the process's clusters.
func (p *Process) probes() (map[sight.Cluster]Probe, error) {
	api := p.Flags.APIs[0]
	control, err := getProbe(p.Control, controlPath(api, p.Flags.NamespaceOf(api)))
	if err != nil {
		return nil, err
	}
	out := map[sight.Cluster]Probe{sight.Control: control}
	if p.Target == nil {
		return out, nil
	}
	out[sight.Target], err = getProbe(p.Target.GetConfig(), targetPath)
	return out, err
}
