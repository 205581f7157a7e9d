// Command soak runs about a hundred machines on a simulated cloud, with changes by users and with faults. At the end it checks
// that the cloud has exactly the resources that the objects require: `make test-soak PROVIDER=aws`, docs/testing.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/millwright-dev/millwright/internal/demo/devplane"
	"github.com/millwright-dev/millwright/internal/demo/fleet"
	"github.com/millwright-dev/millwright/internal/verify/record"
)

// options are the flags of the command.
type options struct {
	provider, bin, dir string
	machines           int
	minutes            float64
	seed               uint64
}

func main() {
	var o options
	flag.StringVar(&o.provider, "provider", "aws", "the simulated cloud")
	flag.StringVar(&o.bin, "bin", "bin", "folder of the programs")
	flag.StringVar(&o.dir, "dir", "", "folder of the logs, which stay; empty for a new one")
	flag.IntVar(&o.machines, "machines", 300, "machines of both APIs together")
	flag.Float64Var(&o.minutes, "minutes", 60, "duration of the faults in minutes")
	flag.Uint64Var(&o.seed, "seed", 0, "seed of the troubles; 0 for one of its own")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := o.run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func (o *options) run(ctx context.Context) (err error) {
	if o.seed == 0 {
		o.seed = uint64(time.Now().UnixNano() % 1e6)
	}
	if o.dir == "" {
		if o.dir, err = os.MkdirTemp("", "millwright-soak-"); err != nil {
			return err
		}
	}
	if o.bin, err = filepath.Abs(o.bin); err != nil {
		return err
	}
	say("%s, %d machines, seed %d, logs in %s", o.provider, o.machines, o.seed, o.dir)
	audit, err := record.Audit(o.dir)
	if err != nil {
		return err
	}
	f, err := fleet.Start(ctx, fleet.Options{
		Dir: filepath.Join(o.dir, "fleet"), Bin: o.bin, Backend: "kwok", Log: os.Stderr,
		PlaneArgs: map[string][]string{devplane.APIServer: audit},
		Cloud:     fleet.CloudOptions{Provider: o.provider, AcceptAny: true},
	})
	if err != nil {
		return err
	}
	defer func() { _ = f.Stop(context.WithoutCancel(ctx)) }()
	w := &world{f: f, cloud: console{f.Cloud}, rand: rand.New(rand.NewPCG(o.seed, 0)), counts: map[string]int{}, provider: o.provider, dir: o.dir}
	return w.story(ctx, o)
}

// story is the whole run: a fleet starts, runs with faults, settles, is judged, and is deleted.
func (w *world) story(ctx context.Context, o *options) error {
	if err := w.begin(ctx, o.machines); err != nil {
		return err
	}
	if err := w.rests(ctx, "the fleet is up"); err != nil {
		return err
	}
	size := w.want
	w.trouble(ctx, size, time.Duration(o.minutes*float64(time.Minute)))
	if err := w.heal(ctx, size); err != nil {
		return err
	}
	if err := w.rests(ctx, "the troubles are over"); err != nil {
		return err
	}
	if err := w.scale(ctx, 0); err != nil {
		return err
	}
	if err := w.rests(ctx, "all machines are deleted"); err != nil {
		return err
	}
	if err := w.report(ctx); err != nil {
		return err
	}
	return w.keepsPromises(ctx)
}

// say prints an event with its time.
func say(format string, args ...any) {
	fmt.Printf("%s  %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}
