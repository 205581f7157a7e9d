// Package explain explains an object to a person: from what is stored in a cluster
// it makes one sentence, the chain of causes behind it, and one next step.
//
// It performs no I/O, reads no clock and imports no API group. [Machine] and
// [Group] are total: every combination of facts has an answer. Why a machine is as
// it is, the engine says itself: its decision is asked for on what is stored. What
// objects beside it show, such as pods that a budget keeps on a node, makes that more
// particular; what the controllers recorded is quoted. One table has the words for
// every reason. What could not be read is said in the answer and hides nothing else.
package explain

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/millwright-dev/millwright/internal/engine/postmortem"
)

// State is in one word how an object is. The set is closed; scripts go by it.
type State string

// The states.
const (
	// Healthy: nothing is waited for.
	Healthy State = "Healthy"
	// Progressing: it is on its way, and nothing is wrong.
	Progressing State = "Progressing"
	// Waiting: it goes on when a person or another program has done something.
	Waiting State = "Waiting"
	// Degraded: something is wrong, and it is tried or waited for.
	Degraded State = "Degraded"
	// Failed: it does not go on by itself.
	Failed State = "Failed"
	// Deleting: it is on its way out, and nothing is in the way.
	Deleting State = "Deleting"
	// Stuck: it is on its way out, and something is in the way.
	Stuck State = "Stuck"
	// Gone: it does not exist any more; evidence of it does.
	Gone State = "Gone"
	// Unknown: there is no such object, or it could not be read.
	Unknown State = "Unknown"
	// Ambiguous: several objects have the name.
	Ambiguous State = "Ambiguous"
)

// Subject is the object that is asked about.
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

// Answer is what a person reads.
type Answer struct {
	Subject
	State State `json:"state"`
	// Reason is a stable CamelCase word for the state: one of the controllers'
	// where they have one.
	Reason string `json:"reason"`
	// Sentence says how the object is and since when.
	Sentence string `json:"sentence"`
	// Because is the chain of causes, each one of that before it.
	Because []Cause `json:"because,omitempty"`
	// Next is what to do, or that nothing is to be done.
	Next string `json:"next"`
	// Evidence is what was kept when the machine was given up; nil when nothing
	// was.
	Evidence *Evidence `json:"evidence,omitempty"`
	// Tree is what the object made, and what is in the way of that; nil where nobody
	// asked for it.
	Tree *Branch `json:"tree,omitempty"`
	// Gaps are what could not be read, and why.
	Gaps []string `json:"gaps,omitempty"`
}

// Cause is one link of the chain.
type Cause struct {
	// Source is where it stands ("condition Drained", "poddisruptionbudget
	// web/b"); empty when it follows from several things.
	Source string `json:"source,omitempty"`
	// Reason is the word that was recorded with it; may be empty.
	Reason  string    `json:"reason,omitempty"`
	Message string    `json:"message"`
	Since   time.Time `json:"since,omitzero"`
}

// Evidence is a record, and where it is kept.
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

// lasting is " for 12m"; empty where since is not known.
func lasting(now, since time.Time) string {
	if since.IsZero() {
		return ""
	}
	return " for " + span(now.Sub(since))
}

// clause is text without its full stop.
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
