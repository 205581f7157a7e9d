package orphan

import (
	"slices"

	"github.com/millwright-dev/millwright/provider"
)

// census finds machines by all that may tie an instance to one.
type census struct {
	machines []Machine
	byUID    map[string][]int
	byName   map[string][]int
	byID     map[string][]int
}

func newCensus(machines []Machine) *census {
	c := &census{machines: machines, byUID: map[string][]int{}, byName: map[string][]int{}, byID: map[string][]int{}}
	for n, m := range machines {
		c.byUID[m.UID] = append(c.byUID[m.UID], n)
		c.byName[m.Name] = append(c.byName[m.Name], n)
		if t := provider.Tail(m.ProviderID); t != "" {
			c.byID[t] = append(c.byID[t], n)
		}
	}
	return c
}

// tails are those by which a machine may have recorded i.
func tails(i provider.Instance) (out []string) {
	for _, t := range []string{provider.Tail(i.ProviderID), provider.Tail(i.ID)} {
		if t != "" && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

// records reports whether the machine has recorded i as its instance.
func (m Machine) records(i provider.Instance) bool {
	return m.ProviderID != "" && slices.Contains(tails(i), provider.Tail(m.ProviderID))
}

// claims are the machines that i may belong to: by UID, by the provider ID that
// they recorded, and, for what another implementation made, by name.
func (c *census) claims(i provider.Instance) []Machine {
	found := c.owning(i.UID, i.Name)
	for _, t := range tails(i) {
		found = append(found, c.byID[t]...)
	}
	return c.pick(found)
}

// owners are the machines that something left of an instance may belong to.
func (c *census) owners(uid, name string) []Machine { return c.pick(c.owning(uid, name)) }

// owning are the machines that what carries the UID and the name may belong to.
//
// The name counts also where there is another machine's UID, if the machine of
// that name has recorded an instance: it may have been restored under a new
// UID. One that has none yet does not keep what its namesake left behind, or it
// would wait for ever for a name that the leftover holds. Nor does one whose
// instance is in another scope: what it recorded will never be seen here.
func (c *census) owning(uid, name string) (found []int) {
	if uid != "" {
		found = append(found, c.byUID[uid]...)
	}
	for _, n := range c.named(name) {
		if m := c.machines[n]; uid == "" || m.ProviderID != "" && !m.Elsewhere {
			found = append(found, n)
		}
	}
	return found
}

func (c *census) named(name string) []int {
	if name == "" {
		return nil
	}
	return c.byName[name]
}

func (c *census) pick(found []int) (out []Machine) {
	slices.Sort(found)
	for _, n := range slices.Compact(found) {
		out = append(out, c.machines[n])
	}
	return out
}

// seen counts the machines that have an instance recorded in the listed scope,
// and those of them whose instance is listed.
func (c *census) seen(instances []provider.Instance) (recorded, seen int) {
	var ids []string
	for _, m := range c.machines {
		if m.Here && !m.Early && !m.Deleting && m.ProviderID != "" {
			ids = append(ids, m.ProviderID)
		}
	}
	return len(ids), shown(ids, instances)
}
