// Package serve runs an actuator as a machine controller: the main function of an out-of-tree provider of
// machine.openshift.io calls [New].
package serve

import (
	"context"
	"fmt"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/adapters/openshift"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/serve"
)

// Env has the dependencies of an actuator.
type Env struct {
	// Control is the cluster with the machines, Target the one that they join; nil if they join none.
	Control, Target *rest.Config
	// Client reads from the API server itself, and writes. Its scheme has Kubernetes' own kinds, machines and
	// the configuration of the cluster.
	Client client.Client
}

// Option is an option of the served actuator.
type Option func(*serve.Plugin)

// Name sets the provider's name, a short lower-case word in flags, metrics and events. Default: "actuator".
func Name(name string) Option { return func(p *serve.Plugin) { p.Name = name } }

// Flags adds the actuator's own flags.
func Flags(add func(*pflag.FlagSet)) Option {
	return func(p *serve.Plugin) {
		ours := p.AddFlags
		p.AddFlags = func(fs *pflag.FlagSet) {
			ours(fs)
			add(fs)
		}
	}
}

// Actuator serves an actuator without dependencies, with the flags of the original's machine controller,
// until the process receives a signal to stop, and exits.
func Actuator(a openshift.Actuator, options ...Option) {
	New(func(Env) (openshift.Actuator, error) { return a, nil }, options...)
}

// New is [Actuator] for an actuator that is created after flags are parsed and clusters are connected: most
// need a client.
func New(newActuator func(Env) (openshift.Actuator, error), options ...Option) {
	serve.Main(plugin(newActuator, options...))
}

func plugin(newActuator func(Env) (openshift.Actuator, error), options ...Option) serve.Plugin {
	var settings openshift.Settings
	p := serve.Plugin{Name: "actuator", APIs: []string{provider.OpenShift}, AddFlags: func(fs *pflag.FlagSet) { addFlags(fs, &settings) }}
	for _, o := range options {
		o(&p)
	}
	name := p.Name
	p.New = func(ctx context.Context, e serve.Env) (provider.Provider, error) {
		if err := check(settings); err != nil {
			return nil, err
		}
		c, err := clientOf(e.Control)
		if err != nil {
			return nil, fmt.Errorf("connect the actuator to the control cluster: %w", err)
		}
		a, err := newActuator(Env{Control: e.Control, Target: e.Target, Client: c})
		if err != nil {
			return nil, err
		}
		return openshift.New(ctx, openshift.Config{Name: name, Actuator: a, Clock: e.Clock, Machines: c, Settings: settings}), nil
	}
	return p
}

func clientOf(control *rest.Config) (client.Client, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientscheme.AddToScheme, machinev1.Install, configv1.Install} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return client.New(control, client.Options{Scheme: scheme})
}

// check validates flags. The read lag must not be 0: an earlier process may have ended between a creation
// request and its first read.
func check(s openshift.Settings) error {
	if s.ReadLag <= 0 {
		return fmt.Errorf("--actuator-read-lag: must be more than 0, is %v", s.ReadLag)
	}
	if s.CallTimeout <= 0 {
		return fmt.Errorf("--actuator-call-timeout: must be more than 0, is %v", s.CallTimeout)
	}
	return nil
}

func addFlags(fs *pflag.FlagSet, s *openshift.Settings) {
	fs.DurationVar(&s.ReadLag, "actuator-read-lag", 30*time.Second,
		"how far Exists may run behind; nothing is created so long after a process begins, and nothing is believed gone")
	fs.DurationVar(&s.CallTimeout, "actuator-call-timeout", 20*time.Minute, "how long one call of the actuator may take")
}
