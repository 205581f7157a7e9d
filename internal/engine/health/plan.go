package health

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// Plan is what a check comes to.
type Plan struct {
	// Expected machines are selected, Healthy of them are.
	Expected, Healthy int
	// Missing were remedied and are gone, and not replaced yet.
	Missing int
	// Max is how many may be unhealthy; Allowed says whether so few are that
	// anything is remedied, Remaining how many more might fall ill.
	Max       int
	Allowed   bool
	Remaining int
	// Restricts says that people have to know that it is not allowed: a machine that is to be remedied is not for that, or more
	// ail than may. Machines that merely start, and those that were remedied and are not there yet, count towards Max and are
	// nothing to worry about.
	Restricts bool
	// Blind says why nothing can be said about nodes, Doubt why most of what was
	// found out about them waits, where anything does.
	Blind, Doubt string
	// Distrust is why unhealthy machines wait because the cluster that answers is not believed;
	// the zero Distrust where none does.
	Distrust Distrust
	// Cases are the machines to be remedied, those ill the longest first.
	Cases []Case
	// Recovered are healthy machines for which a request may be left over.
	Recovered []Target
	// Withdrawn are healthy machines that are still to be rebooted.
	Withdrawn []Target
	// Storms are those under way and those cooling down.
	Storms []Storm
	// Sentence is the verdict with its arithmetic.
	Sentence string
	// Memory is to be remembered.
	Memory Memory
	// Due is the next moment to look though nothing happens; zero: never.
	Due time.Time
}

// Act is what is done about one machine now.
type Act string

// The acts. Each may be repeated without harm.
const (
	// Leave it.
	Leave Act = "Leave"
	// Refer: it is nobody's to replace, so that people have to know.
	Refer Act = "Refer"
	// Do the case's remedy.
	Do Act = "Do"
)

// Case is one machine that is to be remedied.
type Case struct {
	Target  Target
	Verdict Verdict
	Act     Act
	Remedy  Remedy
	// Request names the reboot that [Restart] asks for, by its time; nobody waits
	// for it any more after Until. For is what ails the node, as
	// [lifecycle.Rebooting] has it. Wait says what is waited for where it was asked
	// for before, Tried what came of it where it was in vain.
	Request, Until   time.Time
	For, Wait, Tried string
	// Confirm says that sight has not settled: whoever acts makes sure first, by
	// live reads, that the verdict still holds.
	Confirm bool
	// Hold is what the breaker has against it, though it may be overruled.
	Hold string
	// Why tells people what is done and why.
	Why string
}

// blindRetry is how often somebody who sees nothing looks again, unless it is
// known when to: that sight comes back is no news about any machine.
const blindRetry = 30 * time.Second

// again is when to look again where nothing, or not much, can be believed.
func (s Connectivity) again(now time.Time) time.Time {
	if s.Again.After(now) && (s.Blind != "" || !s.Since.IsZero()) {
		return s.Again
	}
	return now.Add(blindRetry)
}

// round is one making of a plan.
type round struct {
	w            Cohort
	ill          []*Judged
	now          time.Time
	connectivity Connectivity
	memory       Memory
	// known are the machines of which a remedy began before.
	known map[types.UID]bool
	plan  Plan
	// begun remedies began within the hour, spent of them count against the
	// rate: in this pass, those that the breaker would not have stopped. The
	// first of them is an hour ago at rateEnd.
	begun, spent, rate int
	// fresh remedies began in this round, underWay are all that are not settled; free ones are counted apart.
	fresh, underWay, free int
	rateEnd               time.Time
}

// Decide weighs what is to be done now.
func Decide(now time.Time, w Cohort, s Connectivity, m Memory) Plan {
	r := &round{w: w, ill: ill(w.Machines), now: now, connectivity: s}
	r.memory, r.plan.Missing = m.at(now).missing(now, w.Machines)
	r.known, r.free = r.memory.underWay()
	r.underWay = len(r.known) - r.free
	p := &r.plan
	p.Expected, p.Healthy, p.Due = len(w.Machines), len(w.Machines)-len(r.ill), due(r.ill)
	p.Blind = s.blind(now, withoutNode(r.ill))
	p.Distrust = r.distrust()
	r.budget()
	r.watch()
	for _, b := range r.unhealthy() {
		r.consider(b)
	}
	if p.Blind != "" || len(p.Cases) > 0 && !s.Since.IsZero() {
		p.Due = sooner(p.Due, s.again(now))
	}
	if p.Distrust.Text != "" {
		p.Due = sooner(p.Due, now.Add(blindRetry)) // that the right cluster is back is no news about any machine
	}
	p.Restricts = r.restricts()
	if w.Check.Remedy == Request {
		p.Recovered = w.those(func(j *Judged) bool { return j.Verdict.State == Healthy && j.Unclear && r.trusts(j) })
	}
	if w.Check.Escalation.Reboot {
		p.Withdrawn = w.those(func(j *Judged) bool { return j.awaitsReboot() && r.trusts(j) })
	}
	p.Storms, p.Memory = r.memory.Storms, r.memory
	p.Sentence = r.sentence()
	return r.plan
}

// due is the next moment at which one of them is to be judged again; zero: never.
func due(all []*Judged) (next time.Time) {
	for _, j := range all {
		next = sooner(next, j.Verdict.Due)
	}
	return next
}

// ill are those that are not healthy; in a quiet fleet few are.
func ill(all []*Judged) (out []*Judged) {
	for _, j := range all {
		if j.Verdict.State != Healthy {
			out = append(out, j)
		}
	}
	return out
}

// those are the machines of which is holds, by name.
func (w Cohort) those(is func(*Judged) bool) (out []Target) {
	for _, j := range w.Machines {
		if is(j) {
			out = append(out, j.Target)
		}
	}
	slices.SortFunc(out, func(a, b Target) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// sooner is the earlier of two moments; zero is never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// budget: machines that were remedied and are not there yet count as unhealthy,
// so that what is under way never exceeds what may be.
func (r *round) budget() {
	p, c := &r.plan, &r.w.Check
	p.Max = c.MaxUnhealthy.Of(p.Expected + p.Missing)
	unhealthy := r.unwell()
	p.Allowed = unhealthy <= p.Max && !c.faulty(MaxUnhealthyField)
	if p.Allowed && p.Distrust.Text == "" {
		p.Remaining = max(0, p.Max-unhealthy)
	}
}

// distrust is told at [Plan.Distrust]. That another cluster answers comes before that nodes
// are missing.
func (r *round) distrust() (d Distrust) {
	for _, j := range r.unhealthy() {
		switch is := r.connectivity.Cluster.distrusts(&j.Target); {
		case j.Target.Deleting:
		case is.Text != "" && is.Reason != lifecycle.ReasonNodeDoubted:
			return is
		case d.Text == "":
			d = is
		}
	}
	return d
}

// trusts reports whether the node of a machine that is healthy is its own.
func (r *round) trusts(j *Judged) bool {
	return r.connectivity.Cluster.foreign(&j.Target).Text == ""
}

// restricts is told at [Plan.Restricts].
func (r *round) restricts() bool {
	if r.plan.Allowed {
		return false
	}
	ailing := 0
	for _, j := range r.ill {
		switch s := j.Verdict.State; {
		case s == Unhealthy, (s == Suspect || s == Lost) && !r.starts(j):
			return true
		case s == Suspect, s == Lost:
			ailing++
		}
	}
	return ailing > r.plan.Max || r.w.Check.faulty(MaxUnhealthyField)
}

// starts reports whether the machine is so young that its node need not be ready yet.
func (r *round) starts(j *Judged) bool {
	return r.now.Sub(j.Target.Created) < r.w.Check.StartupTimeout
}

// unwell is how many machines the fleet has to do without.
func (r *round) unwell() int { return len(r.ill) + r.plan.Missing }

// MaxUnhealthyField is the field without which no budget is known.
const MaxUnhealthyField = "spec.maxUnhealthy"

func (c *Check) faulty(field string) bool {
	return slices.ContainsFunc(c.Faults, func(f lifecycle.Fault) bool { return f.Field == field })
}

// watch looks for storms, and how many remedies may begin. Who is blind neither
// finds a storm nor sees one end.
func (r *round) watch() {
	br := r.w.Check.Breaker
	if br.Mode == Off {
		r.memory.Storms = nil
		return
	}
	present := r.memory.raging()
	if r.plan.Blind == "" && r.plan.Distrust.Text == "" {
		present = br.storms(r.w.Machines, r.ill, r.plan.Max)
	}
	r.memory = r.memory.weather(r.now, present, br.Cooldown)
	r.begun, r.rateEnd = r.memory.within(r.now)
	r.spent = r.begun
	r.rate = br.rate(r.plan.Expected + r.plan.Missing)
	for _, s := range r.memory.Storms {
		if !s.Over.IsZero() {
			r.plan.Due = sooner(r.plan.Due, s.Over.Add(br.Cooldown))
		}
	}
}

// withoutNode are how many of the machines have recorded a node that is not there.
func withoutNode(ill []*Judged) (n int) {
	for _, b := range ill {
		if b.Target.NodeName != "" && b.Target.Node == nil {
			n++
		}
	}
	return n
}

// unhealthy are the machines to be remedied, those ill the longest first.
func (r *round) unhealthy() []*Judged {
	out := slices.DeleteFunc(slices.Clone(r.ill), func(b *Judged) bool { return b.Verdict.State != Unhealthy })
	slices.SortFunc(out, func(a, b *Judged) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Target.Name, b.Target.Name), cmp.Compare(a.Target.UID, b.Target.UID))
	})
	return out
}

// consider decides about one unhealthy machine. What was begun goes on whatever
// the breaker says.
func (r *round) consider(b *Judged) {
	c := Case{Target: b.Target, Verdict: b.Verdict, Remedy: r.remedy(&b.Target)}
	// Who reboots what is taken back loses the time for its pods to leave.
	known := !b.Verdict.Reclaimed && r.try(&c) || r.known[b.Target.UID]
	c.Act, c.Why = r.may(&c)
	if c.Confirm = !r.connectivity.Since.IsZero(); c.Act == Do && c.Confirm {
		if why := r.doubt(b); why != "" {
			c.Act, c.Why, r.plan.Doubt = Leave, why, why
		}
	}
	if c.Act == Do && !known && r.w.Check.Breaker.Mode != Off {
		if h, held := r.holds(b); held {
			c.Hold = h.why
			if r.w.Check.Breaker.Mode == Enforce {
				c.Act, c.Why = Leave, h.why
				r.plan.Due = sooner(r.plan.Due, h.until)
			}
		}
	}
	if c.Act == Do && !known && !b.Verdict.Reclaimed && r.full() {
		c.Act, c.Why = Leave, "as many machines are being remedied as may be at a time"
		r.plan.Due = sooner(r.plan.Due, r.now.Add(roundPause))
	}
	if c.Act == Do {
		c.Why = b.Verdict.Message
		if !known {
			r.begin(&c, b.Verdict.Reclaimed)
		}
	}
	r.plan.Cases = append(r.plan.Cases, c)
}

// A round begins so many remedies at most, and the next one looks again at how many machines are unhealthy: to carry out three thousand takes
// minutes, in which more may fall ill than may be. Free remedies do not wait: the instance goes within minutes, and its pods should leave before.
const (
	roundBurst = 50
	roundPause = time.Second
)

// full reports whether no other remedy may begin in this round, unless it is free.
func (r *round) full() bool { return r.fresh >= roundBurst || r.underWay >= MaxUnderWay }

// begin remembers that a remedy begins. That of a machine that is taken back is
// free: it uses up nothing that others need.
func (r *round) begin(c *Case, free bool) {
	if free {
		r.free++
	} else {
		r.fresh++
		r.underWay++
		r.begun++
		if c.Hold == "" {
			r.spent++
		}
	}
	switch {
	case c.Remedy == Restart:
		r.memory.restart(r.now, &c.Target, free)
	case !free || r.free <= MaxFree:
		r.memory.add(r.now, &c.Target, r.w.newest(c.Target.Owner.UID), free)
	}
}

// newest is when the newest of the owner's machines was made; zero where nobody
// owns them.
func (w Cohort) newest(owner types.UID) (at time.Time) {
	for _, b := range w.Machines {
		if owner != "" && b.Target.Owner.UID == owner {
			at = latest(at, b.Target.Created)
		}
	}
	return at
}

// remedy is the check's, but that there is nothing to power on where the
// machine failed.
func (r *round) remedy(t *Target) Remedy {
	if r.w.Check.Remedy == Mark && t.Failed {
		return Delete
	}
	return r.w.Check.Remedy
}

// may asks what does not depend on the breaker.
func (r *round) may(c *Case) (Act, string) {
	t, check := &c.Target, &r.w.Check
	switch {
	case check.Paused:
		return Leave, "the check is paused"
	case r.connectivity.Cluster.distrusts(t).Text != "":
		return Leave, r.connectivity.Cluster.distrusts(t).Text
	case !r.plan.Allowed:
		return Leave, "more machines are unhealthy than may be"
	case r.plan.Blind != "":
		return Leave, r.plan.Blind
	case t.Skip:
		return Leave, "the machine is to be left alone"
	case check.SparesControlPlane && t.Node != nil && t.Node.ControlPlane:
		return Leave, "machines of the control plane are spared"
	}
	return applies(c, check.OwnerKind)
}

// applies asks whether the remedy makes sense for the machine. A machine that
// nobody controls would not be replaced.
func applies(c *Case, kind string) (Act, string) {
	t := &c.Target
	switch {
	case t.Deleting:
		return Leave, "it is being deleted"
	case c.Wait != "":
		return Leave, c.Wait
	case c.Remedy == Mark && t.Marked, c.Remedy == Reboot && t.Node != nil && t.Node.Reboots:
		return Leave, "somebody was asked to remedy the machine"
	case kind != "" && t.Owner.Kind != kind:
		return Leave, "it is not of a " + kind
	case c.Remedy == Reboot && t.Node == nil:
		return Leave, "there is no node to restart"
	case c.Remedy == Delete && t.Owner.UID == "":
		return Refer, "no controller would replace it"
	}
	return Do, ""
}
