package checker

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"
)

// ParseCloud reads the infrastructure's log and sorts it by time.
func ParseCloud(r io.Reader) ([]Event, error) {
	var out []Event
	err := lines(r, func(n int, line []byte) error {
		e := Event{Line: n}
		if err := json.Unmarshal(line, &e); err != nil {
			return err
		}
		out = append(out, e)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the log of the infrastructure: %w", err)
	}
	inOrder(out)
	return out, nil
}

// inOrder sorts events by their times.
func inOrder(all []Event) {
	slices.SortStableFunc(all, func(a, b Event) int { return a.At.Compare(b.At) })
}

// Instance is one instance from its creation to its end. A time that has not come is zero.
type Instance struct {
	ID, UID, Machine, Part   string
	Made, Ending, Died, Gone Event
	// node is the name of the instance's node: the name that the machine records, else Machine.
	node string
}

// living is the time at which the end of the instance was requested or seen; the far future while it lives.
func (i *Instance) living() time.Time {
	return cmp.Or(i.Ending.At, i.Died.At, i.over(), time.Unix(1<<40, 0))
}

// over is the first moment at which the instance may no longer have existed; zero while it exists.
func (i *Instance) over() time.Time { return cmp.Or(i.Gone.From, i.Gone.At) }

// lives says whether the instance exists at a time.
func (i *Instance) lives(at time.Time) bool {
	return !i.Made.At.After(at) && (i.Gone.At.IsZero() || i.Gone.At.After(at))
}

// during says whether the instance certainly exists from a to b.
func (i *Instance) during(a, b time.Time) bool {
	return i.Made.At.Before(a) && (i.Gone.At.IsZero() || i.over().After(b))
}

// instances collects the events of each instance, and of each part of an instance. An instance that is created again under the
// same ID is another instance: the IDs of some infrastructures are names.
func instances(events []Event) (out, parts []*Instance) {
	byID := map[string]*Instance{}
	for _, e := range events {
		if !slices.Contains([]string{Made, Ending, Died, Gone}, e.What) {
			continue
		}
		i := byID[e.Part+e.Instance]
		if i == nil || e.What == Made && !i.Gone.At.IsZero() {
			i = &Instance{ID: e.Instance, UID: e.UID, Machine: e.Machine, Part: e.Part}
			byID[e.Part+e.Instance] = i
			if e.Part == "" {
				out = append(out, i)
			} else {
				parts = append(parts, i)
			}
		}
		switch e.What {
		case Made:
			i.Made = e
		case Ending:
			i.Ending = e
		case Died:
			i.Died = e
		case Gone:
			i.Gone = e
		}
	}
	return out, parts
}
