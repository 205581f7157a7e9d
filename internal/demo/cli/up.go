package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/millwright-dev/millwright/internal/demo/devplane"
	"github.com/millwright-dev/millwright/internal/demo/fleet"
	"github.com/millwright-dev/millwright/internal/plugin"
)

type up struct {
	where
	backend string
	cloud   fleet.CloudOptions
	port    int
	timeout time.Duration
	once    bool
	// print has the flags of the document that is printed when all machines are ready, or
	// after a failure.
	print plugin.Output
}

func upCommand() *cobra.Command {
	u := &up{print: plugin.NewOutput()}
	c := &cobra.Command{
		Use:   "up",
		Short: "Start a control plane, the controllers and a sample fleet on this computer",
		Long: `up starts a Kubernetes control plane on the loopback interface, installs both machine
APIs, starts the controllers with the kubemark provider, and creates a sample set of
three machines in each API. The instance of each machine is a real kubelet with a fake
container runtime. With --provider, up simulates a cloud and starts the machine
controller of that cloud. With --provider libvirt, the instances are virtual machines.

up shows the machines until all are running, and stops the fleet when it is
interrupted. With -o, it prints one document on standard output when all machines are
ready, or after a failure, and nothing else.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return u.run(c.Context()) },
	}
	u.addFlags(c)
	c.Flags().StringVar(&u.backend, "backend", hollowBackend, `simulation of an instance: "hollow" (a kubelet process) or "kwok" (a node simulated by kwok)`)
	c.Flags().StringVar(&u.cloud.Provider, "provider", fleet.Kubemark, "infrastructure: kubemark, libvirt (start it with hack/libvirt up), or a cloud that is simulated on this computer: "+strings.Join(clouds, ", "))
	c.Flags().StringVar(&u.cloud.Inventory, "inventory", "", "YAML file with the resources of the simulated cloud: images, networks, types (default: the resources in the samples)")
	c.Flags().BoolVar(&u.cloud.AcceptAny, "accept-any", false, "the simulated cloud accepts every name of credentials, regions, images, networks and types")
	c.Flags().IntVar(&u.port, "port", 0, "port of the API server; 0 for the previous port, or for a free port")
	c.Flags().DurationVar(&u.timeout, "timeout", 3*time.Minute, "maximum time until the machines are ready")
	c.Flags().BoolVar(&u.once, "exit-when-ready", false, "exit after all machines are ready, and leave the fleet running")
	u.print.AddFlags(c)
	return c
}

// hollowBackend and kwokBackend are the simulations of an instance.
const (
	hollowBackend = "hollow"
	kwokBackend   = "kwok"
)

// report is the document that -o prints.
type report struct {
	Seconds float64 `json:"seconds"`
	// Dir is the folder of the fleet. Server and Kubeconfig are those of its API server;
	// they are empty if the fleet did not start.
	Dir        string `json:"dir"`
	Server     string `json:"server,omitempty"`
	Kubeconfig string `json:"kubeconfig,omitempty"`
	// Cloud is the address of the simulated cloud. It is empty with kubemark.
	Cloud       string          `json:"cloud,omitempty"`
	Controllers []program       `json:"controllers"`
	Machines    []fleet.Machine `json:"machines"`
	// Error says why some machines are not ready. Reasons has an entry for each machine or controller.
	Error   string   `json:"error,omitempty"`
	Reasons []string `json:"reasons,omitempty"`
}

// program is a controller of the fleet.
type program struct {
	Program string `json:"program"`
	PID     int    `json:"pid"`
	// Running is false after the controller has ended.
	Running bool `json:"running"`
	// Metrics is the URL of the metrics. It is empty after the controller has ended.
	Metrics string `json:"metrics,omitempty"`
	Log     string `json:"log"`
}

func programs(f *fleet.Fleet) []program {
	out := []program{}
	if f == nil {
		return out
	}
	for _, c := range f.Controllers {
		p := program{Program: c.Program, PID: c.PID, Running: c.Alive(), Log: c.Log}
		if c.Metrics != "" && p.Running {
			p.Metrics = "http://" + c.Metrics + "/metrics"
		}
		out = append(out, p)
	}
	return out
}

func (u *up) run(ctx context.Context) error {
	if _, err := u.print.Printer(); err != nil {
		return err
	}
	started := time.Now()
	f, err := u.start(ctx)
	if err != nil {
		return errors.Join(err, u.report(os.Stdout, nil, started, nil, err))
	}
	err = u.serve(ctx, f, started)
	if err == nil && u.once {
		return nil
	}
	if err != nil && u.once && !errors.Is(err, context.Canceled) {
		fmt.Fprintf(os.Stderr, "\nThe fleet is still running, so that you can inspect it: KUBECONFIG=%s, logs in %s. `%s` stops it.\n", f.Plane.KubeconfigPath, u.folder(), u.down())
		return err
	}
	return errors.Join(err, takeDown(ctx, u.where, os.Stderr))
}

// clouds are the clouds that have a simulator.
var clouds = []string{"alicloud", "aws", "azure", "gcp", "ibmcloud", "kubevirt", "metal3", "nutanix", "openstack", "vsphere", "yandex"}

func (u *up) check() error {
	if u.backend != hollowBackend && u.backend != kwokBackend {
		return fmt.Errorf("--backend: must be %s or %s, not %q", hollowBackend, kwokBackend, u.backend)
	}
	if u.cloud.Provider == fleet.Kubemark {
		if u.cloud.Inventory != "" || u.cloud.AcceptAny {
			return fmt.Errorf("--inventory and --accept-any require a simulated cloud: --provider must be one of %s", strings.Join(clouds, ", "))
		}
		return nil
	}
	if u.cloud.Provider != fleet.Libvirt && !slices.Contains(clouds, u.cloud.Provider) {
		return fmt.Errorf("--provider: must be %s, %s or one of %s, not %q", fleet.Kubemark, fleet.Libvirt, strings.Join(clouds, ", "), u.cloud.Provider)
	}
	if u.cloud.Provider == fleet.Libvirt && (u.backend != hollowBackend || u.cloud.Inventory != "" || u.cloud.AcceptAny) {
		return errors.New("--backend, --inventory and --accept-any require simulated instances: libvirt has real virtual machines")
	}
	return nil
}

// start removes the remains of an interrupted run, and starts the fleet.
func (u *up) start(ctx context.Context) (*fleet.Fleet, error) {
	if err := u.check(); err != nil {
		return nil, err
	}
	running, err := fleet.Find(u.dir)
	if err == nil {
		return nil, fmt.Errorf("a fleet has been running in %s since %s (KUBECONFIG=%s); `%s` stops it",
			u.folder(), running.Started.Format(time.TimeOnly), running.Plane.KubeconfigPath, u.down())
	}
	if !errors.Is(err, devplane.ErrNotRunning) {
		return nil, err
	}
	if fleet.Left(u.dir) {
		fmt.Fprintf(os.Stderr, "Removing the remains of an interrupted run in %s.\n", u.dir)
		if err := fleet.Down(ctx, u.dir, u.bin); err != nil {
			return nil, fmt.Errorf("remove the remains of an interrupted run in %s: %w", u.dir, err)
		}
	}
	f, err := fleet.Start(ctx, fleet.Options{
		Dir: u.dir, Bin: u.bin, Backend: u.backend, Cloud: u.cloud, Port: u.port, Detach: true, Metrics: true, Log: os.Stderr,
		Args: map[string][]string{fleet.Sets: controllerArgs(), "machine-controller-" + u.cloud.Provider: controllerArgs()},
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// controllerArgs returns the arguments of a controller. It takes a lease, in which `why` sees whether
// the controller runs. The durations of the lease are longer than the defaults, because this computer may be
// busy and no standby waits. The controller watches all namespaces, because the manifests of a shoot are
// in the namespace of the shoot.
func controllerArgs() []string {
	return []string{"--leader-elect=true", "--leader-elect-lease-duration=60s", "--leader-elect-renew-deadline=50s", "--namespace="}
}

func (u *up) serve(ctx context.Context, f *fleet.Fleet, started time.Time) error {
	machines, err := u.awaken(ctx, f)
	if err != nil {
		return errors.Join(err, u.report(os.Stdout, f, started, machines, err))
	}
	if err := u.report(os.Stdout, f, started, machines, nil); err != nil {
		return err
	}
	if p, _ := u.print.Printer(); p == nil {
		u.printNext(os.Stdout, f, machines, time.Since(started))
	}
	if u.once {
		return nil
	}
	if address, err := u.startPage(ctx, f); err != nil {
		fmt.Fprintln(os.Stderr, "The fleet has no page:", err)
	} else {
		fmt.Fprintf(os.Stderr, "\nLook at the fleet: %s\n", address)
	}
	return u.keep(ctx, f)
}

// awaken creates the samples and waits until they run. If some do not run, it
// returns the existing machines and an error with the reasons.
func (u *up) awaken(ctx context.Context, f *fleet.Fleet) ([]fleet.Machine, error) {
	if err := f.ApplySamples(ctx); err != nil {
		return nil, err
	}
	return u.await(ctx, f)
}

// report prints the document of -o. f is nil if no fleet started. failed is nil
// if all machines are ready.
func (u *up) report(w io.Writer, f *fleet.Fleet, started time.Time, machines []fleet.Machine, failed error) error {
	p, err := u.print.Printer()
	if p == nil || err != nil {
		return err
	}
	r := report{Seconds: round(time.Since(started)), Dir: u.folder(), Controllers: programs(f), Machines: machines}
	if r.Machines == nil {
		r.Machines = []fleet.Machine{}
	}
	if f != nil {
		r.Server, r.Kubeconfig = f.Plane.Server, f.Plane.KubeconfigPath
		if f.Cloud != nil {
			r.Cloud = f.Cloud.URL
		}
	}
	if failed != nil {
		r.Error = failed.Error()
	}
	var l *lateError
	if errors.As(failed, &l) {
		r.Error, r.Reasons = l.what, l.reasons
	}
	return p.PrintObj(plugin.Document("", "Fleet", r), w)
}

func round(d time.Duration) float64 {
	return float64(d.Round(10*time.Millisecond).Milliseconds()) / 1000
}

// await shows the machines until all machines of the samples are ready.
func (u *up) await(ctx context.Context, f *fleet.Fleet) ([]fleet.Machine, error) {
	ctx, cancel := context.WithTimeout(ctx, u.timeout)
	defer cancel()
	t := newTable(os.Stderr)
	since := time.Now()
	readyAt := map[string]time.Time{}
	for {
		machines, err := f.Census(ctx)
		if err != nil && ctx.Err() == nil && len(dead(f)) == 0 {
			return nil, err
		}
		ready := note(machines, readyAt)
		t.show(machines)
		if err == nil && ready == u.cloud.SampleMachines() && len(machines) == ready {
			return machines, nil
		}
		if len(dead(f)) > 0 { // a controller that ends so early would end again
			return machines, u.late(ctx, f, "A controller ended before all machines were ready")
		}
		select {
		case <-ctx.Done():
			if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return machines, context.Canceled
			}
			return machines, u.late(ctx, f, fmt.Sprintf("Not all machines are ready after %s", time.Since(since).Round(time.Second)))
		case err := <-f.Plane.Failed():
			return machines, fmt.Errorf("the control plane ended before all machines were ready: %w", err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// note records the machines that are ready, and the time that each took.
func note(machines []fleet.Machine, readyAt map[string]time.Time) (ready int) {
	for i := range machines {
		m := &machines[i]
		at := time.Now()
		if m.Ready() {
			ready++
			if readyAt[m.UID].IsZero() {
				readyAt[m.UID] = at
			}
			at = readyAt[m.UID]
		}
		m.Seconds = round(at.Sub(m.Created))
	}
	return ready
}

// dead returns the controllers that have ended.
func dead(f *fleet.Fleet) (out []*fleet.Controller) {
	for _, c := range f.Controllers {
		if !c.Alive() {
			out = append(out, c)
		}
	}
	return out
}

// lateError says why some machines are not ready. The user has already seen these
// reasons.
type lateError struct {
	what    string
	reasons []string
}

func (e *lateError) Error() string { return e.what }

func (e *lateError) Is(other error) bool { return other == plugin.ErrReported }

// late prints the reason for each machine that is not ready.
func (u *up) late(ctx context.Context, f *fleet.Fleet, what string) error {
	fresh, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	out := &lateError{what: what}
	for _, c := range dead(f) {
		out.reasons = append(out.reasons, fmt.Sprintf("%s ended. The last lines of its log %s:\n%s", c.Program, c.Log, strings.TrimSpace(c.Tail())))
	}
	machines, err := f.Census(fresh)
	if err != nil {
		out.reasons = append(out.reasons, "cannot list the machines: "+err.Error())
	}
	for _, m := range machines {
		if !m.Ready() {
			out.reasons = append(out.reasons, fmt.Sprintf("%s %s/%s: %s", m.API, m.Namespace, m.Name, reason(m)))
		}
	}
	if n := u.cloud.SampleMachines() - len(machines); n > 0 && err == nil {
		out.reasons = append(out.reasons, fmt.Sprintf("%d machines were not created: see the logs in %s", n, u.folder()))
	}
	fmt.Fprintf(os.Stderr, "\n%s:\n", what)
	for _, r := range out.reasons {
		fmt.Fprintln(os.Stderr, "  "+r)
	}
	return out
}

func reason(m fleet.Machine) string {
	phase := m.Phase
	if phase == "" {
		phase = "not reconciled yet"
	}
	switch {
	case m.Why != "":
		return phase + ": " + m.Why
	case m.Node == "":
		return phase + ": no node has joined"
	case m.NodeReady == "":
		return phase + ": node " + m.Node + " has not joined"
	}
	return fmt.Sprintf("%s: node %s is Ready=%s", phase, m.Node, m.NodeReady)
}

// keep waits until the user interrupts. It restarts controllers that end, as a kubelet
// would: a controller ends itself if it must read all objects again, for example after a
// restore of etcd.
func (u *up) keep(ctx context.Context, f *fleet.Fleet) error {
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-f.Plane.Failed():
			return fmt.Errorf("the control plane ended: %w", err)
		case <-tick.C:
			if _, err := devplane.Find(fleet.PlaneDir(u.dir)); errors.Is(err, devplane.ErrNotRunning) {
				fmt.Fprintln(os.Stderr, "Another process has stopped the fleet.")
				return nil
			}
			for _, line := range f.Revive(time.Now()) {
				fmt.Fprintln(os.Stderr, line+".")
			}
		}
	}
}
