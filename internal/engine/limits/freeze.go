// Package limits decides when there are too many machines, and when too many of them go at once.
//
// [Judge] tells when a MachineSet has so many machines that it must not create more. [Limit] is how much of a whole may be removed
// at once: of the machines of a set, or of the instances of an account.
//
// The package performs no I/O, reads no clock and imports no API group.
package limits

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// Crowd is one set, as far as the freeze is concerned. No other set has a say.
type Crowd struct {
	// Replicas is how many machines the set itself wants.
	Replicas int
	// Parent is the deployment that controls the set; nil when none does.
	Parent *Parent
	// Machines is how many belong to the set, in whatever state, those on
	// their way out included: what runs costs, whoever is to blame for it. Those that
	// only finalizers of others hold are over.
	Machines int
	// Frozen says that the set makes no machines already, Asked that somebody
	// wants it thawed whatever the number.
	Frozen, Asked bool
}

// Parent is the deployment of a set.
type Parent struct {
	// Replicas is how many machines all its sets are to have together.
	Replicas int
	// Surge is by how many there may be more during a rollout, a number or a
	// percentage of Replicas rounded up; nil is none.
	Surge *intstr.IntOrString
}

// Margins keep the freeze away from what happens every day, and apart from the
// thaw.
type Margins struct {
	// Up is by how much the tolerated number is exceeded when a set freezes,
	// Down how many fewer than that there are when it thaws.
	Up, Down int
}

// DefaultMargins freeze a set at two machines more than are tolerated.
var DefaultMargins = Margins{Up: 2, Down: 1}

// Bounds are the numbers of machines from which on a set freezes, and down to
// which it thaws.
//
// A set of a deployment of 10 with a surge of 25 % freezes at 10+3+2 = 15 and
// thaws at 14; one by itself, of 10, freezes at twice that and 2 more, 22, and
// thaws at 21. Margins that are no margins are corrected: having just what is
// wanted freezes nobody; a set thaws at the latest when it has shrunk to what
// it wants, because it will not shrink any further; and the two numbers
// differ, or a set that stays as it is would freeze and thaw for ever.
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

// surge is none where it cannot be read: a mistake in one deployment must not
// keep sets from being judged.
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

// Act is what to do about a set.
type Act string

// The acts.
const (
	// Leave it as it is, frozen or not.
	Leave Act = "Leave"
	// Freeze it: it makes no machines. It goes on deleting them.
	Freeze Act = "Freeze"
	// Thaw it, and with that grant the request for it.
	Thaw Act = "Thaw"
)

// Judgement is what to do about a set, and why.
type Judgement struct {
	Act Act
	// Message tells people what was decided, or why a frozen set stays so.
	Message string
}

// Judge decides about c. A request to thaw is granted once, whatever the
// number; a set that is too large still is frozen by the next judgement, so
// that nobody turns the guard off by forgetting a request.
func Judge(c Crowd, m Margins) Judgement {
	high, low := c.Bounds(m)
	frozen := fmt.Sprintf("%d machines, and %d are too many: no more are made until there are %d", c.Machines, high, low)
	switch {
	case c.Asked:
		return Judgement{Thaw, fmt.Sprintf("%d machines, thawed on request", c.Machines)}
	case !c.Frozen && c.Machines >= high:
		return Judgement{Freeze, frozen}
	case c.Frozen && c.Machines <= low:
		return Judgement{Thaw, fmt.Sprintf("%d machines: more may be made again", c.Machines)}
	case c.Frozen:
		return Judgement{Leave, frozen}
	}
	return Judgement{Leave, fmt.Sprintf("%d machines, fewer than %d", c.Machines, high)}
}
