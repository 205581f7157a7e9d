package forecast

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/internal/engine/disruption"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// Limit is a machine disruption budget, and its use when the forecast begins.
type Limit struct {
	disruption.Budget
	Use disruption.Use
	// Holders are the machines that have a permit.
	Holders map[types.UID]bool
}

// Owner has the facts about the set of a machine from which the cause of a deletion follows.
type Owner = disruption.Owner

// OwnerState is the state of an owner.
type OwnerState = disruption.OwnerState

// The states of an owner.
const (
	OwnerUnknown    = disruption.OwnerUnknown
	OwnerNone       = disruption.OwnerNone
	OwnerLeaving    = disruption.OwnerLeaving
	OwnerSuperseded = disruption.OwnerSuperseded
	OwnerCurrent    = disruption.OwnerCurrent
)

// Hold says which machines of a step wait for a machine disruption budget before their disruption begins.
type Hold struct {
	Machines []string `json:"machines"`
	// Message says which budget they wait for, and how many it permits.
	Message string `json:"message"`
	// Until is when that limit ends by itself; zero if it does not.
	Until time.Time `json:"until,omitzero"`
}

// String is "2 of these machines wait for machine disruption budget b, which permits 1 disruption at a time".
func (h Hold) String() string {
	verb := "wait"
	if len(h.Machines) == 1 {
		verb = "waits"
	}
	return fmt.Sprintf("%s %s for %s", count(len(h.Machines), "machine"), verb, h.Message)
}

// permits are the machine disruption budgets during a forecast.
type permits struct {
	limits []Limit
	// refused are the first refusals of machines. version counts the events after which a budget may permit more; asked is the
	// version at which a machine asked last, and was refused.
	refused map[types.UID]disruption.Answer
	version int
	asked   map[types.UID]int
	// taken are the machines of the forecast that have a permit, and give it back.
	taken map[types.UID]bool
	// endless are the machines that wait until a user changes a budget.
	endless map[types.UID]string
	// facts are those about refused machines, as they were at their deletion.
	facts map[types.UID]Exit
	// full are the refusals at the time at, with this version: they hold for all machines that have no permit.
	full   map[cause]disruption.Answer
	at     time.Time
	sealed int
}

// cause is a cause about which a budget was asked.
type cause struct {
	limit  int
	reason disruption.Reason
}

func newPermits(limits []Limit) *permits {
	p := &permits{limits: slices.Clone(limits), refused: map[types.UID]disruption.Answer{}, asked: map[types.UID]int{}, taken: map[types.UID]bool{}, endless: map[types.UID]string{}, facts: map[types.UID]Exit{}}
	for i := range p.limits {
		p.limits[i].Holders = maps.Clone(p.limits[i].Holders)
		if p.limits[i].Holders == nil {
			p.limits[i].Holders = map[types.UID]bool{}
		}
	}
	return p
}

// waits reports whether the machine was refused, and nothing has changed since.
func (p *permits) waits(machine types.UID) bool {
	at, was := p.asked[machine]
	return was && at == p.version
}

// ask asks each budget that selects the machine, and takes their permits if all of them permit the disruption.
func (p *permits) ask(now time.Time, machine types.UID, e Exit, kind lifecycle.Disrupting) disruption.Answer {
	reason, begun := e.reason(now, kind)
	var mine []int
	for i, l := range p.limits {
		if !l.Selects(e.Labels) {
			continue
		}
		if l.Holders[machine] {
			continue
		}
		if a := p.decide(now, cause{i, reason}, begun); !a.Granted {
			return a
		}
		mine = append(mine, i)
	}
	p.taken[machine] = true
	for _, i := range mine {
		p.limits[i].Use.InUse++
		p.limits[i].Holders[machine] = true
	}
	return disruption.Answer{Granted: true}
}

// decide asks one budget. A refusal holds until time passes or a permit is given back, however many machines ask.
func (p *permits) decide(now time.Time, c cause, begun bool) disruption.Answer {
	if begun {
		return disruption.Answer{Granted: true}
	}
	if p.full == nil || !p.at.Equal(now) || p.sealed != p.version {
		p.full, p.at, p.sealed = map[cause]disruption.Answer{}, now, p.version
	}
	if a, known := p.full[c]; known {
		return a
	}
	l := p.limits[c.limit]
	a := l.Decide(now, l.Use, disruption.Ask{Reason: c.reason})
	if !a.Granted {
		p.full[c] = a
	}
	return a
}

// release gives back the permits of a machine.
func (p *permits) release(machine types.UID) {
	delete(p.taken, machine)
	for i, l := range p.limits {
		if l.Holders[machine] {
			p.limits[i].Use.InUse--
			delete(l.Holders, machine)
			p.version++
		}
	}
}

// reason returns the cause of a disruption, and whether it begins without a permit: it has begun, or is forced.
func (e Exit) reason(now time.Time, kind lifecycle.Disrupting) (r disruption.Reason, begun bool) {
	w := lifecycle.World{Node: lifecycle.Node{Object: e.Node, Looked: true}}
	q := lifecycle.RequestPermit(kind, e.Machine, w, e.Policy)
	r = disruption.ReasonOf(disruption.Cause{Update: kind == lifecycle.DisruptingUpdate, Interrupted: q.Interrupted, Unwell: q.Unwell, Recorded: e.Machine.WaitCause(), Owner: e.Owner})
	underway, _ := lifecycle.Disrupted(now, e.Machine, w, e.Policy)
	return r, underway == kind || kind == lifecycle.DisruptingDeletion && e.Machine.Deletion.Force
}

// permitted asks the budgets for the disruption of a machine, and reports whether it begins now. If not, it sets when they are asked
// again, or that this never happens.
func (r *run) permitted(m Machine, e Exit, kind lifecycle.Disrupting) bool {
	if e.Node == nil {
		return true // it has no node to disrupt
	}
	a := r.permits.ask(r.now, m.UID, e, kind)
	if a.Granted {
		delete(r.permits.asked, m.UID)
		return true
	}
	if _, known := r.permits.refused[m.UID]; !known {
		r.permits.refused[m.UID] = a
	}
	r.permits.asked[m.UID], r.permits.facts[m.UID] = r.permits.version, e
	switch {
	case a.Stopped:
		r.permits.endless[m.UID] = a.Limit()
		delete(r.due, m.UID)
		return false
	case !a.Until.IsZero():
		r.due[m.UID] = event{at: a.Until, to: asking}
		return false
	case r.permits.busy():
		delete(r.due, m.UID)
		return false
	}
	delete(r.permits.asked, m.UID)
	r.doubt("how long other disruptions take: " + a.Limit())
	return true
}

// busy reports whether a machine of the forecast has a permit, which it gives back.
func (p *permits) busy() bool {
	return slices.ContainsFunc(p.limits, func(l Limit) bool {
		for machine := range p.taken {
			if l.Holders[machine] {
				return true
			}
		}
		return false
	})
}

// asking is the state of a machine that asks the budgets again. It is no state of a model.
const asking State = "Asking"

// holds returns the holds of a step.
func (p *permits) holds(s Step) (out []Hold) {
	if s.Kind != Delete && s.Kind != Select {
		return nil
	}
	for _, m := range s.Machines {
		a, held := p.refused[m.UID]
		if !held {
			continue
		}
		i := slices.IndexFunc(out, func(h Hold) bool { return h.Message == a.Limit() })
		if i < 0 {
			i = len(out)
			out = append(out, Hold{Message: a.Limit(), Until: a.Until})
		}
		out[i].Machines = append(out[i].Machines, m.Name)
	}
	return out
}

// waiting says how many machines wait until a user changes a budget.
func (p *permits) waiting(machines []Machine) (out []string) {
	var all []Hold
	for _, m := range machines {
		text := p.endless[m.UID]
		if text == "" {
			continue
		}
		i := slices.IndexFunc(all, func(h Hold) bool { return h.Message == text })
		if i < 0 {
			i = len(all)
			all = append(all, Hold{Message: text})
		}
		all[i].Machines = append(all[i].Machines, m.Name)
	}
	for _, h := range all {
		out = append(out, h.String())
	}
	return out
}
