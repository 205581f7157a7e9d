package explain

import (
	"strings"
	"time"
)

// Controller has the leases of the controller that an object waits for.
type Controller struct {
	// Name is its name in messages ("machine controller").
	Name string
	// Leases are the leases under which it may lead; empty if none was found.
	Leases []Lease
}

// Lease is a leader election lease.
type Lease struct {
	// Where is "kube-system/machine-controller".
	Where string
	// Holder is empty if the lease has no holder: a process that stops in good order releases it.
	Holder string
	// Renewed is when its holder renewed it last, Lasts is for how long a renewal is valid.
	Renewed time.Time
	Lasts   time.Duration
	// Stranger says that the holder is not a controller, by its name and by the pods in the namespace of the
	// lease.
	Stranger bool
}

// silence is the minimum time without a renewal before a leader counts as idle: clocks differ, and some
// controllers renew only twice a minute.
const silence = time.Minute

// idle returns why no controller acts under the lease; empty if one seems to.
func (l Lease) idle(now time.Time) string {
	switch since := now.Sub(l.Renewed); {
	case l.Holder == "":
		return "it has no holder"
	case l.Renewed.IsZero():
		return "its holder " + l.Holder + " has never renewed it"
	case since > max(silence, l.Lasts):
		return "its holder " + l.Holder + " has not renewed it for " + span(since)
	case l.Stranger:
		return "it is held by " + l.Holder + ": this is not the name of a controller, and no pod in the namespace of the lease has this name"
	}
	return ""
}

// held names the holder of the lease.
func (l Lease) held(now time.Time) string {
	return "it is held by " + l.Holder + ", which renewed it " + span(now.Sub(l.Renewed)) + " ago"
}

// Headline returns the answer for a controller of an API: nil if one is running, or if no lease shows whether
// one is. Unseen are the answers about objects that wait for it and that it has not acted on.
func (c Controller) Headline(now time.Time, api string, unseen []Answer) *Answer {
	s := Subject{API: api, Kind: "Controller", Name: c.Name}
	f := finding{key: ReasonUnattended, fill: []string{"controller name", c.Name, "unseen", plural(len(unseen), "object")}}
	strange := false
	for _, l := range c.Leases {
		why := l.idle(now)
		strange = strange || l.Stranger
		if why == "" && len(unseen) == 0 {
			return nil
		}
		if why == "" {
			f.key, why = variant(ReasonUnattended, "Unseen"), l.held(now)
		}
		f.chain = append(f.chain, Cause{Source: "lease " + l.Where, Reason: ReasonUnattended, Message: why})
	}
	if len(c.Leases) == 0 {
		return nil
	}
	if strange {
		f.key = variant(ReasonUnattended, "Stranger")
	}
	a := f.answer(s, nil)
	a.Sentence = strings.Replace(a.Sentence, s.String(), "the "+c.Name, 1)
	return &a
}

// unattended answers with a finding, and adds that its controller is not running if all of its leases show
// that: then waiting does not help.
func (c Controller) unattended(now time.Time, s Subject, f finding) Answer {
	a := f.answer(s, nil)
	var causes []Cause
	for _, l := range c.Leases {
		why := l.idle(now)
		if why == "" && reasonOf(f.key) == ReasonNotSeen {
			a.Because = append(a.Because, Cause{Source: "lease " + l.Where, Reason: ReasonNotSeen, Message: l.held(now)})
		}
		if why == "" {
			return a
		}
		causes = append(causes, Cause{Source: "lease " + l.Where, Reason: ReasonUnattended, Message: why})
	}
	if len(causes) == 0 || a.State == Healthy || f.key == reasonForeign {
		return a
	}
	next := "make sure that a " + c.Name + " for the API " + s.API + " runs: its log says what is wrong"
	if reasons[f.key].waits {
		a.Reason, a.Because = ReasonUnattended, append(causes, a.Because...)
	} else {
		next += "; then " + a.Next
		a.Because = append(a.Because, causes...)
	}
	a.Sentence, a.Next = clause(a.Sentence)+"; "+absent(c.Name)+".", next
	switch a.State {
	case Progressing, Waiting:
		a.State = Degraded
	case Deleting:
		a.State = Stuck
	}
	return a
}

// absent says that no controller of a name runs.
func absent(controller string) string { return "no " + controller + " is running" }
