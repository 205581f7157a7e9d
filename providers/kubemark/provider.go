package kubemark

import (
	"context"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kit"
	"github.com/millwright-dev/millwright/providers/kubemark/internal/cloud"
)

// Provider implements [provider.Provider].
type Provider struct {
	config  Config
	store   cloud.Store
	cloud   *cloud.Cloud
	missing map[string]error
	specs   *kit.Specs[Spec]

	mu       sync.Mutex
	limiters map[limited]*rate.Limiter
}

var _ provider.Provider = &Provider{}

// New returns a provider. It fails if the directory cannot be created or the default back end is not
// available.
func New(config Config) (*Provider, error) {
	if config.Dir != "" {
		dir, err := filepath.Abs(config.Dir)
		if err != nil {
			return nil, fmt.Errorf("find the instance directory: %w", err)
		}
		config.Dir = dir
	}
	if config.NodeIP == "" {
		config.NodeIP = hostIP()
	}
	config = config.complete()
	store, err := config.store()
	if err != nil {
		return nil, err
	}
	bodies, missing := config.bodies()
	if _, ok := bodies[config.Backend]; !ok {
		if err, ok := missing[config.Backend]; ok {
			return nil, fmt.Errorf("the default back end %q cannot be used: %w", config.Backend, err)
		}
		return nil, fmt.Errorf("unknown default back end %q", config.Backend)
	}
	p := &Provider{
		config:   config,
		store:    store,
		cloud:    cloud.New(store, config.Clock, bodies),
		missing:  missing,
		limiters: map[limited]*rate.Limiter{},
	}
	p.specs = kit.NewSpecs(p.judge)
	return p, nil
}

// Name implements [provider.Provider].
func (p *Provider) Name() string { return "kubemark" }

// Open implements [provider.Provider].
func (p *Provider) Open(ctx context.Context, class provider.Class) (provider.Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if class.Cluster == "" {
		return nil, provider.Errorf(provider.Invalid, "the class names no cluster")
	}
	if len(class.Spec) == 0 {
		return &session{provider: p, class: class, bare: true}, nil
	}
	spec, err := p.decode(class)
	if err != nil {
		return nil, err
	}
	s := &session{provider: p, class: class, spec: spec}
	s.capacity, err = capacityOf(spec.Capacity, class.NodeCapacity)
	if err != nil && len(class.NodeCapacity) == 0 {
		return nil, err
	}
	if err != nil { // the error has no field: the cause is not only in the spec
		s.capacityErr = provider.Errorf(provider.Invalid, "the declared capacity is invalid: %w", err)
	}
	return s, nil
}

// Run starts bodies and ends instances on time, until ctx is done. Without Run, that happens when an instance
// is next read.
func (p *Provider) Run(ctx context.Context) error { return p.cloud.Run(ctx, p.config.PageSize) }

// Sync does now what Run would do now, and returns the time of the next change; zero: no change is known. It
// knows only the instances that this provider has read.
func (p *Provider) Sync(ctx context.Context) (next time.Time, err error) { return p.cloud.Sync(ctx) }

// limited identifies a shared rate limit.
type limited struct {
	cluster   string
	perSecond float64
}

// throttle counts a call for the cluster.
func (p *Provider) throttle(cluster string, perSecond float64) error {
	if perSecond == 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	key := limited{cluster, perSecond}
	now := p.config.Clock.Now()
	l, ok := p.limiters[key]
	if !ok {
		// A full limiter is the same as a new one.
		maps.DeleteFunc(p.limiters, func(_ limited, l *rate.Limiter) bool { return l.TokensAt(now) >= float64(l.Burst()) })
		l = rate.NewLimiter(rate.Limit(perSecond), int(math.Ceil(perSecond)))
		p.limiters[key] = l
	}
	r := l.ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait == 0 {
		return nil
	}
	r.CancelAt(now)
	return provider.ThrottledFor(wait, fmt.Errorf("more than %v calls per second (callsPerSecond)", perSecond))
}
