package replicas

import (
	"cmp"
	"slices"
	"time"
)

// Tie is how one machine stands to one set.
type Tie struct {
	// Ours says that the set controls the machine, Free that nobody does.
	Ours, Free bool
	// Matches says that the set's selector matches the machine's labels.
	Matches bool
	// MachineDeleting and SetDeleting say which of them is on its way out.
	MachineDeleting, SetDeleting bool
}

// Verdict is what follows from a [Tie].
type Verdict string

// The verdicts.
const (
	// IsMember: the machine belongs to the set.
	IsMember Verdict = "Member"
	// Adopt: it is to be made the set's.
	Adopt Verdict = "Adopt"
	// Release: it is the set's no longer.
	Release Verdict = "Release"
	// Ignore: it is none of the set's business.
	Ignore Verdict = "Ignore"
)

// Claim decides to whom a machine belongs. What is on its way out is neither
// adopted nor released. A set on its way out takes and gives nothing, and what
// it controls stays its own whatever its selector says by now.
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

// KeepChange is a member whose keeping the set decides on by itself.
type KeepChange struct {
	Name string
	Keep bool
}

// AutoKeep chooses, within set.AutoKeep, the failed members to keep for
// inspection, newest first; with the bound lowered below what is kept, the
// oldest are let go.
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

// byAge returns members with the oldest first.
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
