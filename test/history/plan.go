package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// The changes that users request.
const (
	doScale   = "scale"   // the number of machines of a set or deployment changes
	doRoll    = "roll"    // the template of a deployment changes
	doDelete  = "delete"  // a machine is deleted
	doHook    = "hook"    // hooks are added to a machine, the machine is deleted, and the hooks are removed one after the other
	doStray   = "stray"   // the labels of a machine no longer match its set, and the machine is deleted at the end of the round
	doBudget  = "budget"  // the budget of the pods allows no eviction for a while
	doExclude = "exclude" // a machine is deleted that is excluded from draining
	doCluster = "cluster" // the cluster label in the template of a deployment changes
)

// The faults.
const (
	comesKill     = "kill"     // processes are killed
	comesStop     = "stop"     // processes are stopped for longer than their leases, one after the other
	comesPause    = "pause"    // the API server is stopped for a while
	comesBusy     = "busy"     // the API server answers 429
	comesBroken   = "broken"   // the API server answers 500
	comesHang     = "hang"     // requests hang
	comesLose     = "lose"     // replies to writes are lost
	comesCut      = "cut"      // watches are cut
	comesSilence  = "silence"  // watches of one resource send no events
	comesDenied   = "denied"   // the infrastructure denies the credentials
	comesExchange = "exchange" // binaries are replaced with those of the previous commit, and back
	comesRestore  = "restore"  // etcd is restored to its state of some seconds before
)

// optional are the faults and changes that flags switch on. A run must pass with each of them. With restores, others wait less
// than by default ([noticesSoon], --machine-health-timeout). Edits of the cluster label change the plan of every seed.
var optional = []string{comesRestore, doCluster}

// step is one action of a user. Target and N choose among the existing objects.
type step struct {
	After     time.Duration
	What      string
	Target, N int
}

// round is a period of faults. After it, the fleet has time to settle.
type round struct {
	Comes  []string
	Length time.Duration
	Steps  []step
	// Seed is the seed of the faults.
	Seed uint64
}

func (r round) String() string {
	var steps []string
	for _, s := range r.Steps {
		steps = append(steps, fmt.Sprintf("%s(%d,%d)@%.1fs", s.What, s.Target, s.N, s.After.Seconds()))
	}
	return fmt.Sprintf("%s for %.1fs: %s", strings.Join(r.Comes, "+"), r.Length.Seconds(), strings.Join(steps, " "))
}

// planner draws rounds. The seed and the flags determine all of them.
type planner struct {
	rand  *rand.Rand
	kinds []string // the kinds of faults that have not occurred alone yet
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
	// The most effective changes come first, so that a short run includes them.
	slices.SortStableFunc(p.kinds, func(a, b string) int { return rank(a) - rank(b) })
	return p
}

func rank(kind string) int {
	if kind == comesExchange || kind == comesRestore {
		return 0
	}
	return 1
}

// next draws a round: first every kind of fault alone, then two at a time.
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
