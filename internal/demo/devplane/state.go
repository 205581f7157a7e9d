package devplane

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/millwright-dev/millwright/internal/demo/devplane/proc"
)

// state is the content of state.json: all that a later process needs to find, check and stop a control plane.
type state struct {
	// Kubernetes is the version the API server reports.
	Kubernetes string    `json:"kubernetes,omitempty"`
	Assets     Assets    `json:"assets"`
	StartedAt  time.Time `json:"startedAt"`
	Server     string    `json:"server"`
	Kubeconfig string    `json:"kubeconfig"`
	Ports      Ports     `json:"ports"`
	// Processes are empty after an orderly stop.
	Processes []Component `json:"processes,omitempty"`
}

// Component is one process of a control plane.
type Component struct {
	Name string `json:"name"`
	proc.ID
	Log string `json:"log"`
}

// ErrNotRunning says that no control plane runs in a folder. The wrapping error names the reason.
var ErrNotRunning = errors.New("no control plane is running")

// lockName is the lock file in a control plane's folder: only one start can be in progress there. It exists from the first
// start on, even after a failed start.
const lockName = "box.lock"

func statePath(dir string) string { return filepath.Join(dir, "state.json") }

// loadState returns the zero state if nothing was ever started in the folder.
func loadState(dir string) (state, error) {
	var s state
	content, err := os.ReadFile(statePath(dir))
	if errors.Is(err, os.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, fmt.Errorf("reading the state of the control plane: %w", err)
	}
	if err := json.Unmarshal(content, &s); err != nil {
		return s, fmt.Errorf("reading %s, which is damaged (remove it if nothing runs there): %w", statePath(dir), err)
	}
	return s, nil
}

// saveState replaces the file as a whole, so that no reader finds an incomplete file, even after a crash.
func saveState(dir string, s state) error {
	content, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the state of the control plane: %w", err)
	}
	temporary := statePath(dir) + ".tmp"
	if err := os.WriteFile(temporary, append(content, '\n'), 0o600); err != nil {
		return fmt.Errorf("writing the state of the control plane: %w", err)
	}
	if err := os.Rename(temporary, statePath(dir)); err != nil {
		return fmt.Errorf("writing the state of the control plane: %w", err)
	}
	return nil
}

// alive are the recorded processes that still run.
func (s state) alive() []Component {
	var alive []Component
	for _, component := range s.Processes {
		if component.Alive() {
			alive = append(alive, component)
		}
	}
	return alive
}

// save records the control plane as it runs now.
func (cp *ControlPlane) save(startedAt time.Time) error {
	return saveState(cp.Dir, state{
		Kubernetes: cp.Kubernetes,
		Assets:     cp.Assets,
		StartedAt:  startedAt,
		Server:     cp.Server,
		Kubeconfig: cp.KubeconfigPath,
		Ports:      cp.Ports,
		Processes:  cp.Components,
	})
}
