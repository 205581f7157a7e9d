// Package sim runs the real controllers in a simulated world: one goroutine at
// a time, a virtual clock, an API server whose reads run behind
// (internal/verify/sim/store), an infrastructure that loses replies
// (internal/verify/sim/cloud), nodes that fail, health checks, pods, users, crashes and
// changes of leader.
//
// A seed decides everything, so a run can be repeated exactly. After every
// effect the safety statements of ARCHITECTURE.md are checked; once the faults
// stop, the world must reach the desired state, write nothing
// more, and leave nothing behind when everything is deleted.
//
// Every step of a run draws from a source of its own, which depends on the seed
// and the step's number only. Leaving out a step therefore does not change what the
// other steps do. This is how a failing run is shrunk.
package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The dialects that can be simulated.
const (
	OpenShift = "openshift"
	Gardener  = "gardener"
	// Both has machines of both APIs side by side: one API server, one cluster that they
	// join, one account.
	Both = "both"
)

// Options choose what is simulated.
type Options struct {
	// Dialect is [OpenShift], [Gardener] or [Both].
	Dialect string
	// Steps is how many steps the world takes before the faults stop; zero
	// means [DefaultSteps].
	Steps int
	// Cloud names the cloud that the world's cloud resembles: one of [Clouds], or [NoCloud];
	// empty: the seed decides.
	Cloud string
	// Mutation is a deliberate defect; nil: none.
	Mutation *Mutation
	// Trace keeps one line per event.
	Trace bool

	// only are the steps to take; nil: all steps.
	only []int
	// calm are steps without faults.
	calm map[int]bool
}

// DefaultSteps is enough to create, scale, disturb and replace a set of
// machines.
const DefaultSteps = 400

// Violation is a broken promise.
type Violation struct {
	// Statement names the promise, Detail describes the breach.
	Statement, Detail string
	// Step is the step in which the promise was broken; -1: after the faults stopped.
	Step int
}

func (v Violation) String() string { return v.Statement + ": " + v.Detail }

// Result is the result of a run.
type Result struct {
	Seed    uint64
	Dialect string
	// Cloud is the cloud that the world's cloud resembled: one of [Clouds], or [NoCloud].
	Cloud string
	// Violation is the first broken promise; nil if all were kept.
	Violation *Violation
	// Trace has one line per event, if the options request it.
	Trace []string
	// Reconciles, Writes and CloudCalls count what the controllers did;
	// Virtual is how much time passed in the world.
	Reconciles, Writes, CloudCalls int
	Virtual                        time.Duration
	// Steps is the requested number of steps.
	Steps int
}

// Run simulates the world of a seed.
func Run(seed uint64, o Options) Result {
	if o.Steps == 0 {
		o.Steps = DefaultSteps
	}
	w := newWorld(seed, o)
	w.live()
	return Result{
		Seed: seed, Dialect: o.Dialect, Cloud: cmp.Or(w.profile.cloud.Like, NoCloud), Violation: w.violation, Trace: w.trace, Steps: o.Steps,
		Reconciles: w.counts.reconciles, Writes: w.counts.writes, CloudCalls: w.counts.cloudCalls, Virtual: w.now.Sub(epoch),
	}
}

// Headline is a failing run in one line.
func (r Result) Headline() string {
	return fmt.Sprintf("seed %d (%s, cloud %s): %s", r.Seed, r.Dialect, r.Cloud, r.Violation)
}

// Report is a failing run for people: the seed, how to repeat it, what went
// wrong, and the shrunk trace.
func (r Result) Report() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", r.Headline())
	fmt.Fprintf(&b, "repeat: go run ./internal/verify/sim/cmd/sim --dialect %s --cloud %s --start %d --seeds 1 --steps %d\n", r.Dialect, r.Cloud, r.Seed, r.Steps)
	for _, line := range r.Trace {
		b.WriteString(line + "\n")
	}
	return b.String()
}

// Shrink looks for a shorter run of the seed that breaks the same promise, and
// returns it with its trace. It runs the world at most budget times.
func Shrink(failed Result, o Options, budget int) Result {
	if o.Steps == 0 {
		o.Steps = DefaultSteps
	}
	s := shrinker{failed: failed, o: o, budget: budget}
	s.o.only = []int{}
	end := o.Steps
	if v := failed.Violation.Step; v >= 0 {
		end = v + 1
	}
	for i := range end {
		s.o.only = append(s.o.only, i)
	}
	s.dropSteps()
	s.calmSteps()
	s.o.Trace = true
	return Run(failed.Seed, s.o)
}

type shrinker struct {
	failed Result
	o      Options
	budget int
}

// fails reports whether the run breaks the same promise, and on the same side of the end
// of the faults: steps after the end of the faults make traces long.
func (s *shrinker) fails(o Options) bool {
	if s.budget == 0 {
		return false
	}
	s.budget--
	o.Trace = false
	v, was := Run(s.failed.Seed, o).Violation, s.failed.Violation
	return v != nil && v.Statement == was.Statement && (v.Step < 0) == (was.Step < 0)
}

// dropSteps leaves out ever smaller blocks of steps.
func (s *shrinker) dropSteps() {
	for size := (len(s.o.only) + 1) / 2; size > 0; size /= 2 {
		for at := 0; at < len(s.o.only); {
			o := s.o
			o.only = slices.Delete(slices.Clone(s.o.only), at, min(at+size, len(s.o.only)))
			if s.fails(o) {
				s.o = o
			} else {
				at += size
			}
		}
	}
}

// calmSteps removes the faults from steps.
func (s *shrinker) calmSteps() {
	s.o.calm = map[int]bool{}
	for _, step := range s.o.only {
		s.o.calm[step] = true
		if !s.fails(s.o) {
			delete(s.o.calm, step)
		}
	}
}
