package replicas

import (
	"cmp"
	"slices"
	"time"
)

// Tie is the relation of one machine to one set.
type Tie struct {
	// Ours says that the set controls the machine, Free that the machine has no controller.
	Ours, Free bool
	// Matches says that the set's selector matches the machine's labels.
	Matches bool
	// MachineDeleting and SetDeleting say which of them is under deletion.
	MachineDeleting, SetDeleting bool
}

// Verdict is the decision about a [Tie].
type Verdict string

// The verdicts.
const (
	// IsMember: the machine belongs to the set.
	IsMember Verdict = "Member"
	// Adopt: the set has to become its controller.
	Adopt Verdict = "Adopt"
	// Release: the set has to stop being its controller.
	Release Verdict = "Release"
	// Ignore: it does not concern the set.
	Ignore Verdict = "Ignore"
)

// Claim decides whether a machine belongs to a set. A machine under deletion is neither adopted nor released.
// A set under deletion neither adopts nor releases: its machines stay its own, also if its selector no longer
// matches.
func Claim(t Tie) Verdict {
	switch {
	case t.Ours && (t.Matches || t.SetDeleting):
		return IsMember
	case t.Ours && !t.MachineDeleting:
		return Release
	case t.Free && t.Matches && !t.MachineDeleting && !t.SetDeleting:
		return Adopt
	}
	return Ignore
}

// KeepChange changes the automatic preservation of a member by its set.
type KeepChange struct {
	Name string
	Keep bool
}

// AutoKeep chooses, within set.AutoKeep, the failed members to keep for inspection, newest first; if the
// limit is lower than the number of kept members, it releases the oldest.
func AutoKeep(set Set, members []Member) []KeepChange {
	auto := only(members, func(m Member) bool { return m.Counts() && m.Preservation.ByOwner() })
	room := set.AutoKeep - len(auto)
	switch {
	case room == 0:
		return nil
	case room < 0:
		return keepChanges(byAge(auto)[:-room], false)
	}
	open := byAge(only(members, func(m Member) bool { return m.Counts() && m.Failed && !m.Preservation.Decided() }))
	slices.Reverse(open)
	return keepChanges(open[:min(room, len(open))], true)
}

// byAge returns members, oldest first.
func byAge(members []Member) []Member {
	return Rank(time.Time{}, members, Policy{Order: []Criterion{ByAge}})
}

func keepChanges(members []Member, keep bool) []KeepChange {
	out := make([]KeepChange, 0, len(members))
	for _, m := range members {
		out = append(out, KeepChange{Name: m.Name, Keep: keep})
	}
	slices.SortFunc(out, func(a, b KeepChange) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
