package gardener

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/gardener/machine-controller-manager/pkg/util/provider/driver"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/adapters/internal/beside"
	"github.com/millwright-dev/millwright/provider"
)

// Settings are what is not known of drivers.
type Settings struct {
	// ReadLag is how far a driver's status and listing may run behind; 0 for 30 s. For so long after its
	// first call a process creates nothing: another before it may have asked.
	ReadLag time.Duration
	// CallTimeout bounds a call that changes something; 0 for 20 minutes.
	CallTimeout time.Duration
	// RemovalPatience is for how long an instance is waited for that the driver has removed and still shows in
	// its listing, or, where it has none, in its status; 0 for 5 minutes.
	RemovalPatience time.Duration
	// Exclusive says that what the driver lists is all this control plane's: no other makes machines with
	// the tags of its classes. Else what no machine has is only reported, as drivers tell no owner.
	Exclusive bool
}

func (s Settings) withDefaults() Settings {
	if s.ReadLag <= 0 {
		s.ReadLag = 30 * time.Second
	}
	if s.CallTimeout <= 0 {
		s.CallTimeout = 20 * time.Minute
	}
	if s.RemovalPatience <= 0 {
		s.RemovalPatience = 5 * time.Minute
	}
	return s
}

// Config is what a provider is made with.
type Config struct {
	// Name is the provider's, a short lower-case word.
	Name   string
	Driver Driver
	Clock  clock.WithTicker
	// Objects reads the Machine and MachineClass that a driver is given. Nil: drivers are given what is
	// known without, which leaves out labels, annotations and the class's provider.
	Objects provider.Objects
	Settings
}

// Provider runs a driver.
type Provider struct {
	config Config
	calls  *beside.Calls
	doubt  *beside.Doubt
	memory *memory
	// removals is what the driver has removed, looks what it is asked and has not answered yet.
	removals *removals
	looks    *looks
}

var _ provider.Provider = &Provider{}

// New returns a provider whose calls beside the workers end with life at the latest.
func New(life context.Context, c Config) *Provider {
	c.Settings = c.withDefaults()
	return &Provider{
		config: c, calls: beside.New(life, c.Clock, c.CallTimeout, "driver"), doubt: beside.NewDoubt(c.Clock, c.ReadLag),
		memory: newMemory(c.Clock), removals: newRemovals(c.Clock), looks: newLooks(life, c.Clock),
	}
}

// Name implements [provider.Provider].
func (p *Provider) Name() string { return p.config.Name }

// Open implements [provider.Provider]. What is in the spec only the driver knows: that it is JSON is all that is looked at.
func (p *Provider) Open(_ context.Context, class provider.Class) (provider.Session, error) {
	switch {
	case class.API != provider.Gardener:
		return nil, provider.Errorf(provider.Invalid, "drivers make machines of %s only, not of %s", provider.Gardener, class.API)
	case len(class.Spec) == 0:
		return nil, provider.Errorf(provider.Invalid, "the class has no provider spec: a driver can do nothing without, not even delete")
	case !json.Valid(class.Spec):
		return nil, provider.Errorf(provider.Invalid, "the provider spec is no JSON")
	}
	return &session{work: work{sight{request{Provider: p, class: class, digest: digest(class)}}}}, nil
}

// VolumeIDs returns what node.status.volumesAttached has of the names of the volume: drains wait for it.
func (p *Provider) VolumeIDs(ctx context.Context, volume *corev1.PersistentVolumeSpec) ([]string, error) {
	r, err := p.config.Driver.GetVolumeIDs(ctx, &driver.GetVolumeIDsRequest{PVSpecs: []*corev1.PersistentVolumeSpec{volume}})
	if err != nil || r == nil {
		return nil, classified(err)
	}
	return r.VolumeIDs, nil
}

// identify tells instances apart by their provider IDs. Those of some drivers are no URLs: then all of the text counts.
func identify(providerID string) string {
	if scheme, _, ok := strings.Cut(providerID, "://"); ok && scheme != "" {
		if tail := provider.Tail(providerID); tail != "" {
			return strings.ToLower(scheme) + "://" + tail
		}
		return ""
	}
	return strings.ToLower(providerID)
}
