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

// choiceProfile says which choices specs allow for an instance, and in which way choices are sold out.
type choiceProfile struct {
	// choices is their number; zero: specs name no choices.
	choices int
	// soldOut is the way in which the first choice is sold out for the whole life of the world; empty: it is not.
	soldOut soldOutMode
	// alike: all choices are equally good.
	alike bool
}

// soldOutMode is how a cloud reports that a choice is sold out.
type soldOutMode string

// The cloud refuses the choice, or accepts an instance that then fails.
const (
	refuses soldOutMode = "refuses"
	accepts soldOutMode = "accepts"
)

// chooseSource is the source of random numbers of this profile alone.
const chooseSource = widerSource + 0xc4005e

func (c *choiceProfile) draw(r *rand.Rand) {
	if few := 2 + r.IntN(3); r.IntN(8) == 0 {
		c.choices = few
	}
	c.soldOut = []soldOutMode{"", refuses, accepts}[r.IntN(3)]
	c.alike = r.IntN(2) == 0
}

// chooses makes specs name choices. A permanent shortage for some machines excludes choices: the other machines would learn
// of the shortage.
func (c *profile) chooses() {
	if c.permanent == exhausted || c.permanent == full {
		c.choiceProfile = choiceProfile{}
		return
	}
	c.trouble = max(c.trouble, 3)
	if c.deployments > 0 && c.soldOut == accepts {
		c.soldOut = refuses // the first machines of a rollout would fail, which stops it until users continue it
	}
	if c.permanent == crashing && c.soldOut == accepts {
		c.soldOut = refuses // a process that always crashes does not remember a shortage that only failed machines reported (decision 27)
	}
}

// sale is a shortage that lasts for some time.
type sale struct {
	scope provider.Scope
	of    provider.Choice
	how   soldOutMode
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

// choiceStock is the cloud's stock of choices.
type choiceStock struct{ w *World }

// choices are the choices of all specs.
func (s choiceStock) choices() (out []provider.Choice) {
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

// whySoldOut is the reason for which c is sold out, reported in the given way; nil: it is not sold out.
func (s choiceStock) whySoldOut(c provider.Choice, how soldOutMode) *provider.Error {
	all := s.w.refusals.sales
	if first := s.w.cloud.Choices; len(first) > 0 && s.w.profile.soldOut != "" {
		all = append(slices.Clone(all), sale{provider.ScopeType, first[0], s.w.profile.soldOut, s.w.now.Add(time.Second)})
	}
	for _, o := range all {
		if o.how == how && s.w.now.Before(o.until) && o.covers(c) {
			return o.why()
		}
	}
	return nil
}

func (s choiceStock) full(c provider.Choice) *provider.Error { return s.whySoldOut(c, refuses) }

// startFailure is the failure of an instance that was accepted although its choice was sold out.
func (s choiceStock) startFailure(i *cloud.Machine) *cloud.StartFailure {
	if i.Choice.Name == "" {
		return nil
	}
	why := s.whySoldOut(i.Choice, accepts)
	if why == nil {
		return nil
	}
	f := s.w.ends(i, &cloud.StartFailure{Why: why})
	f.Vanishes = f.Vanishes && s.w.profile.cloud.Lingers // otherwise no controller could learn the reason
	return f
}

// sellOut makes a choice, its zone or the account sold out for some time.
func (s choiceStock) sellOut() {
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
	w.refusals.sales = append(w.refusals.sales, o)
	w.tracef("cloud", "%s until %v, which it %s", o.why(), o.until.Sub(epoch), o.how)
}

// Room implements [judge.World].
func (e evidence) Room() bool {
	s := choiceStock(e)
	return slices.ContainsFunc(e.w.cloud.Choices, func(c provider.Choice) bool {
		return s.whySoldOut(c, refuses) == nil && s.whySoldOut(c, accepts) == nil
	})
}

// choosyGate reports to the judge which choice a process requests and which answer it gets.
func choosyGate(p *process) cloud.Gate {
	return func(c cloud.Call, do func() error) error {
		if c.Choice.Name == "" {
			return p.cloudGate(c, do)
		}
		asked := judge.CreateRequest{
			Process: p.serial, UID: c.Ref.UID, Place: fmt.Sprint(c.At), At: p.w.now, Born: p.born,
			Choice: judge.Choice{Name: c.Choice.Name, Zone: c.Choice.Zone, Type: c.Choice.Type},
		}
		p.w.judge.CreateRequested(asked)
		err := p.cloudGate(c, do)
		kind := provider.KindOf(err)
		said := judge.CreateReply{Made: err == nil, Unclear: kind == provider.Transient}
		if kind == provider.Exhausted {
			said.Sold = string(provider.ScopeOf(err))
		}
		p.w.judge.CreateAnswered(asked, said)
		return err
	}
}
