package bench

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/millwright-dev/millwright/internal/demo/devplane/ports"
	"github.com/millwright-dev/millwright/internal/demo/fleet"
	"github.com/millwright-dev/millwright/internal/runtime/version"
)

// Options say what the bench measures.
type Options struct {
	// Dir is the folder of the running control planes; it must not exist or must be
	// empty. Required.
	Dir string
	// Bin is the folder of the controllers' programs. Required.
	Bin string
	// Machines are the numbers of machines, one for each measurement. Required.
	Machines []int
	// APIs are the API groups to measure. Required.
	APIs []string
	// Rounds is how often everything is measured, in turn; 1 by default.
	Rounds int
	// BootTime is the time from the request for an instance until its node registers; 0 by default. It shows the cost of late requests. The raw
	// client waits for the same time.
	BootTime time.Duration
	// BootSpread is the largest difference of an instance's boot time from BootTime; 0 by default.
	BootSpread time.Duration
	// Distance is how long a request to the API server and its answer are under way, for the controllers and the raw client; 0 by default.
	Distance time.Duration
	// Sets is the number of sets or deployments over which the machines are spread; 1 by default.
	Sets int
	// Roll measures how a deployment replaces all its machines. By default the bench measures how
	// a set creates and deletes machines.
	Roll bool
	// Dead measures instead how machines are replaced if this number of nodes dies at the same time; 0: not measured.
	Dead int
	// Blocked measures instead the cost of this number of drains that a budget blocks for
	// machines that are created and deleted meanwhile; 0: not
	// measured.
	Blocked int
	// Heartbeats measures instead the cost of the nodes' heartbeats for the
	// controllers, with a health check over all machines and without one.
	Heartbeats bool
	// Window is how long the bench measures with a check, and how long without; one
	// minute by default.
	Window time.Duration
	// Provider is a simulated cloud. The bench then measures its requests instead, with a fleet whose machines are divided among
	// the APIs. Empty: no cloud.
	Provider string
	// CloudLimits are the simulator's rate limits; nil: no limits.
	CloudLimits []CloudLimit
	// Rest is how long writes at rest are counted. With a cloud it is the period after which each machine is reconciled again. One
	// minute by default.
	Rest time.Duration
	// Timeout bounds each phase; ten minutes by default.
	Timeout time.Duration
	// Profiling makes the controllers serve /debug/pprof/ at these addresses,
	// by program.
	Profiling map[string]string
	// Log gets lines for a user who waits.
	Log io.Writer
}

// Run measures each API with each number of machines, each on its own control plane, so
// that no run profits from the etcd and the caches of an earlier run. With an error it
// returns the results so far.
func Run(ctx context.Context, o Options) (*Report, error) {
	if o.Rest == 0 {
		o.Rest = time.Minute
	}
	if o.Window == 0 {
		o.Window = time.Minute
	}
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Minute
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	report := &Report{Runs: []Measured{}}
	if o.Provider != "" {
		return report, runClouds(ctx, o, report)
	}
	if o.Roll {
		report.Decisions = decisions()
	}
	for round := range max(o.Rounds, 1) {
		if o.Rounds > 1 {
			fmt.Fprintf(o.Log, "round %d of %d\n", round+1, o.Rounds)
		}
		if err := o.round(ctx, report); err != nil {
			return report, err
		}
	}
	return report, nil
}

// round measures each API with each number of machines once.
func (o Options) round(ctx context.Context, report *Report) error {
	for _, api := range o.APIs {
		shape, err := shapeOf(api, o.BootTime, o.BootSpread)
		if err != nil {
			return err
		}
		shape.Sets = o.Sets
		for i, n := range o.Machines {
			s := &session{Options: o, shape: shape, machines: n, restful: i == len(o.Machines)-1}
			if err := s.run(ctx, report); err != nil {
				return fmt.Errorf("measure %s with %d machines: %w", api, n, err)
			}
		}
	}
	return nil
}

// newMeasured creates the results of a phase.
func newMeasured(s *session, phase string) Measured {
	m := Measured{Subject: Subject{API: s.shape.API, Phase: phase, Machines: s.machines}, Program: version.String()}
	if phase == die {
		m.Dead = &Dead{Nodes: s.Dead}
	}
	if s.BootTime > 0 {
		m.BootTime = s.BootTime.String()
	}
	if s.BootSpread > 0 {
		m.BootTime += " ± " + s.BootSpread.String()
	}
	if s.Sets > 1 {
		m.Sets = s.Sets
	}
	if s.Distance > 0 {
		m.Distance = s.Distance.String()
	}
	return m
}

// session is one control plane, on which the bench measures one API with one number
// of machines.
type session struct {
	Options
	shape    *shape
	machines int
	// restful: the session also counts writes at rest, while all machines run.
	restful bool

	plane *plane
	// health are the addresses of the controllers' health endpoints, metrics the
	// addresses of their metrics, if they serve them.
	health, metrics map[string]string
}

func (s *session) run(ctx context.Context, report *Report) (err error) {
	dir := filepath.Join(s.Dir, fmt.Sprintf("%s-%d", s.shape.API, s.machines))
	s.logf("starting a control plane")
	if err := s.findAddresses(); err != nil {
		return err
	}
	s.plane, err = startPlane(ctx, fleet.Options{
		Dir: dir, Bin: s.Bin, Backend: "kwok", AuditLog: true, Idle: true, Args: s.controllerArgs(),
		PlaneArgs: planeArgs(),
	})
	if err != nil {
		return err
	}
	defer func() {
		fresh, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		if e := fleet.Down(fresh, dir, s.Bin); e != nil && err == nil {
			err = fmt.Errorf("take the control plane down: %w", e)
		}
	}()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := s.plane.moveAway(ctx, s.Distance); err != nil {
		return err
	}
	return s.measure(ctx, report)
}

func (s *session) measure(ctx context.Context, report *Report) error {
	if err := s.plane.prepare(ctx, s.shape, setNames(s.Sets)); err != nil {
		return err
	}
	if s.Dead > 0 {
		return dying{s}.measure(ctx, report)
	}
	if s.Roll {
		return s.measureRoll(ctx, report)
	}
	if s.Blocked > 0 {
		return s.measureBlocked(ctx, report)
	}
	if s.Heartbeats {
		return s.measureHeartbeats(ctx, report)
	}
	bounds, err := s.ceilings(ctx)
	if err != nil {
		return err
	}
	if err := s.startControllers(ctx); err != nil {
		return err
	}
	created, err := s.phase(ctx, s.creating(), bounds)
	if err != nil {
		return err
	}
	first := len(report.Runs)
	report.add(created, s.Log)
	if err := s.restAndRestart(ctx, report); err != nil {
		return err
	}
	deleted, err := s.phase(ctx, s.removing(), bounds)
	if err != nil {
		return err
	}
	deleted.Alone, err = s.leaveAlone(ctx, bounds.alone)
	deleted.round()
	report.add(deleted, s.Log)
	if err != nil {
		return err
	}
	return s.joinAgain(ctx, &report.Runs[first])
}

// restAndRestart is restIfAsked, and then the cost of a restart of the controllers.
func (s *session) restAndRestart(ctx context.Context, report *Report) error {
	if err := s.restIfAsked(ctx, report); err != nil {
		return err
	}
	rest := report.Runs[len(report.Runs)-1].Rest
	if rest == nil {
		return nil
	}
	var err error
	rest.Restarted, err = restart(ctx, s)
	return err
}

// restIfAsked counts writes at rest in sessions that request it, and measures the cost of rest after the phase that was added last.
func (s *session) restIfAsked(ctx context.Context, report *Report) error {
	if !s.restful {
		return nil
	}
	before, err := usageOf(s.plane.Controllers)
	if err != nil {
		return err
	}
	writes, err := s.rest(ctx)
	report.WritesAtRest = max(report.WritesAtRest, writes)
	if err != nil {
		return err
	}
	after, err := usageOf(s.plane.Controllers)
	if err != nil {
		return err
	}
	report.Runs[len(report.Runs)-1].Rest = &Rest{Percent: rounded(100 * (after.cpuSeconds - before.cpuSeconds) / s.Options.Rest.Seconds())}
	return nil
}

func (s *session) logf(format string, args ...any) {
	fmt.Fprintf(s.Log, "%s, %d machines: %s\n", s.shape.API, s.machines, fmt.Sprintf(format, args...))
}

// TempDir creates a folder for control planes.
func TempDir() (string, error) {
	dir, err := os.MkdirTemp("", "millwright-bench-")
	if err != nil {
		return "", fmt.Errorf("make a folder for control planes: %w", err)
	}
	return dir, nil
}

// planeArgs reduce the control plane's influence: the audit log is one file, and nodes
// without a kubelet are not declared lost.
func planeArgs() map[string][]string {
	return map[string][]string{
		"kube-apiserver":          {"--audit-log-maxsize=100000"}, // megabytes
		"kube-controller-manager": {"--node-monitor-grace-period=2h"},
	}
}

// findAddresses gives each controller an address for its health endpoint, and one for
// metrics if metrics or profiles are requested.
func (s *session) findAddresses() (err error) {
	s.health, s.metrics = map[string]string{}, map[string]string{}
	for _, program := range programs {
		if s.health[program], err = ports.FreeAddress(); err != nil {
			return err
		}
		s.metrics[program] = s.Profiling[program]
	}
	if (s.Heartbeats || s.Dead > 0) && s.metrics[fleet.Sets] == "" { // both count passes over health checks
		s.metrics[fleet.Sets], err = ports.FreeAddress()
	}
	return err
}

func (s *session) controllerArgs() map[string][]string {
	out := map[string][]string{}
	for _, program := range programs {
		out[program] = []string{"--health-addr=" + s.health[program]}
		if address := s.metrics[program]; address != "" {
			out[program] = append(out[program], "--metrics-bind-address="+address)
		}
		if s.Profiling[program] != "" {
			out[program] = append(out[program], "--profiling")
		}
	}
	return out
}
