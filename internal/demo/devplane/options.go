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

// startTimeout is how long a control plane may take to be ready. It takes about 4 s on an idle machine, and a minute if sixteen
// start at the same time on two cores.
const startTimeout = 4 * time.Minute

// Options describe a control plane to start.
type Options struct {
	// Dir is the folder of everything that it writes; data found there is used again. Required.
	Dir string
	// Assets are its programs; by default Ensure provides them.
	Assets Assets
	// Components run in addition to etcd and kube-apiserver: ControllerManager, Scheduler, Kwok. None by default.
	Components []string
	// Ports: for a port that is 0, the last start's port in Dir is used, or a free port at the first start.
	Ports Ports
	// Detach lets the control plane outlive this process and its terminal. Otherwise it ends with this process.
	Detach bool
	// AuditLog writes one line of metadata for every request, see ControlPlane.AuditLog. It costs the API server a few percent. It
	// is off by default, unless MILLWRIGHT_AUDIT is set in the environment.
	AuditLog bool
	// ExtraArgs are added to the command line of a component after the box's own arguments, and so take precedence.
	ExtraArgs map[string][]string
	// ExtraSANs are further names and addresses for the API server's certificate.
	ExtraSANs []string
	// Log gets a line about each step, for a user who waits. Nil: no output.
	Log io.Writer
	// Timeout is how long it may take to be ready; 4 min by default.
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

// programs are the programs that this control plane needs.
func (o *Options) programs() []string {
	return append([]string{Etcd, APIServer}, o.Components...)
}

func (o *Options) logf(format string, args ...any) {
	fmt.Fprintf(o.Log, format+"\n", args...)
}
