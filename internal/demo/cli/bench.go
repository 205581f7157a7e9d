package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/millwright-dev/millwright/internal/demo/bench"
	"github.com/millwright-dev/millwright/internal/demo/devplane/ports"
	"github.com/millwright-dev/millwright/internal/demo/fleet"
	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/plugin"
)

type benchmark struct {
	options   bench.Options
	nodes     int
	print     plugin.Output
	backend   string
	limits    map[string]string
	store     string
	profiling bool
}

func benchCommand() *cobra.Command {
	b := &benchmark{print: plugin.NewOutput()}
	c := &cobra.Command{
		Use:   "bench",
		Short: "Measure the controllers, and compare them with a client that only creates and deletes the same objects",
		Long: `bench starts a control plane for each API and each number of machines. kwok simulates
the nodes. bench first measures the time of a client that performs only the writes that
every implementation needs. Then it measures the time of the controllers, from no
machine until all machines are Running with Ready nodes, and back. Other measurements:

  --roll        a rolling update of a deployment, a tenth of the machines at a time
  --blocked     creations and deletions while a budget blocks drains
  --dead        the replacement of machines whose nodes fail at the same time
  --heartbeats  the cost of node heartbeats, with and without a health check
  --provider    the requests to a simulated cloud for each machine, while a fleet is
                created, runs unchanged and is deleted

bench prints each result with its budget. With -o it prints one document at the end, with
--rounds the median of the rounds. With --store it writes the results to a file, and
prints the previous results beside the new ones. Run no other load on the computer.`,
		Args: cobra.NoArgs,
		Example: `  millwright bench --machines 100 --api gardener
  millwright bench --machines 1000 --boot-time 60s --rounds 3 --store figures.json
  millwright bench --provider aws
  millwright bench --provider aws --machines 200 --limit RunInstances=2/5`,
		RunE: func(c *cobra.Command, _ []string) error {
			if b.options.Provider != "" && !c.Flags().Changed("machines") {
				b.options.Machines = []int{1000}
			}
			return b.run(c.Context())
		},
	}
	c.Flags().IntSliceVar(&b.options.Machines, "machines", []int{100, 1000}, "numbers of machines, one for each measurement")
	c.Flags().StringSliceVar(&b.options.APIs, "api", apis.Words(), "APIs to measure")
	c.Flags().IntVar(&b.options.Rounds, "rounds", 1, "number of rounds, each of which measures every API with every number of machines; the output is the median")
	c.Flags().StringVar(&b.store, "store", "", "file that stores the results; earlier results in it are printed as well, and a page with tables and plots is written to the same folder")
	c.Flags().DurationVar(&b.options.BootTime, "boot-time", 0, "time that instances boot until their nodes register; shows the cost of late requests for instances")
	c.Flags().DurationVar(&b.options.BootSpread, "boot-spread", 0, "maximum by which the boot of an instance is longer or shorter than --boot-time")
	c.Flags().DurationVar(&b.options.Distance, "distance", 0, "network delay between the controllers, or that client, and the API server, for a request and its reply")
	c.Flags().IntVar(&b.options.Sets, "sets", 1, "number of sets (with --roll: deployments) that share the machines")
	c.Flags().BoolVar(&b.options.Roll, "roll", false, "measure a rolling update (surge 10%, unavailable 0) instead of creating and deleting")
	c.Flags().IntVar(&b.options.Dead, "dead", 0, "instead, measure how machines are replaced after this number of nodes fails at the same time")
	c.Flags().IntVar(&b.options.Blocked, "blocked", 0, "instead, measure how this number of drains that a budget blocks slows other creations and deletions")
	c.Flags().IntVar(&b.nodes, "heartbeats", 0, "instead, measure the cost of the heartbeats of this number of nodes for the controllers, with and without a health check for all their machines")
	c.Flags().DurationVar(&b.options.Window, "window", 0, "how long to measure heartbeats with a health check, and again without; 0 for a minute")
	c.Flags().StringVar(&b.options.Provider, "provider", "", "instead, count the requests to a simulated cloud: "+strings.Join(clouds, ", ")+"; the APIs share the machines, whose default number is then 1000")
	c.Flags().StringToStringVar(&b.limits, "limit", nil, "with --provider: requests per second and burst that the cloud accepts for an operation, such as RunInstances=2/5; * for all operations together (default: no limits)")
	c.Flags().StringVar(&b.backend, "backend", "kwok", `simulation of an instance: only "kwok" can be compared with that client`)
	c.Flags().DurationVar(&b.options.Rest, "rest", 0, "how long to count writes at rest, or with --provider the interval at which the controller checks each machine; 0 for a minute")
	c.Flags().DurationVar(&b.options.Timeout, "timeout", 0, "maximum duration of a phase; 0 for ten minutes")
	b.print.AddFlags(c)
	c.Flags().BoolVar(&b.profiling, "profiling", false, "let the controllers serve /debug/pprof/, and print the addresses")
	c.Flags().StringVar(&b.options.Dir, "dir", "", "folder for the control planes while they run; empty for a temporary folder")
	c.Flags().StringVar(&b.options.Bin, "bin", defaultBin(), "folder of the controllers' programs")
	_ = c.Flags().MarkHidden("bin")
	c.MarkFlagsMutuallyExclusive("roll", "dead", "blocked", "heartbeats", "provider")
	c.MarkFlagsMutuallyExclusive("machines", "heartbeats")
	for _, other := range []string{"roll", "blocked", "heartbeats", "provider"} {
		c.MarkFlagsMutuallyExclusive("boot-time", other)
		c.MarkFlagsMutuallyExclusive("distance", other)
	}
	for _, other := range []string{"blocked", "heartbeats", "provider"} {
		c.MarkFlagsMutuallyExclusive("sets", other)
		c.MarkFlagsMutuallyExclusive("rounds", other)
		c.MarkFlagsMutuallyExclusive("store", other)
	}
	return c
}

func (b *benchmark) run(ctx context.Context) error {
	if err := b.complete(); err != nil {
		return err
	}
	if b.options.Dir == "" {
		dir, err := bench.TempDir()
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		b.options.Dir = dir
	}
	var before *bench.Report
	if b.store != "" {
		var err error
		if before, err = bench.Load(b.store); err != nil {
			return fmt.Errorf("--store: %w", err)
		}
	}
	report, err := bench.Run(ctx, b.options)
	report.Before = before
	if err == nil && b.store != "" {
		err = report.Store(b.store)
	}
	return errors.Join(err, b.show(report))
}

func (b *benchmark) checkTimes() error {
	if b.options.BootTime < 0 {
		return fmt.Errorf("--boot-time: must not be negative: %s", b.options.BootTime)
	}
	if b.options.BootSpread < 0 || b.options.BootSpread > b.options.BootTime {
		return fmt.Errorf("--boot-spread: must be between 0s and --boot-time (%s), not %s", b.options.BootTime, b.options.BootSpread)
	}
	if b.options.Distance < 0 {
		return fmt.Errorf("--distance: must not be negative: %s", b.options.Distance)
	}
	return nil
}

// show prints the results, even if some measurements failed.
func (b *benchmark) show(report *bench.Report) error {
	p, err := b.print.Printer()
	if p == nil || err != nil {
		return errors.Join(err, report.Print(os.Stdout))
	}
	return p.PrintObj(plugin.Document("", "Benchmark", report), os.Stdout)
}

func (b *benchmark) complete() error {
	if _, err := b.print.Printer(); err != nil {
		return err
	}
	if b.backend != "kwok" {
		return fmt.Errorf("--backend: must be kwok, not %q", b.backend)
	}
	for i, name := range b.options.APIs {
		known, err := apis.OfFlag(name)
		if err != nil {
			return err
		}
		b.options.APIs[i] = known.Name
	}
	for _, n := range b.options.Machines {
		if n < 1 {
			return fmt.Errorf("--machines: must be at least 1, not %d", n)
		}
	}
	if b.options.Dead < 0 || b.options.Dead > slices.Min(b.options.Machines) {
		return fmt.Errorf("--dead: must be between 0 and the number of machines, not %d", b.options.Dead)
	}
	if b.options.Sets < 0 || b.options.Sets > slices.Min(b.options.Machines) {
		return fmt.Errorf("--sets: must be between 0 and the number of machines, not %d", b.options.Sets)
	}
	if b.options.Rounds < 0 {
		return fmt.Errorf("--rounds: must not be negative: %d", b.options.Rounds)
	}
	if err := b.checkTimes(); err != nil {
		return err
	}
	if b.options.Blocked < 0 {
		return fmt.Errorf("--blocked: must not be negative: %d", b.options.Blocked)
	}
	if err := b.completeCloud(); err != nil {
		return err
	}
	if b.nodes < 0 {
		return fmt.Errorf("--heartbeats: must not be negative: %d", b.nodes)
	}
	if b.nodes > 0 {
		b.options.Machines, b.options.Heartbeats = []int{b.nodes}, true
	}
	b.options.Log = os.Stderr
	if b.profiling {
		return b.profile()
	}
	return nil
}

// completeCloud checks and reads the flags about a cloud.
func (b *benchmark) completeCloud() error {
	if b.options.Provider != "" && !slices.Contains(clouds, b.options.Provider) {
		return fmt.Errorf("--provider: must be one of %s, not %q", strings.Join(clouds, ", "), b.options.Provider)
	}
	if b.options.Provider == "" && len(b.limits) > 0 {
		return errors.New("--limit requires --provider")
	}
	for _, operation := range slices.Sorted(maps.Keys(b.limits)) {
		l, err := limitOf(operation, b.limits[operation])
		if err != nil {
			return fmt.Errorf("--limit %s: %w", operation, err)
		}
		b.options.CloudLimits = append(b.options.CloudLimits, l)
	}
	return nil
}

// limitOf parses "2/5": two requests per second with a burst of five.
func limitOf(operation, text string) (l bench.CloudLimit, err error) {
	rate, burst, ok := strings.Cut(text, "/")
	if ok {
		l.PerSecond, err = strconv.ParseFloat(rate, 64)
	}
	if ok && err == nil {
		l.Burst, err = strconv.ParseFloat(burst, 64)
	}
	if !ok || err != nil || !(l.PerSecond > 0 && l.Burst >= 1) {
		return l, fmt.Errorf("must be requests per second (more than 0) and a burst (at least 1), such as 2/5, not %q", text)
	}
	if operation != "*" {
		l.Operation = operation
	}
	return l, nil
}

// profile finds a free port for the profiles of each program.
func (b *benchmark) profile() error {
	b.options.Profiling = map[string]string{}
	for _, program := range []string{fleet.Sets, fleet.Machines} {
		address, err := ports.FreeAddress()
		if err != nil {
			return err
		}
		b.options.Profiling[program] = address
		fmt.Fprintf(os.Stderr, "profiles of %s: http://%s/debug/pprof/\n", program, address)
	}
	return nil
}
