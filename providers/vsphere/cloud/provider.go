package cloud

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
	"github.com/millwright-dev/millwright/provider/kit"
	"github.com/millwright-dev/millwright/serve"
)

// Config has the dependencies of a [Provider].
type Config struct {
	Clock provider.Clock
	// Objects are those of the control cluster; nil for none.
	Objects provider.Objects
	// PageSize is the number of virtual machines on a page of a listing; 0 for 200.
	PageSize int32
}

// Provider implements [provider.Provider].
type Provider struct {
	config Config
	specs  *kit.Specs[*plan]
	board  *connPool
	tasks  *tasks
	locks  *keyLocks
}

var _ provider.Provider = &Provider{}

// New returns a provider.
func New(c Config) *Provider {
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	if c.PageSize == 0 {
		c.PageSize = 200
	}
	return &Provider{config: c, specs: kit.NewSpecs(decode), board: newConnPool(c.Clock), tasks: newTasks(c.Clock), locks: newKeyLocks()}
}

// Plugin is the provider to be served. A vCenter does not publish its limits; these rates are low enough
// for one that serves other clients too.
func Plugin() serve.Plugin {
	return serve.Plugin{
		Name: "vsphere",
		New: func(_ context.Context, e serve.Env) (provider.Provider, error) {
			return New(Config{Clock: e.Clock, Objects: e.Objects}), nil
		},
		Limits: decorate.Limits{PerSecond: 20},
	}
}

// Name implements [provider.Provider].
func (p *Provider) Name() string { return "vsphere" }

// Open implements [provider.Provider].
func (p *Provider) Open(ctx context.Context, class provider.Class) (provider.Session, error) {
	if class.Cluster == "" {
		return nil, provider.Errorf(provider.Invalid, "the class names no cluster")
	}
	s := &session{provider: p, class: class}
	server := ""
	if len(class.Spec) > 0 {
		made, err := p.specs.Get(class.API, class.Spec)
		if err != nil {
			return nil, err
		}
		s.plan, server = made, made.server
	}
	if class.API != provider.Gardener {
		var err error
		if s.clusterConfig, err = clusterConfigOf(ctx, p.config.Objects); err != nil {
			return nil, err
		}
	}
	t, err := targetOf(class, server, s.clusterConfig)
	if err != nil {
		return nil, err
	}
	s.target = t
	return s, nil
}

// session is an open class.
type session struct {
	provider      *Provider
	class         provider.Class
	plan          *plan // nil: the class has lost its spec
	clusterConfig clusterConfig
	target        target
}

var _ interface {
	provider.Session
	provider.Sizer
	provider.Initializer
	provider.Maintainer
	provider.Powerer
} = &session{}

// with passes a connection to calls.
func (s *session) with(ctx context.Context, calls func(*conn) error) error {
	return s.provider.board.use(ctx, s.target, calls)
}

// Account implements [provider.Session]: a vCenter is one account, for all its users.
func (s *session) Account(ctx context.Context) (id string, err error) {
	err = s.with(ctx, func(c *conn) error {
		id = c.vim.ServiceContent.About.InstanceUuid
		return nil
	})
	if err == nil && id == "" {
		err = provider.Errorf(provider.Invalid, "%s does not tell its instance UUID: it is no vCenter", s.target.server)
	}
	return id, err
}

// Traits implements [provider.Session]. A vCenter's answers are up to date.
func (s *session) Traits() provider.Traits {
	return provider.Traits{Scope: s.scopeName(), Source: s.clusterConfig.source(), Choices: s.choices(), Identify: identify}
}

// scopeName names the scope: virtual machines are listed in a datacenter of a vCenter. The owner in a spec
// of Gardener is part of it, too.
func (s *session) scopeName() string {
	if s.plan == nil {
		return "no spec"
	}
	parts := []string{s.target.server, s.plan.placement.datacenter, s.plan.region}
	for _, k := range slices.Sorted(maps.Keys(s.plan.ownership)) {
		parts = append(parts, k+"="+s.plan.ownership[k])
	}
	// A listing reads these tags only, and reports a virtual machine that waits for an address as pending.
	parts = append(parts, s.plan.tags...)
	return strings.Join(parts, "\n") + fmt.Sprint(s.plan.placement.wait)
}

// identify is [provider.Traits].Identify.
func identify(id string) string {
	if uuid := biosUUID(id); uuid != "" {
		return scheme + uuid
	}
	return ""
}
