// Package fleet runs a complete fleet on one machine: the development control
// plane, the CRDs of both APIs, and the controllers with the kubemark provider.
// `millwright up`, the bench and the tests that kill controllers use
// it.
package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/demo/devplane"
	"github.com/millwright-dev/millwright/internal/runtime/run"
)

// Namespaces of the sample objects.
const (
	OpenShiftNamespace = "openshift-machine-api"
	GardenerNamespace  = "default"
)

// The programs of the controllers.
const (
	Sets     = "machine-controller-manager"
	Machines = "machine-controller-" + Kubemark
)

// Options describe a fleet to start.
type Options struct {
	// Dir is the folder of everything that the fleet writes. Required.
	Dir string
	// Bin is the folder of the controllers' programs. Required.
	Bin string
	// Backend is the kubemark back end of specs that name none: "hollow" or
	// "kwok".
	Backend string
	// Cloud is the infrastructure; the zero value is kubemark.
	Cloud CloudOptions
	// Port is the API server's port; 0 for the last one, or a free one.
	Port int
	// Detach lets the fleet outlive this process.
	Detach bool
	// AuditLog makes the API server log every request.
	AuditLog bool
	// Components run in addition to etcd and the API server; by default the
	// controller manager and the scheduler, and kwok for the kwok back end.
	Components []string
	// Args are added to the command lines of the controllers, by program.
	Args map[string][]string
	// PlaneArgs are added to the command lines of the control plane's
	// components, by component.
	PlaneArgs map[string][]string
	// Idle starts no controllers; StartController starts them.
	Idle bool
	// Metrics lets the controllers serve metrics, in plain HTTP on loopback.
	Metrics bool
	// Log gets lines for a user who waits; nil: no output.
	Log io.Writer
}

// Fleet is a running fleet.
type Fleet struct {
	Dir         string
	Plane       *devplane.ControlPlane
	Controllers []*Controller
	// Cloud is the simulator of the fleet's cloud; nil with kubemark.
	Cloud *Cloud
	// Client is the administrator's client.
	Client client.Client
	// Started is the time at which the start of the fleet began.
	Started time.Time
	// Bin is the folder of programs for controllers that are started from now on, for example of another version; empty for the folder of the options.
	Bin string

	options Options
}

// state is stored in Dir for later processes.
type state struct {
	Started     time.Time     `json:"started"`
	Controllers []*Controller `json:"controllers"`
	Provider    string        `json:"provider,omitempty"`
	Cloud       *Cloud        `json:"cloud,omitempty"`
}

// PlaneDir is the folder of the control plane in the fleet's folder.
func PlaneDir(dir string) string { return filepath.Join(dir, "plane") }

// CloudDir is the folder of the instances in the fleet's folder: kubemark's
// Config.Dir.
func CloudDir(dir string) string { return filepath.Join(dir, "instances") }

func statePath(dir string) string { return filepath.Join(dir, "fleet.json") }

// Start starts a fleet in o.Dir, in which no fleet may run.
func Start(ctx context.Context, o Options) (*Fleet, error) {
	if o.Log == nil {
		o.Log = io.Discard
	}
	started := time.Now()
	assets, err := devplane.Ensure(ctx, devplane.BuildOptions{Progress: o.Log})
	if err != nil {
		return nil, fmt.Errorf("provide the control plane's programs: %w", err)
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the fleet's folder: %w", err)
	}
	f := &Fleet{Dir: o.Dir, Started: started, options: o}
	if err := f.save(); err != nil {
		return nil, err
	}
	f.Plane, err = devplane.Start(ctx, devplane.Options{
		Dir: PlaneDir(o.Dir), Assets: assets, Components: components(o), Ports: devplane.Ports{APIServer: o.Port},
		Detach: o.Detach, AuditLog: o.AuditLog, ExtraArgs: o.PlaneArgs, Log: o.Log,
	})
	if err != nil {
		return nil, err
	}
	if err := f.furnish(ctx); err != nil {
		return nil, errors.Join(err, f.Stop(context.WithoutCancel(ctx)))
	}
	return f, nil
}

func components(o Options) []string {
	if o.Components != nil {
		return o.Components
	}
	out := []string{devplane.ControllerManager, devplane.Scheduler}
	if o.Backend == "kwok" {
		out = append(out, devplane.Kwok)
	}
	return out
}

// furnish installs the objects that controllers need, and starts the controllers.
func (f *Fleet) furnish(ctx context.Context) error {
	config, err := f.Plane.RESTConfig()
	if err != nil {
		return err
	}
	if f.Client, err = client.New(config, client.Options{Scheme: run.Scheme()}); err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	if err := installCRDs(ctx, config); err != nil {
		return err
	}
	if err := f.prepareNamespaces(ctx); err != nil {
		return err
	}
	if f.options.Cloud.simulated() {
		if err := startCloud(ctx, f); err != nil {
			return err
		}
	}
	for _, program := range []string{Sets, f.options.Cloud.controller()} {
		if err := f.grant(ctx, program); err != nil {
			return err
		}
		if f.options.Idle {
			continue
		}
		if _, err := f.StartController(program); err != nil {
			return err
		}
	}
	return nil
}

// Find returns the fleet that runs in dir. If none runs, the error is
// [devplane.ErrNotRunning], wrapped in the reason.
func Find(dir string) (*Fleet, error) {
	plane, err := devplane.Find(PlaneDir(dir))
	if err != nil {
		return nil, err
	}
	s, err := load(dir)
	if err != nil {
		return nil, err
	}
	return &Fleet{
		Dir: dir, Plane: plane, Controllers: s.Controllers, Started: s.Started, Cloud: s.Cloud,
		options: Options{Cloud: CloudOptions{Provider: s.Provider}},
	}, nil
}

func load(dir string) (state, error) {
	var s state
	raw, err := os.ReadFile(statePath(dir))
	if errors.Is(err, os.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, fmt.Errorf("read the state of the fleet: %w", err)
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return s, fmt.Errorf("read %s, which is damaged (remove it if nothing runs there): %w", statePath(dir), err)
	}
	return s, nil
}

func (f *Fleet) save() error {
	raw, err := json.MarshalIndent(state{Started: f.Started, Controllers: f.Controllers, Provider: f.options.Cloud.Provider, Cloud: f.Cloud}, "", "  ")
	if err != nil {
		return err
	}
	temporary := statePath(f.Dir) + ".new"
	if err := os.WriteFile(temporary, raw, 0o600); err != nil {
		return fmt.Errorf("write the state of the fleet: %w", err)
	}
	return os.Rename(temporary, statePath(f.Dir))
}

// Left reports whether a fleet was started in dir and not removed since,
// running or not.
func Left(dir string) bool {
	_, err := os.Stat(statePath(dir))
	return err == nil
}

// Stop ends all processes of the fleet: controllers, instances, control plane.
// It keeps the stored data.
func (f *Fleet) Stop(ctx context.Context) error {
	problems := []error{f.stopControllers(ctx), f.stopInstances(ctx), f.Cloud.end(ctx)}
	if f.Plane != nil {
		problems = append(problems, f.Plane.Stop(ctx))
	}
	return errors.Join(problems...)
}

// Down stops the fleet in dir, whatever state an earlier process left it in,
// and removes all its data; bin is the folder of the programs. It does not touch a folder without a fleet.
func Down(ctx context.Context, dir, bin string) error {
	if !Left(dir) {
		return nil
	}
	// Before Down looks up the controllers: see [Fleet.Revive].
	if err := leave(dir); err != nil {
		return err
	}
	s, err := load(dir)
	if err != nil {
		return err
	}
	f := &Fleet{Dir: dir, Controllers: s.Controllers, Cloud: s.Cloud, options: Options{Bin: bin, Cloud: CloudOptions{Provider: s.Provider}}}
	if err := f.Stop(ctx); err != nil {
		return err
	}
	if err := devplane.Clean(ctx, PlaneDir(dir)); err != nil {
		return err
	}
	return os.RemoveAll(dir)
}
