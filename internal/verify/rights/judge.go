package rights

import (
	"fmt"
	"slices"
)

// Ledger has what each right was used for, and what was refused.
type Ledger struct {
	rights  []Right
	used    map[int]int
	refused map[Request]int
}

// NewLedger is a ledger of rights of which none was used yet.
func NewLedger(rights []Right) *Ledger {
	return &Ledger{rights: rights, used: map[int]int{}, refused: map[Request]int{}}
}

// Add counts a request.
func (l *Ledger) Add(q Request) {
	if q.Refused {
		q.Name = ""
		l.refused[q]++
		return
	}
	for i, r := range l.rights {
		if slices.ContainsFunc(meanings(q), r.covers) {
			l.used[i]++
		}
	}
}

// operands are the programs that run under the account machine-api-controllers in a release, and under their own elsewhere.
var operands = []string{"machine-controller", "machine-controller-manager", "machineset-controller"}

// meanings are the requests that one stands for. A watch includes a list, from an API server that cannot begin a
// watch with the present objects; and a right to list may come with one to get, which reveals nothing more.
func meanings(q Request) []Request {
	out := []Request{q}
	for _, verb := range map[string][]string{"watch": {"list", "get"}, "list": {"get"}}[q.Verb] {
		like := q
		like.Verb = verb
		out = append(out, like)
	}
	if slices.Contains(operands, q.Account) {
		for _, like := range slices.Clone(out) {
			like.Account = "machine-api-controllers"
			out = append(out, like)
		}
	}
	return out
}

// Refused says what was refused, and how often, but for what is refused by design.
func (l *Ledger) Refused(denied []Excuse) (out []string) {
	for q, n := range l.refused {
		if !slices.ContainsFunc(denied, func(e Excuse) bool { return e.is(q.Account, q.Verb, q.Group, q.Resource) }) {
			out = append(out, fmt.Sprintf("refused %d times: %s", n, q))
		}
	}
	slices.Sort(out)
	return out
}

// Unneeded lists the unused rights, except those whose need no request shows, and the excuses that excuse nothing.
func (l *Ledger) Unneeded(unseen []Excuse) (out []string) {
	excused := make([]bool, len(unseen))
	for i, r := range l.rights {
		if l.used[i] > 0 {
			continue
		}
		e := slices.IndexFunc(unseen, func(e Excuse) bool { return e.is(r.Account, r.Verb, r.Group, r.Resource) })
		if e < 0 {
			out = append(out, "not needed: "+r.String())
			continue
		}
		excused[e] = true
	}
	for e, needed := range excused {
		if !needed {
			out = append(out, fmt.Sprintf("excused without need: %+v", unseen[e]))
		}
	}
	slices.Sort(out)
	return out
}

// Used has a line for each right, with the number of requests that it allowed.
func (l *Ledger) Used() (out []string) {
	for i, r := range l.rights {
		out = append(out, fmt.Sprintf("%8d  %s", l.used[i], r))
	}
	return out
}
