package health

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Memory is a check's memory of its remedies. It has to be stored before a remedy begins, so that a restarted
// process does not begin more remedies than the budget allows. The zero Memory is empty. Its methods do not
// change the receiver.
type Memory struct {
	// Past are the remedies that have begun, oldest first.
	Past []Past
	// Counted are remedies that count against the rate and are remembered only by their number, oldest first.
	Counted []Counted
	// Storms are current storms, and past ones within the cooldown.
	Storms []Storm
}

// Past is one remedy that has begun.
type Past struct {
	Machine types.UID
	Name    string
	Owner   types.UID
	// At has the precision of seconds. It is by the clock of this process.
	At time.Time
	// After is when the newest of the owner's machines was created, by the API server's clock: later machines
	// were created after the remedy. Zero if that was not remembered; then At is used.
	After time.Time
	// Again is how many predecessors of the machine failed in a row, each created after the remedy of the one
	// before; 0 is a first failure.
	Again int
	// By is the machine that replaced it; empty: none was seen.
	By types.UID
	// Settled says that its replacement was seen, or that it recovered.
	Settled bool
	// Free remedies do not count against the rate.
	Free bool
}

// Counted is the number of remedies that began within the slot from At on.
type Counted struct {
	At    time.Time
	Count int
}

// How long remedies are remembered, and how many: an object has room for 256 KiB of annotations, of which a
// remedy takes up to 300 bytes.
const (
	rateWindow  = time.Hour
	chainWindow = 6 * time.Hour
	slot        = 5 * time.Minute
	// At most maxPast remedies are remembered, unsettled ones first. At most MaxUnderWay of those are not
	// free, because no other remedy begins then. Free ones always begin; MaxFree of them are remembered.
	maxPast     = 200
	MaxUnderWay = 500
	MaxFree     = 250
)

// add remembers that t is remediated from now on, where newest is when the newest machine of its owner was
// created.
func (m *Memory) add(now time.Time, t *Target, newest time.Time, free bool) {
	m.Past = append(m.Past, Past{
		Machine: t.UID, Name: t.Name, Owner: t.Owner.UID, At: now.Truncate(time.Second), After: newest, Again: m.chain(now, t), Free: free,
	})
}

// precedes reports whether t was created after p began. The two clocks may differ by seconds, which is about
// the time in which a machine is replaced.
func (p Past) precedes(t *Target) bool {
	if p.After.IsZero() {
		return !t.Created.Before(p.At.Truncate(time.Second))
	}
	return t.Created.After(p.After)
}

// Rages reports whether a storm of that group is in progress, by the memory.
func (m Memory) Rages(g Group) bool {
	return slices.ContainsFunc(m.Storms, func(s Storm) bool { return s.Group == g && s.Over.IsZero() })
}

// raging returns the storms in progress, by the memory.
func (m Memory) raging() (out []Storm) {
	for _, s := range m.Storms {
		if s.Over.IsZero() {
			out = append(out, s)
		}
	}
	return out
}

// underWay returns the machines with an unsettled remedy, and how many of these remedies are free.
func (m Memory) underWay() (machines map[types.UID]bool, free int) {
	machines = map[types.UID]bool{}
	for _, p := range m.Past {
		if p.Settled {
			continue
		}
		machines[p.Machine] = true
		if p.Free {
			free++
		}
	}
	return machines, free
}

// at returns the memory without entries that are too old. The last remedy of each owner is remembered longer,
// because the replacement of that machine may fail as well.
func (m Memory) at(now time.Time) Memory {
	last := map[types.UID]time.Time{}
	for _, p := range m.Past {
		if p.At.After(last[p.Owner]) {
			last[p.Owner] = p.At
		}
	}
	m.Past = slices.DeleteFunc(slices.Clone(m.Past), func(p Past) bool {
		age := now.Sub(p.At)
		return age >= chainWindow || age >= rateWindow && p.At.Before(last[p.Owner])
	})
	slices.SortStableFunc(m.Past, func(a, b Past) int { return a.At.Compare(b.At) })
	m.Counted = slices.DeleteFunc(slices.Clone(m.Counted), func(c Counted) bool { return now.Sub(c.At) >= rateWindow })
	m.shorten(now)
	m.Storms = slices.Clone(m.Storms)
	return m
}

// shorten keeps only the number of the oldest settled remedies if there are too many.
func (m *Memory) shorten(now time.Time) {
	over := len(m.Past) - maxPast
	m.Past = slices.DeleteFunc(m.Past, func(p Past) bool {
		if over <= 0 || !p.Settled {
			return false
		}
		over--
		if now.Sub(p.At) < rateWindow && !p.Free {
			m.count(p.At.Truncate(slot))
		}
		return true
	})
}

func (m *Memory) count(at time.Time) {
	for i := range m.Counted {
		if m.Counted[i].At.Equal(at) {
			m.Counted[i].Count++
			return
		}
	}
	m.Counted = append(m.Counted, Counted{at, 1})
}

// within counts the remedies of the last hour that are not free, and returns when the first of them will be
// an hour old.
func (m Memory) within(now time.Time) (n int, until time.Time) {
	for _, c := range m.Counted {
		n += c.Count
		until = sooner(until, c.At.Add(rateWindow))
	}
	for _, p := range m.Past {
		if now.Sub(p.At) < rateWindow && !p.Free {
			n++
			until = sooner(until, p.At.Add(rateWindow))
		}
	}
	return n, until
}

// chain returns how many predecessors of t failed in a row.
func (m Memory) chain(now time.Time, t *Target) (n int) {
	for i := range m.Past {
		p := &m.Past[i]
		if p.Again >= n && p.Machine != t.UID && p.Owner == t.Owner.UID && p.Owner != "" && now.Sub(p.At) < chainWindow && p.precedes(t) {
			n = max(n, p.Again+1)
		}
	}
	return n
}

// missing counts the machines that were remediated and deleted, and that have no replacement yet: the fleet
// lacks them although no object shows it. It also remembers which remedies are settled. A later machine of
// the same owner replaces one machine, and no other, even if it is deleted itself. After an hour the check
// stops waiting for a replacement: the owner wants fewer machines.
func (m Memory) missing(now time.Time, all []*Judged) (Memory, int) {
	if len(m.Past) == 0 {
		return m, 0
	}
	spare, there := m.spare(all), map[types.UID]*Judged{}
	for _, b := range all {
		there[b.Target.UID] = b
	}
	out, n := Memory{Past: slices.Clone(m.Past), Counted: m.Counted, Storms: m.Storms}, 0
	for i := len(out.Past) - 1; i >= 0; i-- {
		p := &out.Past[i]
		if p.Settled || p.Owner == "" || now.Sub(p.At) >= rateWindow {
			continue
		}
		if p.By == "" {
			p.By = spare.take(*p)
		}
		if b := there[p.Machine]; b != nil {
			p.Settled = b.Verdict.State == Healthy
		} else if p.Settled = p.By != ""; !p.Settled {
			n++
		}
	}
	return out, n
}

// made are machines by owner, in the order of creation.
type made map[types.UID][]*Target

// take returns the first machine that was created after p began, or empty. It returns each machine once.
func (r made) take(p Past) types.UID {
	i := slices.IndexFunc(r[p.Owner], p.precedes)
	if i < 0 {
		return ""
	}
	uid := r[p.Owner][i].UID
	r[p.Owner] = slices.Delete(r[p.Owner], i, i+1)
	return uid
}

// spare returns the machines that are not remembered as a replacement.
func (m Memory) spare(all []*Judged) made {
	out, taken := made{}, map[types.UID]bool{}
	for _, p := range m.Past {
		out[p.Owner], taken[p.By] = nil, true
	}
	for _, b := range all {
		if _, ok := out[b.Target.Owner.UID]; ok && !taken[b.Target.UID] {
			out[b.Target.Owner.UID] = append(out[b.Target.Owner.UID], &b.Target)
		}
	}
	for _, list := range out {
		slices.SortFunc(list, func(a, b *Target) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.UID, b.UID)) })
	}
	return out
}

// Equal reports whether two memories are equal.
func (m Memory) Equal(o Memory) bool {
	return slices.EqualFunc(m.Past, o.Past, func(a, b Past) bool {
		same := a.At.Equal(b.At) && a.After.Equal(b.After)
		a.At, b.At, a.After, b.After = time.Time{}, time.Time{}, time.Time{}, time.Time{}
		return same && a == b
	}) && slices.EqualFunc(m.Counted, o.Counted, func(a, b Counted) bool { return a.Count == b.Count && a.At.Equal(b.At) }) && slices.EqualFunc(m.Storms, o.Storms, func(a, b Storm) bool { return a.Group == b.Group && a.Over.Equal(b.Over) })
}
