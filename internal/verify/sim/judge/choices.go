package judge

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Choice is one of several machine types and zones for an instance.
type Choice struct{ Name, Zone, Type string }

// CreateRequest is a process's call to create the instance of a machine.
type CreateRequest struct {
	Process    int
	UID, Place string
	Choice     Choice
	At         time.Time
	// Born is when the process began.
	Born time.Time
}

// CreateReply is the answer that the process got.
type CreateReply struct {
	// Made: the instance exists. Unclear: it may exist.
	Made, Unclear bool
	// Sold is the scope that the answer reports as sold out, without an instance: the type in its zone, the zone,
	// or the account; empty: none.
	Sold string
}

// ChoiceRecord judges the choices of creations. It is a part of the [Judge].
type ChoiceRecord struct {
	j *Judge
	// unclear is, by machine, the choice of a creation of any process without a clear answer.
	unclear map[string]string
	// askedBy are the machines whose instances a process requested.
	askedBy map[asker]bool
	// sold are the shortages reported to each process, with their times.
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
	// leastPause is the shortest time before a choice that is sold out is requested again: a minute, by clocks
	// that may differ a little.
	leastPause = 55 * time.Second
	// mostWait is how long a machine may wait for its instance without faults: it learns of capacity within ten
	// minutes of pause, a second or two later if others try before it, and users check its spec every twenty
	// minutes.
	mostWait = 45 * time.Minute
)

// CreateRequested judges that a process requests a choice.
func (m *ChoiceRecord) CreateRequested(a CreateRequest) {
	was := m.unclear[a.UID]
	by := asker{a.Process, a.UID}
	repeats := was != "" || !m.askedBy[by] && m.j.made(types.UID(a.UID)).Before(a.Born) // an earlier process may have requested it without an answer
	m.askedBy[by] = true
	if was != "" && was != a.Choice.Name {
		m.j.Broken(OneAsked, "the machine with the UID %s is asked for as %s, while the result of the request for %s is unknown", a.UID, a.Choice.Name, was)
	}
	for _, s := range m.sold[a.Process] {
		if !repeats && s.covers(a) && a.At.Sub(s.at) < leastPause {
			m.j.Broken(NotInVain, "%s is asked for %v after this process learned that it is sold out, as %s of %s", a.Choice.Name, a.At.Sub(s.at), s.scope, s.of.Name)
		}
	}
}

// CreateAnswered records the answer to the process.
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
			said.Sold = "" // it was requested before that answer
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

// settled records that a machine was released. That is judged where it is released: its instance does not exist
// then, so nothing is unclear if a restore recreates it.
func (m *ChoiceRecord) settled(uid string) {
	delete(m.unclear, uid)
}

// judgeWaits judges that machines get instances while some choice has capacity.
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
