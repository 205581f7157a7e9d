// Package explain explains an object to a person: from the stored objects of a cluster it creates one
// sentence, the chain of causes behind it, and one next step.
//
// It performs no I/O, reads no clock and imports no API group. [Machine] and [Group] are total: every
// combination of facts has an answer. The explanation of a machine starts from the decision that the engine
// takes on the stored facts. Other objects, such as a disruption budget that keeps pods on a node, make it
// more specific; texts that controllers recorded are quoted. One table has the words for every reason. The
// answer names what could not be read, and still reports everything else.
package explain

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/millwright-dev/millwright/internal/engine/postmortem"
)

// State is the state of an object in one word. The set is closed; scripts rely on it.
type State string

// The states.
const (
	// Healthy: it waits for nothing.
	Healthy State = "Healthy"
	// Progressing: a controller works on it, and no problem is known.
	Progressing State = "Progressing"
	// Waiting: it continues when a person or another program has acted.
	Waiting State = "Waiting"
	// Degraded: something is wrong, and the controller retries or waits.
	Degraded State = "Degraded"
	// Failed: it does not continue by itself.
	Failed State = "Failed"
	// Deleting: it is being deleted, and nothing blocks that.
	Deleting State = "Deleting"
	// Stuck: it is being deleted, and something blocks that.
	Stuck State = "Stuck"
	// Gone: it does not exist any more; evidence of it does.
	Gone State = "Gone"
	// Unknown: it does not exist, or could not be read.
	Unknown State = "Unknown"
	// Ambiguous: several objects have the name.
	Ambiguous State = "Ambiguous"
)

// Subject is the object to explain.
type Subject struct {
	// API is its group, Kind as the API spells it ("Machine").
	API       string `json:"api,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// String is "Machine blue/mill-a".
func (s Subject) String() string {
	if s.Namespace == "" {
		return s.Kind + " " + s.Name
	}
	return s.Kind + " " + s.Namespace + "/" + s.Name
}

// Answer is the explanation.
type Answer struct {
	Subject
	State State `json:"state"`
	// Reason is a stable CamelCase word for the state: one of the controllers' reasons if they have one.
	Reason string `json:"reason"`
	// Sentence says the state of the object and since when.
	Sentence string `json:"sentence"`
	// Because is the chain of causes, each the cause of the one before.
	Because []Cause `json:"because,omitempty"`
	// Next is the next step, or says that none is needed.
	Next string `json:"next"`
	// Evidence is the record of a failed or deleted machine; nil if none exists.
	Evidence *Evidence `json:"evidence,omitempty"`
	// Tree has the objects that the object created, and what blocks them; nil if not requested.
	Tree *Branch `json:"tree,omitempty"`
	// Gaps name the facts that could not be read, and why.
	Gaps []string `json:"gaps,omitempty"`
}

// Cause is one link of the chain.
type Cause struct {
	// Source is where it is stored ("condition Drained", "poddisruptionbudget web/b"); empty if it follows
	// from several facts.
	Source string `json:"source,omitempty"`
	// Reason is the recorded reason; may be empty.
	Reason  string    `json:"reason,omitempty"`
	Message string    `json:"message"`
	Since   time.Time `json:"since,omitzero"`
}

// Evidence is a record, and where it is stored.
type Evidence struct {
	// Where is "configmap blue/evidence-mill-a-1f2e".
	Where   string            `json:"where"`
	Expires time.Time         `json:"expires,omitzero"`
	Record  postmortem.Record `json:"record"`
}

// span is a time as kubectl shows ages: "40s", "12m", "3h12m", "5d4h".
func span(d time.Duration) string {
	if d < time.Second {
		return "less than 1s"
	}
	return duration.HumanDuration(d)
}

// lasting returns " for 12m"; empty if since is unknown.
func lasting(now, since time.Time) string {
	if since.IsZero() {
		return ""
	}
	return " for " + span(now.Sub(since))
}

// clause returns text without its full stop.
func clause(text string) string { return strings.TrimRight(strings.TrimSpace(text), ".") }

func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// share is "1 of 3 machines is", "2 of 3 machines are" or "0 of 1 machine is".
func share(n, of int, one string) string {
	verb := "are"
	if n == 1 || of == 1 {
		verb = "is"
	}
	return fmt.Sprintf("%d of %s %s", n, plural(of, one), verb)
}
