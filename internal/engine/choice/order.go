package choice

import (
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// Order is what a process asked for last for one machine, of several choices. The zero value: nothing.
type Order struct {
	// Choice is its name, At when it was asked for.
	Choice string
	At     time.Time
	// Told says that what came of it was taken in.
	Told bool
}

// News reports whether the machine's instance says something of capacity that was not taken in yet. Only one that runs was made for
// good: one that is pending may be given up for want of capacity still. What this process did not ask for says nothing by running.
func (o Order) News(i provider.Instance) bool {
	switch {
	case o.Told:
		return false
	case provider.KindOf(fault(i)) == provider.Exhausted:
		return true
	}
	return o.Choice != "" && i.State == provider.Running
}

// Seen is when an instance is looked at.
type Seen struct {
	At time.Time
	// Late: its machine has failed by then, or is under deletion. If the instance was given up, that may be long ago.
	Late bool
}

// Answer is what the instance says, if it can be told what it was made of, and when. An instance that this process did not ask for,
// and sees late, was not given up before the infrastructure accepted it. So that is when it says so, and it says nothing where
// that is unknown, or no other choice comes first any more. A process that saw it happen counts from later.
func (o Order) Answer(seen Seen, i provider.Instance, choices []provider.Choice) (a Answer, known bool) {
	a = Answer{Began: o.At, At: seen.At, Err: fault(i), GivenUp: i.Fault != nil}
	if a.Began.IsZero() {
		a.Began = i.Created
	}
	if o.Choice == "" && seen.Late && i.Created.Before(a.At) {
		a.At = i.Created // where the infrastructure's clock is ahead, it is now
	}
	if seen.At.Sub(a.At) >= dear {
		return a, false
	}
	may := o.candidates(i, choices)
	if len(may) == 0 {
		return a, false
	}
	a.Choice = may[0]
	scope := provider.ScopeOf(a.Err)
	for _, c := range may[1:] {
		if within(c, scope) != within(a.Choice, scope) {
			return a, false
		}
	}
	return a, true
}

// fault is why the instance was given up; a nil pointer would be an error.
func fault(i provider.Instance) error {
	if i.Fault == nil {
		return nil
	}
	return i.Fault
}

// candidates are the choices that the instance may have been made of, by where it is: the one that was asked for, else those of its
// type, else all. What was asked for counts before the type, because one type may be several choices, such as on the spot
// market and on demand.
func (o Order) candidates(i provider.Instance, choices []provider.Choice) []provider.Choice {
	var near, alike []provider.Choice
	for _, c := range choices {
		switch {
		case differ(c.Region, i.Region), differ(c.Zone, i.Zone):
			continue
		case c.Name == o.Choice:
			return []provider.Choice{c}
		case c.Type == i.Type:
			alike = append(alike, c)
		}
		near = append(near, c)
	}
	if len(alike) > 0 {
		return alike
	}
	return near
}

// differ reports whether both are known, and not the same.
func differ(a, b string) bool { return a != "" && b != "" && a != b }
