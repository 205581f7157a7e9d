package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/millwright-dev/millwright/internal/box"
	"github.com/millwright-dev/millwright/internal/fleet"
)

type up struct {
	where
	backend string
	port    int
	timeout time.Duration
	once    bool
	output  string
}

func upCommand() *cobra.Command {
	u := &up{}
	c := &cobra.Command{
		Use:   "up",
		Short: "Start a control plane, the controllers and a sample fleet on this machine",
		Long: `up starts a Kubernetes control plane on loopback, installs both machine APIs,
starts the controllers with the kubemark provider, and creates a sample set of
three machines in each API. Every machine is a real kubelet over a fake
container runtime. It shows the machines until all of them run, then keeps the
fleet running until it is interrupted, and takes everything down again.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return u.run(c.Context()) },
	}
	u.addFlags(c)
	c.Flags().StringVar(&u.backend, "backend", "hollow", `what stands for an instance: "hollow" (a kubelet process) or "kwok" (a node played by kwok)`)
	c.Flags().IntVar(&u.port, "port", 0, "port of the API server; 0 for the one used before, or a free one")
	c.Flags().DurationVar(&u.timeout, "timeout", 3*time.Minute, "how long the machines may take to get ready")
	c.Flags().BoolVar(&u.once, "exit-when-ready", false, "exit once all machines are ready and leave the fleet running")
	c.Flags().StringVarP(&u.output, "output", "o", "", `"json" prints one document when all machines are ready, and nothing else on standard output`)
	return c
}

// report is what -o json prints.
type report struct {
	Seconds  float64         `json:"seconds"`
	Machines []fleet.Machine `json:"machines"`
}

func (u *up) run(ctx context.Context) error {
	if u.output != "" && u.output != "json" {
		return fmt.Errorf("--output: must be json, not %q", u.output)
	}
	started := time.Now()
	f, err := u.start(ctx)
	if err != nil {
		return err
	}
	err = u.serve(ctx, f, started)
	if err == nil && u.once {
		return nil
	}
	if err != nil && u.once && !errors.Is(err, context.Canceled) {
		fmt.Fprintf(os.Stderr, "\nThe fleet is left running for a look: KUBECONFIG=%s, logs in %s, `millwright down` ends it.\n", f.Plane.KubeconfigPath, f.Dir)
		return err
	}
	return errors.Join(err, takeDown(ctx, u.where, os.Stderr))
}

// start clears what a crash left behind and starts the fleet.
func (u *up) start(ctx context.Context) (*fleet.Fleet, error) {
	running, err := fleet.Find(u.dir)
	if err == nil {
		return nil, fmt.Errorf("a fleet is already running in %s since %s (KUBECONFIG=%s); `millwright down` ends it",
			u.dir, running.Started.Format(time.TimeOnly), running.Plane.KubeconfigPath)
	}
	if !errors.Is(err, box.ErrNotRunning) {
		return nil, err
	}
	if fleet.Left(u.dir) {
		fmt.Fprintf(os.Stderr, "Clearing what an interrupted run left in %s.\n", u.dir)
		if err := fleet.Down(ctx, u.dir, u.bin); err != nil {
			return nil, fmt.Errorf("clear %s: %w", u.dir, err)
		}
	}
	f, err := fleet.Start(ctx, fleet.Options{
		Dir: u.dir, Bin: u.bin, Backend: u.backend, Port: u.port, Detach: true, Log: os.Stderr,
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (u *up) serve(ctx context.Context, f *fleet.Fleet, started time.Time) error {
	if err := f.ApplySamples(ctx); err != nil {
		return err
	}
	machines, err := u.await(ctx, f)
	if err != nil {
		return err
	}
	if u.output == "json" {
		if err := printReport(os.Stdout, time.Since(started), machines); err != nil {
			return err
		}
	} else {
		u.printNext(os.Stdout, f, machines, time.Since(started))
	}
	if u.once {
		return nil
	}
	return u.keep(ctx, f)
}

func printReport(w io.Writer, took time.Duration, machines []fleet.Machine) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(report{Seconds: round(took), Machines: machines})
}

func round(d time.Duration) float64 {
	return float64(d.Round(10*time.Millisecond).Milliseconds()) / 1000
}

// await shows the machines until all of the samples' are ready.
func (u *up) await(ctx context.Context, f *fleet.Fleet) ([]fleet.Machine, error) {
	ctx, cancel := context.WithTimeout(ctx, u.timeout)
	defer cancel()
	t := newTable(os.Stderr)
	since := time.Now()
	readyAt := map[string]time.Time{}
	for {
		machines, err := f.Census(ctx)
		if err != nil && ctx.Err() == nil {
			return nil, err
		}
		ready := note(machines, readyAt)
		t.show(machines)
		if err == nil && ready == fleet.SampleMachines && len(machines) == ready {
			return machines, nil
		}
		select {
		case <-ctx.Done():
			return nil, u.late(ctx, f, since)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// note counts the machines that are ready, and how long each took.
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

// late says why each machine that is not ready is not.
func (u *up) late(ctx context.Context, f *fleet.Fleet, since time.Time) error {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return context.Canceled
	}
	fresh, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	fmt.Fprintf(os.Stderr, "\nNot all machines are ready after %s:\n", time.Since(since).Round(time.Second))
	machines, err := f.Census(fresh)
	if err != nil {
		return fmt.Errorf("the machines cannot be listed: %w", err)
	}
	for _, m := range machines {
		if !m.Ready() {
			fmt.Fprintf(os.Stderr, "  %s %s/%s: %s\n", m.API, m.Namespace, m.Name, reason(m))
		}
	}
	if n := fleet.SampleMachines - len(machines); n > 0 {
		fmt.Fprintf(os.Stderr, "  %d machines were not even created; see %s\n", n, f.Dir)
	}
	for _, c := range f.Controllers {
		if !c.Alive() {
			fmt.Fprintf(os.Stderr, "  %s ended; its log ends with:\n%s\n", c.Program, c.Tail())
		}
	}
	return errReported
}

func reason(m fleet.Machine) string {
	phase := m.Phase
	if phase == "" {
		phase = "not looked at yet"
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

// keep waits until the person has had enough, and says when something ends by
// itself.
func (u *up) keep(ctx context.Context, f *fleet.Fleet) error {
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	told := map[string]bool{}
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-f.Plane.Failed():
			return fmt.Errorf("the control plane ended: %w", err)
		case <-tick.C:
			if _, err := box.Find(fleet.PlaneDir(u.dir)); errors.Is(err, box.ErrNotRunning) {
				fmt.Fprintln(os.Stderr, "The fleet was taken down from elsewhere.")
				return nil
			}
			for _, c := range f.Controllers {
				if !c.Alive() && !told[c.Program] {
					told[c.Program] = true
					fmt.Fprintf(os.Stderr, "%s ended; its log is %s\n", c.Program, c.Log)
				}
			}
		}
	}
}
