package gardener

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/gardener/machine-controller-manager/pkg/util/provider/driver"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/adapters/internal/background"
	"github.com/millwright-dev/millwright/provider"
)

// Settings are the properties of drivers that the adapter cannot detect.
type Settings struct {
	// ReadLag is how far a driver's status and listing may lag; 0 means 30 s. For this time after its first
	// call a process creates nothing, because an earlier process may have requested the instance.
	ReadLag time.Duration
	// CallTimeout limits a call that changes something; 0 means 20 minutes.
	CallTimeout time.Duration
	// RemovalPatience is how long the adapter waits for an instance that the driver has deleted and still
	// shows in its listing or, without a listing, in its status; 0 means 5 minutes.
	RemovalPatience time.Duration
	// Exclusive: all instances in the driver's listing are this control plane's, because no other one uses
	// the tags of its classes. Otherwise instances without a machine are only reported, since drivers report
	// no owner.
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

// Config has the dependencies of a provider.
type Config struct {
	// Name is the provider's name, a short lower-case word.
	Name   string
	Driver Driver
	Clock  clock.WithTicker
	// Objects reads the Machine and the MachineClass for the driver. Nil: the driver gets only the known
	// fields, without labels, annotations and the class's provider.
	Objects provider.Objects
	Settings
}

// Provider runs a driver.
type Provider struct {
	config     Config
	calls      *background.Calls
	startupLag *background.StartupLag
	memory     *memory
	// removals are the deletions by the driver, looks its read calls in progress.
	removals *removals
	looks    *readCalls
}

var _ provider.Provider = &Provider{}

// New returns a provider. Its background calls end with life at the latest.
func New(life context.Context, c Config) *Provider {
	c.Settings = c.withDefaults()
	return &Provider{
		config: c, calls: background.New(life, c.Clock, c.CallTimeout, "driver"), startupLag: background.NewStartupLag(c.Clock, c.ReadLag),
		memory: newMemory(c.Clock), removals: newRemovals(c.Clock), looks: newReadCalls(life, c.Clock),
	}
}

// Name implements [provider.Provider].
func (p *Provider) Name() string { return p.config.Name }

// Open implements [provider.Provider]. Only the driver interprets the spec; Open checks that it is JSON.
func (p *Provider) Open(_ context.Context, class provider.Class) (provider.Session, error) {
	switch {
	case class.API != provider.Gardener:
		return nil, provider.Errorf(provider.Invalid, "drivers support machines of %s only, not of %s", provider.Gardener, class.API)
	case len(class.Spec) == 0:
		return nil, provider.Errorf(provider.Invalid, "the class has no provider spec, which a driver needs for every call, also to delete")
	case !json.Valid(class.Spec):
		return nil, provider.Errorf(provider.Invalid, "the provider spec is not valid JSON")
	}
	return &session{executor: executor{reader{request{Provider: p, class: class, digest: digest(class)}}}}, nil
}

// VolumeIDs returns the names of the volume in node.status.volumesAttached: a drain waits for them.
func (p *Provider) VolumeIDs(ctx context.Context, volume *corev1.PersistentVolumeSpec) ([]string, error) {
	r, err := p.config.Driver.GetVolumeIDs(ctx, &driver.GetVolumeIDsRequest{PVSpecs: []*corev1.PersistentVolumeSpec{volume}})
	if err != nil || r == nil {
		return nil, classified(err)
	}
	return r.VolumeIDs, nil
}

// identify identifies instances by their provider IDs. If a driver's provider ID is not a URL, the whole text
// identifies the instance.
func identify(providerID string) string {
	if scheme, _, ok := strings.Cut(providerID, "://"); ok && scheme != "" {
		if tail := provider.Tail(providerID); tail != "" {
			return strings.ToLower(scheme) + "://" + tail
		}
		return ""
	}
	return strings.ToLower(providerID)
}
