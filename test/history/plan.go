package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// What users do to the fleet.
const (
	doScale   = "scale"   // a set or deployment wants another number
	doRoll    = "roll"    // a deployment wants other machines
	doDelete  = "delete"  // a machine is deleted
	doHook    = "hook"    // hooks are put on a machine, which is deleted, and taken off one after the other
	doStray   = "stray"   // a machine is labelled out of its set, and deleted at the end of the round
	doBudget  = "budget"  // the pods' budget allows nothing for a while
	doExclude = "exclude" // a machine is deleted that need not be drained
	doCluster = "cluster" // a deployment's template gets another cluster label
)

// What comes upon the controllers.
const (
	comesKill     = "kill"     // processes are killed
	comesStop     = "stop"     // processes are stopped for longer than their leases, one after the other
	comesPause    = "pause"    // the API server is stopped for a while
	comesBusy     = "busy"     // the API server answers 429
	comesBroken   = "broken"   // the API server answers 500
	comesHang     = "hang"     // requests hang
	comesLose     = "lose"     // replies to writes are lost
	comesCut      = "cut"      // watches are cut
	comesSilence  = "silence"  // watches of one resource tell nothing
	comesDenied   = "denied"   // the infrastructure denies the credentials
	comesExchange = "exchange" // binaries are exchanged for those of the previous commit, and back
	comesRestore  = "restore"  // etcd is put back to what it was some seconds before
)

// optional are what switches turn on. They excuse nothing: both pass. With restores others wait less than by default
// ([noticesSoon], --machine-health-timeout), and edits of the cluster label change the plan of every seed.
var optional = []string{comesRestore, doCluster}

// step is one thing that a user does. Target and N choose among what there is.
type step struct {
	After     time.Duration
	What      string
	Target, N int
}

// round is a stretch of trouble, after which the fleet gets the time to settle.
type round struct {
	Comes  []string
	Length time.Duration
	Steps  []step
	// Seed is that of what comes upon the controllers.
	Seed uint64
}

func (r round) String() string {
	var steps []string
	for _, s := range r.Steps {
		steps = append(steps, fmt.Sprintf("%s(%d,%d)@%.1fs", s.What, s.Target, s.N, s.After.Seconds()))
	}
	return fmt.Sprintf("%s for %.1fs: %s", strings.Join(r.Comes, "+"), r.Length.Seconds(), strings.Join(steps, " "))
}

// planner draws rounds. The seed and the switches decide all of them.
type planner struct {
	rand  *rand.Rand
	kinds []string // what comes alone, and has not come yet
	does  []string
	mixes []string
}

func newPlanner(seed uint64, exchange bool, on []string) *planner {
	p := &planner{
		rand:  rand.New(rand.NewPCG(seed, 0)),
		mixes: []string{comesKill, comesStop, comesPause, comesBusy, comesBroken, comesHang, comesLose, comesCut, comesSilence, comesDenied},
		does:  []string{doScale, doScale, doRoll, doRoll, doDelete, doDelete, doHook, doStray, doBudget, doExclude},
	}
	p.kinds = slices.Clone(p.mixes)
	if exchange {
		p.kinds = append(p.kinds, comesExchange)
	}
	if slices.Contains(on, comesRestore) {
		p.kinds = append(p.kinds, comesRestore)
	}
	if slices.Contains(on, doCluster) {
		p.does = append(p.does, doCluster)
	}
	p.rand.Shuffle(len(p.kinds), func(i, j int) { p.kinds[i], p.kinds[j] = p.kinds[j], p.kinds[i] })
	// What changes most comes first, so that a short run has it.
	slices.SortStableFunc(p.kinds, func(a, b string) int { return rank(a) - rank(b) })
	return p
}

func rank(kind string) int {
	if kind == comesExchange || kind == comesRestore {
		return 0
	}
	return 1
}

// next draws a round: every kind of trouble once by itself, then two at a time.
func (p *planner) next() round {
	r := round{Length: 6*time.Second + p.upTo(6*time.Second), Seed: p.rand.Uint64()}
	if len(p.kinds) > 0 {
		r.Comes, p.kinds = p.kinds[:1:1], p.kinds[1:]
	} else {
		mixed := p.rand.Perm(len(p.mixes))
		r.Comes = []string{p.mixes[mixed[0]], p.mixes[mixed[1]]}
	}
	for range 3 + p.rand.IntN(3) {
		r.Steps = append(r.Steps, step{
			What: p.does[p.rand.IntN(len(p.does))], After: p.upTo(r.Length * 2 / 3),
			Target: p.rand.IntN(1000), N: p.rand.IntN(1000),
		})
	}
	if r.Comes[0] == comesExchange { // in every phase of a fleet
		for n, what := range []string{doRoll, doRoll, doDelete, doHook} {
			r.Steps = append(r.Steps, step{What: what, Target: n, N: p.rand.IntN(1000), After: p.upTo(r.Length)})
		}
	}
	slices.SortStableFunc(r.Steps, func(a, b step) int { return int(a.After - b.After) })
	return r
}

func (p *planner) upTo(d time.Duration) time.Duration {
	return time.Duration(p.rand.Int64N(int64(d))).Round(100 * time.Millisecond)
}
