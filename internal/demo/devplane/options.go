package devplane

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// startTimeout is how long a control plane may take to get ready. It takes about 4 s on an idle machine, and
// a minute where sixteen start at once on two cores.
const startTimeout = 4 * time.Minute

// Options describe a control plane to start.
type Options struct {
	// Dir holds everything it writes; data found there is used again. Required.
	Dir string
	// Assets are its programs; by default Ensure provides them.
	Assets Assets
	// Components that run besides etcd and kube-apiserver, which always do: ControllerManager, Scheduler, Kwok. None by default.
	Components []string
	// Ports that are 0 stay what they were at the last start in Dir, and are free ones at the first.
	Ports Ports
	// Detach lets the control plane outlive this process and its terminal. Otherwise it ends with this process.
	Detach bool
	// AuditLog writes one line of metadata for every request, see ControlPlane.AuditLog. Off by default, but where the environment
	// has MILLWRIGHT_AUDIT: it costs the API server a few percent.
	AuditLog bool
	// ExtraArgs are added to the command line of a component, after and so in preference to the box's own.
	ExtraArgs map[string][]string
	// ExtraSANs are further names and addresses the API server's certificate is valid for.
	ExtraSANs []string
	// Log gets a line about each step that a waiting user wants to know. Nil: no output.
	Log io.Writer
	// Timeout to get ready; 4 min by default.
	Timeout time.Duration
}

// Ports of a control plane on 127.0.0.1.
type Ports struct {
	Etcd              int `json:"etcd"`
	APIServer         int `json:"apiServer"`
	ControllerManager int `json:"controllerManager,omitempty"`
	Scheduler         int `json:"scheduler,omitempty"`
	Kwok              int `json:"kwok,omitempty"`
}

func (o *Options) complete() error {
	if o.Dir == "" {
		return errors.New("box: Options.Dir is required")
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return fmt.Errorf("making the folder of the control plane absolute: %w", err)
	}
	o.Dir = dir
	for _, component := range o.Components {
		if !slices.Contains([]string{ControllerManager, Scheduler, Kwok}, component) {
			return fmt.Errorf("box: unknown component %q: choose among %s, %s, %s", component, ControllerManager, Scheduler, Kwok)
		}
	}
	o.AuditLog = o.AuditLog || os.Getenv(auditDir) != ""
	if o.Log == nil {
		o.Log = io.Discard
	}
	if o.Timeout == 0 {
		o.Timeout = startTimeout
	}
	return nil
}

// programs are the files this control plane runs.
func (o *Options) programs() []string {
	return append([]string{Etcd, APIServer}, o.Components...)
}

func (o *Options) logf(format string, args ...any) {
	fmt.Fprintf(o.Log, format+"\n", args...)
}
