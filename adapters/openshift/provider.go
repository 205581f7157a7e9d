package openshift

import (
	"context"
	"encoding/json"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/adapters/internal/beside"
	"github.com/millwright-dev/millwright/provider"
)

// Settings are what is not known of actuators.
type Settings struct {
	// ReadLag is how far Exists may run behind; 0 for 30 s. For so long after its first call a process
	// creates nothing: another before it may have asked.
	ReadLag time.Duration
	// CallTimeout bounds a call of the actuator; 0 for 20 minutes.
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

// Config is what a provider is made with.
type Config struct {
	// Name is the provider's, a short lower-case word.
	Name     string
	Actuator Actuator
	Clock    clock.WithTicker
	// Machines reads Machines from the API server itself: actuators patch what they are given.
	Machines client.Reader
	Settings
}

// Provider runs an actuator.
type Provider struct {
	config Config
	calls  *beside.Calls
	doubt  *beside.Doubt
	memory *memory
}

var (
	_ provider.Provider   = &Provider{}
	_ provider.SpecReader = &Provider{}
)

// New returns a provider whose calls beside the workers end with life at the latest.
func New(life context.Context, c Config) *Provider {
	c.Settings = c.withDefaults()
	return &Provider{config: c, calls: beside.New(life, c.Clock, c.CallTimeout, "actuator"), doubt: beside.NewDoubt(c.Clock, c.ReadLag), memory: newMemory(c.Clock)}
}

// Name implements [provider.Provider].
func (p *Provider) Name() string { return p.config.Name }

// Open implements [provider.Provider]. What is in the spec only the actuator knows, which reads it with the Machine.
func (p *Provider) Open(_ context.Context, class provider.Class) (provider.Session, error) {
	if class.API != provider.OpenShift {
		return nil, provider.Errorf(provider.Invalid, "actuators make machines of %s only, not of %s", provider.OpenShift, class.API)
	}
	if err := legible(class.Spec); err != nil {
		return nil, err
	}
	return &session{work: work{Provider: p, class: class}}, nil
}

// ReadSpec implements [provider.SpecReader]: actuators read their secrets themselves, so that nothing is read for them.
func (p *Provider) ReadSpec(_ string, spec []byte) (provider.SpecNames, error) {
	return provider.SpecNames{}, legible(spec)
}

func legible(spec []byte) error {
	if len(spec) > 0 && !json.Valid(spec) {
		return provider.Errorf(provider.Invalid, "the provider spec is no JSON")
	}
	return nil
}
