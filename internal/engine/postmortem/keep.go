package postmortem

import (
	"cmp"
	"slices"
	"time"
)

// Policy says how many records are kept, and for how long.
type Policy struct {
	// For is how long a record is kept.
	For time.Duration
	// Size is the limit of one record in bytes, PerNamespace is the maximum number of records in a namespace.
	Size, PerNamespace int
	// Storm: if all records of a full namespace are younger than this, the next record is not taken. Of a
	// thousand machines that fail together, the first records are sufficient.
	Storm time.Duration
}

// DefaultPolicy keeps 50 records of 8 KiB a namespace, 400 KiB, for 7 days.
func DefaultPolicy() Policy {
	return Policy{For: 7 * 24 * time.Hour, Size: 8 << 10, PerNamespace: 50, Storm: time.Hour}
}

// Kept is a record that is stored under a name.
type Kept struct {
	Name  string
	Taken time.Time
	// Expires is the time until which it is kept; zero if that is invalid, and then it follows from Taken.
	Expires time.Time
}

// Until returns when a record expires.
func (p Policy) Until(k Kept) time.Time {
	if k.Expires.IsZero() {
		return k.Taken.Add(p.For)
	}
	return k.Expires
}

// Expired returns the names of the expired records.
func (p Policy) Expired(now time.Time, kept []Kept) (names []string) {
	for _, k := range kept {
		if !now.Before(p.Until(k)) {
			names = append(names, k.Name)
		}
	}
	slices.Sort(names)
	return names
}

// Admit reports whether there is room for another record in a namespace with the given ones, and which of
// them to delete: the expired ones, and the oldest if the rest take all the room. In a storm the first
// records are kept.
func (p Policy) Admit(now time.Time, kept []Kept) (drop []string, ok bool) {
	drop = p.Expired(now, kept)
	left := slices.DeleteFunc(slices.Clone(kept), func(k Kept) bool { return slices.Contains(drop, k.Name) })
	surplus := len(left) + 1 - p.PerNamespace
	if surplus <= 0 {
		return drop, true
	}
	slices.SortFunc(left, func(a, b Kept) int {
		return cmp.Or(a.Taken.Compare(b.Taken), cmp.Compare(a.Name, b.Name))
	})
	if p.PerNamespace < 1 || now.Sub(left[surplus-1].Taken) < p.Storm {
		return drop, false
	}
	for _, k := range left[:surplus] {
		drop = append(drop, k.Name)
	}
	return drop, true
}
