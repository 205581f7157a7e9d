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
	"strings"
	"time"

	"github.com/millwright-dev/millwright/internal/demo/devplane"
	"github.com/millwright-dev/millwright/internal/demo/devplane/proc"
)

// Kubemark is the provider whose instances are simulated by itself.
const Kubemark = "kubemark"

// CloudOptions say which infrastructure a fleet runs on.
type CloudOptions struct {
	// Provider is kubemark, or a cloud, which is then played by a double; empty: kubemark.
	Provider string
	// Inventory is a YAML file of what the double of a cloud has; empty: what the samples name.
	Inventory string
	// AcceptAny: the double takes whatever is named as if it were there: credentials, regions, images, networks, types.
	AcceptAny bool
}

// Cloud is the double of a cloud that runs.
type Cloud struct {
	proc.ID
	// URL is its address, as API, as console and as the proxy through which controllers meet it.
	URL string `json:"url"`
	// CA is a file of the certificate with which it stands for the cloud's own hosts.
	CA  string `json:"ca"`
	Log string `json:"log"`
	// Environment is what leads its controller to a cloud that is not played; URL and CA are empty then.
	Environment map[string]string `json:"environment,omitempty"`
}

// Libvirt is the provider whose instances are virtual machines.
const Libvirt = "libvirt"

// doublePatience is how long a double may take to listen.
const doublePatience = 20 * time.Second

func (o CloudOptions) provider() string { return cmp.Or(o.Provider, Kubemark) }

// controller is the program of the machine controller.
func (o CloudOptions) controller() string { return "machine-controller-" + o.provider() }

// played reports whether a double plays the infrastructure.
func (o CloudOptions) played() bool { return o.provider() != Kubemark }

// program returns the path of a program in the folder, which has to be there.
func (o CloudOptions) program(bin, name string) (string, error) {
	path := filepath.Join(bin, name)
	if _, err := os.Stat(path); err != nil {
		build := "make build"
		if o.played() {
			build = "make build cloud PROVIDER=" + o.provider()
		}
		return "", fmt.Errorf("the program %s is not in %s: run `%s`", name, bin, build)
	}
	return path, nil
}

// args are the command line of the double, all but what its guests are.
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

// environment leads a machine controller to the double, under the names that the cloud's hosts have.
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

// startCloud starts the double of the fleet's cloud, whose instances boot hollow kubelets.
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
	if err := f.save(); err != nil { // so that whoever takes the fleet down knows of it
		return err
	}
	if err := f.Cloud.await(ctx, p, filepath.Join(dir, "place.json")); err != nil {
		return fmt.Errorf("play the cloud %s: %w", o.provider(), err)
	}
	return f.save()
}

// bodies says what instances of the double are.
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

// await waits until the double has said where it is.
func (c *Cloud) await(ctx context.Context, p *proc.Process, place string) error {
	late := time.After(doublePatience)
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
			return fmt.Errorf("its double ended: %s", strings.TrimSpace(tail(c.Log)))
		case <-late:
			return fmt.Errorf("its double does not say where it is; its log is %s", c.Log)
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// end ends the double, and with it its instances.
func (c *Cloud) end(ctx context.Context) error {
	if c == nil || c.PID == 0 {
		return nil
	}
	if err := c.Stop(ctx, stopGrace); err != nil {
		return fmt.Errorf("stop the double of the cloud: %w", err)
	}
	return nil
}
