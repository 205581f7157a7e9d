// Command provider-conformance runs the conformance suite against a provider in another process, in whatever language it is written.
//
//	provider-conformance --name shelf --address unix:///tmp/shelf.sock --gardener-spec spec.json -- node provider.js unix:///tmp/shelf.sock shelf.json
//
// It creates and removes instances, and leaves some: use it with a simulator of the infrastructure, or in
// an account for tests. The arguments after the flags are the provider's command: it is started, and killed
// when a check needs a new process. Without a command, the program only connects again to a running
// provider.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/providertest"
	"github.com/millwright-dev/millwright/provider/remote"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "provider-conformance:", err)
		os.Exit(1)
	}
}

// options are the settings on the command line.
type options struct {
	config      remote.Config
	tls         remote.TLS
	specs       map[string]*string
	credentials map[string]string
	patience    time.Duration
	only        string
	command     []string
}

func parse(args []string) (*options, error) {
	o := &options{specs: map[string]*string{}}
	fs := pflag.NewFlagSet("provider-conformance", pflag.ContinueOnError)
	fs.StringVar(&o.config.Name, "name", "", "name that the provider calls itself")
	fs.StringVar(&o.config.Address, "address", "", "where it listens: unix:///path, or host:port with the flags of TLS")
	fs.StringVar(&o.tls.Cert, "tls-cert", "", "file with the certificate of this program")
	fs.StringVar(&o.tls.Key, "tls-key", "", "file with the key of that certificate")
	fs.StringVar(&o.tls.CA, "tls-ca", "", "file with the CA that the provider's certificate is of")
	o.specs[provider.OpenShift] = fs.String("openshift-spec", "", "file with a valid provider spec of machine.openshift.io (JSON); empty: that API is not tried")
	o.specs[provider.Gardener] = fs.String("gardener-spec", "", "file with a valid provider spec of machine.sapcloud.io (JSON); empty: that API is not tried")
	fs.StringToStringVar(&o.credentials, "credential", nil, "KEY=VALUE of the credentials, may be repeated")
	fs.DurationVar(&o.patience, "patience", time.Minute, "how long an instance may take to start, and to be deleted")
	fs.StringVar(&o.only, "run", "", "only the check of this name")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if o.tls != (remote.TLS{}) {
		o.config.TLS = &o.tls
	}
	o.command = fs.Args()
	return o, nil
}

// classes reads the specs.
func (o *options) classes() (map[string]provider.Class, error) {
	out := map[string]provider.Class{}
	for api, file := range o.specs {
		if *file == "" {
			continue
		}
		spec, err := os.ReadFile(*file)
		if err != nil {
			return nil, err
		}
		out[api] = provider.Class{API: api, Spec: spec, Credentials: map[string][]byte{}}
		for key, value := range o.credentials {
			out[api].Credentials[key] = []byte(value)
		}
	}
	if len(out) == 0 {
		return nil, errors.New("no spec is given: --openshift-spec, --gardener-spec")
	}
	return out, nil
}

func run(ctx context.Context, args []string, out io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	classes, err := o.classes()
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	p := &process{ctx: ctx, command: o.command, config: o.config, clock: clock.RealClock{}}
	defer p.kill()
	if _, err := p.fresh(); err != nil {
		return err
	}
	h := providertest.Harness{
		Start: p.start,
		Class: func(api, cluster string) provider.Class {
			c := classes[api]
			c.Cluster = cluster
			return c
		},
		Patience: o.patience,
	}
	return report(ctx, p, h, classes, o.only, out)
}

// together is the check that needs several processes at the same time, as with an old and a new leader:
// here all connect to one.
const together = "create concurrently"

// report runs the checks, and prints the result of each.
func report(ctx context.Context, p *process, h providertest.Harness, classes map[string]provider.Class, only string, out io.Writer) error {
	failed, tried := 0, 0
	for _, c := range providertest.Checks() {
		if only != "" && only != c.Name {
			continue
		}
		for _, api := range []string{provider.OpenShift, provider.Gardener} {
			if _, ok := classes[api]; !ok {
				continue
			}
			tried++
			p.shared.Store(c.Name == together)
			switch err := one(ctx, c, h, api); {
			case err == nil:
				fmt.Fprintf(out, "ok    %s, %s\n", c.Name, api)
			case providertest.Skipped(err):
				fmt.Fprintf(out, "skip  %s, %s: %v\n", c.Name, api, err)
			default:
				failed++
				fmt.Fprintf(out, "FAIL  %s, %s: %s: %v\n", c.Name, api, c.Reason, err)
			}
		}
	}
	switch {
	case tried == 0:
		return fmt.Errorf("there is no check %q", only)
	case failed > 0:
		return fmt.Errorf("%d of %d checks have failed", failed, tried)
	}
	return nil
}

// one runs a check.
func one(ctx context.Context, c providertest.Check, h providertest.Harness, api string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	return c.Run(ctx, h, api)
}

// process is the provider's process, if this program starts it.
type process struct {
	ctx     context.Context
	command []string
	config  remote.Config
	clock   clock.Clock
	// shared: it is not started again.
	shared atomic.Bool

	mu  sync.Mutex
	cmd *exec.Cmd
}

// start starts a new process.
func (p *process) start() provider.Provider {
	c, err := p.fresh()
	if err != nil {
		return missing{c, err}
	}
	return c
}

// missing is a provider that could not be started.
type missing struct {
	provider.Provider
	err error
}

// Open implements [provider.Provider].
func (m missing) Open(context.Context, provider.Class) (provider.Session, error) { return nil, m.err }

func (p *process) fresh() (*remote.Client, error) {
	if !p.shared.Load() {
		p.kill()
	}
	if err := p.begin(); err != nil {
		return nil, err
	}
	c, err := remote.Dial(p.config)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(p.ctx, func() { _ = c.Close() })
	return c, p.await(c)
}

// begin starts the process, if it does not run.
func (p *process) begin() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.command) == 0 || p.cmd != nil {
		return nil
	}
	cmd := exec.CommandContext(p.ctx, p.command[0], p.command[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("begin the provider: %w", err)
	}
	p.cmd = cmd
	return nil
}

// await waits for the provider's start: any answer is enough.
func (p *process) await(c *remote.Client) error {
	for begun := p.clock.Now(); ; p.clock.Sleep(20 * time.Millisecond) {
		_, err := c.Open(p.ctx, provider.Class{API: provider.Gardener, Cluster: "await"})
		answered := err == nil || provider.KindOf(err) != provider.Transient
		if answered || p.clock.Since(begun) > 30*time.Second || p.ctx.Err() != nil {
			if answered {
				err = nil
			}
			return err
		}
	}
}

// kill kills the process.
func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	}
	p.cmd = nil
}
