package cloud

import (
	"slices"
	"time"
)

// Mirror shows an instance of another cloud. [Cloud.Ends] must report its termination there. If the same ID comes again, it is
// the same instance, started again: such a cloud drops tokens with their instances.
func (c *Cloud) Mirror(m Machine) *Machine {
	m.listed = m.Created
	c.machines = slices.DeleteFunc(c.machines, func(o *Machine) bool { return o.ID == m.ID })
	c.machines = append(c.machines, &m)
	c.OnCreate(&m)
	return &m
}

// Ends says that a mirrored instance ceases to exist at the time, or at an earlier time that was reported before.
func (c *Cloud) Ends(m *Machine, at time.Time) {
	if m.gone.IsZero() || at.Before(m.gone) {
		m.gone = at
	}
}

// Boots sets the time from which a mirrored instance runs.
func (m *Machine) Boots(at time.Time) { m.booted = at }
