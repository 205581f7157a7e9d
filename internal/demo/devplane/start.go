package devplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/millwright-dev/millwright/internal/demo/devplane/proc"
)

// ErrRunning says that a control plane already runs in the folder: Find returns it.
var ErrRunning = errors.New("a control plane is already running")

// Start starts a control plane and returns when it is ready: the API server answers, the default ServiceAccount exists (with
// kube-controller-manager), and the scheduler and kwok report that they are ready. This takes about 4 s with all components. On
// failure, the error has the end of the log of the failed component, and no process is left.
//
// Start uses data, ports and credentials in the folder again. It first stops processes that a crash left running there.
// Errors: ErrRunning, *PortBusyError, those of Ensure.
func Start(ctx context.Context, opts Options) (*ControlPlane, error) {
	if err := opts.complete(); err != nil {
		return nil, err
	}
	unlock, err := lockFile(ctx, filepath.Join(opts.Dir, lockName), func() {
		opts.logf("box: another process is starting a control plane in %s: waiting for it", opts.Dir)
	})
	if err != nil {
		return nil, err
	}
	defer unlock()
	before, err := clearStale(ctx, &opts)
	if err != nil {
		return nil, err
	}
	if opts.Assets == (Assets{}) {
		opts.Assets, err = Ensure(ctx, BuildOptions{Programs: opts.programs(), Progress: opts.Log})
		if err != nil {
			return nil, err
		}
	}
	ports, claims, err := choosePorts(opts.programs(), opts.Ports, before.Ports)
	if err != nil {
		return nil, err
	}
	defer claims.Release()
	cp, err := prepare(&opts, ports)
	if err != nil {
		return nil, err
	}
	if err := cp.launch(ctx, &opts); err != nil {
		return nil, err
	}
	return cp, nil
}

// clearStale stops what is left of an earlier control plane in the folder and returns its record. If all components of it run,
// the error is ErrRunning.
func clearStale(ctx context.Context, opts *Options) (state, error) {
	before, err := loadState(opts.Dir)
	if err != nil {
		return state{}, err
	}
	alive := before.alive()
	switch {
	case len(before.Processes) == 0:
		return before, nil
	case len(alive) == len(before.Processes):
		return state{}, fmt.Errorf("%w in %s since %s (kubeconfig %s)", ErrRunning, opts.Dir, before.StartedAt.Format(time.DateTime), before.Kubeconfig)
	case len(alive) == 0:
		opts.logf("box: the control plane started in %s at %s has ended (crash or restart of the machine): starting it again with its data",
			opts.Dir, before.StartedAt.Format(time.DateTime))
	default:
		opts.logf("box: only %d of %d components run in %s: stopping them and starting all again", len(alive), len(before.Processes), opts.Dir)
	}
	if err := stopComponents(ctx, alive); err != nil {
		return state{}, err
	}
	before.Processes = nil
	return before, saveState(opts.Dir, before)
}

// prepare writes all files that the components read.
func prepare(opts *Options, ports Ports) (*ControlPlane, error) {
	cp := &ControlPlane{
		Dir:            opts.Dir,
		Server:         fmt.Sprintf("https://127.0.0.1:%d", ports.APIServer),
		KubeconfigPath: filepath.Join(opts.Dir, "admin.kubeconfig"),
		Ports:          ports,
		Assets:         opts.Assets,
		failed:         make(chan error, len(opts.programs())),
	}
	if err := os.MkdirAll(filepath.Join(opts.Dir, "logs"), 0o700); err != nil {
		return nil, fmt.Errorf("creating the folder of logs: %w", err)
	}
	return cp, cp.writeCredentials(opts)
}

// launch starts the components in two waves, because the components of the second wave end if there is no API server.
func (cp *ControlPlane) launch(ctx context.Context, opts *Options) error {
	ctx, cancel := context.WithTimeoutCause(ctx, opts.Timeout, fmt.Errorf("not ready after %s", opts.Timeout))
	defer cancel()
	l := &launch{cp: cp, opts: opts, began: time.Now()}
	err := l.wave(ctx, Etcd, APIServer)
	if err == nil {
		err = cp.greet(ctx)
	}
	if err == nil {
		err = l.wave(ctx, opts.Components...)
	}
	if err == nil {
		err = cp.save(l.began)
	}
	if err != nil {
		return errors.Join(err, cp.Stop(context.WithoutCancel(ctx)))
	}
	opts.logf("box: control plane ready in %s: %s", time.Since(l.began).Round(100*time.Millisecond), cp.Server)
	for i := range l.processes {
		go l.watch(i)
	}
	return nil
}

// launch is one start in progress.
type launch struct {
	cp        *ControlPlane
	opts      *Options
	began     time.Time
	processes []*proc.Process // parallel to cp.Components
}

// wave starts components together and waits until all of them are ready.
func (l *launch) wave(ctx context.Context, components ...string) error {
	for _, component := range components {
		if err := l.start(component); err != nil {
			return err
		}
	}
	probe, err := l.cp.newProbe()
	if err != nil {
		return err
	}
	for _, component := range components {
		if err := l.await(ctx, probe, component); err != nil {
			return err
		}
	}
	return nil
}

// start records every process as soon as it runs, so that Stop knows all processes after a crash of this process.
func (l *launch) start(component string) error {
	path, err := l.opts.Assets.Path(component)
	if err != nil {
		return err
	}
	args, err := l.cp.arguments(component, l.opts.AuditLog)
	if err != nil {
		return err
	}
	log := l.cp.logPath(component)
	if err := os.Remove(log); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("removing the log of the last run: %w", err)
	}
	process, err := proc.Start(proc.Spec{
		Path:   path,
		Args:   append(args, l.opts.ExtraArgs[component]...),
		Log:    log,
		Detach: l.opts.Detach,
	})
	if err != nil {
		return err
	}
	l.processes = append(l.processes, process)
	l.cp.Components = append(l.cp.Components, Component{Name: component, ID: process.ID, Log: log})
	return l.cp.save(l.began)
}

// await returns when the component is ready, or with an error when any component has ended.
func (l *launch) await(ctx context.Context, probe *probe, component string) error {
	tick := time.NewTicker(probeInterval)
	defer tick.Stop()
	for {
		unready := probe.check(ctx, component)
		if unready == nil {
			return nil
		}
		if i := slices.IndexFunc(l.processes, ended); i >= 0 {
			return l.endedError(i)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w: %w%s", component, context.Cause(ctx), unready, logTail(l.cp.logPath(component)))
		case <-tick.C:
		}
	}
}

func ended(process *proc.Process) bool {
	select {
	case <-process.Done():
		return true
	default:
		return false
	}
}

func (l *launch) endedError(i int) error {
	component := l.cp.Components[i]
	return fmt.Errorf("%s ended (%w)%s", component.Name, exitReason(l.processes[i]), logTail(component.Log))
}

func exitReason(process *proc.Process) error {
	if err := process.Err(); err != nil {
		return err
	}
	return errors.New("exit status 0")
}

// watch sends an error to Failed when a component ends that this process has not stopped.
func (l *launch) watch(i int) {
	<-l.processes[i].Done()
	if !l.cp.stopping.Load() {
		l.cp.failed <- l.endedError(i)
	}
}
