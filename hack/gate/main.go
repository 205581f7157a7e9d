// Command gate runs what has to pass before a change is merged: all of it that the change can touch. docs/contributing/gates.md is about it.
//
//	go run ./hack/gate           # .ci/run
//	go run ./hack/gate -list     # says what would run, and why
//	go run ./hack/gate -all      # runs everything, whatever has passed before
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
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

// folder is where the gate keeps what it knows and works.
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

// A result is what came of a part.
type result struct {
	verdict gate.Verdict
	what    string // passed, failed, unchanged, not reached
	wall    time.Duration
	cpu     time.Duration // user and system, of all processes that the part waited for
}

func runAll(ctx context.Context, slot tree, records store, verdicts []gate.Verdict, keepGoing bool) error {
	var results []result
	failed := 0
	for _, v := range verdicts {
		r := result{verdict: v, what: "unchanged"}
		switch {
		case failed > 0 && !keepGoing:
			r.what = "not reached"
		case v.Run:
			fmt.Printf("\ngate: %s: %s\n", v.Part.Name, v.Part.Proves)
			err := r.run(ctx, slot)
			if ctx.Err() != nil {
				printTable(results)
				return errors.New("interrupted")
			}
			if err != nil {
				failed++
			}
			fmt.Printf("gate: %s %s in %.0f s, with %.0f s of CPU\n", v.Part.Name, r.what, r.wall.Seconds(), r.cpu.Seconds())
			if err := records.note(v, err == nil); err != nil {
				return err
			}
		}
		results = append(results, r)
	}
	printTable(results)
	if failed > 0 {
		return fmt.Errorf("%d parts failed", failed)
	}
	return nil
}

func (r *result) run(ctx context.Context, slot tree) error {
	c := exec.CommandContext(ctx, "make", r.verdict.Arguments()...)
	c.Args = slices.Insert(c.Args, 1, "--no-print-directory")
	c.Dir = slot.dir
	c.Env = slot.environment()
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = time.Minute
	begin := time.Now()
	err := c.Run()
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

func printTable(results []result) {
	var wall, cpu time.Duration
	fmt.Printf("\ngate: %-11s %9s %9s  %s\n", "part", "seconds", "CPU", "")
	for _, r := range results {
		line := fmt.Sprintf("gate: %-11s %9.0f %9.0f  %s", r.verdict.Part.Name, r.wall.Seconds(), r.cpu.Seconds(), r.what)
		if len(r.verdict.Members) > 0 && r.verdict.Part.Policy == gate.Turns {
			line += ", " + r.verdict.Reason
		}
		fmt.Println(line)
		wall += r.wall
		cpu += r.cpu
	}
	fmt.Printf("gate: %-11s %9.0f %9.0f\n", "all", wall.Seconds(), cpu.Seconds())
}
