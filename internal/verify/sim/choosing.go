package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/millwright-dev/millwright/internal/verify/sim/cloud"
	"github.com/millwright-dev/millwright/internal/verify/sim/judge"
	"github.com/millwright-dev/millwright/provider"
)

// choosing is what specs allow to make instances of, and how that is sold out.
type choosing struct {
	// choices is how many there are; zero: specs name none.
	choices int
	// shut is how the first one is sold out as long as the world lasts; empty: it is not.
	shut closing
	// alike: none is better than another.
	alike bool
}

// closing is how an infrastructure says that a choice is sold out.
type closing string

// The ways: at once, or after it has accepted an instance.
const (
	refuses closing = "refuses"
	accepts closing = "accepts"
)

// chooseSource is a stream of random numbers that nothing else has.
const chooseSource = widerSource + 0xc4005e

func (c *choosing) draw(r *rand.Rand) {
	if few := 2 + r.IntN(3); r.IntN(8) == 0 {
		c.choices = few
	}
	c.shut = []closing{"", refuses, accepts}[r.IntN(3)]
	c.alike = r.IntN(2) == 0
}

// chooses makes the world one whose specs name choices. Where there is never room for some
// machines, whatever they are made of, the others would hear of that.
func (c *profile) chooses() {
	if c.ill == exhausted || c.ill == full {
		c.choosing = choosing{}
		return
	}
	c.trouble = max(c.trouble, 3)
	if c.deployments > 0 && c.shut == accepts {
		c.shut = refuses // the first machines of a rollout would fail, which stops it until people go on
	}
	if c.ill == crashing && c.shut == accepts {
		c.shut = refuses // nobody lives long enough to remember what only failed machines told (decision 27)
	}
}

// sale is what is sold out for some time.
type sale struct {
	scope provider.Scope
	of    provider.Choice
	how   closing
	until time.Time
}

// covers reports whether c is sold out.
func (s sale) covers(c provider.Choice) bool {
	return s.scope == provider.ScopeAccount || c.Zone == s.of.Zone && (s.scope == provider.ScopeZone || c.Type == s.of.Type)
}

func (s sale) why() *provider.Error {
	what := map[provider.Scope]string{provider.ScopeAccount: "the quota of the account", provider.ScopeZone: "zone " + s.of.Zone, provider.ScopeType: s.of.Name}[s.scope]
	return provider.ExhaustedIn(s.scope, "%s is sold out", what)
}

// shop is where the world sells its choices.
type shop struct{ w *World }

// choices are those of all specs.
func (s shop) choices() (out []provider.Choice) {
	for _, zone := range []string{"a", "b"} {
		for _, kind := range []string{"big", "small"} {
			out = append(out, provider.Choice{Name: kind + " in " + zone, Zone: zone, Type: kind, Equal: s.w.profile.alike && len(out) > 0})
		}
	}
	if s.w.profile.choices == 0 {
		return nil
	}
	return out[:s.w.profile.choices]
}

// sold is why c is not to be had, by the way in which that is said; nil: it is.
func (s shop) sold(c provider.Choice, how closing) *provider.Error {
	all := s.w.turned.sales
	if first := s.w.cloud.Choices; len(first) > 0 && s.w.profile.shut != "" {
		all = append(slices.Clone(all), sale{provider.ScopeType, first[0], s.w.profile.shut, s.w.now.Add(time.Second)})
	}
	for _, o := range all {
		if o.how == how && s.w.now.Before(o.until) && o.covers(c) {
			return o.why()
		}
	}
	return nil
}

func (s shop) full(c provider.Choice) *provider.Error { return s.sold(c, refuses) }

// fate is what becomes of an instance that was accepted although it was sold out.
func (s shop) fate(i *cloud.Machine) *cloud.Fate {
	if i.Choice.Name == "" {
		return nil
	}
	why := s.sold(i.Choice, accepts)
	if why == nil {
		return nil
	}
	f := s.w.ends(i, &cloud.Fate{Why: why})
	f.Vanishes = f.Vanishes && s.w.profile.cloud.Lingers // else nobody could know why
	return f
}

// sellOut lets a choice be sold out for some time, its zone, or all.
func (s shop) sellOut() {
	w := s.w
	of, some := pick(w, w.cloud.Choices)
	if !some {
		return
	}
	o := sale{scope: []provider.Scope{provider.ScopeType, provider.ScopeZone, provider.ScopeAccount}[w.roll(3)], of: of, how: refuses}
	if w.chance(40) {
		o.how = accepts
	}
	o.until = w.now.Add(time.Duration(w.between(10, []int{60, 600, 3600}[w.roll(3)])) * time.Second)
	w.turned.sales = append(w.turned.sales, o)
	w.tracef("cloud", "%s until %v, which it %s", o.why(), o.until.Sub(epoch), o.how)
}

// Room implements [judge.World].
func (e evidence) Room() bool {
	s := shop(e)
	return slices.ContainsFunc(e.w.cloud.Choices, func(c provider.Choice) bool { return s.sold(c, refuses) == nil && s.sold(c, accepts) == nil })
}

// choosyGate tells the judge what a process asks for, and hears.
func choosyGate(p *process) cloud.Gate {
	return func(c cloud.Call, do func() error) error {
		if c.Choice.Name == "" {
			return p.cloudGate(c, do)
		}
		asked := judge.Asked{
			Process: p.serial, UID: c.Ref.UID, Place: fmt.Sprint(c.At), At: p.w.now, Born: p.born,
			Choice: judge.Choice{Name: c.Choice.Name, Zone: c.Choice.Zone, Type: c.Choice.Type},
		}
		p.w.judge.AsksFor(asked)
		err := p.cloudGate(c, do)
		kind := provider.KindOf(err)
		said := judge.Said{Made: err == nil, Unclear: kind == provider.Transient}
		if kind == provider.Exhausted {
			said.Sold = string(provider.ScopeOf(err))
		}
		p.w.judge.Hears(asked, said)
		return err
	}
}
