package forecast

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/internal/engine/inplace"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

const (
	// mostRounds bounds a forecast: a rollout of 500 machines, one by one, takes 2000 rounds.
	mostRounds = 5000
	// mostIdle is how many times in a row time may pass without a change. At some times controllers wake only
	// to write a condition.
	mostIdle = 8
	// nominalCreate and nominalDelete order events whose time is unknown. They are too short to count in an estimate.
	nominalCreate = 2 * time.Millisecond
	nominalDelete = time.Millisecond
)

// run is a forecast in progress.
type run struct {
	Model
	// start is when the change is made, end is when the last event happened.
	start, now, end time.Time
	d               Durations
	out             Forecast
	rounds          int
	// parted says that several machines were in progress at once when time passed.
	parted bool
	// after is the last event of machines.
	after string
	// due has the events that happen to machines without a decision, and their times.
	due map[types.UID]event
	// stuck has the reasons why machines under deletion stay.
	stuck map[types.UID]string
	// unsure are the unknown times.
	unsure []string
	// arrived says that a machine has reached a state since the controllers ran last.
	arrived bool
	// stop says that the forecast has to end.
	stop    func() bool
	permits *permits
	// plan and last are the latest decisions about the deployment, and about each set.
	plan rollout.Plan
	last map[types.UID]replicas.Decision
}

type event struct {
	at time.Time
	to State
}

// Run predicts what happens from now on, under the limits. When stop returns true, the forecast ends early and says so; nil: never.
func Run(now time.Time, m Model, d Durations, limits []Limit, stop func() bool) Forecast {
	if stop == nil {
		stop = func() bool { return false }
	}
	r := &run{
		Model: m, start: now, now: now, d: d, stop: stop, due: map[types.UID]event{}, stuck: map[types.UID]string{},
		last: map[types.UID]replicas.Decision{}, permits: newPermits(limits),
	}
	for idle := 0; idle <= mostIdle; idle++ {
		if r.act() || r.arrived {
			idle, r.arrived = 0, false
		}
		if r.out.Cut || !r.pass() || r.out.Cut {
			break
		}
	}
	return r.finish()
}

// act runs the controllers until no controller has anything to do at this time. The last run sees the records
// of the run before.
func (r *run) act() (did bool) {
	for quiet := 0; quiet < 2; quiet++ {
		if r.rounds++; r.rounds > mostRounds || r.stop() {
			r.out.Cut = true
			return did
		}
		before := len(r.out.Steps)
		changed := r.round()
		if r.watch() || changed || len(r.out.Steps) > before {
			did, quiet = true, -1
		}
	}
	return did
}

// round runs each controller once.
func (r *run) round() (changed bool) {
	if ro, ok := r.Rollout(r.now); ok {
		r.plan = rollout.Decide(r.now, ro.Deployment, ro.Sets, ro.Policy)
		steps := r.planned(ro)
		if changed = r.Carry(r.now, r.plan); changed {
			r.add(r.named(steps, ro)...)
		}
	}
	r.add(r.Settle(r.now)...)
	for _, s := range r.Sets(r.now) {
		d := replicas.Decide(r.now, s.Set, s.Members, s.Policy)
		r.last[s.Set.UID] = d
		r.decided(s, d)
		created := r.Act(r.now, s.Set.UID, d)
		if len(created) > 0 {
			r.add(Step{Kind: Create, Set: s.Set.Name, Count: len(created), Reason: d.Message})
		}
		if d.Finished && s.Set.Deleting {
			r.add(Step{Kind: SetGone, Set: s.Set.Name, Reason: d.Message})
		}
	}
	return changed
}

func (r *run) add(steps ...Step) {
	for _, s := range steps {
		s.At, s.After, s.Open, r.end = r.now.Sub(r.start), r.after, r.parted && s.splits(), r.now
		for i, m := range s.Machines {
			if s.Kind == Delete && m.Exit == nil {
				exit := leave(r.now, r.Exit(m.UID))
				s.Machines[i].Exit = &exit
			}
		}
		s.Shared = together(s.Machines)
		for _, b := range s.Shared {
			r.doubt("how long drains wait: " + b.Message)
		}
		r.out.Steps = append(r.out.Steps, s)
	}
}

// splits reports whether a step can come in several smaller ones.
func (s Step) splits() bool {
	switch s.Kind {
	case ScaleSet, Create, Delete, Select, HandOver:
		return true
	}
	return false
}

// planned returns the steps of a plan.
func (r *run) planned(ro Rollout) (out []Step) {
	p := r.plan
	if b := p.RollBack(); b != nil {
		return []Step{{Kind: RollBack, Reason: b.Note}}
	}
	if w := p.Create(); w != nil {
		out = append(out, Step{Kind: CreateSet, To: &w.Replicas, Reason: w.Note})
	}
	if chosen := selected(ro, p); len(chosen) > 0 {
		out = append(out, Step{Kind: Select, Count: len(chosen), Machines: chosen})
	}
	for _, m := range p.Moves() {
		out = append(out, Step{Kind: HandOver, Set: nameOf(ro, m.To), Count: 1, Machines: []Subject{{Name: m.Name, UID: m.UID, Reason: m.Note}}})
	}
	for _, w := range p.Sets() {
		if w.Scales() {
			out = append(out, Step{Kind: ScaleSet, Set: w.Name, From: &w.Was, To: &w.Replicas, Reason: w.Note})
		}
	}
	for _, s := range p.Delete() {
		out = append(out, Step{Kind: DeleteSet, Set: s.Name, Reason: s.Note})
	}
	return out
}

// named sets the name of the created set in the steps.
func (r *run) named(steps []Step, before Rollout) []Step {
	now, _ := r.Rollout(r.now)
	for i, s := range steps {
		if s.Kind != CreateSet {
			continue
		}
		for _, set := range now.Sets {
			if nameOf(before, set.UID) == "" {
				steps[i].Set = set.Name
			}
		}
	}
	return steps
}

// selected returns the machines whose nodes may be updated now, and could not before.
func selected(ro Rollout, p rollout.Plan) (out []Subject) {
	for _, w := range p.Nodes() {
		for _, s := range ro.Sets {
			i := slices.IndexFunc(s.Machines, func(m rollout.Machine) bool { return m.Name == w.Machine })
			if i >= 0 && w.Update == inplace.WishSelected && !s.Machines[i].Update.Request.Selected() {
				out = append(out, Subject{Name: w.Machine, UID: s.Machines[i].UID, Reason: w.Note})
			}
		}
	}
	return out
}

func nameOf(ro Rollout, uid types.UID) string {
	for _, s := range ro.Sets {
		if s.UID == uid {
			return s.Name
		}
	}
	return ""
}

// decided records which machines a set deletes, and why.
func (r *run) decided(s Set, d replicas.Decision) {
	if len(d.Delete) == 0 {
		return
	}
	here := map[types.UID]Machine{}
	for _, m := range r.Machines(r.now) {
		here[m.UID] = m
	}
	step := Step{Kind: Delete, Set: s.Set.Name, Count: len(d.Delete), Reason: d.Message}
	for _, v := range d.Delete {
		if here[v.UID].New {
			continue
		}
		subject := Subject{Name: v.Name, UID: v.UID}
		subject.Reason, subject.Open = why(r.now, s, d, v)
		subject.Open = subject.Open && r.now.After(r.start)
		step.Machines = append(step.Machines, subject)
	}
	r.add(step)
}

// watch records the machines in progress, and reports whether any of them is new.
func (r *run) watch() (news bool) {
	seen := map[types.UID]bool{}
	for _, m := range r.Machines(r.now) {
		seen[m.UID] = true
		to := map[State]State{Coming: Running, Updating: Updated, Leaving: Gone}[m.State]
		if to == "" {
			delete(r.due, m.UID)
			continue
		}
		if e, known := r.due[m.UID]; known && e.to == to || r.stuck[m.UID] != "" || r.permits.waits(m.UID) {
			continue
		}
		news = true
		if to == Gone {
			r.leaves(m)
			continue
		}
		if to == Updated && !r.permitted(m, r.Exit(m.UID), lifecycle.DisruptingUpdate) {
			continue
		}
		takes, what := r.d.Create, "how long a machine takes to come up"
		if to == Updated {
			takes, what = Estimate{Source: "the node's agent does it"}, "how long an update in place takes"
		}
		r.due[m.UID] = event{at: r.over(m, takes, nominalCreate, what).Add(r.queued(to)), to: to}
	}
	for uid := range r.due {
		if !seen[uid] {
			delete(r.due, uid)
		}
	}
	return news
}

// queued returns how long a machine waits for machines that are coming up already, if only so many were ever
// seen to come up at once.
func (r *run) queued(to State) time.Duration {
	if to != Running || r.d.AtOnce == 0 || !r.d.Create.Known {
		return 0
	}
	coming := 0
	for _, e := range r.due {
		if e.to == Running {
			coming++
		}
	}
	return time.Duration(coming/r.d.AtOnce) * r.d.Create.Length
}

// leaves predicts when the deletion of a machine ends, or why the machine stays.
func (r *run) leaves(m Machine) {
	facts, waited := r.permits.facts[m.UID]
	if !waited {
		facts = r.Exit(m.UID)
	}
	if waited && !r.permitted(m, facts, lifecycle.DisruptingDeletion) {
		return
	}
	exit := leave(r.now, facts)
	if exit.Stays != "" {
		r.stuck[m.UID] = fmt.Sprintf("machine %s stays: %s", called(m), exit.Stays)
		delete(r.due, m.UID)
		return
	}
	if !waited && !r.permitted(m, facts, lifecycle.DisruptingDeletion) {
		return
	}
	at := r.over(m, r.d.Delete, nominalDelete, "how long a deletion takes")
	if r.d.Delete.Known && r.d.Undrained && exit.Drains && exit.Pods > 0 && exit.Forced == 0 {
		r.doubt("how long drains take: the known time begins after the drain")
	}
	if exit.Forced > 0 {
		at = r.now.Add(exit.Forced)
	}
	if exit.Slow != "" && exit.Forced == 0 {
		r.doubt("how long machine " + called(m) + " waits: " + exit.Slow)
	}
	r.due[m.UID] = event{at: at, to: Gone}
}

func called(m Machine) string {
	if m.New {
		return "to come"
	}
	return m.Name
}

// over returns when an event of that duration ends.
func (r *run) over(m Machine, e Estimate, nominal time.Duration, what string) time.Time {
	if !e.Known {
		r.doubt(what + ": " + e.Source)
		return r.now.Add(nominal)
	}
	begun := r.now
	if _, held := r.permits.refused[m.UID]; !held && !m.Since.IsZero() && m.Since.Before(begun) && !m.New {
		begun = m.Since
	}
	if at := begun.Add(e.Length); at.After(r.now) {
		return at
	}
	return r.now.Add(nominal)
}

func (r *run) doubt(what string) {
	if !slices.Contains(r.unsure, what) {
		r.unsure = append(r.unsure, what)
	}
}

// pass advances the time to the next event, and reports whether there is one.
func (r *run) pass() bool {
	var next time.Time
	sooner := func(t time.Time) {
		if t.After(r.now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	for _, e := range r.due {
		sooner(e.at)
	}
	if next.IsZero() {
		if r.plan.After > 0 {
			sooner(r.now.Add(r.plan.After))
		}
	}
	for _, s := range r.Sets(r.now) {
		if wait := replicas.Count(r.now, s.Members, s.Policy).Next; wait > 0 {
			sooner(r.now.Add(wait))
		}
	}
	if next.IsZero() {
		return false
	}
	r.parted = r.parted || len(r.due) > 1
	r.now = next
	r.arrive()
	return true
}

// arrive carries out the due events, in the order of names if several are due at the same time.
func (r *run) arrive() {
	var all []types.UID
	for uid, e := range r.due {
		if !e.at.After(r.now) {
			all = append(all, uid)
		}
	}
	slices.SortFunc(all, func(a, b types.UID) int { return cmp.Or(r.due[a].at.Compare(r.due[b].at), cmp.Compare(a, b)) })
	came := map[State]int{}
	for _, uid := range all {
		if r.stop() {
			r.out.Cut = true
			break
		}
		to := r.due[uid].to
		delete(r.due, uid)
		r.arrived = true
		if came[to]++; to == asking {
			r.permits.version++
			continue
		}
		if r.end = r.now; to != Running {
			r.permits.release(uid)
		}
		r.Become(r.now, uid, to)
	}
	var what []string
	for _, s := range []struct {
		to   State
		text string
	}{{Running, "ready"}, {Updated, "updated"}, {Gone, "gone"}} {
		if n := came[s.to]; n > 0 {
			what = append(what, count(n, "machine")+" "+s.text)
		}
	}
	if came[asking] > 0 {
		what = append(what, "the end of a limit of a disruption budget")
	}
	r.after = strings.Join(what, ", ")
}
