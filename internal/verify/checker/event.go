package checker

import (
	"fmt"
	"time"
)

// The kinds of an [Event].
const (
	// Wrote is a request that the API server has answered.
	Wrote = "wrote"
	// Call is a controller's call to the infrastructure, Reply its result. A call without a reply is the call of a controller
	// that was killed.
	Call  = "call"
	Reply = "reply"
	// Made, Ending, Died and Gone are about an instance. Made: the infrastructure accepted it. Ending: the infrastructure was
	// asked to end it. Died: it ended without a request. Gone: it no longer exists. The infrastructure writes them, not the
	// controller that called it.
	Made   = "made"
	Ending = "ending"
	Died   = "died"
	Gone   = "gone"
	// Mark is an action or an observation of the test; the field Mark names it.
	Mark = "mark"
)

// The marks.
const (
	// Restored: etcd has its content of From again. The API server stopped at Until and serves again at At.
	Restored = "restored"
	// Exchanged: between From and Until controllers were replaced by those of another version, and no user changed anything.
	Exchanged = "exchanged"
	// Unsettled: the last change by a user was at From, and at At the fleet had not yet reached its wanted state.
	Unsettled = "unsettled"
	// Crashed: a controller ended unexpectedly.
	Crashed = "crashed"
	// Foreign: the Instance belongs to another cluster.
	Foreign = "foreign"
	// AtRest: users have changed nothing for a long time, and want Wanted machines. Message names what is left at the
	// infrastructure without an instance.
	AtRest = "at-rest"
	// End: everything was deleted, and the controllers had the time to finish.
	End = "end"
)

// Event is one thing that happened in a run. All tests record events in this form, on any infrastructure.
type Event struct {
	Line int       `json:"-"`
	At   time.Time `json:"at"`
	What string    `json:"what"`

	// For calls and replies. ID is unique among the calls of a run. Error is empty if the call succeeded.
	ID    string `json:"id,omitempty"`
	Verb  string `json:"verb,omitempty"`
	Error string `json:"error,omitempty"`

	// For calls and instances: their cluster and machine. Machine is the name of the node. Part names a part of an instance,
	// such as a disk or an interface, if the event is about a part. From of Gone is the last time at which the instance was seen.
	Part     string `json:"part,omitempty"`
	Cluster  string `json:"cluster,omitempty"`
	UID      string `json:"uid,omitempty"`
	Machine  string `json:"machine,omitempty"`
	Instance string `json:"instance,omitempty"`

	// For marks.
	Mark    string    `json:"mark,omitempty"`
	From    time.Time `json:"from,omitzero"`
	Until   time.Time `json:"until,omitzero"`
	Wanted  *int      `json:"wanted,omitempty"`
	Message string    `json:"message,omitempty"`

	// Write is the request of an event of kind Wrote. Requests have a log of their own.
	Write *Write `json:"-"`
}

// Where names the line of the log, for people.
func (e Event) Where() string {
	if e.Write != nil {
		return e.Write.Where()
	}
	return fmt.Sprintf("cloud.jsonl:%d", e.Line)
}

// Write is a request that the API server has answered: one line of its audit log.
type Write struct {
	Line int
	// Begun is the time at which the request arrived, Done the time of its answer.
	Begun, Done time.Time
	User, Verb  string
	Group, Resource, Subresource,
	Namespace, Name string
	// Code is the HTTP status code.
	Code int
	// Target is the node of a binding.
	Target string
	// Object is the object in the answer, Items the objects of a list.
	Object Object
	Items  []Object
}

// Event returns the request as an event. Its time is the time at which the request arrived.
func (w Write) Event() Event { return Event{Line: w.Line, At: w.Begun, What: Wrote, Write: &w} }

// OK says whether the request succeeded.
func (w Write) OK() bool { return w.Code >= 200 && w.Code < 300 }

// Where names the line of the log, for people.
func (w Write) Where() string { return fmt.Sprintf("audit.log:%d", w.Line) }
