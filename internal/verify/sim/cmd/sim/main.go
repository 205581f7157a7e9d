// Command sim runs the simulator over many seeds and stops at the first that
// breaks a promise.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/millwright-dev/millwright/internal/verify/sim"
)

type options struct {
	seeds, start uint64
	parallel     int
	steps        int
	dialect      string
	trace        bool
	budget       int
	keep         bool
	most         time.Duration
	setting      string
	cloud        string
}

func main() {
	var o options
	flag.Uint64Var(&o.seeds, "seeds", 1000, "how many seeds to run, shared among the dialects")
	flag.Uint64Var(&o.start, "start", 0, "the first seed")
	flag.IntVar(&o.parallel, "parallel", runtime.NumCPU(), "how many worlds to run at a time")
	flag.IntVar(&o.steps, "steps", sim.DefaultSteps, "how many steps a world takes before its faults stop")
	flag.StringVar(&o.dialect, "dialect", "all", "openshift, gardener, both or all")
	flag.BoolVar(&o.trace, "trace", false, "print the whole trace of the first seed, shrunk or not")
	flag.IntVar(&o.budget, "shrink", 1000, "how many runs shrinking may take; 0 does not shrink")
	flag.BoolVar(&o.keep, "keep-going", false, "list all failing seeds instead of stopping at the first")
	flag.DurationVar(&o.most, "for", 0, "begin no more worlds after this time; 0 runs all seeds")
	flag.StringVar(&o.setting, "setting", "", "a setting of the worlds, one of "+strings.Join(sim.Settings(), ", ")+"; empty: as they come")
	flag.StringVar(&o.cloud, "cloud", "", "what the worlds' clouds are like: one of "+strings.Join(sim.Clouds(), ", ")+", or "+sim.NoCloud+" for none in particular; empty: as they come")
	flag.Parse()
	// Worlds are small and short-lived: by default a quarter of the time would be
	// spent on garbage collection.
	debug.SetGCPercent(2000)
	if _, is := sim.Setting(o.setting); o.setting != "" && !is {
		fmt.Fprintf(os.Stderr, "there is no setting %q\n", o.setting)
		os.Exit(2)
	}
	if o.cloud != "" && o.cloud != sim.NoCloud && !slices.Contains(sim.Clouds(), o.cloud) {
		fmt.Fprintf(os.Stderr, "there is no cloud %q\n", o.cloud)
		os.Exit(2)
	}
	os.Exit(o.run())
}

func (o options) dialects() []string {
	if o.dialect == "all" {
		return []string{sim.OpenShift, sim.Gardener, sim.Both}
	}
	return []string{o.dialect}
}

// world has the options of the world of a dialect.
func (o options) world(dialect string) sim.Options {
	out := sim.Options{Dialect: dialect, Steps: o.steps, Cloud: o.cloud}
	if o.setting != "" {
		out.Mutation, _ = sim.Setting(o.setting)
	}
	return out
}

// summary is the result of all runs.
type summary struct {
	mu                        sync.Mutex
	runs, reconciles          int
	writes, cloudCalls, fails int
	virtual                   time.Duration
	first                     *sim.Result
	kinds                     map[string]int
}

func (o options) run() int {
	dialects := o.dialects()
	if o.trace {
		traced := o.world(dialects[0])
		traced.Trace = true
		r := sim.Run(o.start, traced)
		for _, line := range r.Trace {
			fmt.Println(line)
		}
	}
	s := &summary{kinds: map[string]int{}}
	began := time.Now()
	next := make(chan uint64)
	var workers sync.WaitGroup
	for range o.parallel {
		workers.Go(func() {
			for i := range next {
				n := uint64(len(dialects))
				s.add(o, sim.Run(o.start+i/n, o.world(dialects[i%n])))
			}
		})
	}
	for i := uint64(0); i < o.seeds && (o.keep || !s.failed()) && (o.most == 0 || time.Since(began) < o.most); i++ {
		next <- i
	}
	close(next)
	workers.Wait()
	return s.report(o, time.Since(began))
}

func (s *summary) failed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.first != nil
}

func (s *summary) add(o options, r sim.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs++
	s.reconciles += r.Reconciles
	s.writes += r.Writes
	s.cloudCalls += r.CloudCalls
	s.virtual += r.Virtual
	if r.Violation == nil {
		return
	}
	s.fails++
	s.kinds[r.Dialect+": "+r.Violation.Statement]++
	if o.keep {
		fmt.Println(r.Headline())
	}
	if s.first == nil || r.Seed < s.first.Seed {
		s.first = &r
	}
}

func (s *summary) report(o options, took time.Duration) int {
	if s.first != nil {
		worst := *s.first
		if o.budget > 0 {
			worst = sim.Shrink(worst, o.world(worst.Dialect), o.budget)
		}
		fmt.Println(worst.Report())
	}
	for kind, n := range s.kinds {
		fmt.Printf("%6d  %s\n", n, kind)
	}
	perHour := float64(s.runs) / took.Hours()
	fmt.Printf("%d seeds in %v, %.0f seeds per hour; %d passes, %d writes, %d cloud calls, %v of virtual time; %d failed\n",
		s.runs, took.Round(time.Second), perHour, s.reconciles, s.writes, s.cloudCalls, s.virtual.Round(time.Hour), s.fails)
	if s.fails > 0 {
		return 1
	}
	return 0
}
