// Package limits decides when there are too many machines, and when too many would be deleted at once.
//
// [Judge] decides when a MachineSet has so many machines that it must not create more. [Limit] is the share
// of a whole that may be removed at once: of the machines of a set, or of the instances of an account.
//
// The package performs no I/O, reads no clock and imports no API group.
package limits

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// Crowd has the facts of one set for the freeze. Other sets do not matter.
type Crowd struct {
	// Replicas is how many machines the set itself wants.
	Replicas int
	// Parent is the deployment that controls the set; nil if none does.
	Parent *Parent
	// Machines is how many belong to the set, in any state, including those under deletion: each running
	// instance costs money. Machines that only finalizers of other programs hold do not count.
	Machines int
	// Frozen says that the set is already frozen and creates no machines, Asked that a user requests a thaw
	// for any number of machines.
	Frozen, Asked bool
}

// Parent is the deployment of a set.
type Parent struct {
	// Replicas is the wanted number of machines of all its sets together.
	Replicas int
	// Surge is how many more there may be during a rollout, a number or a percentage of Replicas rounded up;
	// nil means none.
	Surge *intstr.IntOrString
}

// Margins keep the freeze away from everyday changes, and apart from the thaw.
type Margins struct {
	// Up is how many machines above the tolerated number freeze a set, Down how many fewer than that thaw it.
	Up, Down int
}

// DefaultMargins freeze a set at two machines more than are tolerated.
var DefaultMargins = Margins{Up: 2, Down: 1}

// Bounds returns the number of machines from which on a set freezes, and the number down to which it thaws.
//
// A set of a deployment of 10 with a surge of 25 % freezes at 10+3+2 = 15 and thaws at 14; a set of 10
// without a deployment freezes at twice that plus 2, 22, and thaws at 21. Invalid margins are corrected: the
// wanted number never freezes a set; a set thaws at the latest when it has shrunk to the wanted number,
// because it will not shrink further; and the two numbers differ, because otherwise a set at that number
// would freeze and thaw for ever.
func (c Crowd) Bounds(m Margins) (high, low int) {
	wanted := max(0, c.Replicas)
	tolerated, least := 2*wanted, wanted
	if c.Parent != nil {
		least = max(0, c.Parent.Replicas)
		tolerated = least + c.Parent.surge()
	}
	high = max(tolerated+m.Up, least+1)
	low = min(max(high-m.Down, wanted), high-1)
	return high, low
}

// surge returns 0 if the value is invalid: a mistake in one deployment must not keep sets from being judged.
func (p Parent) surge() int {
	if p.Surge == nil {
		return 0
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(p.Surge, max(0, p.Replicas), true)
	if err != nil {
		return 0
	}
	return max(0, n)
}

// Act is the action for a set.
type Act string

// The acts.
const (
	// Leave leaves it as it is, frozen or not.
	Leave Act = "Leave"
	// Freeze freezes it: it creates no machines, and still deletes them.
	Freeze Act = "Freeze"
	// Thaw thaws it, and thereby grants a request for that.
	Thaw Act = "Thaw"
)

// Judgement is the action for a set, and its reason.
type Judgement struct {
	Act Act
	// Message says for users what was decided, or why a set stays frozen.
	Message string
}

// Judge decides about c. A request to thaw is granted once, for any number; the next judgement freezes the
// set again if it is still too large. So a forgotten request cannot disable the guard.
func Judge(c Crowd, m Margins) Judgement {
	high, low := c.Bounds(m)
	frozen := fmt.Sprintf("%d machines, and %d are too many: no more are created until there are %d", c.Machines, high, low)
	switch {
	case c.Asked:
		return Judgement{Thaw, fmt.Sprintf("%d machines, thawed on request", c.Machines)}
	case !c.Frozen && c.Machines >= high:
		return Judgement{Freeze, frozen}
	case c.Frozen && c.Machines <= low:
		return Judgement{Thaw, fmt.Sprintf("%d machines: more may be created again", c.Machines)}
	case c.Frozen:
		return Judgement{Leave, frozen}
	}
	return Judgement{Leave, fmt.Sprintf("%d machines, fewer than %d", c.Machines, high)}
}
