// Package digest says what happened to machines in a period: what was created and deleted and why, what controllers
// refrained from, and what waits.
//
// The package performs no I/O and reads no clock. Facts are those that the cluster still has: for a machine that does
// not exist any more, its stored evidence and the events about it.
package digest

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/engine/postmortem"
)

// Facts are what is known about a period.
type Facts struct {
	From, To time.Time
	// Place is the namespace or the cluster, for users.
	Place    string
	Machines []Machine
	// Evidence are the stored records of machines that failed, Reports the events about objects of the APIs.
	Evidence []postmortem.Record
	Reports  []Report
	// Departures are the deletions of the last day.
	Departures []postmortem.Departure
	// Answers are those about all objects now.
	Answers []explain.Answer
	Gaps    []string
}

// Machine is a machine that exists.
type Machine struct {
	explain.Subject
	UID string
	// Owner is its controller ("MachineSet mill"); empty if it has none.
	Owner string
	// Deleted is zero if it is not in deletion; Because is why Millwright deleted it.
	Created, Deleted time.Time
	Because          string
}

// Report is an event. Subject is the machine that it is about, or another object.
type Report struct {
	explain.Subject
	UID string
	postmortem.Event
	About About
}

// About is what an event says.
type About string

// The events that matter.
const (
	// Ended: the machine was deleted.
	Ended About = "Ended"
	// Removed: a controller deleted the machine; the message says why.
	Removed About = "Removed"
	// Scaled: a deployment changed the size of one of its sets.
	Scaled About = "Scaled"
	// Prevented: a controller refrained from something.
	Prevented About = "Prevented"
)

// Digest is the summary of a period.
type Digest struct {
	From  time.Time `json:"from"`
	To    time.Time `json:"to"`
	Place string    `json:"place"`
	// Created are the created machines of each owner, the most first.
	Created []Created `json:"created"`
	// Deleted, Scaled and Prevented are ordered by time.
	Deleted []Deleted `json:"deleted"`
	// Scaled are changes of the sizes of sets by deployments, which explain why machines were created and deleted.
	Scaled    []Incident `json:"scaled"`
	Prevented []Incident `json:"prevented"`
	// Waits are the answers about objects that may need a user, the worst first.
	Waits []Wait `json:"waits"`
	// Gaps name the facts that could not be read, or that the cluster does not have any more.
	Gaps []string `json:"gaps,omitempty"`
}

// Created are the machines that an owner created.
type Created struct {
	API       string   `json:"api"`
	Namespace string   `json:"namespace"`
	Owner     string   `json:"owner,omitempty"`
	Machines  []string `json:"machines"`
}

// Deleted is a machine that was deleted, or is in deletion.
type Deleted struct {
	explain.Subject
	Owner string `json:"owner,omitempty"`
	// At is when it was deleted or, if it exists, when its deletion was requested.
	At     time.Time `json:"at"`
	Exists bool      `json:"exists,omitempty"`
	// Why is empty if nothing says why; By is the source that says it.
	Why string `json:"why,omitempty"`
	By  string `json:"by,omitempty"`
}

// Incident is an event about an object.
type Incident struct {
	explain.Subject
	At      time.Time `json:"at"`
	Reason  string    `json:"reason"`
	Message string    `json:"message,omitempty"`
	Count   int       `json:"count,omitempty"`
}

// Wait is an object that may need a user.
type Wait struct {
	explain.Subject
	State    explain.State `json:"state"`
	Reason   string        `json:"reason"`
	Sentence string        `json:"sentence"`
	Next     string        `json:"next,omitempty"`
}

// Of summarizes a period.
func Of(f Facts) Digest {
	d := Digest{
		From: f.From.UTC(), To: f.To.UTC(), Place: f.Place,
		Created: f.created(), Deleted: f.deleted(), Scaled: f.incidents(Scaled), Prevented: f.incidents(Prevented), Waits: f.waits(), Gaps: slices.Clone(f.Gaps),
	}
	if text := f.forgotten(); text != "" {
		d.Gaps = append(d.Gaps, text)
	}
	return d
}

func (f *Facts) within(at time.Time) bool { return !at.Before(f.From) && !at.After(f.To) }

// forgotten says of which part of the period there are no events; empty: of none.
func (f *Facts) forgotten() string {
	const why = ": an API server keeps events for a limited time, so that deletions before may be missing"
	if len(f.Reports) == 0 {
		return "there are no events" + why
	}
	oldest := slices.MinFunc(f.Reports, func(a, b Report) int { return a.At.Compare(b.At) }).At
	if oldest.After(f.From) {
		return "the events begin at " + stamp(oldest) + why
	}
	return ""
}

// created are the machines that exist, and those that left evidence.
func (f *Facts) created() []Created {
	type owner struct{ api, namespace, name string }
	all := map[owner]map[string]bool{}
	add := func(of owner, machine string, at time.Time) {
		if !f.within(at) {
			return
		}
		if all[of] == nil {
			all[of] = map[string]bool{}
		}
		all[of][machine] = true
	}
	for _, m := range f.Machines {
		add(owner{m.API, m.Namespace, m.Owner}, m.Name, m.Created)
	}
	for _, r := range f.Evidence {
		for _, moment := range r.Moments {
			if moment.What == postmortem.MomentCreated {
				add(owner{r.API, r.Namespace, spaced(r.Owner)}, r.Name, moment.At)
			}
		}
	}
	out := []Created{}
	for of, machines := range all {
		out = append(out, Created{of.api, of.namespace, of.name, slices.Sorted(maps.Keys(machines))})
	}
	slices.SortFunc(out, func(a, b Created) int {
		return cmp.Or(len(b.Machines)-len(a.Machines), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.API, b.API))
	})
	return out
}

// spaced is an owner of a record ("MachineSet/mill") as machines name it ("MachineSet mill").
func spaced(owner string) string { return strings.Replace(owner, "/", " ", 1) }

// deletions collects the deleted machines, by their UIDs.
type deletions map[string]*Deleted

func (d deletions) of(uid string, s explain.Subject) *Deleted {
	if d[uid] == nil {
		d[uid] = &Deleted{Subject: s}
	}
	return d[uid]
}

// because notes why, unless a better source has said it.
func (d *Deleted) because(why, by string) {
	if d.Why == "" && why != "" {
		d.Why, d.By = clause(why), by
	}
}

// deleted are the machines in deletion, and those that events or evidence say were deleted. The best source of why is
// the machine itself, then the event of the controller that deleted it, then the record of deletions, then its evidence.
func (f *Facts) deleted() []Deleted {
	all := deletions{}
	exists := map[string]bool{}
	for _, m := range f.Machines {
		if exists[m.UID] = true; f.within(m.Deleted) {
			d := all.of(m.UID, m.Subject)
			d.At, d.Exists, d.Owner = m.Deleted, true, m.Owner
			d.because(m.Because, "machine")
		}
	}
	for _, r := range f.Reports {
		if !f.within(r.At) || r.About != Ended && r.About != Removed || exists[r.UID] && all[r.UID] == nil {
			continue
		}
		d := all.of(r.UID, r.Subject)
		if !d.Exists && (r.About == Ended || d.At.IsZero()) {
			d.At = r.At
		}
		if r.About == Removed {
			d.because(r.Message, cmp.Or(r.By, "event"))
		}
	}
	for _, r := range f.Departures {
		if !f.within(r.At()) || exists[r.UID] && all[r.UID] == nil {
			continue
		}
		d := all.of(r.UID, explain.Subject{API: r.API, Kind: "Machine", Namespace: r.Namespace, Name: r.Name})
		if d.At.IsZero() {
			d.At = r.At()
		}
		d.Owner = cmp.Or(d.Owner, spaced(r.Owner))
		if r.Cause != "" {
			d.because(r.Words(), cmp.Or(r.By, r.Source))
		}
	}
	for _, r := range f.Evidence {
		if !f.within(r.Taken) || exists[r.UID] && all[r.UID] == nil {
			continue
		}
		d := all.of(r.UID, explain.Subject{API: r.API, Kind: "Machine", Namespace: r.Namespace, Name: r.Name})
		if d.At.IsZero() {
			d.At = r.Taken
		}
		d.Owner = cmp.Or(d.Owner, spaced(r.Owner))
		d.because(cmp.Or(r.Summary, string(r.Cause)), "evidence")
	}
	out := []Deleted{}
	for _, d := range all {
		d.At = d.At.UTC()
		out = append(out, *d)
	}
	slices.SortFunc(out, func(a, b Deleted) int { return cmp.Or(a.At.Compare(b.At), before(a.Subject, b.Subject)) })
	return out
}

func before(a, b explain.Subject) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.API, b.API))
}

// incidents are the events of a kind, in the order of time.
func (f *Facts) incidents(about About) []Incident {
	out := []Incident{}
	for _, r := range f.Reports {
		if r.About == about && f.within(r.At) {
			out = append(out, Incident{r.Subject, r.At.UTC(), r.Reason, clause(r.Message), r.Count})
		}
	}
	slices.SortStableFunc(out, func(a, b Incident) int { return cmp.Or(a.At.Compare(b.At), before(a.Subject, b.Subject)) })
	return out
}

// attention are the states in which an object may need a user.
var attention = []explain.State{explain.Failed, explain.Stuck, explain.Degraded, explain.Waiting}

func (f *Facts) waits() []Wait {
	answers := slices.DeleteFunc(slices.Clone(f.Answers), func(a explain.Answer) bool { return !slices.Contains(attention, a.State) })
	slices.SortStableFunc(answers, explain.WorstFirst)
	out := []Wait{}
	for _, a := range answers {
		out = append(out, Wait{a.Subject, a.State, a.Reason, a.Sentence, a.Next})
	}
	return out
}

func clause(text string) string {
	return strings.TrimRight(strings.Join(strings.Fields(text), " "), ".")
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
