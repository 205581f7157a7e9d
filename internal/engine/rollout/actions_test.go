package rollout

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millwright-dev/millwright/internal/engine/inplace"
)

// TestActionsInOrder: machines are marked before sets shrink, nodes are avoided before their machines are
// deleted, the status reports the results, and actions that can wait come last.
func TestActionsInOrder(t *testing.T) {
	q := draft{
		Amend: Amend{Revision: 2}, victims: make([]Victim, 1), create: &SetWant{}, moves: make([]Move, 1), sets: make([]SetWant, 2), unprotect: make([]MachineRef, 1),
		prune: make([]SetRef, 1), nodes: []NodeWant{{Node: "stays", Stay: true}, {Node: "avoided", Avoid: true}, {Node: "freed"}, {Node: "released", Update: inplace.WishRelease}},
	}
	var got, regardless []string
	for _, a := range q.plan().Actions {
		got = append(got, fmt.Sprintf("%T", a)[len("rollout."):])
		if !a.Waits() {
			regardless = append(regardless, got[len(got)-1])
		}
	}
	want := []string{
		"Amend", "MarkVictims", "CreateSet", "MarkNodes", "HandOver", "ApplySet", "ApplySet", "Amend", "Unprotect", "DeleteSets", "Report", "MarkNodesLate",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if !slices.Equal(regardless, []string{"Report", "MarkNodesLate"}) {
		t.Errorf("these are done whatever failed before: %v", regardless)
	}
	for late, nodes := range map[bool][]NodeWant{false: q.marks(true), true: q.marks(false)} {
		for _, n := range nodes {
			if is := n.Node == "stays" || n.Node == "freed"; is != late {
				t.Errorf("node %s is marked late: %v", n.Node, late)
			}
		}
	}
	for name, d := range map[string]draft{"rollout.Finish": {finished: true}, "rollout.RollBack": {back: &RollBack{}, sets: make([]SetWant, 1)}} {
		t.Run(name, func(t *testing.T) {
			if all := d.plan().Actions; fmt.Sprintf("%T", all[0]) != name || fmt.Sprintf("%T", all[1]) != "rollout.Report" {
				t.Errorf("%s comes with %v", name, all)
			}
		})
	}
}
