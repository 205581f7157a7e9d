package rights

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// Ledger has what each right was used for, and what was refused.
type Ledger struct {
	rights  []Right
	used    map[int]int
	refused map[string]int
}

// NewLedger is a ledger of rights of which none was used yet.
func NewLedger(rights []Right) *Ledger {
	return &Ledger{rights: rights, used: map[int]int{}, refused: map[string]int{}}
}

// Add counts a request.
func (l *Ledger) Add(q Request) {
	if q.Refused {
		l.refused[q.String()]++
		return
	}
	for i, r := range l.rights {
		if r.covers(q) {
			l.used[i]++
		}
	}
}

// Refused says what was refused, and how often.
func (l *Ledger) Refused() (out []string) {
	for _, q := range slices.Sorted(maps.Keys(l.refused)) {
		out = append(out, fmt.Sprintf("refused %d times: %s", l.refused[q], q))
	}
	return out
}

// Unneeded says which rights nobody used, but for those whose need no request shows.
func (l *Ledger) Unneeded(unseen []Unseen) (out []string) {
	excused := make([]bool, len(unseen))
	for i, r := range l.rights {
		u := slices.IndexFunc(unseen, func(u Unseen) bool { return u.is(r) })
		switch {
		case u >= 0 && l.used[i] == 0:
			excused[u] = true
		case u < 0 && l.used[i] == 0:
			out = append(out, "not needed: "+r.String())
		}
	}
	for u, needed := range excused {
		if !needed {
			out = append(out, fmt.Sprintf("excused without need: %+v", unseen[u]))
		}
	}
	slices.SortFunc(out, cmp.Compare[string])
	return out
}

// Used has a line for each right, with the number of requests that it allowed.
func (l *Ledger) Used() (out []string) {
	for i, r := range l.rights {
		out = append(out, fmt.Sprintf("%8d  %s", l.used[i], r))
	}
	return out
}
