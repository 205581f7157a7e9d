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
	// Born is the start of the process.
	Born time.Time
}

// CreateReply is the answer that the process got.
type CreateReply struct {
	// Made: the instance exists. Unclear: the instance may exist.
	Made, Unclear bool
	// Sold is the scope that the answer reports as sold out, without an instance: the type in its zone, the zone,
	// or the account; empty: none.
	Sold string
}

// ChoiceRecord judges the choices of creations. It is a part of the [Judge].
type ChoiceRecord struct {
	j *Judge
	// unclear is the choice of a creation without a clear answer to any process, by machine.
	unclear map[string]string
	// dropped are the machines of unclear whose status was removed since.
	dropped map[string]bool
	// askedBy are the machines for which each process requested an instance.
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
	// leastPause is the shortest time before a choice that is sold out may be requested again: a minute, less the
	// possible difference of clocks at both times, and the whole seconds in which API servers tell the time.
	leastPause = 52 * time.Second
	// mostWait is how long a machine may wait for its instance without faults. A process tries a choice again after at most
	// ten minutes, plus a second or two if other machines try first. Users check the machine's spec every twenty minutes.
	mostWait = 45 * time.Minute
)

// CreateRequested judges that a process requests a choice.
func (m *ChoiceRecord) CreateRequested(a CreateRequest) {
	was := m.unclear[a.UID]
	by := asker{a.Process, a.UID}
	repeats := was != "" || !m.askedBy[by] && m.j.made(types.UID(a.UID)).Before(a.Born) // an earlier process may have requested it without an answer
	m.askedBy[by] = true
	if was != "" && was != a.Choice.Name && !m.dropped[a.UID] {
		m.j.Broken(OneAsked, "the instance of the machine with UID %s is requested as %s while the result of the request for %s is unknown", a.UID, a.Choice.Name, was)
	}
	for _, s := range m.sold[a.Process] {
		if !repeats && s.covers(a) && a.At.Sub(s.at) < leastPause {
			m.j.Broken(NotInVain, "%s is requested %v after this process learned that it is sold out, as %s of %s", a.Choice.Name, a.At.Sub(s.at), s.scope, s.of.Name)
		}
	}
}

// CreateAnswered records the answer to the process.
func (m *ChoiceRecord) CreateAnswered(a CreateRequest, said CreateReply) {
	delete(m.unclear, a.UID)
	delete(m.dropped, a.UID)
	if said.Unclear {
		m.unclear[a.UID] = a.Choice.Name
	}
	var left []shortage
	for _, s := range m.sold[a.Process] {
		again := s.scope == said.Sold && s.covers(a)
		switch {
		case again && a.At.Before(s.at):
			said.Sold = "" // the process sent this request before that answer
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

// RequestForgotten records that a client has removed the status of a machine whose choice is unclear: another process cannot know the
// choice, and may request any choice. All other statements about the machine's instance still hold.
func (j *Judge) RequestForgotten(uid string) {
	if j.unclear[uid] != "" {
		j.dropped[uid] = true
	}
}

// settled drops the unclear choice of a released machine. [Judge] judges the release itself: the instance does not exist
// then. If a restore recreates the machine, no earlier request is unclear.
func (m *ChoiceRecord) settled(uid string) {
	delete(m.unclear, uid)
}

// judgeWaits judges that machines get instances while a choice has capacity.
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
			m.j.Broken(NextChoice, "machine %s has waited for %v although a choice has capacity", o.GetName(), d)
		}
	}
}
