package choice

import (
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// Order is the choice that a process requested last for one machine. The zero value: none yet.
type Order struct {
	// Choice is its name, At is when it was requested.
	Choice string
	At     time.Time
	// Told says that the result has been recorded.
	Told bool
}

// News reports whether the machine's instance has a result about capacity that has not been recorded. Only a
// running instance proves capacity: a pending one may still fail because capacity is missing. An instance
// that this process did not request proves nothing by running.
func (o Order) News(i provider.Instance) bool {
	switch {
	case o.Told:
		return false
	case provider.KindOf(fault(i)) == provider.Exhausted:
		return true
	}
	return o.Choice != "" && i.State == provider.Running
}

// Seen describes when an instance is observed.
type Seen struct {
	At time.Time
	// Late: its machine has failed or is under deletion. If the instance failed, that may have been long ago.
	Late bool
}

// Answer returns the instance's result about capacity, if its choice and the time are known. An instance that
// this process did not request and that it sees late cannot have failed before the infrastructure accepted
// it. So that time is used; without it, or when no other choice comes first any more, there is no answer. A
// process that observed the failure uses the time of the observation.
func (o Order) Answer(seen Seen, i provider.Instance, choices []provider.Choice) (a Answer, known bool) {
	a = Answer{Began: o.At, At: seen.At, Err: fault(i), GivenUp: i.Fault != nil}
	if a.Began.IsZero() {
		a.Began = i.Created
	}
	if o.Choice == "" && seen.Late && i.Created.Before(a.At) {
		a.At = i.Created // if the infrastructure's clock is ahead, this is now
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

// fault returns why the instance failed, or nil: a nil pointer in an error would not be nil.
func fault(i provider.Instance) error {
	if i.Fault == nil {
		return nil
	}
	return i.Fault
}

// candidates returns the choices that the instance may have, by its zone: the requested one, otherwise those
// of its type, otherwise all. The request counts before the type, because several choices may have one type,
// for example spot and on demand.
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

// differ reports whether both are known and different.
func differ(a, b string) bool { return a != "" && b != "" && a != b }
