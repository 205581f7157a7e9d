package openshift

import (
	"context"
	"encoding/json"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/adapters/internal/background"
	"github.com/millwright-dev/millwright/provider"
)

// Settings are the properties of actuators that the adapter cannot detect.
type Settings struct {
	// ReadLag is how far Exists may lag; 0 means 30 s. For this time after its first call a process creates
	// nothing, because an earlier process may have requested the instance.
	ReadLag time.Duration
	// CallTimeout limits a call of the actuator; 0 means 20 minutes.
	CallTimeout time.Duration
}

func (s Settings) withDefaults() Settings {
	if s.ReadLag <= 0 {
		s.ReadLag = 30 * time.Second
	}
	if s.CallTimeout <= 0 {
		s.CallTimeout = 20 * time.Minute
	}
	return s
}

// Config has the dependencies of a provider.
type Config struct {
	// Name is the provider's name, a short lower-case word.
	Name     string
	Actuator Actuator
	Clock    clock.WithTicker
	// Machines reads Machines from the API server itself: actuators patch the given object.
	Machines client.Reader
	Settings
}

// Provider runs an actuator.
type Provider struct {
	config     Config
	calls      *background.Calls
	startupLag *background.StartupLag
	memory     *memory
}

var (
	_ provider.Provider   = &Provider{}
	_ provider.SpecReader = &Provider{}
)

// New returns a provider. Its background calls end with life at the latest.
func New(life context.Context, c Config) *Provider {
	c.Settings = c.withDefaults()
	return &Provider{config: c, calls: background.New(life, c.Clock, c.CallTimeout, "actuator"), startupLag: background.NewStartupLag(c.Clock, c.ReadLag), memory: newMemory(c.Clock)}
}

// Name implements [provider.Provider].
func (p *Provider) Name() string { return p.config.Name }

// Open implements [provider.Provider]. The actuator reads the spec from the Machine; Open does not interpret
// it.
func (p *Provider) Open(_ context.Context, class provider.Class) (provider.Session, error) {
	if class.API != provider.OpenShift {
		return nil, provider.Errorf(provider.Invalid, "actuators support machines of %s only, not of %s", provider.OpenShift, class.API)
	}
	if err := legible(class.Spec); err != nil {
		return nil, err
	}
	return &session{executor: executor{Provider: p, class: class}}, nil
}

// ReadSpec implements [provider.SpecReader]: actuators read their secrets themselves.
func (p *Provider) ReadSpec(_ string, spec []byte) (provider.SpecNames, error) {
	return provider.SpecNames{}, legible(spec)
}

func legible(spec []byte) error {
	if len(spec) > 0 && !json.Valid(spec) {
		return provider.Errorf(provider.Invalid, "the provider spec is not valid JSON")
	}
	return nil
}
