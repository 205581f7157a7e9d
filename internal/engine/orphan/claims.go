package orphan

import (
	"slices"

	"github.com/millwright-dev/millwright/provider"
)

// census finds the machines of an instance, by all fields that may link them.
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

// tails returns the tails under which a machine may have recorded i.
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

// claims returns the machines that i may belong to: by UID, by their recorded provider ID, and, for instances
// of another implementation, by name.
func (c *census) claims(i provider.Instance) []Machine {
	found := c.owning(i.UID, i.Name)
	for _, t := range tails(i) {
		found = append(found, c.byID[t]...)
	}
	return c.pick(found)
}

// owners returns the machines that a leftover of an instance may belong to.
func (c *census) owners(uid, name string) []Machine { return c.pick(c.owning(uid, name)) }

// owning returns the machines that an object with the UID and the name may belong to.
//
// The name also counts if the UID is that of another machine, provided that the machine of that name has
// recorded an instance: it may have been restored with a new UID. A machine without an instance does not keep
// the leftovers of a machine of the same name, or it would wait for ever for a name that the leftover holds.
// Nor does a machine whose instance is in another scope: its recorded instance will never be listed here.
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

// seen counts the machines with a recorded instance in the listed scope, and those of them whose instance is
// listed.
func (c *census) seen(instances []provider.Instance) (recorded, seen int) {
	var ids []string
	for _, m := range c.machines {
		if m.Here && !m.Early && !m.Deleting && m.ProviderID != "" {
			ids = append(ids, m.ProviderID)
		}
	}
	return len(ids), shown(ids, instances)
}
