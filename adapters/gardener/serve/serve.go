// Package serve runs a driver as a machine controller: the main function of an out-of-tree provider of
// Gardener calls [Driver].
package serve

import (
	"context"
	"fmt"
	"time"

	"github.com/gardener/machine-controller-manager/pkg/util/provider/driver"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"github.com/millwright-dev/millwright/adapters/gardener"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/serve"
)

// Env has the dependencies of a driver.
type Env struct {
	// Control is the cluster with the machine objects, Target the one that machines join; nil if they join
	// none.
	Control, Target *rest.Config
}

// Option is an option of the served driver.
type Option func(*serve.Plugin)

// Name sets the provider's name, a short lower-case word in flags, metrics and events. Default: "driver".
func Name(name string) Option { return func(p *serve.Plugin) { p.Name = name } }

// Flags adds the driver's own flags.
func Flags(add func(*pflag.FlagSet)) Option {
	return func(p *serve.Plugin) {
		ours := p.AddFlags
		p.AddFlags = func(fs *pflag.FlagSet) {
			ours(fs)
			add(fs)
		}
	}
}

// Driver serves the driver with the flags of the original's machine controller until the process receives a
// signal to stop, and exits.
func Driver(d gardener.Driver, options ...Option) {
	serve.Main(plugin(func(Env) (gardener.Driver, error) { return d, nil }, options...))
}

// New is [Driver] for a driver that is created after flags are parsed and clusters are connected.
func New(newDriver func(Env) (driver.Driver, error), options ...Option) {
	serve.Main(plugin(func(e Env) (gardener.Driver, error) { return newDriver(e) }, options...))
}

func plugin(newDriver func(Env) (gardener.Driver, error), options ...Option) serve.Plugin {
	var settings gardener.Settings
	p := serve.Plugin{Name: "driver", APIs: []string{provider.Gardener}, AddFlags: func(fs *pflag.FlagSet) { addFlags(fs, &settings) }}
	for _, o := range options {
		o(&p)
	}
	name := p.Name
	p.New = func(ctx context.Context, e serve.Env) (provider.Provider, error) {
		if err := check(settings); err != nil {
			return nil, err
		}
		d, err := newDriver(Env{Control: e.Control, Target: e.Target})
		if err != nil {
			return nil, err
		}
		return gardener.New(ctx, gardener.Config{Name: name, Driver: d, Clock: e.Clock, Objects: e.Objects, Settings: settings}), nil
	}
	return p
}

// check validates flags. The read lag must not be 0: an earlier process may have ended between a creation
// request and its first read.
func check(s gardener.Settings) error {
	for name, d := range map[string]time.Duration{
		"driver-read-lag": s.ReadLag, "driver-call-timeout": s.CallTimeout, "driver-removal-patience": s.RemovalPatience,
	} {
		if d <= 0 {
			return fmt.Errorf("--%s: must be more than 0, is %v", name, d)
		}
	}
	return nil
}

func addFlags(fs *pflag.FlagSet, s *gardener.Settings) {
	fs.DurationVar(&s.ReadLag, "driver-read-lag", 30*time.Second,
		"how far the driver's status and listing may run behind; nothing is created so long after a process begins, and nothing is believed gone")
	fs.DurationVar(&s.CallTimeout, "driver-call-timeout", 20*time.Minute, "how long one creation, initialization or removal by the driver may take")
	fs.DurationVar(&s.RemovalPatience, "driver-removal-patience", 5*time.Minute,
		"how long an instance is waited for that DeleteMachine removed and the driver still shows, as DeleteMachine goes on to succeed")
	fs.BoolVar(&s.Exclusive, "driver-owns-scope", false,
		"what the driver lists was made for this control plane, so that what has no machine is removed after its quarantine; else it is reported")
}
