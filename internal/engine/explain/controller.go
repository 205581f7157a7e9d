package explain

import (
	"strings"
	"time"
)

// Controller is what leases say of the controller that an object waits for.
type Controller struct {
	// Name is what people call it ("machine controller").
	Name string
	// Leases are those under which it may lead; none where none was found.
	Leases []Lease
}

// Lease is what a controller leads under.
type Lease struct {
	// Where is "kube-system/machine-controller".
	Where string
	// Holder is empty when nobody has it; who stops in good order gives it up.
	Holder string
	// Renewed is when its holder was last heard of, Lasts for how long that is
	// worth.
	Renewed time.Time
	Lasts   time.Duration
	// Stranger says that the holder is no controller, as far as its name and the pods beside
	// the lease tell.
	Stranger bool
}

// silence is how long a leader is at least let be that does not renew: clocks
// differ, and some renew twice a minute only.
const silence = time.Minute

// idle says why nobody acts under the lease; empty when somebody seems to.
func (l Lease) idle(now time.Time) string {
	switch since := now.Sub(l.Renewed); {
	case l.Holder == "":
		return "nobody holds it"
	case l.Renewed.IsZero():
		return "its holder " + l.Holder + " has never renewed it"
	case since > max(silence, l.Lasts):
		return "its holder " + l.Holder + " has not renewed it for " + span(since)
	case l.Stranger:
		return "it is held by " + l.Holder + ", which is not named as controllers name themselves, and no pod beside the lease has that name"
	}
	return ""
}

// held says who holds the lease.
func (l Lease) held(now time.Time) string {
	return "it is held by " + l.Holder + ", which renewed it " + span(now.Sub(l.Renewed)) + " ago"
}

// Headline answers for a controller of an API: nil where one is at work, or where no lease
// tells. Unseen are the answers about objects that wait for it and that it has not looked at.
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

// unattended answers with a finding, and adds that its controller is not at work,
// where all its leases say so: what is waited for does not come.
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
	next := "see that a " + c.Name + " for the API " + s.API + " runs: its log says what is wrong"
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

// absent says that no controller of a name works.
func absent(controller string) string { return "no " + controller + " is at work" }
