package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	gopath "path"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/rest"

	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/engine/connectivity"
	"github.com/millwright-dev/millwright/internal/runtime/serverclock"
)

// Probe sends a request to a cluster. NotFound is a valid answer. The version is the resourceVersion of the
// API server's store at that moment; empty: unknown.
type Probe func(context.Context) (version string, err error)

// Prober probes the clusters in turn, in the leader and in standbys, and remembers the results. It is safe
// for concurrent use; one goroutine probes.
type Prober struct {
	probes map[connectivity.Cluster]Probe
	policy connectivity.Policy
	clock  *serverclock.Clock
	log    logr.Logger
	frozen prometheus.Gauge
	state  atomic.Pointer[connectivity.State]
	// looked is when the last probe ended, by the process's own clock.
	looked atomic.Pointer[time.Time]
	// told says that a freeze was logged.
	told bool
	// highest are the last known versions of the stores.
	highest map[connectivity.Cluster]string
	// ahead is how much time the control cluster's clock had skipped at its last answer; nil before the
	// first.
	ahead *time.Duration
}

// mostSetBack is how much longer than intended this process may wait because the clock of the API server was
// set back. API servers of one cluster differ by less.
const mostSetBack = 10 * time.Minute

// NewProber returns a prober before its first probe.
func NewProber(probes map[connectivity.Cluster]Probe, p connectivity.Policy, clk *serverclock.Clock, log logr.Logger) *Prober {
	l := &Prober{highest: map[connectivity.Cluster]string{}, probes: probes, policy: p, clock: clk, log: log, frozen: prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "mcm_machine_controller_frozen", Help: "1 while the controller does nothing because an API server has not answered for too long.",
	})}
	of := make([]connectivity.Cluster, 0, len(probes))
	for c := range probes {
		of = append(of, c)
	}
	s := connectivity.Begin(clk.Now(), p, of...)
	l.state.Store(&s)
	l.moved()
	return l
}

func (l *Prober) moved() {
	now := l.clock.WithTicker.Now()
	l.looked.Store(&now)
}

// mostLate is how many intervals may pass without the end of a probe.
const mostLate = 10

// moves reports when the last probe ended: none takes longer than an interval, unless the process is blocked.
func (l *Prober) moves(*http.Request) (string, error) {
	since := l.clock.WithTicker.Since(*l.looked.Load()).Round(time.Second)
	if since > mostLate*l.policy.Interval {
		return "", fmt.Errorf("the last one was %s ago, and there should be one every %s", since, l.policy.Interval)
	}
	return since.String() + " ago", nil
}

// State implements [connectivity.Source].
func (l *Prober) State() connectivity.State { return *l.state.Load() }

// Start probes until ctx ends, or an API server or its clock has gone back: then the manager ends, and so
// does the process.
func (l *Prober) Start(ctx context.Context) error {
	ticker := l.clock.NewTicker(l.policy.Interval)
	defer ticker.Stop()
	for {
		if err := l.Look(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
	}
}

// Look probes every cluster once. No probe takes longer than half an interval. The error says which of them
// has gone back to an older state, or an older time.
func (l *Prober) Look(ctx context.Context) error {
	r := connectivity.Probe{Answers: map[connectivity.Cluster]connectivity.Answer{}}
	r.At, r.Ahead = l.clock.Read()
	why := map[connectivity.Cluster]error{}
	versions := map[connectivity.Cluster]string{}
	for c, probe := range l.probes {
		versions[c], why[c] = l.ask(ctx, probe)
		r.Answers[c] = AnswerOf(why[c])
	}
	l.moved()
	if ctx.Err() == nil { // otherwise this process ends, not the clusters
		before := l.State()
		after := before.After(r)
		l.state.Store(&after)
		l.tell(before, after, why)
		return errors.Join(l.wentBack(versions), l.setBack(after.Answer(connectivity.Control)))
	}
	return nil
}

// setBack reports that the clock of the API server was set back since its last answer. Objects with later
// times wait until their time has come again, which ends none of their timers early; times that only this
// process remembers, above all those of retries, must not wait that long.
func (l *Prober) setBack(answer connectivity.Answer) error {
	if answer == connectivity.Unreachable {
		return nil
	}
	_, ahead := l.clock.Read()
	was := l.ahead
	l.ahead = &ahead
	if was == nil || ahead >= *was-mostSetBack {
		return nil
	}
	return fmt.Errorf("the clock of the control cluster's API server was set back by %s, and this process remembers times that are yet to come. "+
		"It ends, to begin anew", (*was - ahead).Round(time.Minute))
}

// wentBack reports that an API server has an older version of its store than before: it was restored from a
// backup, or another one answers instead. The watches of the caches wait there for versions in the future,
// and show no change until then; no server closes them.
func (l *Prober) wentBack(versions map[connectivity.Cluster]string) error {
	for c, version := range versions {
		was := l.highest[c]
		order, err := resourceversion.CompareResourceVersion(version, was)
		switch {
		case was == "":
			l.highest[c] = version
		case err != nil: // unknown, or not comparable
		case order < 0:
			return fmt.Errorf("the API server of the %s cluster went back from version %s to %s: it was restored, or is another one, "+
				"and the caches of this process follow the one that was. It ends, to begin anew", c, was, version)
		default:
			l.highest[c] = version
		}
	}
	return nil
}

func (l *Prober) ask(ctx context.Context, probe Probe) (version string, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.policy.Interval/2)
	defer cancel()
	return probe(ctx)
}

// AnswerOf classifies the result of a request. A refused request has reached the server without learning
// anything.
func AnswerOf(err error) connectivity.Answer {
	switch {
	case err == nil, apierrors.IsNotFound(err):
		return connectivity.Reachable
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return connectivity.Denied
	}
	return connectivity.Unreachable
}

// tell logs changes only.
func (l *Prober) tell(before, after connectivity.State, why map[connectivity.Cluster]error) {
	for c, err := range why {
		if a, b := before.Answer(c), after.Answer(c); a != b && (a != "" || b != connectivity.Reachable) {
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

// Describe and Collect implement a metric of the prober, which is computed on demand: a freeze begins between
// two probes.

// Describe implements [prometheus.Collector].
func (l *Prober) Describe(ch chan<- *prometheus.Desc) { l.frozen.Describe(ch) }

// Collect implements [prometheus.Collector].
func (l *Prober) Collect(ch chan<- prometheus.Metric) {
	l.frozen.Set(0)
	if l.State().Frozen(l.clock.Now()) != "" {
		l.frozen.Set(1)
	}
	l.frozen.Collect(ch)
}

// connectivityPolicy returns the policy of the flags. A freeze takes five probes, as in the original once it
// has become suspicious; the period is an upper limit of the time between them.
func (f *Flags) connectivityPolicy() connectivity.Policy {
	interval := max(f.SightTimeout/5, time.Second)
	if f.SightPeriod > 0 {
		interval = min(interval, f.SightPeriod)
	}
	return connectivity.Policy{Timeout: f.SightTimeout, Interval: interval}
}

// probeName is that of the original. No object can have this name.
const probeName = "dummy_name"

// controlPath returns the probed path of the control cluster, by API.
func controlPath(api, namespace string) string {
	if namespace == "" {
		namespace = "default"
	}
	of, _ := apis.Of(api)
	return "/apis/" + of.Name + "/" + of.Version + "/namespaces/" + namespace + "/machines/" + probeName
}

const targetPath = "/api/v1/nodes/" + probeName

// getProbe reads a path, and lists one object of its kind, with the connection and the permissions of the
// rest of the process.
func getProbe(c *rest.Config, path string) (Probe, error) {
	r, err := pathClient(c)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (string, error) {
		err := r.Get().AbsPath(path).Do(ctx).Error()
		if AnswerOf(err) != connectivity.Reachable {
			return "", err
		}
		return storeVersion(ctx, r, gopath.Dir(path)), err
	}, nil
}

// storeVersion returns the version of the store from which a list is answered; empty if unknown. A list
// without a required version is answered from the newest state, by any API server of the cluster, so it never
// decreases.
func storeVersion(ctx context.Context, r rest.Interface, path string) string {
	raw, err := r.Get().AbsPath(path).Param("limit", "1").
		SetHeader("Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1").Do(ctx).Raw()
	if err != nil {
		return ""
	}
	var list metav1.PartialObjectMetadataList
	if json.Unmarshal(raw, &list) != nil {
		return ""
	}
	return list.ResourceVersion
}

// probes returns the probes of the process's clusters.
func (p *Process) probes() (map[connectivity.Cluster]Probe, error) {
	api := p.Flags.APIs[0]
	control, err := getProbe(p.Control, controlPath(api, p.Flags.NamespaceOf(api)))
	if err != nil {
		return nil, err
	}
	out := map[connectivity.Cluster]Probe{connectivity.Control: control}
	if p.Target == nil {
		return out, nil
	}
	out[connectivity.Target], err = getProbe(p.Target.GetConfig(), targetPath)
	return out, err
}
