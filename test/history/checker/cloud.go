package checker

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"
)

// What an [Entry] is about.
const (
	// Call is a call that a controller made of the infrastructure, Reply what came of it. A call without a reply is one
	// whose caller was killed.
	Call  = "call"
	Reply = "reply"
	// Made, Ending and Gone are about an instance: the infrastructure has accepted it, was asked to end it, has it no
	// more. They come from the infrastructure itself, not from who called it.
	Made   = "made"
	Ending = "ending"
	Gone   = "gone"
	// Mark is something that the world did or saw, which Mark names.
	Mark = "mark"
)

// The marks.
const (
	// Restored: etcd is what it was at From; the API server was stopped at Until and serves again at At.
	Restored = "restored"
	// Exchanged: controllers were exchanged for those of another version between From and Until, while nobody asked for
	// anything.
	Exchanged = "exchanged"
	// Unsettled: From somebody's last doing on, until At, the fleet did not become what it should be.
	Unsettled = "unsettled"
	// Crashed: a controller ended as no controller should.
	Crashed = "crashed"
	// End: everything was deleted, and had the time to go.
	End = "end"
)

// Entry is a line of the log of the infrastructure.
type Entry struct {
	Line int       `json:"-"`
	At   time.Time `json:"at"`
	What string    `json:"what"`

	// Of calls and replies. ID is unique among the calls of a run. Error is empty where the call succeeded.
	ID    string `json:"id,omitempty"`
	Verb  string `json:"verb,omitempty"`
	Error string `json:"error,omitempty"`

	// Of calls and instances: whose they are.
	Cluster  string `json:"cluster,omitempty"`
	UID      string `json:"uid,omitempty"`
	Machine  string `json:"machine,omitempty"`
	Instance string `json:"instance,omitempty"`

	// Of marks.
	Mark    string    `json:"mark,omitempty"`
	From    time.Time `json:"from,omitzero"`
	Until   time.Time `json:"until,omitzero"`
	Message string    `json:"message,omitempty"`
}

// Where names the line for people.
func (e Entry) Where() string { return fmt.Sprintf("cloud.jsonl:%d", e.Line) }

// ParseCloud reads the log of the infrastructure, and sorts it by time.
func ParseCloud(r io.Reader) ([]Entry, error) {
	var out []Entry
	err := lines(r, func(n int, line []byte) error {
		e := Entry{Line: n}
		if err := json.Unmarshal(line, &e); err != nil {
			return err
		}
		out = append(out, e)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the log of the infrastructure: %w", err)
	}
	slices.SortStableFunc(out, func(a, b Entry) int { return a.At.Compare(b.At) })
	return out, nil
}

// Instance is one instance from its beginning to its end. Times that have not come are zero.
type Instance struct {
	ID, UID, Machine   string
	Made, Ending, Gone Entry
}

// living says until when the instance was nobody's to end: the far future where it still is not.
func (i *Instance) living() time.Time {
	return cmp.Or(i.Ending.At, i.Gone.At, time.Unix(1<<40, 0))
}

// instances puts together what the entries tell of each.
func instances(entries []Entry) []*Instance {
	byID := map[string]*Instance{}
	var out []*Instance
	for _, e := range entries {
		if e.What != Made && e.What != Ending && e.What != Gone {
			continue
		}
		i := byID[e.Instance]
		if i == nil {
			i = &Instance{ID: e.Instance, UID: e.UID, Machine: e.Machine}
			byID[e.Instance] = i
			out = append(out, i)
		}
		switch e.What {
		case Made:
			i.Made = e
		case Ending:
			i.Ending = e
		case Gone:
			i.Gone = e
		}
	}
	return out
}
