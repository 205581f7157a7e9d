// Package choice selects a zone and instance type if a provider spec names several choices and some of them
// are exhausted.
//
// [Pick] takes the first choice that is not known to be exhausted. [Shortages] records what an account lacks,
// found by any machine, and until when no machine requests it again. [Order] is what one machine requested,
// and what its instance later says about capacity.
//
// The package performs no I/O and reads no clock.
package choice

import (
	"cmp"
	"fmt"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// Picked is the selected choice.
type Picked struct {
	// Choice is the one to request. Meaningless if Err is set.
	Choice provider.Choice
	// Err is an Exhausted error if every choice is known to be exhausted. It names each choice, and has the
	// time to wait until the first of them is worth another try.
	Err error
}

// Pick selects a choice, and returns the updated shortages: when the time of a shortage is over, one machine
// tries it, and the others wait for the result.
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

// Partly is the error after the maximum number of tries in one pass: the other choices are tried after the pause.
func Partly(known Shortages, tried []provider.Choice, pause time.Duration) error {
	return &provider.Error{
		Kind: provider.Exhausted, After: pause,
		Err: fmt.Errorf("%d choices have no capacity, others are tried next: %s", len(tried), known.describe(tried)),
	}
}

// place is where a shortage applies: an account in a region, a zone, or a type in a zone.
type place struct {
	scope              provider.Scope
	region, zone, kind string
}

// places returns the places of c, widest first.
func places(c provider.Choice) [3]place {
	return [3]place{
		{scope: provider.ScopeAccount, region: c.Region},
		{scope: provider.ScopeZone, region: c.Region, zone: c.Zone},
		{scope: provider.ScopeType, region: c.Region, zone: c.Zone, kind: c.Type},
	}
}

// within returns the place of c with the scope.
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

// widest returns the account scope if every choice lacks the account; empty otherwise.
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

// describe names each choice once, followed by the infrastructure's message: "large in a, small in a (zone a
// is full); large in b (no host)". Neighbours that lack the same place share one message.
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

// lacks returns the widest place of c with a known shortage.
func (s Shortages) lacks(c provider.Choice) place {
	all := places(c)
	for _, p := range all {
		if _, ok := s.known[p]; ok {
			return p
		}
	}
	return all[2]
}

// open returns the index of the choice to request, or -1. A choice whose instance was accepted and then
// failed comes after the others, although it is worth another try.
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

// until returns when everything that c needs is worth another try; avoid is until when other choices come
// first. Zero: no known shortage.
func (s Shortages) until(c provider.Choice) (until, avoid time.Time) {
	for _, p := range places(c) {
		until, avoid = later(until, s.known[p].Until), later(avoid, s.known[p].Avoid)
	}
	return until, avoid
}

// LackedSince reports whether c was found to be exhausted at or after since, the time when it was picked.
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

// pause returns how long no machine requests a choice that was found exhausted so many times in a row.
func pause(base time.Duration, times int) time.Duration {
	wait := cmp.Or(base, time.Minute)
	for range min(times-1, 10) {
		wait *= 2
	}
	return min(wait, max(base, mostPause))
}
