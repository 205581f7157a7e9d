// Command mutants puts defects into the product, one at a time, and reports which tests find them: see docs/mutants.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/millwright-dev/millwright/internal/verify/mutants"
	"github.com/millwright-dev/millwright/internal/verify/tidy"
)

type options struct {
	rooms, only, sim, json string
	generated, worlds      int
	parallel               int
	seed                   uint64
	fresh, list            bool
}

func main() {
	var o options
	flag.StringVar(&o.rooms, "room", "", "only mutants of these rooms, with commas between: "+strings.Join(mutants.Rooms(), ", "))
	flag.StringVar(&o.only, "only", "", "only mutants with one of these in their IDs, with commas between")
	flag.StringVar(&o.sim, "sim", "", "1: the simulator looks for those that touch a statement or survive the tests; all: for every one")
	flag.IntVar(&o.worlds, "worlds", 1500, "how many worlds the simulator looks at, for each dialect")
	flag.IntVar(&o.generated, "generated", 0, "how many mutants of standard kinds are made besides our own, in each room")
	flag.Uint64Var(&o.seed, "seed", 1, "which of them")
	flag.IntVar(&o.parallel, "parallel", 1, "how many mutants are tried at a time")
	flag.BoolVar(&o.fresh, "fresh", false, "use no result of an earlier run")
	flag.BoolVar(&o.list, "list", false, "print the mutants and try none")
	flag.StringVar(&o.json, "json", "bin/mutants.json", "where the results are written to")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	short, err := o.run(ctx)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(2)
	case len(short) > 0:
		fmt.Fprintln(os.Stderr, "\nnot good enough:\n  "+strings.Join(short, "\n  "))
		os.Exit(1)
	}
}

// run tries the selected mutants. It returns the shortcomings.
func (o options) run(ctx context.Context) ([]string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	root, err := tidy.Root(dir)
	if err != nil {
		return nil, err
	}
	list, err := o.mutants(root)
	if err != nil {
		return nil, err
	}
	if o.list {
		for _, m := range list {
			fmt.Printf("%-48s %s\n", m.ID, m.Note)
		}
		return nil, nil
	}
	bench, err := mutants.NewBench(ctx, root, list)
	if err != nil {
		return nil, err
	}
	defer bench.Close()
	bench.Fresh, bench.Worlds = o.fresh, o.worlds
	results, err := o.try(ctx, bench, list)
	if err != nil {
		return nil, err
	}
	o.tell(results)
	return mutants.Shortcomings(results), mutants.Write(o.json, results)
}

// mutants are our own and the generated mutants of the selected rooms.
func (o options) mutants(root string) ([]mutants.Mutant, error) {
	rooms := mutants.Rooms()
	if o.rooms != "" {
		for _, name := range strings.Split(o.rooms, ",") {
			if !slices.Contains(rooms, name) {
				return nil, fmt.Errorf("there is no room %q; there are %s", name, strings.Join(rooms, ", "))
			}
		}
		rooms = strings.Split(o.rooms, ",")
	}
	list := mutants.Own()
	for _, name := range rooms {
		made, err := mutants.Generate(root, name, o.seed, o.generated)
		if err != nil {
			return nil, err
		}
		list = append(list, made...)
	}
	list = slices.DeleteFunc(list, func(m mutants.Mutant) bool {
		named := func(part string) bool { return strings.Contains(m.ID, part) }
		return !slices.Contains(rooms, m.Room()) || !slices.ContainsFunc(strings.Split(o.only, ","), named)
	})
	if len(list) == 0 {
		return nil, fmt.Errorf("no mutant matches -room=%s -only=%s", o.rooms, o.only)
	}
	return list, nil
}

// try prints a line for each mutant as soon as its result is known. The results are in the order of the list.
func (o options) try(ctx context.Context, bench *mutants.Bench, list []mutants.Mutant) ([]mutants.Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	results := make([]mutants.Result, len(list))
	next := make(chan int)
	var workers sync.WaitGroup
	var mu sync.Mutex
	fmt.Println(mutants.Header())
	for range max(o.parallel, 1) {
		workers.Go(func() {
			for i := range next {
				result, err := o.one(ctx, bench, list[i])
				if err != nil {
					cancel(err)
					continue
				}
				mu.Lock()
				results[i] = result
				fmt.Println(result.Line())
				mu.Unlock()
			}
		})
	}
	for i := range list {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	workers.Wait()
	return results, context.Cause(ctx)
}

func (o options) one(ctx context.Context, bench *mutants.Bench, m mutants.Mutant) (mutants.Result, error) {
	verdicts, err := bench.Try(ctx, m)
	if err != nil {
		return mutants.Result{}, err
	}
	result := mutants.NewResult(m, verdicts)
	if result.Stillborn() != "" || o.sim == "" || o.sim != "all" && !m.Hunted() && result.Tested() {
		return result, nil
	}
	result.Looks, err = bench.Simulate(ctx, m)
	return result, err
}

// tell prints the summary of the results.
func (o options) tell(results []mutants.Result) {
	var own, generated []mutants.Result
	for _, r := range results {
		if r.Generated {
			generated = append(generated, r)
		} else {
			own = append(own, r)
		}
	}
	mutants.Survivors(os.Stdout, results)
	fmt.Printf("\nour own: %v\n", mutants.Count(own))
	if len(generated) > 0 {
		fmt.Printf("generated: %v\n", mutants.Count(generated))
	}
	fmt.Println("all of it:", o.json)
}
