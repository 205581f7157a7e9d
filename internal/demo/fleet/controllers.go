package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/millwright-dev/millwright/internal/demo/devplane"
	"github.com/millwright-dev/millwright/internal/demo/devplane/ports"
	"github.com/millwright-dev/millwright/internal/demo/devplane/proc"
)

// stopGrace is how long a controller may take to finish its work.
const stopGrace = 10 * time.Second

// Controller is one controller process.
type Controller struct {
	Program string `json:"program"`
	proc.ID
	Log string `json:"log"`
	// Metrics is the address of its metrics, "127.0.0.1:<port>"; empty if it serves none.
	Metrics string `json:"metrics,omitempty"`

	process  *proc.Process
	comeback comeback
}

// Done is closed when a controller that this process started has ended.
func (c *Controller) Done() <-chan struct{} { return c.process.Done() }

// StartController starts a controller. Several controllers of one program are a leader and
// its standbys.
func (f *Fleet) StartController(program string) (*Controller, error) {
	metrics := ""
	if f.options.Metrics {
		var err error
		if metrics, err = ports.FreeAddress(); err != nil {
			return nil, err
		}
	}
	c, err := f.launch(program, metrics)
	if err != nil {
		return nil, err
	}
	f.Controllers = append(f.Controllers, c)
	return c, f.save()
}

// launch starts the process of a controller. The fleet does not list it yet.
func (f *Fleet) launch(program, metrics string) (*Controller, error) {
	path, err := f.options.Cloud.program(cmp.Or(f.Bin, f.options.Bin), program)
	if err != nil {
		return nil, err
	}
	args, err := f.args(program, cmp.Or(metrics, "0"))
	if err != nil {
		return nil, err
	}
	log := filepath.Join(f.Dir, program+".log")
	var env []string
	if program == f.options.Cloud.controller() {
		env = f.Cloud.environment()
	}
	p, err := proc.Start(proc.Spec{Path: path, Args: args, Env: env, Log: log, Detach: f.options.Detach})
	if err != nil {
		return nil, err
	}
	return &Controller{Program: program, ID: p.ID, Log: log, Metrics: metrics, process: p, comeback: comeback{since: time.Now()}}, nil
}

func (f *Fleet) args(program, metrics string) ([]string, error) {
	args := []string{
		"--target-kubeconfig=" + f.Kubeconfig(program),
		"--metrics-bind-address=" + metrics,
		// With one process of each kind no lease is needed; users who start more turn the lease on.
		"--leader-elect=false", "--leader-elect-resource-namespace=kube-system",
	}
	if program == f.options.Cloud.controller() {
		args = append(args, "--bootstrap-token-auth-extra-groups="+devplane.BootstrapGroup)
	}
	if program != Machines {
		return append(args, f.options.Args[program]...), nil
	}
	hollow, err := f.Plane.Assets.Path(devplane.Hollow)
	if err != nil {
		return nil, err
	}
	args = append(args,
		"--kubemark-dir="+CloudDir(f.Dir), "--kubemark-backend="+f.options.Backend, "--hollow-binary="+hollow,
		"--kubemark-metadata-address=127.0.0.1:0",
	)
	return append(args, f.options.Args[program]...), nil
}

// KillController ends a controller with SIGKILL, like a crash.
func (f *Fleet) KillController(ctx context.Context, c *Controller) error {
	if err := c.Signal(syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill %s: %w", c.Program, err)
	}
	select {
	case <-c.Done():
	case <-ctx.Done():
		return fmt.Errorf("kill %s: %w", c.Program, ctx.Err())
	}
	f.Controllers = slices.DeleteFunc(f.Controllers, func(o *Controller) bool { return o == c })
	return f.save()
}

func (f *Fleet) stopControllers(ctx context.Context) error {
	var problems []error
	for _, c := range f.Controllers {
		if err := c.Stop(ctx, stopGrace); err != nil {
			problems = append(problems, fmt.Errorf("stop %s: %w", c.Program, err))
		}
	}
	f.Controllers = nil
	return errors.Join(append(problems, f.save())...)
}

// stopInstances ends the processes that simulate instances, with the
// provider's own program, because only the provider knows how it runs them.
func (f *Fleet) stopInstances(ctx context.Context) error {
	path := filepath.Join(f.options.Bin, Machines)
	if _, err := os.Stat(CloudDir(f.Dir)); errors.Is(err, os.ErrNotExist) || f.options.Cloud.simulated() {
		return nil
	}
	out, err := exec.CommandContext(ctx, path, "halt", "--kubemark-dir="+CloudDir(f.Dir)).CombinedOutput()
	if err != nil {
		return fmt.Errorf("stop the instances: %w: %s", err, out)
	}
	return nil
}

// Tail is the end of a controller's log, for messages.
func (c *Controller) Tail() string { return proc.Tail(c.Log) }
