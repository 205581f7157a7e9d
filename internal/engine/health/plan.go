package health

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// Plan is the decision of a check.
type Plan struct {
	// Expected is the number of selected machines, Healthy the number of healthy ones.
	Expected, Healthy int
	// Missing is the number of machines that were remediated and deleted, and are not replaced yet.
	Missing int
	// Max is how many machines may be unhealthy; Allowed says whether few enough are, so that machines may be
	// remediated; Remaining is how many more may become unhealthy.
	Max       int
	Allowed   bool
	Remaining int
	// Restricts says that users need to know that remediation is not allowed: it keeps a machine from its
	// remedy, or more machines are sick than allowed. Machines that are only starting, and machines that were
	// remediated and not replaced yet, count towards Max without being a problem.
	Restricts bool
	// Blind says why nothing is known about nodes; Doubt says why most verdicts about them wait, if any does.
	Blind, Doubt string
	// Distrust is why unhealthy machines wait because the answering cluster is not trusted; the zero Distrust
	// if no machine waits.
	Distrust Distrust
	// Cases are the machines to remediate, those unhealthy the longest first.
	Cases []Case
	// Recovered are healthy machines for which a remediation request may still exist.
	Recovered []Target
	// Withdrawn are healthy machines with a pending reboot.
	Withdrawn []Target
	// Storms are the storms in progress and those in their cooldown.
	Storms []Storm
	// Sentence is the decision with its counts.
	Sentence string
	// Memory has to be stored.
	Memory Memory
	// Due is when to decide again without an event; zero: never.
	Due time.Time
}

// Act is the action for one machine now.
type Act string

// The acts. Each may be repeated without harm.
const (
	// Leave leaves it alone.
	Leave Act = "Leave"
	// Refer: no controller would replace it, so users have to know.
	Refer Act = "Refer"
	// Do carries out the case's remedy.
	Do Act = "Do"
)

// Case is one machine to remediate.
type Case struct {
	Target      Target
	Verdict     Verdict
	Act         Act
	Remediation Remediation
	// Request names the reboot that [Restart] requests, by its time; after Until no controller waits for it
	// any more. For names the node's conditions, in the form of [lifecycle.Rebooting]. Wait says what the
	// check waits for if the reboot was requested before, Tried is the result if it did not help.
	Request, Until   time.Time
	For, Wait, Tried string
	// Confirm says that the connection is recent: the caller has to confirm the verdict by live reads before
	// it acts.
	Confirm bool
	// Hold is the breaker's objection, which may be overruled.
	Hold string
	// Why says for users what is done and why.
	Why string
}

// blindRetry is how often a process without a connection checks again, unless a better time is known: a
// restored connection causes no event for any machine.
const blindRetry = 30 * time.Second

// again returns when to check again if the facts cannot be trusted.
func (s Connectivity) again(now time.Time) time.Time {
	if s.Again.After(now) && (s.Blind != "" || !s.Since.IsZero()) {
		return s.Again
	}
	return now.Add(blindRetry)
}

// round is one computation of a plan.
type round struct {
	w            Cohort
	ill          []*Judged
	now          time.Time
	connectivity Connectivity
	memory       Memory
	// known are the machines whose remedy began before.
	known map[types.UID]bool
	plan  Plan
	// begun counts the remedies within the hour; spent counts those that use up the rate: in this pass, those
	// that the breaker would not have stopped. The first of them is an hour old at rateEnd.
	begun, spent, rate int
	// fresh counts the remedies that began in this round, underWay all unsettled ones; free ones are counted
	// separately.
	fresh, underWay, free int
	rateEnd               time.Time
}

// Decide decides which machines to remediate now.
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
		p.Due = sooner(p.Due, now.Add(blindRetry)) // the return of the right cluster causes no event for any machine
	}
	p.Restricts = r.restricts()
	if w.Check.Remediation == Request {
		p.Recovered = w.those(func(j *Judged) bool { return j.Verdict.State == Healthy && j.Unclear && r.trusts(j) })
	}
	if w.Check.Escalation.Reboot {
		p.Withdrawn = w.those(func(j *Judged) bool { return j.awaitsReboot() && r.trusts(j) })
	}
	p.Storms, p.Memory = r.memory.Storms, r.memory
	p.Sentence = r.sentence()
	return r.plan
}

// due returns the next time at which one of the machines has to be judged again; zero: never.
func due(all []*Judged) (next time.Time) {
	for _, j := range all {
		next = sooner(next, j.Verdict.Due)
	}
	return next
}

// ill returns the machines that are not healthy; usually there are few.
func ill(all []*Judged) (out []*Judged) {
	for _, j := range all {
		if j.Verdict.State != Healthy {
			out = append(out, j)
		}
	}
	return out
}

// those returns the machines for which is returns true, by name.
func (w Cohort) those(is func(*Judged) bool) (out []Target) {
	for _, j := range w.Machines {
		if is(j) {
			out = append(out, j.Target)
		}
	}
	slices.SortFunc(out, func(a, b Target) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// sooner returns the earlier of two times; zero is never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// budget: machines that were remediated and not replaced yet count as unhealthy, so that remedies in progress
// never exceed the budget.
func (r *round) budget() {
	p, c := &r.plan, &r.w.Check
	p.Max = c.MaxUnhealthy.Of(p.Expected + p.Missing)
	unhealthy := r.unwell()
	p.Allowed = unhealthy <= p.Max && !c.faulty(MaxUnhealthyField)
	if p.Allowed && p.Distrust.Text == "" {
		p.Remaining = max(0, p.Max-unhealthy)
	}
}

// distrust computes [Plan.Distrust]. A different cluster is reported rather than missing nodes.
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

// trusts reports whether the node of a healthy machine is its own.
func (r *round) trusts(j *Judged) bool {
	return r.connectivity.Cluster.foreign(&j.Target).Text == ""
}

// restricts computes [Plan.Restricts].
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

// unwell returns how many machines the fleet lacks.
func (r *round) unwell() int { return len(r.ill) + r.plan.Missing }

// MaxUnhealthyField is the field with the budget.
const MaxUnhealthyField = "spec.maxUnhealthy"

func (c *Check) faulty(field string) bool {
	return slices.ContainsFunc(c.Faults, func(f lifecycle.Fault) bool { return f.Field == field })
}

// watch looks for storms, and computes how many remedies may begin. Without a connection it neither finds a
// storm nor ends one.
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

// withoutNode counts the machines with a recorded node that does not exist.
func withoutNode(ill []*Judged) (n int) {
	for _, b := range ill {
		if b.Target.NodeName != "" && b.Target.Node == nil {
			n++
		}
	}
	return n
}

// unhealthy returns the machines to remediate, those unhealthy the longest first.
func (r *round) unhealthy() []*Judged {
	out := slices.DeleteFunc(slices.Clone(r.ill), func(b *Judged) bool { return b.Verdict.State != Unhealthy })
	slices.SortFunc(out, func(a, b *Judged) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Target.Name, b.Target.Name), cmp.Compare(a.Target.UID, b.Target.UID))
	})
	return out
}

// consider decides about one unhealthy machine. A remedy that has begun continues regardless of the breaker.
func (r *round) consider(b *Judged) {
	c := Case{Target: b.Target, Verdict: b.Verdict, Remediation: r.remediation(&b.Target)}
	// To reboot a reclaimed instance would waste the time in which its pods can leave.
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
		c.Act, c.Why = Leave, "the limit of machines under remediation is reached"
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

// A round begins at most this many remedies, and the next round counts the unhealthy machines again: three
// thousand remedies take minutes, in which more machines may become unhealthy than the budget allows. Free
// remedies do not wait: the instance ends within minutes, and its pods should leave before.
const (
	roundBurst = 50
	roundPause = time.Second
)

// full reports whether no other remedy may begin in this round, unless it is free.
func (r *round) full() bool { return r.fresh >= roundBurst || r.underWay >= MaxUnderWay }

// begin remembers that a remedy begins. The remedy of a reclaimed machine is free: it does not reduce the
// rate for other machines.
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
	case c.Remediation == Restart:
		r.memory.restart(r.now, &c.Target, free)
	case !free || r.free <= MaxFree:
		r.memory.add(r.now, &c.Target, r.w.newest(c.Target.Owner.UID), free)
	}
}

// newest returns when the newest of the owner's machines was created; zero if they have no owner.
func (w Cohort) newest(owner types.UID) (at time.Time) {
	for _, b := range w.Machines {
		if owner != "" && b.Target.Owner.UID == owner {
			at = latest(at, b.Target.Created)
		}
	}
	return at
}

// remediation returns the check's remedy, except that a failed machine has nothing to power on.
func (r *round) remediation(t *Target) Remediation {
	if r.w.Check.Remediation == Mark && t.Failed {
		return Delete
	}
	return r.w.Check.Remediation
}

// may checks all conditions other than the breaker.
func (r *round) may(c *Case) (Act, string) {
	t, check := &c.Target, &r.w.Check
	switch {
	case check.Paused:
		return Leave, "the check is paused"
	case r.connectivity.Cluster.distrusts(t).Text != "":
		return Leave, r.connectivity.Cluster.distrusts(t).Text
	case !r.plan.Allowed:
		return Leave, "more machines are unhealthy than maxUnhealthy allows"
	case r.plan.Blind != "":
		return Leave, r.plan.Blind
	case t.Skip:
		return Leave, "the machine is to be left alone"
	case check.SparesControlPlane && t.Node != nil && t.Node.ControlPlane:
		return Leave, "machines of the control plane are left alone"
	}
	return applies(c, check.OwnerKind)
}

// applies checks whether the remedy makes sense for the machine. A machine without a controller would not be
// replaced.
func applies(c *Case, kind string) (Act, string) {
	t := &c.Target
	switch {
	case t.Deleting:
		return Leave, "it is being deleted"
	case c.Wait != "":
		return Leave, c.Wait
	case c.Remediation == Mark && t.Marked, c.Remediation == Reboot && t.Node != nil && t.Node.Reboots:
		return Leave, "another program was asked to remediate the machine"
	case kind != "" && t.Owner.Kind != kind:
		return Leave, "it is not of a " + kind
	case c.Remediation == Reboot && t.Node == nil:
		return Leave, "there is no node to restart"
	case c.Remediation == Delete && t.Owner.UID == "":
		return Refer, "no controller would replace it"
	}
	return Do, ""
}
