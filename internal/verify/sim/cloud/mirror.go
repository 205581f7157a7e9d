package cloud

import (
	"slices"
	"time"
)

// Mirror shows an instance that another infrastructure made. What is sent away there
// is to be told with [Cloud.Ends]. One whose ID comes again is the same, started anew:
// such an infrastructure forgets tokens with what they were for.
func (c *Cloud) Mirror(m Machine) *Machine {
	m.listed = m.Created
	c.machines = slices.DeleteFunc(c.machines, func(o *Machine) bool { return o.ID == m.ID })
	c.machines = append(c.machines, &m)
	c.OnCreate(&m)
	return &m
}

// Ends says that an instance which is mirrored is gone by then, or sooner where that was
// said before.
func (c *Cloud) Ends(m *Machine, at time.Time) {
	if m.gone.IsZero() || at.Before(m.gone) {
		m.gone = at
	}
}

// Boots says from when on an instance which is mirrored runs.
func (m *Machine) Boots(at time.Time) { m.booted = at }
