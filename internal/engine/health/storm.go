package health

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Kind is the property that machines of a group share.
type Kind string

// The kinds of groups, from the narrowest.
const (
	Rack     Kind = "rack"
	Zone     Kind = "zone"
	Template Kind = "template"
	// Fleet: all machines of the check.
	Fleet Kind = "fleet"
)

var kinds = []Kind{Rack, Zone, Template, Fleet}

// Group is the set of machines that share a property.
type Group struct {
	Kind Kind
	Name string
}

// String returns the name of the group for users.
func (g Group) String() string {
	if g.Kind == Fleet {
		return "the fleet"
	}
	return fmt.Sprintf("%s %s", g.Kind, g.Name)
}

// Storm is a group of which so many machines became unhealthy that the cause is their common property.
type Storm struct {
	Group
	// Sick is how many of Total machines are sick, without those that a worse storm accounts for. Zero when
	// the storm is over.
	Sick, Total int
	// Over is when it ended, to the second; zero during the storm.
	Over time.Time
}

// spared says until when the machines of the group are left alone after a storm.
func (g Group) spared(until time.Time) string {
	return fmt.Sprintf("%s is left alone until %s, after a storm", g, stamp(until))
}

// groupOf returns the group of that kind that t belongs to, if any.
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

// zone returns the machine's zone from the infrastructure, and the node's only if the machine has none: a
// kubelet can write any zone on its node, and a few such kubelets could simulate a storm in that zone.
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

// sick reports whether a verdict is about a health problem, and not about the usual creation and deletion of
// machines, nor about machines lost for good.
func sick(v Verdict) bool { return !v.lost() && (v.State == Unhealthy || v.State == Suspect) }

// lost reports whether the machine is lost for good, or soon will be: waiting does not help if the instance
// is reclaimed.
func (v Verdict) lost() bool { return v.Gone || v.Reclaimed }

// storms finds the common properties of the sick machines. The group with the largest share of sick machines
// accounts for its machines; the rest is examined again. So an outage of a zone of 10 is not a storm of a
// fleet of 15, nor of the only template, and a sick machine elsewhere is a single case. For the fleet, more
// sick machines than may be unhealthy are a storm as well, regardless of their share.
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

// worst returns the group with the largest share of sick machines, among those over the threshold; of equal
// shares the one with more sick machines, then the narrower.
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

// weather updates the remembered storms from the present ones: a storm that is not present any more is over,
// and one that has been over for the cooldown is forgotten.
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
