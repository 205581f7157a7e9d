package choice

import (
	"maps"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// How long things last.
const (
	// mostPause is the longest time that nobody asks for what was found exhausted, unless the infrastructure or the
	// API's own pause is longer.
	mostPause = 10 * time.Minute
	// trial is how long the others leave alone what one machine tries again.
	trial = 10 * time.Second
	// dear is how long other choices come before one of which an instance was accepted and given up. Each such try costs a
	// machine and the time that its API gives it to be created (20 minutes), where a plain refusal costs a call.
	dear = time.Hour
	// forgotten is how long after its time a shortage is still remembered, so that the pause grows.
	forgotten = time.Hour
)

// Shortage is something that was found exhausted.
type Shortage struct {
	// Told is when the infrastructure last said so, Times how often in a row.
	Told  time.Time
	Times int
	// Until is when it is worth another try, Avoid until when other choices are tried before it.
	Until, Avoid time.Time
	// Said is what the infrastructure said.
	Said string
}

// Shortages are what is known of one account. The zero value knows nothing. Methods leave the receiver as it is.
type Shortages struct{ known map[place]Shortage }

// Answer is what came of asking for a choice.
type Answer struct {
	Choice provider.Choice
	// Began is when it was asked for, At when the answer came.
	Began, At time.Time
	// Err is the failure; nil: there is an instance, and it runs. One that was accepted only is no answer yet.
	Err error
	// GivenUp: the instance had been accepted before.
	GivenUp bool
	// Pause is how long to leave alone what is exhausted for the first time.
	Pause time.Duration
}

// After is what is known after the answer. An instance that runs ends every shortage of before that would have prevented it. An
// [provider.Exhausted] error begins one, or makes its pause longer, whether the infrastructure said so at once or after it had
// accepted the instance; whoever asked before another one was told the same only repeats it, and who asked within the pause begins
// it anew. Other failures say nothing about capacity.
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

// again is the shortage after an answer to somebody who asked when it was told already. The pause grows when it was over
// by then: within it, only those ask who began before they could know, and who repeat what was not answered clearly.
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

// Empty reports whether nothing is known any more at now.
func (s Shortages) Empty(now time.Time) bool {
	for _, short := range s.known {
		if !short.forgotten(now) {
			return false
		}
	}
	return true
}

// trying is what others know while somebody asks for c, of which the time of every shortage is over.
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
