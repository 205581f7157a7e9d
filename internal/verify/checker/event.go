package checker

import (
	"fmt"
	"time"
)

// What an [Event] is about.
const (
	// Wrote is a request that the API server has answered.
	Wrote = "wrote"
	// Call is a call that a controller made of the infrastructure, Reply what came of it. A call without a reply is one
	// whose caller was killed.
	Call  = "call"
	Reply = "reply"
	// Made, Ending and Gone are about an instance: the infrastructure has accepted it, was asked to end it, has it no
	// more. They come from the infrastructure itself, not from who called it. Died: it ended by itself.
	Made   = "made"
	Ending = "ending"
	Died   = "died"
	Gone   = "gone"
	// Mark is something that the test did or saw, which Mark names.
	Mark = "mark"
)

// The marks.
const (
	// Restored: etcd is what it was at From; the API server was stopped at Until and serves again at At.
	Restored = "restored"
	// Exchanged: controllers were exchanged for those of another version between From and Until, while no user asked for
	// anything.
	Exchanged = "exchanged"
	// Unsettled: from the last change by a user on, which was at From, until At, the fleet did not become what it should be.
	Unsettled = "unsettled"
	// Crashed: a controller ended as no controller should.
	Crashed = "crashed"
	// Foreign: the Instance is of another cluster.
	Foreign = "foreign"
	// AtRest: users have asked for nothing since long, and want as many machines as Wanted says. Message names what is left
	// at the infrastructure without an instance.
	AtRest = "at-rest"
	// End: everything was deleted, and had the time to go.
	End = "end"
)

// Event is one thing that happened in a run. All tests record what happens so, whatever their infrastructure is.
type Event struct {
	Line int       `json:"-"`
	At   time.Time `json:"at"`
	What string    `json:"what"`

	// Of calls and replies. ID is unique among the calls of a run. Error is empty where the call succeeded.
	ID    string `json:"id,omitempty"`
	Verb  string `json:"verb,omitempty"`
	Error string `json:"error,omitempty"`

	// Of calls and instances: whose they are. Machine is the name of the node. Part is what it is instead of an instance: a
	// disk, an interface. Of one that ended, From is when it was seen last.
	Part     string `json:"part,omitempty"`
	Cluster  string `json:"cluster,omitempty"`
	UID      string `json:"uid,omitempty"`
	Machine  string `json:"machine,omitempty"`
	Instance string `json:"instance,omitempty"`

	// Of marks.
	Mark    string    `json:"mark,omitempty"`
	From    time.Time `json:"from,omitzero"`
	Until   time.Time `json:"until,omitzero"`
	Wanted  *int      `json:"wanted,omitempty"`
	Message string    `json:"message,omitempty"`

	// Write is the request, of one that the API server has answered. Those are in a log of their own.
	Write *Write `json:"-"`
}

// Where names the line for people.
func (e Event) Where() string {
	if e.Write != nil {
		return e.Write.Where()
	}
	return fmt.Sprintf("cloud.jsonl:%d", e.Line)
}

// Write is a request that the API server has answered: one line of its audit log.
type Write struct {
	Line int
	// Begun is when the request arrived, Done when it was answered.
	Begun, Done time.Time
	User, Verb  string
	Group, Resource, Subresource,
	Namespace, Name string
	// Code is that of HTTP.
	Code int
	// Target is the node of a binding.
	Target string
	// Object is what was answered, Items where that is a list.
	Object Object
	Items  []Object
}

// Event is the request as an event, at the time at which it arrived.
func (w Write) Event() Event { return Event{Line: w.Line, At: w.Begun, What: Wrote, Write: &w} }

// OK says that the request was granted.
func (w Write) OK() bool { return w.Code >= 200 && w.Code < 300 }

// Where names the line for people.
func (w Write) Where() string { return fmt.Sprintf("audit.log:%d", w.Line) }
