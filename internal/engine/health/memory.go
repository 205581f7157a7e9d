package health

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Memory is what a check remembers about what it did. It has to be stored
// before a remedy is begun, so that a restart does not begin more than the
// budget allows. The zero Memory knows nothing. Its methods leave the receiver
// as it is.
type Memory struct {
	// Past are the remedies that were begun, oldest first.
	Past []Past
	// Counted are those that count against the rate and are remembered by their number only, oldest first.
	Counted []Counted
	// Storms are those that are under way, or over for less than the cooldown.
	Storms []Storm
}

// Past is one remedy that was begun.
type Past struct {
	Machine types.UID
	Name    string
	Owner   types.UID
	// At has the precision of seconds. It is by our clock.
	At time.Time
	// After is when the newest of the owner's machines was made, by the API
	// server's clock: what is made later is made since. Zero where that was not
	// remembered; then At says so.
	After time.Time
	// Again is how many machines before it failed one after the other, each
	// made after the one before was remedied; 0 is a first failure.
	Again int
	// By is the machine that was made in its place; empty: none was seen.
	By types.UID
	// Settled says that another machine was seen in its place, or that it
	// recovered.
	Settled bool
	// Free remedies do not count against the rate.
	Free bool
}

// Counted are remedies that began from At on, for as long as a slot is.
type Counted struct {
	At    time.Time
	Count int
}

// How long something is remembered, and how much of it: an object has room for 256 KiB of annotations, of which a remedy takes up to 300 bytes.
const (
	rateWindow  = time.Hour
	chainWindow = 6 * time.Hour
	slot        = 5 * time.Minute
	// maxPast remedies are remembered, those that are not settled first. Of these at most MaxUnderWay are not free, since no other begins
	// then. Free ones always begin; MaxFree of them are remembered.
	maxPast     = 200
	MaxUnderWay = 500
	MaxFree     = 250
)

// add remembers that t is remedied from now on, where newest is when the newest
// machine of its owner was made.
func (m *Memory) add(now time.Time, t *Target, newest time.Time, free bool) {
	m.Past = append(m.Past, Past{
		Machine: t.UID, Name: t.Name, Owner: t.Owner.UID, At: now.Truncate(time.Second), After: newest, Again: m.chain(now, t), Free: free,
	})
}

// precedes reports whether t was made after p began. The two clocks may differ by
// seconds, which is about the time in which a machine is replaced.
func (p Past) precedes(t *Target) bool {
	if p.After.IsZero() {
		return !t.Created.Before(p.At.Truncate(time.Second))
	}
	return t.Created.After(p.After)
}

// Rages reports whether a storm of that group is remembered as under way.
func (m Memory) Rages(g Group) bool {
	return slices.ContainsFunc(m.Storms, func(s Storm) bool { return s.Group == g && s.Over.IsZero() })
}

// raging are the storms remembered as under way.
func (m Memory) raging() (out []Storm) {
	for _, s := range m.Storms {
		if s.Over.IsZero() {
			out = append(out, s)
		}
	}
	return out
}

// underWay returns the machines of which a remedy began and is not settled, and how many of these remedies are free.
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

// at is the memory without what is too old. The last remedy of each owner is
// remembered for longer, since what is made in the place of that machine may
// fail as well.
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

// shorten forgets the oldest of the settled remedies that are too many, but for their number.
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

// within counts the remedies that were begun within the hour and are not free,
// and tells when the first of them will have been an hour ago.
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

// chain is how many machines failed in the place of t before it.
func (m Memory) chain(now time.Time, t *Target) (n int) {
	for i := range m.Past {
		p := &m.Past[i]
		if p.Again >= n && p.Machine != t.UID && p.Owner == t.Owner.UID && p.Owner != "" && now.Sub(p.At) < chainWindow && p.precedes(t) {
			n = max(n, p.Again+1)
		}
	}
	return n
}

// missing counts the machines that were remedied and are gone, and that nothing
// has been made in the place of: the fleet lacks them although no object shows
// it. It also remembers what is settled. A machine of the same owner that was
// made since replaces one, and no other, also when it is gone itself. After an
// hour nobody is waited for any more: the owner wants fewer.
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

// made are machines of some owners, in the order in which they were made.
type made map[types.UID][]*Target

// take gives out the first machine that was made after p began; empty: there is
// none. Each is given out once.
func (r made) take(p Past) types.UID {
	i := slices.IndexFunc(r[p.Owner], p.precedes)
	if i < 0 {
		return ""
	}
	uid := r[p.Owner][i].UID
	r[p.Owner] = slices.Delete(r[p.Owner], i, i+1)
	return uid
}

// spare are the machines of which it is not remembered in whose place they are.
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

// Equal reports whether two memories hold the same.
func (m Memory) Equal(o Memory) bool {
	return slices.EqualFunc(m.Past, o.Past, func(a, b Past) bool {
		same := a.At.Equal(b.At) && a.After.Equal(b.After)
		a.At, b.At, a.After, b.After = time.Time{}, time.Time{}, time.Time{}, time.Time{}
		return same && a == b
	}) && slices.EqualFunc(m.Counted, o.Counted, func(a, b Counted) bool { return a.Count == b.Count && a.At.Equal(b.At) }) && slices.EqualFunc(m.Storms, o.Storms, func(a, b Storm) bool { return a.Group == b.Group && a.Over.Equal(b.Over) })
}
