package choice

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/millwright-dev/millwright/provider"
)

// Sibling is another machine of the same owner.
type Sibling struct {
	UID string
	// Zone is the zone of its instance or of the request for one; empty if unknown.
	Zone string
	// Leaves: it is under deletion. Its replacement may take its zone.
	Leaves bool
}

// Zones counts the remaining siblings by zone. A sibling that is listed twice, from the cache and from
// memory, counts once: in its first zone, and not at all if either entry is leaving.
func Zones(siblings []Sibling) map[string]int {
	at := map[string]string{}
	leaves := map[string]bool{}
	for _, s := range siblings {
		at[s.UID] = cmp.Or(at[s.UID], s.Zone)
		leaves[s.UID] = leaves[s.UID] || s.Leaves
	}
	out := map[string]int{}
	for uid, zone := range at {
		if zone != "" && !leaves[uid] {
			out[zone]++
		}
	}
	return out
}

// Rotate rotates equal choices by the machine's UID, so that many sets of one machine do not all use one zone.
func Rotate(choices []provider.Choice, uid string) []provider.Choice {
	out := slices.Clone(choices)
	for from := 0; from < len(out); {
		to := endOfEqual(out, from)
		rotate(out[from:to], uid)
		from = to
	}
	return out
}

func rotate(equal []provider.Choice, uid string) {
	if len(equal) < 2 || uid == "" {
		return
	}
	sum := sha256.Sum256([]byte(uid))
	by := int(binary.BigEndian.Uint32(sum[:]) % uint32(len(equal)))
	rotated := slices.Concat(equal[by:], equal[:by])
	for n := range rotated {
		rotated[n].Equal = n > 0
	}
	copy(equal, rotated)
}

// endOfEqual returns the index behind the choices that are as good as the one at from.
func endOfEqual(choices []provider.Choice, from int) int {
	to := from + 1
	for to < len(choices) && choices[to].Equal {
		to++
	}
	return to
}

// Spread sorts equal choices by the number of siblings in their zones, fewest first. Worse choices stay
// behind them. Choices with the same number keep their listed order.
func Spread(choices []provider.Choice, zones map[string]int) []provider.Choice {
	out := slices.Clone(choices)
	for from := 0; from < len(out); {
		to := endOfEqual(out, from)
		slices.SortStableFunc(out[from:to], func(a, b provider.Choice) int { return cmp.Compare(zones[a.Zone], zones[b.Zone]) })
		from = to
	}
	return out
}

// Spreads reports whether any two of the choices are equal.
func Spreads(choices []provider.Choice) bool {
	return len(choices) > 1 && slices.ContainsFunc(choices[1:], func(c provider.Choice) bool { return c.Equal })
}
