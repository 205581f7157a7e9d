package forecast

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/replicas"
)

// finish assembles the forecast.
func (r *run) finish() Forecast {
	f := r.out
	for i, s := range f.Steps {
		f.Steps[i].Held = r.permits.holds(s)
		switch s.Kind {
		case Create:
			f.Created += s.Count
		case Delete:
			f.Deleted += s.Count
		}
	}
	machines := r.Machines(r.now)
	for _, m := range machines {
		if m.State != Leaving {
			f.Rest++
		}
	}
	f.Waits = r.waits(machines)
	f.Took.Known = len(r.unsure) == 0 && len(f.Waits) == 0 && !f.Cut
	if len(f.Steps) > 0 {
		f.Took.Length = r.end.Sub(r.start)
	}
	switch {
	case len(f.Waits) > 0:
		f.Took.Source = "it does not finish by itself"
	case f.Cut:
		f.Took.Source = "unknown: not all steps were examined"
	case len(r.unsure) > 0:
		f.Took.Source = "unknown: it depends on " + strings.Join(r.unsure, "; ")
	default:
		f.Took.Source = r.sources(f)
	}
	return f
}

// With adds machines that are created like those of the steps and only counted, and estimates how long they take.
func (f Forecast) With(beyond int, d Durations) Forecast {
	if beyond == 0 {
		return f
	}
	f.Beyond, f.Created, f.Rest = beyond, f.Created+beyond, f.Rest+beyond
	if d.AtOnce > 0 && d.Create.Known {
		f.Took.Length += time.Duration((beyond+d.AtOnce-1)/d.AtOnce) * d.Create.Length
	} else {
		f.Took.Known = false
	}
	return f
}

func (r *run) sources(f Forecast) string {
	var out []string
	if f.Created > 0 {
		source := r.d.Create.Source
		if r.d.AtOnce > 0 && f.Created > r.d.AtOnce {
			source += fmt.Sprintf(", at the observed pace: %d at once", r.d.AtOnce)
		}
		out = append(out, source)
	}
	if f.Deleted > 0 {
		out = append(out, r.d.Delete.Source)
	}
	return strings.Join(slices.Compact(out), "; ")
}

// waits returns the events that the forecast waits for and cannot predict.
func (r *run) waits(machines []Machine) (out []string) {
	if _, ok := r.Rollout(r.now); ok {
		switch st := r.plan.Status; {
		case st.Faulty:
			out = append(out, st.Progress.Message)
		case st.Waiting != "":
			out = append(out, st.Waiting)
		case st.Failure != nil:
			out = append(out, st.Failure.Message)
		}
	}
	for _, s := range r.Sets(r.now) {
		d := r.last[s.Set.UID]
		switch {
		case d.Held != "":
			out = append(out, "set "+s.Set.Name+": "+d.Held)
		case d.Withheld != "":
			out = append(out, "set "+s.Set.Name+": "+d.Withheld)
		case slices.Contains([]replicas.Reason{replicas.Invalid, replicas.Paused, replicas.Held, replicas.Guarded}, d.Reason):
			out = append(out, "set "+s.Set.Name+": "+d.Message)
		}
	}
	for _, m := range machines {
		if why := r.stuck[m.UID]; why != "" {
			out = append(out, why)
		}
	}
	return append(out, r.permits.waiting(machines)...)
}
