package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/internal/engine/postmortem"
)

// History lists the stored events of a machine's life, oldest first.
type History struct {
	Subject
	UID    string     `json:"uid,omitempty"`
	Events []Happened `json:"events"`
	// Where names the stored record of a machine that does not exist any more, until Expires; empty for a
	// machine that exists.
	Where   string    `json:"where,omitempty"`
	Expires time.Time `json:"expires,omitzero"`
	// Deleted says that the machine does not exist any more.
	Deleted bool `json:"deleted,omitempty"`
	// Instance is its instance, as far as objects show it; nil if nothing is stored.
	Instance *Instance `json:"instance,omitempty"`
	// Gaps name the facts that could not be read, and why.
	Gaps []string `json:"gaps,omitempty"`
}

// Happened is one event of a machine's life.
type Happened struct {
	// At is when it happened; the last time if Count is more than 1.
	At time.Time `json:"at"`
	// By is the source that did or reported it ("MachineSet/mill", "node n-1", "condition Drained"); empty if
	// not stored.
	By      string `json:"by,omitempty"`
	What    string `json:"what"`
	Message string `json:"message,omitempty"`
	Count   int    `json:"count,omitempty"`
}

// MachineHistory returns the history of a machine that exists.
func MachineHistory(f *MachineFacts) History {
	h := History{Subject: f.Subject, UID: f.View.UID, Gaps: f.Gaps}
	v := &f.View
	h.add(v.Created, strings.ReplaceAll(f.Owner, " ", "/"), "machine created", "")
	for _, a := range v.Recorded.Requests {
		h.add(a.At, byController, "instance requested", a.Text())
	}
	if n := f.Node; n != nil {
		h.add(n.CreationTimestamp.Time, "node "+n.Name, "node joined", "")
		for _, c := range n.Status.Conditions {
			h.condition(n.Name, string(c.Type), string(c.Status), c.Message, c.LastTransitionTime.Time)
		}
	}
	h.add(v.Deleted, "", "deletion requested", "")
	for _, b := range v.Deletion.Started {
		h.add(b.At, byController, b.Step.Words()+" began", "")
	}
	h.stated(f.Said)
	h.reported(f.Events)
	if e := f.Evidence; e != nil {
		h.moments(e.Record)
	}
	h.sort()
	return h
}

// DepartedHistory returns the history of a machine that does not exist any more, from its stored record.
func DepartedHistory(e Evidence, gaps []string) History {
	r := e.Record
	h := History{
		Subject: Subject{API: r.API, Kind: "Machine", Namespace: r.Namespace, Name: r.Name}, UID: r.UID,
		Where: e.Where, Expires: e.Expires, Instance: &Instance{Report: reportOf(e)}, Gaps: append(slices.Clone(r.Gaps), gaps...),
	}
	h.moments(r)
	if n := r.Node; n != nil {
		for _, c := range n.Conditions {
			h.condition(n.Name, c.About, c.Status, c.Message, c.Since)
		}
	}
	h.stated(r.Said)
	h.reported(r.Events)
	h.add(r.Taken, byController, "evidence kept", cmp.Or(r.Summary, string(r.Cause)))
	h.sort()
	return h
}

// DeletedHistory returns the history of a machine that does not exist any more, from the facts about its deletion and the
// events that the API server still stores.
func DeletedHistory(d postmortem.Departure, events []postmortem.Event, gaps []string) History {
	h := History{Subject: Subject{API: d.API, Kind: "Machine", Namespace: d.Namespace, Name: d.Name}, UID: d.UID, Deleted: true, Gaps: gaps}
	h.reported(events)
	return h.WithDeparture(d)
}

// WithDeparture adds the facts about the deletion of a machine that does not exist any more.
func (h History) WithDeparture(d postmortem.Departure) History {
	h.Deleted = true
	h.add(d.Created, d.Owner, "machine created", "")
	if d.Node != "" {
		h.add(d.Joined, "node "+d.Node, "node joined", "")
		h.add(d.Ready, "node "+d.Node, "node is Ready", "")
	}
	h.add(d.Requested, d.By, "deletion requested", d.Words())
	h.add(d.Terminating, byController, "instance deletion began", "")
	h.add(d.Terminated, byController, "instance terminated", "")
	h.add(d.Deleted, byController, "machine deleted", "")
	h.sort()
	return h
}

// byController is the source of actions on the machine's object.
const byController = "machine controller"

func (h *History) add(at time.Time, by, what, message string) {
	if !at.IsZero() {
		h.Events = append(h.Events, Happened{At: at.UTC(), By: by, What: what, Message: message})
	}
}

// condition adds a condition of a node: Ready with any status; others name problems, and are added only if
// they are True.
func (h *History) condition(node, kind, status, message string, since time.Time) {
	if kind == string(corev1.NodeReady) || status == string(corev1.ConditionTrue) {
		h.add(since, "node "+node, fmt.Sprintf("%s is %s", kind, status), clause(message))
	}
}

// record is the condition that keeps the machine's record, whose requests are events of their own.
const record = "condition InstanceRecord"

// stated adds the statements in an object's status, with the time since when each holds.
func (h *History) stated(all []postmortem.Statement) {
	for _, s := range all {
		if s.About == record {
			continue
		}
		what := strings.TrimPrefix(s.About, "condition ")
		if s.Status != "" {
			what += " is " + s.Status
		}
		if s.Reason != "" {
			what += " (" + s.Reason + ")"
		}
		h.add(s.Since, "machine status", what, clause(s.Message))
	}
}

func (h *History) reported(all []postmortem.Event) {
	for _, e := range all {
		h.add(e.At, cmp.Or(e.By, "event"), e.Reason, clause(e.Message))
		if n := len(h.Events) - 1; n >= 0 && !e.At.IsZero() && e.Count > 1 {
			h.Events[n].Count = e.Count
		}
	}
}

func (h *History) moments(r postmortem.Record) {
	for _, m := range r.Moments {
		by := "evidence"
		if m.What == postmortem.MomentCreated {
			by = cmp.Or(r.Owner, by)
		}
		h.add(m.At, by, m.What, "")
	}
}

// sort orders the events by time, and leaves out duplicates from two sources.
func (h *History) sort() {
	slices.SortStableFunc(h.Events, func(a, b Happened) int { return a.At.Compare(b.At) })
	h.Events = slices.CompactFunc(h.Events, func(a, b Happened) bool {
		return a.At.Equal(b.At) && a.What == b.What && a.Message == b.Message
	})
}

// Text returns the history for people: one line for each event, with the time since the first.
func (h History) Text() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s of %s, UID %s\n", h.Subject, h.API, cmp.Or(h.UID, "unknown"))
	switch {
	case h.Where == "" && h.Deleted:
		out.WriteString("The machine does not exist any more. It left no evidence.\n")
	case h.Where != "":
		fmt.Fprintf(&out, "The machine does not exist any more. Its evidence is %s, kept until %s.\n", h.Where, h.Expires.UTC().Format(time.RFC3339))
	}
	out.WriteString("\n")
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "TIME\tAFTER\tBY\tWHAT")
	for _, e := range h.Events {
		what := e.What
		if e.Message != "" {
			what += ": " + e.Message
		}
		if e.Count > 1 {
			what += fmt.Sprintf(" (%d times)", e.Count)
		}
		after := e.At.Sub(h.Events[0].At).Truncate(time.Second)
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", e.At.Format(time.RFC3339), after, cmp.Or(e.By, "-"), strings.Join(strings.Fields(what), " "))
	}
	_ = w.Flush() // into memory
	out.WriteString(h.Instance.text())
	for _, gap := range h.Gaps {
		fmt.Fprintf(&out, "not read: %s\n", gap)
	}
	return out.String()
}
