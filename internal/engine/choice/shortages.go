package choice

import (
	"maps"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// Durations.
const (
	// mostPause is the longest time that no machine requests an exhausted choice, unless the infrastructure's
	// or the API's own pause is longer.
	mostPause = 10 * time.Minute
	// trial is how long the other machines wait while one machine tries a choice again.
	trial = 10 * time.Second
	// dear is how long other choices precede one whose instance was accepted and then failed. Each such try
	// costs a machine and the time that its API allows for its creation (20 minutes); a plain refusal costs
	// one call.
	dear = time.Hour
	// forgotten is how long a shortage is remembered after its time is over, so that the pause can grow.
	forgotten = time.Hour
)

// Shortage is a place that was found exhausted.
type Shortage struct {
	// Told is when the infrastructure last reported it, Times how often in a row.
	Told  time.Time
	Times int
	// Until is when it is worth another try, Avoid is until when other choices are tried first.
	Until, Avoid time.Time
	// Said is the infrastructure's message.
	Said string
}

// Shortages are the known shortages of one account. The zero value has none. Methods do not change the receiver.
type Shortages struct{ known map[place]Shortage }

// Answer is the result of requesting a choice.
type Answer struct {
	Choice provider.Choice
	// Began is when it was requested, At is when the answer came.
	Began, At time.Time
	// Err is the failure; nil: the instance runs. An instance that is only accepted is not an answer yet.
	Err error
	// GivenUp: the infrastructure had accepted the instance before it failed.
	GivenUp bool
	// Pause is how long to wait after the first shortage of a place.
	Pause time.Duration
}

// After returns the shortages after the answer. A running instance ends every earlier shortage that would
// have prevented it. A [provider.Exhausted] error begins a shortage or prolongs its pause, whether the
// infrastructure reported it at once or after it had accepted the instance. A machine that sent its request
// before another one got the same answer only confirms it, and one that sent it within the pause starts the
// pause again. Other failures do not concern capacity.
func (s Shortages) After(a Answer) Shortages {
	out := Shortages{known: map[place]Shortage{}}
	for p, short := range s.known {
		if !short.forgotten(a.At) {
			out.known[p] = short
		}
	}
	switch {
	case a.Err == nil:
		for _, p := range places(a.Choice) {
			if out.known[p].Told.Before(a.Began) {
				delete(out.known, p)
			}
		}
	case provider.KindOf(a.Err) == provider.Exhausted:
		p := within(a.Choice, provider.ScopeOf(a.Err))
		if was, ok := out.known[p]; !ok || !a.Began.Before(was.Told) {
			out.known[p] = was.again(a)
		}
	}
	return out
}

// again returns the shortage after the same answer to a later request. The pause grows if it was over by
// then: within the pause, the only requests are those sent before the shortage was known, and repetitions of
// requests without a clear answer.
func (s Shortage) again(a Answer) Shortage {
	if s.Times == 0 || !a.Began.Before(s.Told.Add(pause(a.Pause, s.Times))) {
		s.Times++
	}
	wait := pause(a.Pause, s.Times)
	if asked := provider.AfterOf(a.Err); asked > 0 {
		wait = asked
	}
	s.Told, s.Until, s.Said = a.At, a.At.Add(wait), provider.Clip(a.Err.Error(), mostText)
	if a.GivenUp {
		s.Avoid = a.At.Add(dear)
	}
	return s
}

func (s Shortage) forgotten(now time.Time) bool {
	return now.Sub(later(s.Until, s.Avoid)) >= forgotten
}

// Empty reports whether no shortage is known at now.
func (s Shortages) Empty(now time.Time) bool {
	for _, short := range s.known {
		if !short.forgotten(now) {
			return false
		}
	}
	return true
}

// trying returns the shortages for other machines while one machine requests c after the time of every
// shortage of c is over.
func (s Shortages) trying(now time.Time, c provider.Choice) Shortages {
	out := Shortages{known: maps.Clone(s.known)}
	for _, p := range places(c) {
		if short, ok := out.known[p]; ok {
			short.Until = now.Add(trial)
			out.known[p] = short
		}
	}
	return out
}
