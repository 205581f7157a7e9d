package cloud

import (
	"slices"
	"time"
)

// Mirror shows an instance of another cloud. [Cloud.Ends] must report its termination there. An instance whose ID
// comes again is the same, started again: such a cloud drops tokens with their instances.
func (c *Cloud) Mirror(m Machine) *Machine {
	m.listed = m.Created
	c.machines = slices.DeleteFunc(c.machines, func(o *Machine) bool { return o.ID == m.ID })
	c.machines = append(c.machines, &m)
	c.OnCreate(&m)
	return &m
}

// Ends says that a mirrored instance ceases to exist by then, or sooner if that was said before.
func (c *Cloud) Ends(m *Machine, at time.Time) {
	if m.gone.IsZero() || at.Before(m.gone) {
		m.gone = at
	}
}

// Boots says from when on a mirrored instance runs.
func (m *Machine) Boots(at time.Time) { m.booted = at }
