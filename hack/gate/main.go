// Command gate runs the checks that a change must pass before it is merged: all checks that the change can affect.
// docs/contributing/gates.md explains it.
//
//	go run ./hack/gate           # .ci/run
//	go run ./hack/gate -list     # says what would run, and why
//	go run ./hack/gate -all      # runs everything, whatever has passed before
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/millwright-dev/millwright/internal/verify/gate"
)

func main() {
	var o options
	flag.BoolVar(&o.list, "list", false, "say what would run, and why, and run nothing")
	flag.BoolVar(&o.all, "all", false, "run everything, whatever has passed before")
	flag.BoolVar(&o.keepGoing, "k", false, "go on after a part has failed")
	flag.StringVar(&o.only, "only", "", "parts to run, separated by commas; all by default")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "gate:", err)
		os.Exit(1)
	}
}

type options struct {
	list, all, keepGoing bool
	only                 string
}

func run(ctx context.Context, o options) error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	clone := tree{dir}
	if err := clone.committed(ctx); err != nil {
		return err
	}
	cache, err := folder()
	if err != nil {
		return err
	}
	records := store{filepath.Join(cache, "records.json")}
	if o.list {
		verdicts, err := decide(ctx, clone, records, o.all)
		if err != nil {
			return err
		}
		printPlan(verdicts)
		return nil
	}
	slot, release, err := checkOut(ctx, clone, cache)
	if err != nil {
		return err
	}
	defer release()
	verdicts, err := decide(ctx, slot, records, o.all)
	if err != nil {
		return err
	}
	if o.only != "" {
		only := strings.Split(o.only, ",")
		verdicts = slices.DeleteFunc(verdicts, func(v gate.Verdict) bool { return !slices.Contains(only, v.Part.Name) })
	}
	printPlan(verdicts)
	return runAll(ctx, slot, records, verdicts, o.keepGoing)
}

// folder is the working folder of the gate, with its records.
func folder() (string, error) {
	cache := os.Getenv("MILLWRIGHT_CACHE")
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		cache = filepath.Join(user, "millwright")
	}
	dir := filepath.Join(cache, "gate")
	return dir, os.MkdirAll(dir, 0o755)
}

func decide(ctx context.Context, t tree, records store, all bool) ([]gate.Verdict, error) {
	files, err := t.blobs(ctx)
	if err != nil {
		return nil, err
	}
	known, err := records.read()
	if err != nil {
		return nil, err
	}
	toolchain, err := output(ctx, t.dir, "go", "env", "GOVERSION", "GOOS", "GOARCH", "GOTOOLCHAIN")
	if err != nil {
		return nil, err
	}
	names, fuzzed, err := t.names(files)
	if err != nil {
		return nil, err
	}
	return gate.Decide(gate.Parts(names, fuzzed), gate.Facts{
		Files:     files,
		Changed:   t.lastCommit(ctx),
		Toolchain: toolchain,
		Records:   known,
		Missing: func(folder string) bool {
			_, err := os.Stat(filepath.Join(t.dir, filepath.FromSlash(folder)))
			return err != nil
		},
		All: all,
	}), nil
}

func printPlan(verdicts []gate.Verdict) {
	for _, v := range verdicts {
		does := "runs"
		if !v.Run {
			does = "does not run"
		}
		fmt.Printf("gate: %-11s %s: %s\n", v.Part.Name, does, v.Reason)
		if len(v.Members) > 0 && v.Run {
			fmt.Printf("gate: %-11s %s\n", "", v.Part.Variable+"="+strings.Join(v.Members, " "))
		}
	}
}

// A result is the result of a part.
type result struct {
	verdict gate.Verdict
	what    string // passed, failed, unchanged, not reached
	wall    time.Duration
	cpu     time.Duration // user and system time of all processes of the part
}

// runAll runs the parts, group by group, and records their results.
func runAll(ctx context.Context, slot tree, records store, verdicts []gate.Verdict, keepGoing bool) error {
	r := &runner{slot: slot, records: records, keepGoing: keepGoing, out: os.Stdout}
	begin := time.Now()
	for _, group := range gate.Groups(verdicts) {
		var lanes sync.WaitGroup
		for _, lane := range []gate.Lane{gate.Alone, gate.Computing, gate.Waiting} {
			lanes.Go(func() {
				for _, v := range group {
					if v.Part.Lane == lane {
						r.part(ctx, v)
					}
				}
			})
		}
		lanes.Wait()
	}
	printTable(r.results, time.Since(begin))
	switch {
	case ctx.Err() != nil:
		return errors.New("interrupted")
	case r.err != nil:
		return r.err
	case r.failed > 0:
		return fmt.Errorf("%d parts failed", r.failed)
	}
	return nil
}

// runner runs parts, at most two at a time.
type runner struct {
	slot      tree
	records   store
	keepGoing bool

	mu      sync.Mutex
	out     io.Writer
	results []result
	failed  int
	err     error // an error of the records
}

// stopped reports whether the runner starts no further part.
func (r *runner) stopped(ctx context.Context) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return ctx.Err() != nil || r.err != nil || r.failed > 0 && !r.keepGoing
}

func (r *runner) part(ctx context.Context, v gate.Verdict) {
	out := result{verdict: v, what: "unchanged"}
	switch {
	case r.stopped(ctx):
		out.what = "not reached"
	case v.Run:
		r.printf("\ngate: %s: %s\n", v.Part.Name, v.Part.Proves)
		err := out.run(ctx, r.slot, &lines{to: r, prefix: v.Part.Name})
		r.printf("gate: %s %s in %.0f s, with %.0f s of CPU\n", v.Part.Name, out.what, out.wall.Seconds(), out.cpu.Seconds())
		if ctx.Err() == nil {
			r.note(v, err == nil)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.results = append(r.results, out)
}

func (r *runner) note(v gate.Verdict, passed bool) {
	err := r.records.note(v, passed)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = errors.Join(r.err, err)
	if !passed {
		r.failed++
	}
}

func (r *runner) printf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.out, format, args...)
}

// lines prints the output of a part with its name before each line, because two parts print at the same time.
type lines struct {
	to     *runner
	prefix string
	rest   []byte
}

func (l *lines) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		line, rest, whole := bytes.Cut(l.rest, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		l.to.printf("%s | %s\n", l.prefix, line)
		l.rest = rest
	}
}

// end prints a last line without a line end.
func (l *lines) end() {
	if len(l.rest) > 0 {
		l.to.printf("%s | %s\n", l.prefix, l.rest)
	}
}

// command returns the call of make. Parts that compute run with a lower priority (nice), because the tests of the parts that
// wait have deadlines.
func command(ctx context.Context, v gate.Verdict) *exec.Cmd {
	args := slices.Concat([]string{"make", "--no-print-directory"}, v.Arguments())
	if v.Part.Lane == gate.Computing {
		args = slices.Concat([]string{"nice", "-n", "10"}, args)
	}
	return exec.CommandContext(ctx, args[0], args[1:]...)
}

func (r *result) run(ctx context.Context, slot tree, out *lines) error {
	c := command(ctx, r.verdict)
	c.Dir = slot.dir
	c.Env = slot.environment()
	c.Stdout, c.Stderr = out, out
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = time.Minute
	begin := time.Now()
	err := c.Run()
	out.end()
	r.wall = time.Since(begin)
	if c.ProcessState != nil {
		r.cpu = c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	}
	r.what = "passed"
	if err != nil {
		r.what = "failed"
	}
	return err
}

// printTable prints the results of all parts. Parts run in parallel, so the whole takes less than their sum.
func printTable(results []result, whole time.Duration) {
	var cpu time.Duration
	fmt.Printf("\ngate: %-11s %9s %9s  %s\n", "part", "seconds", "CPU", "")
	for _, r := range results {
		line := fmt.Sprintf("gate: %-11s %9.0f %9.0f  %s", r.verdict.Part.Name, r.wall.Seconds(), r.cpu.Seconds(), r.what)
		if len(r.verdict.Members) > 0 && r.verdict.Part.Policy == gate.Turns {
			line += ", " + r.verdict.Reason
		}
		fmt.Println(line)
		cpu += r.cpu
	}
	fmt.Printf("gate: %-11s %9.0f %9.0f\n", "all", whole.Seconds(), cpu.Seconds())
}
