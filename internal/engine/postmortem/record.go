// Package postmortem decides what to keep of a machine that failed, or that was deleted while it was unhealthy.
//
// [Worth] says whether a machine leaves evidence. [Encode] turns a [Record] into a document of bounded length without known secrets.
// [Policy.Admit] says which documents to delete for a new one.
//
// The package performs no I/O and reads no clock.
package postmortem

import "time"

// Record is what was known of one machine. Lists are in the order of time.
type Record struct {
	// API is the machine's group, the others are its object's.
	API       string `json:"api" evidence:"identity"`
	Namespace string `json:"namespace" evidence:"identity"`
	Name      string `json:"name" evidence:"identity"`
	UID       string `json:"uid" evidence:"identity"`
	// Owner is what made the machine ("MachineSet/mill"); empty when nothing did.
	Owner string `json:"owner,omitempty" evidence:"identity"`
	// Cause is why the record was taken, at Taken.
	Cause Cause     `json:"cause" evidence:"identity"`
	Taken time.Time `json:"taken"`
	// Phase is the last one recorded, in the API's word.
	Phase string `json:"phase,omitempty"`
	// Summary is the most telling thing that was said of the machine.
	Summary string `json:"summary,omitempty"`
	// Moments are the phases of the machine's life, as far as known.
	Moments []Moment `json:"moments,omitempty"`
	// Said is what the object said about itself.
	Said []Statement `json:"said,omitempty"`
	// Instance is what the infrastructure said, Node the machine's node; nil
	// when there was none, or when a gap says that nobody could tell.
	Instance *Instance `json:"instance,omitempty"`
	Node     *Node     `json:"node,omitempty"`
	// Requests are the certificate requests of its kubelet that were pending.
	Requests []Request `json:"requests,omitempty"`
	Events   []Event   `json:"events,omitempty"`
	// Console is the end of what the instance wrote to its console.
	Console string `json:"console,omitempty"`
	// Gaps are what could not be found out, and why.
	Gaps []string `json:"gaps,omitempty"`
	// Cut are the parts that were shortened or left out for their size.
	Cut []string `json:"cut,omitempty" evidence:"identity"`
}

// Moment is when something about a machine began.
type Moment struct {
	What string    `json:"what"`
	At   time.Time `json:"at"`
}

// Statement is something that an object, or its node, says about itself: a
// condition, its last operation, an error.
type Statement struct {
	// About is the condition's type, or the field ("lastOperation").
	About string `json:"about"`
	// Status is the condition's, or the operation's state.
	Status  string    `json:"status,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	Message string    `json:"message,omitempty"`
	Since   time.Time `json:"since,omitzero"`
}

// What statements are about that are no conditions.
const (
	// ErrorStatement is the error that ended an object.
	ErrorStatement = "status.errorMessage"
	// OperationStatement is the last operation.
	OperationStatement = "status.lastOperation"
)

// Instance is what the infrastructure said about the machine's instance.
type Instance struct {
	ID         string    `json:"id,omitempty"`
	ProviderID string    `json:"providerID,omitempty"`
	State      string    `json:"state"`
	RawState   string    `json:"rawState,omitempty"`
	Type       string    `json:"type,omitempty"`
	Zone       string    `json:"zone,omitempty"`
	Addresses  []string  `json:"addresses,omitempty"`
	Created    time.Time `json:"created,omitzero"`
}

// Node is the last look at the machine's node.
type Node struct {
	Name       string      `json:"name"`
	Created    time.Time   `json:"created,omitzero"`
	Conditions []Statement `json:"conditions,omitempty"`
	Taints     []string    `json:"taints,omitempty"`
}

// Request is a certificate request that waited, and why it was not granted.
type Request struct {
	Name    string    `json:"name"`
	Signer  string    `json:"signer,omitempty"`
	Node    string    `json:"node,omitempty"`
	Created time.Time `json:"created,omitzero"`
	// Verdict, Reason and Message are those of the approver; Verdict is empty
	// when it was not asked.
	Verdict string `json:"verdict,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// Event is something that was told about the machine.
type Event struct {
	Type    string    `json:"type,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	Message string    `json:"message,omitempty"`
	At      time.Time `json:"at,omitzero"`
	Count   int       `json:"count,omitempty"`
	// By is the component that reported it.
	By string `json:"by,omitempty"`
}

// MomentCreated is when the object was made.
const MomentCreated = "created"

// Created is when the machine's object was made; zero where that was cut.
func (r Record) Created() time.Time {
	for _, m := range r.Moments {
		if m.What == MomentCreated {
			return m.At
		}
	}
	return time.Time{}
}
