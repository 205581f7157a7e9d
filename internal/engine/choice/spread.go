package choice

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/millwright-dev/millwright/provider"
)

// Sibling is a machine of the same owner as the one that is chosen for.
type Sibling struct {
	UID string
	// Zone is where its instance is, or is asked for; empty: that is not known.
	Zone string
	// Leaves: it is under deletion. What replaces it may take its zone.
	Leaves bool
}

// Zones counts the siblings that stay by zone. One that is told of twice, as a cache shows it and as it is remembered, counts once:
// where it was first told to be, and not at all if either says that it leaves.
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

// Rotate begins, among equal choices, with one that the machine's UID decides: the only machines of many sets are not all in one zone.
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

// endOfEqual is the index behind the choices that are as good as the one at from.
func endOfEqual(choices []provider.Choice, from int) int {
	to := from + 1
	for to < len(choices) && choices[to].Equal {
		to++
	}
	return to
}

// Spread puts choices that are equal in the order of how many siblings have their zones, fewest first, and leaves those that are
// worse behind them. Where that is the same for several, they stay as they are listed.
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
