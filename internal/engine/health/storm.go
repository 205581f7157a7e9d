package health

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Kind is what machines of a group have in common.
type Kind string

// The kinds of groups, from the narrowest.
const (
	Rack     Kind = "rack"
	Zone     Kind = "zone"
	Template Kind = "template"
	// Fleet is all machines of the check.
	Fleet Kind = "fleet"
)

var kinds = []Kind{Rack, Zone, Template, Fleet}

// Group are machines that have something in common.
type Group struct {
	Kind Kind
	Name string
}

// String names the group for people.
func (g Group) String() string {
	if g.Kind == Fleet {
		return "the fleet"
	}
	return fmt.Sprintf("%s %s", g.Kind, g.Name)
}

// Storm is a group of which so many machines fell ill that the cause is what
// they have in common.
type Storm struct {
	Group
	// Sick of Total machines that no worse storm accounts for. Zero when the
	// storm is over.
	Sick, Total int
	// Over is when it ended, to the second; zero while it is under way.
	Over time.Time
}

// spared says until when the machines of the group are left alone after a storm.
func (g Group) spared(until time.Time) string {
	return fmt.Sprintf("%s is left alone until %s, after a storm", g, stamp(until))
}

// groupOf is the group of that kind that t belongs to, if any.
func groupOf(k Kind, t *Target) (Group, bool) {
	g := Group{Kind: k}
	switch k {
	case Rack:
		if t.Node != nil {
			g.Name = t.Node.Rack
		}
	case Zone:
		g.Name = t.zone()
	case Template:
		g.Name = t.Template
	case Fleet:
		return g, true
	}
	return g, g.Name != ""
}

// zone is the machine's, as the infrastructure says it, and the node's only where
// the machine has none: a kubelet may put any zone on its node, and a few that do
// would pass for a storm in it.
func (t *Target) zone() string {
	if t.Zone == "" && t.Node != nil {
		return t.Node.Zone
	}
	return t.Zone
}

// belongs reports whether t is of group g.
func belongs(t *Target, g Group) bool {
	own, ok := groupOf(g.Kind, t)
	return ok && own == g
}

// sick reports whether a verdict is about illness, and not about the usual
// coming and going of machines, nor about what is lost for good.
func sick(v Verdict) bool { return !v.lost() && (v.State == Unhealthy || v.State == Suspect) }

// lost reports whether the machine is lost for good, or is about to be: to wait
// for instances that were taken back helps nobody.
func (v Verdict) lost() bool { return v.Gone || v.Reclaimed }

// storms finds what the sick have in common. The group of which the largest
// share is sick accounts for its machines; what is left over is asked again. So
// a zone of 10 that is out is no storm of a fleet of 15, nor of the only
// template, and an ill machine elsewhere is just ill. Of the fleet, more than
// may be unhealthy at all are a storm as well, whatever their share.
func (b Breaker) storms(all, ill []*Judged, most int) (out []Storm) {
	left := 0
	for _, bed := range ill {
		if sick(bed.Verdict) {
			left++
		}
	}
	if left < b.StormMin {
		return nil
	}
	rest := slices.Clone(all)
	for {
		worst, ok := b.worst(rest, most)
		if !ok {
			return out
		}
		out = append(out, worst)
		rest = slices.DeleteFunc(rest, func(bed *Judged) bool { return belongs(&bed.Target, worst.Group) })
	}
}

// worst is the group of which the largest share is sick, among those over the
// threshold; of equals the one with more sick, then the narrower.
func (b Breaker) worst(beds []*Judged, most int) (Storm, bool) {
	var found []Storm
	for _, s := range count(beds) {
		if s.Sick >= b.StormMin && (100*s.Sick >= b.StormShare*s.Total || s.Kind == Fleet && s.Sick > most) {
			found = append(found, *s)
		}
	}
	if len(found) == 0 {
		return Storm{}, false
	}
	return slices.MinFunc(found, func(x, y Storm) int {
		return cmp.Or(
			cmp.Compare(y.Sick*x.Total, x.Sick*y.Total),
			cmp.Compare(y.Sick, x.Sick),
			cmp.Compare(slices.Index(kinds, x.Kind), slices.Index(kinds, y.Kind)),
			cmp.Compare(x.Name, y.Name),
		)
	}), true
}

func count(beds []*Judged) map[Group]*Storm {
	out := map[Group]*Storm{}
	for _, b := range beds {
		if b.Verdict.lost() {
			continue
		}
		for _, k := range kinds {
			g, ok := groupOf(k, &b.Target)
			if !ok {
				continue
			}
			s := out[g]
			if s == nil {
				s = &Storm{Group: g}
				out[g] = s
			}
			s.Total++
			if sick(b.Verdict) {
				s.Sick++
			}
		}
	}
	return out
}

// weather brings the remembered storms in step with those under way: one that
// is not there any more is over, and one that has been over for the cooldown is
// forgotten.
func (m Memory) weather(now time.Time, present []Storm, cooldown time.Duration) Memory {
	out := slices.Clone(present)
	for _, s := range m.Storms {
		if slices.ContainsFunc(present, func(p Storm) bool { return p.Group == s.Group }) {
			continue
		}
		s.Sick, s.Total = 0, 0
		if s.Over.IsZero() {
			s.Over = now.Truncate(time.Second)
		}
		if now.Sub(s.Over) < cooldown {
			out = append(out, s)
		}
	}
	m.Storms = out
	return m
}
