package devplane

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/millwright-dev/millwright/internal/demo/devplane/proc"
)

// stopGrace is how long a component may take to end after SIGTERM. The API server takes up to about a second.
const stopGrace = 10 * time.Second

// ControlPlane is a running control plane, started by this process or found.
type ControlPlane struct {
	// Dir is the folder of everything that it writes.
	Dir string
	// Server is the URL of the API server.
	Server string
	// KubeconfigPath is the cluster administrator's kubeconfig.
	KubeconfigPath string
	// Ports in use; 0 for components that do not run.
	Ports Ports
	// Assets are its programs, and further ones, such as kubectl and hollow.
	Assets Assets
	// Components are the started components, in the order of their start.
	Components []Component

	// Kubernetes is the version the API server reports, for instance "v1.36.3".
	Kubernetes string

	failed   chan error
	stopping atomic.Bool
}

// Find returns the control plane that an earlier process started in dir, if any of its processes runs; Health says whether
// all run. If none runs, the error is ErrNotRunning, wrapped in the reason: the control plane was never started, was stopped, or
// ended without a stop (the machine restarted, or the control plane ended with its starter).
func Find(dir string) (*ControlPlane, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("making %s absolute: %w", dir, err)
	}
	recorded, err := loadState(dir)
	if err != nil {
		return nil, err
	}
	switch {
	case recorded.StartedAt.IsZero():
		return nil, fmt.Errorf("%w: none was ever started in %s", ErrNotRunning, dir)
	case len(recorded.Processes) == 0:
		return nil, fmt.Errorf("%w: the one in %s was stopped", ErrNotRunning, dir)
	case len(recorded.alive()) == 0:
		return nil, fmt.Errorf("%w: the one started in %s at %s ended without being stopped",
			ErrNotRunning, dir, recorded.StartedAt.Format(time.DateTime))
	}
	return fromState(dir, recorded), nil
}

func fromState(dir string, s state) *ControlPlane {
	return &ControlPlane{
		Dir:            dir,
		Server:         s.Server,
		KubeconfigPath: s.Kubeconfig,
		Ports:          s.Ports,
		Assets:         s.Assets,
		Components:     s.Processes,
		Kubernetes:     s.Kubernetes,
		failed:         make(chan error),
	}
}

// Health is nil if every component runs and is ready. Otherwise the error names the other components, with the end of their
// logs.
func (cp *ControlPlane) Health(ctx context.Context) error {
	probe, err := cp.newProbe()
	if err != nil {
		return err
	}
	var problems []error
	for _, component := range cp.Components {
		if !component.Alive() {
			problems = append(problems, fmt.Errorf("%s (process %d) is not running%s", component.Name, component.PID, logTail(component.Log)))
			continue
		}
		if err := probe.check(ctx, component.Name); err != nil {
			problems = append(problems, fmt.Errorf("%s is not ready: %w%s", component.Name, err, logTail(component.Log)))
		}
	}
	return errors.Join(problems...)
}

// Component returns the process of a component by its name.
func (cp *ControlPlane) Component(name string) (Component, bool) {
	i := slices.IndexFunc(cp.Components, func(c Component) bool { return c.Name == name })
	if i < 0 {
		return Component{}, false
	}
	return cp.Components[i], true
}

// Failed yields an error when a component that this process started ends without a call of Stop. It never yields for a control
// plane that was found.
func (cp *ControlPlane) Failed() <-chan error { return cp.failed }

// auditDir is the environment variable with a folder in which all control planes leave their audit logs, so that the logs still
// exist after a test has removed its control plane.
const auditDir = "MILLWRIGHT_AUDIT"

// AuditLog is the file with one JSON line (audit.k8s.io/v1 Event) per request, if Options.AuditLog or MILLWRIGHT_AUDIT was set.
func (cp *ControlPlane) AuditLog() string {
	if dir := os.Getenv(auditDir); dir != "" {
		return filepath.Join(dir, fmt.Sprintf("%x.log", sha256.Sum256([]byte(cp.Dir))))
	}
	return filepath.Join(cp.Dir, "logs", "audit.log")
}

// Stop ends every component, in the reverse order of their dependencies, and keeps the data: a Start in the same folder uses
// the data again. It is no error if the control plane is already stopped.
func (cp *ControlPlane) Stop(ctx context.Context) error {
	cp.stopping.Store(true)
	recorded, err := loadState(cp.Dir)
	if err != nil {
		return err
	}
	if err := stopComponents(ctx, cp.Components); err != nil {
		return err
	}
	recorded.Processes = nil
	return saveState(cp.Dir, recorded)
}

func stopComponents(ctx context.Context, components []Component) error {
	var problems []error
	for _, component := range slices.Backward(components) {
		if err := component.Stop(ctx, stopGrace); err != nil {
			problems = append(problems, fmt.Errorf("stopping %s: %w", component.Name, err))
		}
	}
	return errors.Join(problems...)
}

// Stop ends the control plane that runs in dir, whichever process started it. If none runs, it only cleans up the record.
func Stop(ctx context.Context, dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("making %s absolute: %w", dir, err)
	}
	recorded, err := loadState(dir)
	if err != nil || recorded.StartedAt.IsZero() {
		return err
	}
	return fromState(dir, recorded).Stop(ctx)
}

// Clean stops the control plane in dir and removes the folder with all data. It refuses a folder in which no control plane was
// started, so that a mistyped path does no harm; a folder that does not exist is no error.
func Clean(ctx context.Context, dir string) error {
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if _, err := os.Stat(filepath.Join(dir, lockName)); err != nil {
		return fmt.Errorf("%s is not the folder of a control plane: not removing it", dir)
	}
	if err := Stop(ctx, dir); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("removing the control plane's folder: %w", err)
	}
	return nil
}

// logTail is the end of a log for an error message; empty if the log does not exist.
func logTail(path string) string {
	end := proc.Tail(path)
	if end == "" {
		return ""
	}
	return fmt.Sprintf("\n%s ends with:\n  %s", path, strings.ReplaceAll(end, "\n", "\n  "))
}
