package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/millwright-dev/millwright/internal/demo/devplane"
	"github.com/millwright-dev/millwright/internal/demo/devplane/proc"
)

// Kubemark is the provider that simulates its instances itself.
const Kubemark = "kubemark"

// CloudOptions say on which infrastructure a fleet runs.
type CloudOptions struct {
	// Provider is kubemark, or a cloud, which is then simulated; empty: kubemark.
	Provider string
	// Inventory is a YAML file with the resources of the simulated cloud; empty: the resources that the samples name.
	Inventory string
	// AcceptAny: for the simulator, all names exist: of credentials, regions, images, networks and types.
	AcceptAny bool
}

// Cloud is a running simulator of a cloud.
type Cloud struct {
	proc.ID
	// URL is its address: of the API, of the console, and of the proxy through which controllers reach it.
	URL string `json:"url"`
	// CA is the file of the certificate with which it serves the cloud's own host names.
	CA  string `json:"ca"`
	Log string `json:"log"`
	// Environment points the machine controller to a cloud that is not simulated; URL and CA are then empty.
	Environment map[string]string `json:"environment,omitempty"`
}

// Libvirt is the provider whose instances are virtual machines.
const Libvirt = "libvirt"

// simulatorTimeout is how long a simulator may take until it listens.
const simulatorTimeout = 20 * time.Second

func (o CloudOptions) provider() string { return cmp.Or(o.Provider, Kubemark) }

// controller is the name of the machine controller's program.
func (o CloudOptions) controller() string { return "machine-controller-" + o.provider() }

// simulated reports whether the cloud is simulated.
func (o CloudOptions) simulated() bool { return o.provider() != Kubemark }

// program returns the path of a program that must be in the folder.
func (o CloudOptions) program(bin, name string) (string, error) {
	path := filepath.Join(bin, name)
	if _, err := os.Stat(path); err != nil {
		build := "make build"
		if o.simulated() {
			build = "make build cloud PROVIDER=" + o.provider()
		}
		return "", fmt.Errorf("the program %s is not in %s: run `%s`", name, bin, build)
	}
	return path, nil
}

// args are the simulator's arguments, except those for its guests.
func (o CloudOptions) args(dir string) ([]string, error) {
	args := []string{"--dir=" + dir}
	if o.AcceptAny {
		args = append(args, "--accept-any")
	}
	if o.Inventory == "" {
		return args, nil
	}
	file, err := filepath.Abs(o.Inventory)
	return append(args, "--inventory="+file), err
}

// environment points a machine controller to the simulator, under the host names of the cloud.
func (c *Cloud) environment() (env []string) {
	if c == nil {
		return nil
	}
	if c.URL == "" {
		for _, key := range slices.Sorted(maps.Keys(c.Environment)) {
			env = append(env, key+"="+c.Environment[key])
		}
		return env
	}
	return []string{"HTTPS_PROXY=" + c.URL, "HTTP_PROXY=" + c.URL, "SSL_CERT_FILE=" + c.CA, "AWS_CA_BUNDLE=" + c.CA, "NO_PROXY=127.0.0.1,localhost"}
}

// startCloud starts the simulator of the fleet's cloud. Its instances boot hollow kubelets.
func startCloud(ctx context.Context, f *Fleet) error {
	o := f.options.Cloud
	path, err := o.program(f.options.Bin, "cloud-"+o.provider())
	if err != nil {
		return err
	}
	dir, err := filepath.Abs(CloudDir(f.Dir))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the folder of the cloud: %w", err)
	}
	args, err := o.args(dir)
	if err != nil {
		return err
	}
	bodies, err := bodies(ctx, f)
	if err != nil {
		return err
	}
	log := filepath.Join(f.Dir, filepath.Base(path)+".log")
	p, err := proc.Start(proc.Spec{Path: path, Args: append(args, bodies...), Log: log, Detach: f.options.Detach})
	if err != nil {
		return err
	}
	f.Cloud = &Cloud{ID: p.ID, Log: log}
	if err := f.save(); err != nil { // so that `down` knows it
		return err
	}
	if err := f.Cloud.await(ctx, p, filepath.Join(dir, "place.json")); err != nil {
		return fmt.Errorf("play the cloud %s: %w", o.provider(), err)
	}
	return f.save()
}

// bodies are the simulator's arguments for its instances.
func bodies(ctx context.Context, f *Fleet) ([]string, error) {
	if f.options.Backend == "kwok" {
		return []string{"--nodes-kubeconfig=" + f.Plane.KubeconfigPath}, nil
	}
	hollow, err := f.Plane.Assets.Path(devplane.Hollow)
	if err != nil {
		return nil, err
	}
	bootstrap, err := writeBootstrap(ctx, f)
	return []string{"--guests=" + hollow, "--fallback-kubeconfig=" + bootstrap}, err
}

// await waits until the simulator has written its address.
func (c *Cloud) await(ctx context.Context, p *proc.Process, place string) error {
	late := time.After(simulatorTimeout)
	for {
		raw, err := os.ReadFile(place)
		if err == nil {
			return json.Unmarshal(raw, c)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		select {
		case <-p.Done():
			return fmt.Errorf("its simulator ended: %s", proc.Tail(c.Log))
		case <-late:
			return fmt.Errorf("its simulator has not written its address; its log is %s", c.Log)
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// end ends the simulator and its instances.
func (c *Cloud) end(ctx context.Context) error {
	if c == nil || c.PID == 0 {
		return nil
	}
	if err := c.Stop(ctx, stopGrace); err != nil {
		return fmt.Errorf("stop the simulator of the cloud: %w", err)
	}
	return nil
}
