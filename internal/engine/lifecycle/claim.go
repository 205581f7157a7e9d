package lifecycle

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// Sighting is an instance that the infrastructure reported for a machine, and its links to this machine and
// to others.
type Sighting struct {
	provider.Instance
	// Recorded says that the machine has it recorded, in any spelling.
	Recorded bool
	// Claimant is another machine with a better claim to it ("namespace/name"); empty if none exists. See
	// [Rival].
	Claimant string
}

// of reports whether the instance is m's. An instance without a UID was created by another implementation,
// for the machine that recorded it or has its name. An instance with a former UID is m's if m was restored
// from a backup: then both the record and the name match.
func (s Sighting) of(m Machine) bool {
	switch {
	case s.UID == m.UID:
		return true
	case s.Claimant != "":
		return false
	case s.UID == "":
		return s.Recorded || s.Name == m.Name
	}
	return s.Recorded && s.Name == m.Name
}

// owner names the owner of an instance that belongs to another machine.
func (s Sighting) owner() string {
	return cmp.Or(s.Claimant, "a machine with the UID "+s.UID)
}

// Claim is the result of [Claims].
type Claim struct {
	// Instances holds the machine's instance; empty if none exists.
	Instances []provider.Instance
	// Duplicates also belong to the machine, Foreign do not: see [Instances], also for Substitute.
	Duplicates []provider.Instance
	Foreign    []Sighting
	Substitute bool
	// Made says that an instance was created for the machine, which may no longer exist. Ended says that the
	// recorded one is reported as terminated.
	Made, Ended bool
	// Fault is why the infrastructure failed the machine's instance, or its previous one if it has none; nil:
	// it did not.
	Fault error
}

// Claims decides which of the instances belong to the machine. If several do, the recorded one is kept. If
// that is not among them, or nothing is recorded, every observer keeps the same one: first instances that
// stay before those that are terminating, then those with the machine's UID, then the oldest, then the lowest
// ID. Only an instance with the machine's UID can substitute a recorded one.
func Claims(m Machine, all []Sighting) (c Claim) {
	var mine []Sighting
	for _, s := range all {
		switch {
		case s.of(m) && s.Exists():
			mine = append(mine, s)
		case s.of(m):
			c.Made = c.Made || s.Recorded || s.UID == m.UID
			c.Ended = c.Ended || s.Recorded || m.Recorded.ProviderID == ""
			if s.Fault != nil && (s.Recorded || m.Recorded.ProviderID == "" && s.UID == m.UID) {
				c.Fault = s.Fault
			}
		case s.Exists():
			c.Foreign = append(c.Foreign, s)
		}
	}
	slices.SortStableFunc(mine, func(a, b Sighting) int { return a.compare(b, m) })
	for n, s := range mine {
		c.Made = true
		if n == 0 && (s.Recorded || s.UID == m.UID || m.Recorded.ProviderID == "") {
			c.Instances = append(c.Instances, s.Instance)
			c.Substitute = !s.Recorded && m.Recorded.ProviderID != "" && s.ProviderID != ""
			continue
		}
		c.Duplicates = append(c.Duplicates, s.Instance)
	}
	if len(c.Instances) > 0 {
		c.Fault = nil
		if fault := c.Instances[0].Fault; fault != nil { // a nil pointer in an error would not be nil
			c.Fault = fault
		}
	}
	return c
}

// compare orders instances of m: the one to keep comes first.
func (s Sighting) compare(o Sighting, m Machine) int {
	first := func(a, b bool) int {
		switch {
		case a == b:
			return 0
		case a:
			return -1
		}
		return 1
	}
	return cmp.Or(
		first(s.Recorded, o.Recorded),
		// Without a UID it cannot substitute the recorded one, terminating or not.
		first(m.Recorded.ProviderID == "" || s.UID == m.UID, m.Recorded.ProviderID == "" || o.UID == m.UID),
		first(s.State != provider.Stopping, o.State != provider.Stopping),
		first(s.UID == m.UID, o.UID == m.UID),
		s.Created.Compare(o.Created),
		cmp.Compare(s.ID, o.ID),
	)
}

// Rival is a machine with a link to an instance.
type Rival struct {
	UID, Namespace, Name string
	Created              time.Time
	// Records says that it has recorded the instance, Other that it has recorded another one.
	Records, Other bool
}

// right returns the rank of a claim to i, down to noRight; the lowest is the best.
func (r Rival) right(i provider.Instance) int {
	named := r.Name == i.Name
	switch {
	case r.UID == i.UID:
		return 0
	case r.Records && named:
		return 1
	case r.Records:
		return 2
	case i.UID == "" && named && !r.Other:
		return 3
	case i.UID == "" && named:
		return 4
	}
	return noRight
}

const noRight = 5

// ClaimantOf returns the machine among rivals with a better claim to i than m; empty if none exists. First
// comes the machine with the UID of the instance, then one that recorded it and has its name, then one that
// recorded it, and, if it has no UID, one that has its name. Of equal claims the older machine's wins.
func ClaimantOf(i provider.Instance, m Rival, rivals []Rival) string {
	best := m
	for _, r := range rivals {
		if r.before(best, i) {
			best = r
		}
	}
	if best.UID == m.UID || best.right(i) == noRight {
		return ""
	}
	return best.Namespace + "/" + best.Name
}

func (r Rival) before(o Rival, i provider.Instance) bool {
	return cmp.Or(cmp.Compare(r.right(i), o.right(i)), r.Created.Compare(o.Created), cmp.Compare(r.UID, o.UID)) < 0
}

// Of returns the machine's instance: if there are several, the one recorded under providerID, otherwise the
// oldest. Nil if none is known.
func (is Instances) Of(providerID string) *provider.Instance {
	if !is.Looked || len(is.Own) == 0 {
		return nil
	}
	for i := range is.Own {
		if providerID != "" && is.Own[i].ProviderID == providerID {
			return &is.Own[i]
		}
	}
	return &is.Own[0]
}

// Recordable returns the instance that the object records: the machine's, or the one that this pass removed.
// Nil if none is known.
func (is Instances) Recordable(providerID string) *provider.Instance {
	if i := is.Of(providerID); i != nil {
		return i
	}
	return is.Removed
}

// Owned returns all instances of the machine, which are terminated with it.
func (is Instances) Owned() []provider.Instance { return slices.Concat(is.Own, is.Duplicates) }

// Unrecorded returns the reported instances of the machine that it has not recorded, or will not record.
func (is Instances) Unrecorded() []provider.Instance {
	if is.Substitute {
		return is.Owned()
	}
	return is.Duplicates
}

// RecordedIsForeign reports whether the instance that the machine has recorded belongs to another machine.
// Then the node of that name does, too.
func (is Instances) RecordedIsForeign() bool {
	return len(is.Own) == 0 && slices.ContainsFunc(is.Foreign, func(s Sighting) bool { return s.Recorded })
}

// taken stops a machine before its creation because an instance of another machine has its name: that
// instance would be in the way, or would be taken for the machine's by programs that use names.
func taken(q input) *Decision {
	if q.m.Recorded.Provisioned || !q.w.Instances.Looked || len(q.w.Instances.Owned()) > 0 || len(q.w.Instances.Foreign) == 0 {
		return nil
	}
	s := q.w.Instances.Foreign[0]
	err := provider.Errorf(provider.Conflict, "instance %s has the name of this machine and belongs to %s: no other is created while it exists",
		s.ID, s.owner())
	if q.creating().passed() {
		return &Decision{Step: Fail, Reason: ReasonCreateTimeout, Stage: StageFailed, Err: err, Message: err.Error()}
	}
	return &Decision{
		Step: Await, Reason: ReasonTaken, Stage: q.struggling(err), Err: err, Message: err.Error(),
		After: q.creating().atMost(q.p.Delays.after(err, q.w.Retry.Failures)),
	}
}

// lost says that the machine's instance does not exist, and the likely cause.
func (q input) lost() (message string, args Args) {
	message, args = "the infrastructure does not list the instance", Args{Missing: true}
	for _, s := range q.w.Instances.Foreign {
		if s.Recorded {
			args.Detail = fmt.Sprintf("instance %s, which is recorded, belongs to %s", s.ID, s.owner())
			return message + ": " + args.Detail, args
		}
	}
	return message, args
}

// undecided handles several instances without a recorded one: the controller stores which one is the
// machine's before it acts on it.
func undecided(q input) *Decision {
	if q.m.Recorded.ProviderID != "" || len(q.w.Instances.Own) == 0 || len(q.w.Instances.Duplicates) == 0 || q.w.Instances.Own[0].ProviderID == "" {
		return nil
	}
	return &Decision{
		Step: RecordInstance, Reason: ReasonDuplicate,
		Message: fmt.Sprintf("%d instances were created for the machine; %s is kept", len(q.w.Instances.Owned()), q.w.Instances.Own[0].ID),
	}
}

// unanswered handles a request without an answer. Its instance may exist and not be listed yet: the
// controller looks for it until listings have caught up, and only then sends the request again.
func unanswered(q input) *Decision {
	u := q.w.Unlisted
	if !u.Awaited() || q.m.Recorded.Provisioned || len(q.w.Instances.Owned()) > 0 {
		return nil
	}
	d := &Decision{
		Step: Await, Reason: ReasonUnconfirmed, Stage: q.struggling(u.Err), Err: u.Err, After: q.creating().atMost(u.again()),
		Message: "the infrastructure may have created the instance without an answer; the controller looks for it before it asks again",
	}
	if u.Err != nil {
		d.Message += ": " + u.Err.Error()
	}
	return d
}
