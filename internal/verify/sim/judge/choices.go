package judge

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Choice is one of several things that an instance may be made of.
type Choice struct{ Name, Zone, Type string }

// CreateRequest is a call by which a process asks for the instance of a machine.
type CreateRequest struct {
	Process    int
	UID, Place string
	Choice     Choice
	At         time.Time
	// Born is when the process began.
	Born time.Time
}

// CreateReply is what the process heard of it.
type CreateReply struct {
	// Made: there is an instance. Unclear: there may be one.
	Made, Unclear bool
	// Sold is what was said to be sold out, and that nothing was made: the type in its
	// zone, the zone, or the account; empty: nothing.
	Sold string
}

// ChoiceRecord judges what is asked for. It is a part of the [Judge].
type ChoiceRecord struct {
	j *Judge
	// unclear is the choice that was asked for without a clear answer, by machine, by whichever process.
	unclear map[string]string
	// askedBy are the machines that a process asked for.
	askedBy map[asker]bool
	// sold is what a process heard to be sold out, and when.
	sold map[int][]shortage
}

type asker struct {
	process int
	uid     string
}

type shortage struct {
	scope, place string
	of           Choice
	at           time.Time
}

func (s shortage) covers(a CreateRequest) bool {
	switch c := a.Choice; {
	case s.place != a.Place:
		return false
	case s.scope == "account":
		return true
	case s.scope == "zone":
		return s.of.Zone == c.Zone
	default:
		return s.of.Zone == c.Zone && s.of.Type == c.Type
	}
}

const (
	// leastPause is the shortest time for which what is sold out is left alone: a minute,
	// by clocks that may be a little apart.
	leastPause = 55 * time.Second
	// mostWait is how long a machine may wait for its instance without faults: it hears of
	// room within ten minutes of pause, a second or two later if others try before it,
	// and people look after what it is made from every twenty minutes.
	mostWait = 45 * time.Minute
)

// CreateRequested judges that a process asks for a choice.
func (m *ChoiceRecord) CreateRequested(a CreateRequest) {
	was := m.unclear[a.UID]
	by := asker{a.Process, a.UID}
	repeats := was != "" || !m.askedBy[by] && m.j.made(types.UID(a.UID)).Before(a.Born) // a process before it may have asked, and was not heard of
	m.askedBy[by] = true
	if was != "" && was != a.Choice.Name {
		m.j.Broken(OneAsked, "the machine with the UID %s is asked for as %s, while nobody knows what came of %s", a.UID, a.Choice.Name, was)
	}
	for _, s := range m.sold[a.Process] {
		if !repeats && s.covers(a) && a.At.Sub(s.at) < leastPause {
			m.j.Broken(NotInVain, "%s is asked for %v after this process heard that there is none, as %s of %s", a.Choice.Name, a.At.Sub(s.at), s.scope, s.of.Name)
		}
	}
}

// CreateAnswered notes what the process heard.
func (m *ChoiceRecord) CreateAnswered(a CreateRequest, said CreateReply) {
	delete(m.unclear, a.UID)
	if said.Unclear {
		m.unclear[a.UID] = a.Choice.Name
	}
	var left []shortage
	for _, s := range m.sold[a.Process] {
		again := s.scope == said.Sold && s.covers(a)
		switch {
		case again && a.At.Before(s.at):
			said.Sold = "" // it was asked for before that was heard
		case said.Made && s.covers(a), again:
			continue
		}
		left = append(left, s)
	}
	if said.Sold != "" {
		left = append(left, shortage{said.Sold, a.Place, a.Choice, m.j.Now()})
	}
	m.sold[a.Process] = left
}

// settled notes that a machine was released. Nothing of it exists then, which is judged where
// it is released, so that nothing is unclear if a restore brings it back.
func (m *ChoiceRecord) settled(uid string) {
	delete(m.unclear, uid)
}

// judgeWaits judges that machines get instances where some choice has room.
func (m *ChoiceRecord) judgeWaits() {
	if !m.j.Room() {
		return
	}
	made := map[types.UID]bool{}
	for _, i := range m.j.Instances() {
		made[types.UID(i.UID)] = true
	}
	for _, o := range m.j.machines() {
		since := m.j.made(o.GetUID())
		if m.j.calm.After(since) {
			since = m.j.calm
		}
		waits := !made[o.GetUID()] && o.provider == "" && !o.failed && o.GetDeletionTimestamp() == nil && !m.j.hopeless(o.Object)
		if d := m.j.Now().Sub(since); waits && d > mostWait {
			m.j.Broken(NextChoice, "machine %s has waited for %v, and there is room", o.GetName(), d)
		}
	}
}
