// Package postmortem decides which facts to keep about a machine that failed, or that was deleted while it
// was unhealthy.
//
// [Worth] says whether a machine leaves evidence. [Encode] turns a [Record] into a document of bounded length without known secrets.
// [Policy.Admit] says which documents to delete for a new one.
//
// The package performs no I/O and reads no clock.
package postmortem

import "time"

// Record has the known facts about one machine. Lists are in the order of time.
type Record struct {
	// API is the machine's group; the others are those of its object.
	API       string `json:"api" evidence:"identity"`
	Namespace string `json:"namespace" evidence:"identity"`
	Name      string `json:"name" evidence:"identity"`
	UID       string `json:"uid" evidence:"identity"`
	// Owner is the owner of the machine ("MachineSet/mill"); empty if none exists.
	Owner string `json:"owner,omitempty" evidence:"identity"`
	// Cause is why the record was taken, at Taken.
	Cause Cause     `json:"cause" evidence:"identity"`
	Taken time.Time `json:"taken"`
	// Phase is the last recorded phase, in the API's word.
	Phase string `json:"phase,omitempty"`
	// Summary is the most significant statement about the machine.
	Summary string `json:"summary,omitempty"`
	// Moments are the phases of the machine's life, as far as known.
	Moments []Moment `json:"moments,omitempty"`
	// Said is the status of the object.
	Said []Statement `json:"said,omitempty"`
	// Instance is the instance as the infrastructure reported it, Node is the machine's node; nil if it did
	// not exist, or if a gap says that it is unknown.
	Instance *Instance `json:"instance,omitempty"`
	Node     *Node     `json:"node,omitempty"`
	// Requests are the certificate requests of its kubelet that were pending.
	Requests []Request `json:"requests,omitempty"`
	Events   []Event   `json:"events,omitempty"`
	// Console is the end of the instance's console output.
	Console string `json:"console,omitempty"`
	// Gaps name the unknown facts, and why they are unknown.
	Gaps []string `json:"gaps,omitempty"`
	// Cut are the parts that were shortened or left out for their size.
	Cut []string `json:"cut,omitempty" evidence:"identity"`
}

// Moment is when a phase of a machine began.
type Moment struct {
	What string    `json:"what"`
	At   time.Time `json:"at"`
}

// Statement is an entry in the status of an object or its node: a condition, its last operation, an error.
type Statement struct {
	// About is the condition's type, or the field ("lastOperation").
	About string `json:"about"`
	// Status is the condition's, or the operation's state.
	Status  string    `json:"status,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	Message string    `json:"message,omitempty"`
	Since   time.Time `json:"since,omitzero"`
}

// The subjects of statements that are not conditions.
const (
	// ErrorStatement is the final error of an object.
	ErrorStatement = "status.errorMessage"
	// OperationStatement is the last operation.
	OperationStatement = "status.lastOperation"
)

// Instance is the machine's instance as the infrastructure reported it.
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

// Node is the last observation of the machine's node.
type Node struct {
	Name       string      `json:"name"`
	Created    time.Time   `json:"created,omitzero"`
	Conditions []Statement `json:"conditions,omitempty"`
	Taints     []string    `json:"taints,omitempty"`
}

// Request is a pending certificate request, and why it was not approved.
type Request struct {
	Name    string    `json:"name"`
	Signer  string    `json:"signer,omitempty"`
	Node    string    `json:"node,omitempty"`
	Created time.Time `json:"created,omitzero"`
	// Verdict, Reason and Message are those of the approver; Verdict is empty if the approver did not judge
	// it.
	Verdict string `json:"verdict,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// Event is an event about the machine.
type Event struct {
	Type    string    `json:"type,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	Message string    `json:"message,omitempty"`
	At      time.Time `json:"at,omitzero"`
	Count   int       `json:"count,omitempty"`
	// By is the component that reported it.
	By string `json:"by,omitempty"`
}

// MomentCreated is when the object was created, MomentRequested when a client requested its deletion.
const (
	MomentCreated   = "created"
	MomentRequested = "deletion asked for"
)

// Created returns when the machine's object was created; zero if that was cut.
func (r Record) Created() time.Time {
	for _, m := range r.Moments {
		if m.What == MomentCreated {
			return m.At
		}
	}
	return time.Time{}
}
