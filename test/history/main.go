// Command history runs the real controllers against a real API server while it simulates users and faults. It records all calls
// of the infrastructure and all writes of the API, and checks the record: `make test-history`, docs/testing.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
	"github.com/millwright-dev/millwright/internal/verify/previous"
)

// options are the flags of the command.
type options struct {
	seed     uint64
	minutes  float64
	previous string
	on       string
	dir      string
	judge    string
}

func main() {
	var o options
	flag.Uint64Var(&o.seed, "seed", 0, "seed of the plan; 0 for one of its own")
	flag.Float64Var(&o.minutes, "minutes", 8, "how many minutes long new rounds begin")
	flag.StringVar(&o.previous, "previous", "HEAD~1", "commit whose binaries replace the present ones for a time; empty for none")
	flag.StringVar(&o.on, "on", "", "additional faults and changes, separated by commas: "+strings.Join(optional, ", "))
	flag.StringVar(&o.dir, "dir", "", "folder of the logs, which stay; empty for a new one")
	flag.StringVar(&o.judge, "judge", "", "folder of logs to judge again, without a run")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	broken, err := o.run(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "history:", err)
		os.Exit(2)
	}
	if broken {
		os.Exit(1)
	}
}

func (o *options) run(ctx context.Context) (broken bool, err error) {
	if o.judge != "" {
		return report(o.judge, nil)
	}
	for _, name := range strings.FieldsFunc(o.on, func(r rune) bool { return r == ',' }) {
		if !slices.Contains(optional, name) {
			return false, fmt.Errorf("-on: unknown %q: want %s", name, strings.Join(optional, ", "))
		}
	}
	if o.seed == 0 {
		o.seed = uint64(time.Now().UnixNano() % 1e6)
	}
	if o.dir == "" {
		if o.dir, err = os.MkdirTemp("", "millwright-history-"); err != nil {
			return false, err
		}
	}
	if o.dir, err = filepath.Abs(o.dir); err != nil {
		return false, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := &world{
		ctx: ctx, dir: o.dir, seed: o.seed, now: filepath.Join(o.dir, "bin", "now"), recordsCalls: map[string]bool{},
		restores: strings.Contains(o.on, comesRestore), proxies: map[string]*proxy{}, seats: map[string][]*seat{}, counts: map[string]int{},
	}
	say("seed %d, logs in %s", o.seed, o.dir)
	if err := w.builds(o.previous); err != nil {
		return false, err
	}
	err = w.live(o)
	stopped := w.stop()
	if err = errors.Join(err, stopped); err != nil {
		return false, err
	}
	fmt.Printf("\nseed %d, previous %s, switched on: %s\n", o.seed, o.previous, strings.Join(append([]string{"nothing"}, o.on)[1:], ","))
	return report(o.dir, w.counts)
}

// builds builds the binaries.
func (w *world) builds(commit string) error {
	root, err := repository()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(w.now, 0o700); err != nil {
		return err
	}
	if err := previous.Build(w.ctx, root, w.now, programs...); err != nil {
		return err
	}
	w.recordsCalls[w.now] = true
	if commit == "" {
		return nil
	}
	into := filepath.Join(w.dir, "bin", "previous")
	if err := os.MkdirAll(into, 0o700); err != nil {
		return err
	}
	missing, err := previous.BuildCommit(w.ctx, root, commit, into, programs...)
	if err != nil {
		return err
	}
	if missing != "" {
		say("no exchange of binaries: %s", missing)
		return nil
	}
	w.previous = into
	w.recordsCalls[into] = previous.Knows(w.ctx, filepath.Join(into, fleet.Machines), "--call-log=/dev/null")
	if !w.recordsCalls[into] {
		say("the binaries of %s do not record their calls: what they do is seen at the infrastructure only", commit)
	}
	return nil
}

// live runs rounds until the time is over, and stops the fleet.
func (w *world) live(o *options) error {
	if err := w.start(); err != nil {
		return err
	}
	settled := w.settle("the fleet is there", settles, w.unsettled)
	until := time.Now().Add(time.Duration(o.minutes * float64(time.Minute)))
	plan := newPlanner(o.seed, w.previous != "", strings.Split(o.on, ","))
	for n := 1; settled && time.Now().Before(until) && w.ctx.Err() == nil; n++ {
		var err error
		if settled, err = w.play(n, plan.next()); err != nil {
			return err
		}
		w.count("rounds")
	}
	if w.ctx.Err() != nil {
		return w.ctx.Err()
	}
	return w.finish()
}

// repository returns the folder with go.mod, above the working folder.
func repository() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, found := os.Stat(filepath.Join(dir, "go.mod")); found == nil {
			return dir, nil
		}
		if filepath.Dir(dir) == dir {
			return "", errors.New("no go.mod above the working folder")
		}
		dir = filepath.Dir(dir)
	}
	return "", err
}
