package postmortem

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/api/millwright/v1alpha1"
)

// Departure has the facts about the deletion of one machine, of any health: when its steps were, and which client
// requested it and why. Times are zero, and texts empty, if they are not known.
type Departure struct {
	// API is the machine's group; the others are those of its object.
	API       string `json:"api"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
	// Owner is the owner of the machine ("MachineSet/mill"); empty if it had none.
	Owner string `json:"owner,omitempty"`
	// Node, Zone and Type are those of the machine's instance.
	Node string `json:"node,omitempty"`
	Zone string `json:"zone,omitempty"`
	Type string `json:"type,omitempty"`
	// Created is when the object was created, Joined when its node was created, Ready since when the node was Ready.
	Created time.Time `json:"created,omitzero"`
	Joined  time.Time `json:"joined,omitzero"`
	Ready   time.Time `json:"ready,omitzero"`
	// Requested is when a client requested the deletion, Terminating when the infrastructure was first asked to
	// terminate the instance, Terminated when the instance was terminated, and Deleted when the object was deleted.
	Requested   time.Time `json:"requested,omitzero"`
	Terminating time.Time `json:"terminating,omitzero"`
	Terminated  time.Time `json:"terminated,omitzero"`
	Deleted     time.Time `json:"deleted,omitzero"`
	// Cause is why the machine was deleted. By is the client that requested it ("user jane", "MachineSet/mill"), and Why
	// is its reason, as a clause.
	Cause v1alpha1.DisruptionReason `json:"cause,omitempty"`
	By    string                    `json:"by,omitempty"`
	Why   string                    `json:"why,omitempty"`
	// Source names the place of the cause: "event DeletionRequested", "state of MachineSet/mill".
	Source string `json:"source,omitempty"`
	// Evidence is the object with the evidence of the machine ("configmap blue/evidence-mill-a-1f2e").
	Evidence string `json:"evidence,omitempty"`
}

// At is the latest known time of the deletion.
func (d Departure) At() time.Time {
	for _, at := range []time.Time{d.Deleted, d.Terminated, d.Terminating} {
		if !at.IsZero() {
			return at
		}
	}
	return d.Requested
}

// With returns d with the facts of other that d lacks. Cause, By, Why and Source are one fact: a named client is better
// than a cause that follows from the state of objects, which is better than no cause.
func (d Departure) With(other Departure) Departure {
	if d.By == "" && (other.By != "" || d.Cause == "" && (other.Cause != "" || d.Why == "")) {
		d.Cause, d.By, d.Why, d.Source = other.Cause, other.By, other.Why, other.Source
	}
	into, from := reflect.ValueOf(&d).Elem(), reflect.ValueOf(other)
	for i := range into.NumField() {
		switch into.Type().Field(i).Name {
		case "Cause", "By", "Why", "Source":
			continue
		}
		if into.Field(i).IsZero() {
			into.Field(i).Set(from.Field(i))
		}
	}
	return d
}

// Words says for users why the machine was deleted, as a clause without a subject of its own: "user jane requested the
// deletion". It is empty if that is not known.
func (d Departure) Words() string {
	owner := cmp.Or(strings.Replace(d.Owner, "/", " ", 1), "its owner")
	why := ""
	if d.Why != "" {
		why = ": " + strings.TrimRight(d.Why, ".")
	}
	switch d.Cause {
	case v1alpha1.ReasonManual:
		switch {
		case d.By != "":
			return d.By + " requested the deletion" + why
		case d.Owner == "":
			return "a client requested the deletion; its name is not stored"
		}
		return "a client requested the deletion, and not " + owner + ", a rollout or a health check; the name of the client is not stored"
	case v1alpha1.ReasonScaleDown:
		return owner + " deleted it" + cmp.Or(why, ", because it wants fewer machines or is itself deleted")
	case v1alpha1.ReasonRollout:
		return "a rollout replaced the machines of " + owner + why
	case v1alpha1.ReasonRemediation:
		return cmp.Or(d.By, "a controller") + " deleted it" + cmp.Or(why, ", because the machine or its node was unhealthy")
	}
	return strings.TrimRight(d.Why, ".")
}

// The limits of the stored departures of one namespace and API: 500 of 500 bytes are 250 KB.
const (
	// DeparturesKept is how long a departure is kept.
	DeparturesKept = 24 * time.Hour
	// MostDepartures is how many are kept, the newest first.
	MostDepartures = 500
	// mostText is how many bytes of a text are kept.
	mostText = 300
)

// Newest returns the departures of the last [DeparturesKept], each machine once, the newest first and at most
// [MostDepartures].
func Newest(now time.Time, all []Departure) []Departure {
	known := map[string]int{}
	out := []Departure{}
	for _, d := range all {
		if d.At().Before(now.Add(-DeparturesKept)) {
			continue
		}
		if i, ok := known[d.UID]; ok {
			out[i] = out[i].With(d)
			continue
		}
		known[d.UID] = len(out)
		out = append(out, d)
	}
	slices.SortStableFunc(out, func(a, b Departure) int {
		return cmp.Or(b.At().Compare(a.At()), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
	return out[:min(len(out), MostDepartures)]
}

// EncodeDepartures returns the departures as JSON, with shortened texts.
func EncodeDepartures(all []Departure) (string, error) {
	all = slices.Clone(all)
	for i := range all {
		all[i].Why, all[i].By = first(all[i].Why, mostText), first(all[i].By, mostText)
	}
	raw, err := json.Marshal(all)
	if err != nil {
		return "", fmt.Errorf("encode the deleted machines: %w", err)
	}
	return string(raw), nil
}

// DecodeDepartures is the inverse of EncodeDepartures.
func DecodeDepartures(raw string) (out []Departure, err error) {
	if raw == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(raw), &out); err != nil {
		return nil, fmt.Errorf("decode the deleted machines: %w", err)
	}
	return out, nil
}
