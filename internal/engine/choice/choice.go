// Package choice decides what an instance is made of where a provider spec names several choices and some of them are exhausted.
//
// [Pick] takes the first choice of which nothing says that it is exhausted. [Shortages] is what an account was found to lack, by
// whichever machine, and until when nobody asks for it again. [Order] is what one machine asked for, and what its instance says of
// that later.
//
// The package performs no I/O and reads no clock.
package choice

import (
	"cmp"
	"fmt"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// Picked is what to ask for.
type Picked struct {
	// Choice is the one to ask for. Meaningless where Err is set.
	Choice provider.Choice
	// Err is an Exhausted error where every choice is known to be exhausted. It names
	// each, and asks to wait until the first of them is worth another try.
	Err error
}

// Pick chooses, and returns what is known from then on: a shortage whose time is over is tried by one machine, and the others
// leave it alone meanwhile.
func Pick(now time.Time, known Shortages, choices []provider.Choice) (Picked, Shortages) {
	if n := known.open(now, choices); n >= 0 {
		return Picked{Choice: choices[n]}, known.trying(now, choices[n])
	}
	var first time.Time
	for _, c := range choices {
		if until, _ := known.until(c); first.IsZero() || until.Before(first) {
			first = until
		}
	}
	return Picked{Err: &provider.Error{
		Kind: provider.Exhausted, Scope: known.widest(choices), After: first.Sub(now),
		Err: fmt.Errorf("none of %d choices has capacity: %s", len(choices), known.describe(choices)),
	}}, known
}

// Partly is the error after as many choices were tried as one pass may try: the others are tried after the pause.
func Partly(known Shortages, tried []provider.Choice, pause time.Duration) error {
	return &provider.Error{
		Kind: provider.Exhausted, After: pause,
		Err: fmt.Errorf("%d choices have no capacity, others are tried next: %s", len(tried), known.describe(tried)),
	}
}

// place is what a shortage is of.
type place struct {
	scope              provider.Scope
	region, zone, kind string
}

// places are those that c lies in, widest first.
func places(c provider.Choice) [3]place {
	return [3]place{
		{scope: provider.ScopeAccount, region: c.Region},
		{scope: provider.ScopeZone, region: c.Region, zone: c.Zone},
		{scope: provider.ScopeType, region: c.Region, zone: c.Zone, kind: c.Type},
	}
}

// within is the place of c that has the scope.
func within(c provider.Choice, s provider.Scope) place {
	all := places(c)
	switch s {
	case provider.ScopeAccount:
		return all[0]
	case provider.ScopeZone:
		return all[1]
	}
	return all[2]
}

// widest is the account where that is what every choice lacks; empty else.
func (s Shortages) widest(choices []provider.Choice) provider.Scope {
	for _, c := range choices {
		if _, ok := s.known[places(c)[0]]; !ok {
			return ""
		}
	}
	return provider.ScopeAccount
}

// Bounds of the text that names choices, in bytes.
const (
	mostText = 1 << 10
	mostName = 60
	leastWhy = 24
)

// describe names each choice once, followed by what the infrastructure said of it: "large in a, small in a (zone a is full);
// large in b (no host)". Neighbours that lack the same are told together.
func (s Shortages) describe(choices []provider.Choice) string {
	type group struct{ names, why string }
	var groups []group
	var last place
	names := 0
	for n, c := range choices {
		at := s.lacks(c)
		name := provider.Clip(c.Name, mostName)
		names += len(name)
		if n > 0 && at == last {
			groups[len(groups)-1].names += ", " + name
		} else {
			groups = append(groups, group{name, s.known[at].Said})
		}
		last = at
	}
	share := max(leastWhy, (mostText-names-2*len(choices))/max(len(groups), 1)-len(" ()"))
	text := ""
	for n, g := range groups {
		if n > 0 {
			text += "; "
		}
		text += g.names
		if g.why != "" {
			text += " (" + provider.Clip(g.why, share) + ")"
		}
	}
	return provider.Clip(text, mostText)
}

// lacks is the widest place of c of which a shortage is known.
func (s Shortages) lacks(c provider.Choice) place {
	all := places(c)
	for _, p := range all {
		if _, ok := s.known[p]; ok {
			return p
		}
	}
	return all[2]
}

// open is the index of the choice to ask for; -1: there is none. One of which an instance was accepted and given up comes after the
// others, although it is worth another try.
func (s Shortages) open(now time.Time, choices []provider.Choice) int {
	dear := -1
	for n, c := range choices {
		until, avoid := s.until(c)
		switch {
		case until.After(now):
		case !avoid.After(now):
			return n
		case dear < 0:
			dear = n
		}
	}
	return dear
}

// until is when everything that c needs is worth another try, and avoid until when other choices come first; zero: nothing says
// that it is exhausted.
func (s Shortages) until(c provider.Choice) (until, avoid time.Time) {
	for _, p := range places(c) {
		until, avoid = later(until, s.known[p].Until), later(avoid, s.known[p].Avoid)
	}
	return until, avoid
}

// LackedSince reports whether c was found to be exhausted at since, when it was picked, or after that.
func (s Shortages) LackedSince(c provider.Choice, since time.Time) bool {
	for _, p := range places(c) {
		if short, ok := s.known[p]; ok && !short.Told.Before(since) {
			return true
		}
	}
	return false
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// pause is how long nobody asks for what was found exhausted so many times in a row.
func pause(base time.Duration, times int) time.Duration {
	wait := cmp.Or(base, time.Minute)
	for range min(times-1, 10) {
		wait *= 2
	}
	return min(wait, max(base, mostPause))
}
