package rollout

import (
	"testing"

	"github.com/millwright-dev/millwright/internal/engine/inplace"
)

func TestUpdateInPlaceAuto(t *testing.T) {
	auto := rolls(4, "0", "1").by(strategy(InPlace))
	surging := rolls(4, "1", "0").by(strategy(InPlace))
	nodeless := counting
	nodeless.Nodeless = true
	ready := []func(*Set){held, first(4, candidate)}
	checkRows(t, map[string]row{
		"4.5 a the set comes without machines": {
			reason: "no surge", d: auto, sets: []Set{old("a", 4)}, plan: append(nodes("a", 4, "candidate"), "create with 0 as revision 2"),
		},
		"4.5 a the set comes with those of the surge": {
			reason: "so that others can be spared", d: surging, sets: []Set{old("a", 4)},
			plan: append(nodes("a", 4, "candidate"), "create with 1 as revision 2"),
		},
		"4.5 a surge for which there was no room then": {
			reason: "it is made as soon as there is", d: surging, sets: []Set{old("a", 4, ready...), current("b", 0)}, plan: []string{"b 0->1"},
		},
		"4.5 c nodes that joined later": {
			reason: "become candidates like the others", d: auto, sets: []Set{old("a", 4, append(ready, last(1, plain), first(1, selected))...), current("b", 0)},
			plan: []string{"node-a4: candidate"},
		},
		"4.5 e updated": {
			reason: "it is handed over, and the next one is chosen",
			d:      auto, sets: []Set{old("a", 4, append(ready, first(1, updated))...), current("b", 0)},
			plan: []string{"node-a2: candidate selected", "move a1 from a to b", "a 4->3", "b 0->1"},
		},
		"4.5 e updated, of a set that has yet to give up one": {
			reason: "the one that goes to the new set is the one too many: no other goes for it",
			d:      surging, sets: []Set{old("a", 3, ready[0], more(1), first(4, candidate), first(1, updated)), current("b", 1)},
			plan: []string{"node-a2: candidate selected", "move a1 from a to b", "b 1->2"},
		},
		"4.5 back to a template whose only machine was to go": {
			reason: "its set may be giving that up just now, although it is wanted again: the other one stays",
			d:      rolls(1, "2", "0").by(strategy(InPlace)), sets: []Set{current("a", 0, more(1)), old("b", 1, held, first(1, candidate))},
			plan: []string{"a 0->1"},
		},
		"4.5 e updated, of a set that is not held yet": {
			reason: "it would make another machine of the old template instead",
			d:      auto, sets: []Set{old("a", 4, first(4, candidate), first(1, updated)), current("b", 0)},
		},
		"4.5 d handed over": {
			reason: "the node is given back; the shield stays until that is seen",
			d:      auto, sets: []Set{old("a", 3, held, first(3, candidate), first(1, selected)), current("b", 1, first(1, updated, moved))},
			plan: []string{"node-b1: release"},
		},
		"4.5 d given back": {
			reason: "the shield comes off",
			d:      auto, sets: []Set{old("a", 3, held, first(3, candidate), first(1, selected)), current("b", 1, first(1, moved))},
			plan: []string{"unshield b1"},
		},
		"4.5 d given back, and the set's controller has not seen the room": {
			reason: "it would give the machine up",
			d:      auto, sets: []Set{old("a", 3, held, first(3, candidate), first(1, selected)), current("b", 1, unseen, first(1, moved))},
		},
		"4.5 d handed over and then cut short": {
			reason: "the new set grows by it; the old one has lost it",
			d:      auto, sets: []Set{old("a", 3, held, wants(4), first(3, candidate), first(1, selected)), current("b", 0, more(1, moved, updated))},
			plan: []string{"node-b1: release", "a 4->3", "b 0->1"},
		},
		"4.5 d handed over, cut short, and rolled back": {
			reason: "the present set does not make another for the one that it gave away",
			d:      auto, sets: []Set{current("a", 3, held, wants(4)), old("b", 0, more(1, moved, candidate))},
			plan: []string{"a 4->3", "b 0->1"},
		},
		"4.5 d the template changed before the node was given back": {
			reason: "that update was the one before: it is not handed over a second time",
			d:      auto, sets: []Set{old("b", 4, held, first(4, candidate), first(1, updated, moved), last(1, selected)), current("c", 0)},
			plan: []string{"node-b1: release"},
		},
		"4.5 e larger": {
			reason: "shrinks to replicas", d: auto, sets: []Set{current("a", 5)}, plan: []string{"a 5->4"},
		},
		"T20 fewer, and an autoscaler's choice": {
			reason: "the machine that it chose goes, and no old one",
			d:      auto.by(func(d *Deployment) { d.Replicas = 3 }), sets: []Set{old("a", 2, held, first(2, candidate), first(1, updating)), current("b", 2, first(1, asked))},
			plan: []string{"b 2->1"},
		},
		"4.5 e nothing old is left": {
			reason: "grows to replicas", d: auto, sets: []Set{old("a", 0), current("b", 3)}, plan: []string{"b 3->4"},
		},
		"4.5 e lost machines": {
			reason: "come back in the new set",
			d:      auto, sets: []Set{old("a", 3, held, wants(4), first(3, candidate)), current("b", 0)}, plan: []string{"a 4->3", "b 0->1"},
		},
		"4.5 f those of the surge are left over": {
			reason: "the new set has all that are wanted",
			d:      surging, sets: []Set{old("a", 1, held, first(1, candidate)), current("b", 4)}, plan: []string{"a 1->0"},
		},
		"4.5 f left over, and too few of the others work": {
			reason: "nothing may be unavailable",
			d:      surging, sets: []Set{old("a", 1, held, first(1, candidate)), current("b", 4, first(1, pending))},
		},
		"4.5 f the next one": {
			reason: "1 may be unavailable",
			d:      auto, sets: []Set{old("a", 4, ready...), current("b", 0)}, plan: []string{"node-a1: candidate selected"},
		},
		"4.5 f the oldest set first": {
			reason: "as everywhere",
			d:      auto, sets: []Set{old("a", 2, held, first(2, candidate)), old("b", 2, held, first(2, candidate)), current("c", 0)},
			plan: []string{"node-a1: candidate selected"},
		},
		"4.5 f one under way": {
			reason: "it uses the budget up",
			d:      auto, sets: []Set{old("a", 4, append(ready, first(1, updating))...), current("b", 0)}, waiting: "waiting for the update of 1 machine in place",
		},
		"4.5 f one chosen that still works": {
			reason: "it soon will not",
			d:      auto, sets: []Set{old("a", 4, append(ready, first(1, selected))...), current("b", 0)}, waiting: "waiting for the update of 1 machine in place",
		},
		"4.5 f one that failed": {
			reason: "1 is unavailable already",
			d:      auto, sets: []Set{old("a", 4, append(ready, first(1, updateFailed))...), current("b", 0)},
			waiting: "3 available, 3 needed: no other machine can be updated now",
		},
		"4.5 f a broken old machine": {
			reason: "it is not updated, and nobody else is meanwhile",
			d:      auto, sets: []Set{old("a", 4, append(ready, last(1, broken))...), current("b", 0)},
		},
		"4.5 f what an autoscaler wants gone": {
			reason: "is not updated before",
			d:      auto, sets: []Set{old("a", 4, append(ready, first(1, asked))...), current("b", 0)}, plan: []string{"node-a2: candidate selected"},
		},
		"4.5 f the last old one is what an autoscaler wanted gone": {
			reason: "the number went up again, so that nobody has to go: else it would stay as it is for ever",
			d:      auto, sets: []Set{old("a", 1, held, first(1, asked, candidate)), current("b", 3)}, plan: []string{"node-a1: candidate selected"},
		},
		"4.5 f two at a time, and an autoscaler wants the older one gone": {
			reason: "the other one first",
			d:      rolls(4, "0", "2").by(strategy(InPlace)), sets: []Set{old("a", 2, held, first(2, candidate), first(1, asked)), current("b", 2)},
			plan: []string{"node-a1: candidate selected", "node-a2: candidate selected"},
		},
		"4.5 f one that an autoscaler wants gone, of a set that is to give one up": {
			reason: "that will be the one",
			d:      rolls(4, "0", "2").by(strategy(InPlace)), sets: []Set{old("a", 2, held, wants(1), first(2, candidate), first(1, asked), last(1, broken)), current("b", 3)},
		},
		"4.5 f the only new one is what an autoscaler wanted gone": {
			reason: "there is room for the surge, and nobody has to go before that is there",
			d:      rolls(2, "1", "0").by(strategy(InPlace)), sets: []Set{old("a", 1, held, first(1, candidate)), current("b", 1, first(1, asked))},
			plan: []string{"b 1->2"},
		},
		"4.5 f the surge is there, and an autoscaler wanted the first new one gone": {
			reason: "that one goes before an old one, and its room is not taken at once",
			d:      rolls(2, "1", "0").by(strategy(InPlace)), sets: []Set{old("a", 1, held, first(1, candidate)), current("b", 2, first(1, asked))},
			plan: []string{"b 2->1"},
		},
		"4.5 f enough are under way": {
			reason: "with them the new set has all that are wanted; the one left over goes when they are done",
			d:      rolls(4, "1", "2").by(strategy(InPlace)), sets: []Set{old("a", 3, held, first(3, candidate), first(2, updating)), current("b", 2)},
		},
		"4.5 f at the canary": {
			reason: "no other before it is approved",
			d:      auto.by(canaryOf("1")), sets: []Set{old("a", 3, held, first(3, candidate)), current("b", 1)},
			waiting: `the canary of 1 machine is available; approve it with the annotation millwright.dev/rollout-approved: "2"`,
		},
		"4.5 f below the canary, with one under way": {
			reason: "that one will come to the new set, and no machine is made beside it",
			d:      surging.by(canaryOf("2")), sets: []Set{old("a", 3, held, wants(4), first(3, candidate), first(1, updating)), current("b", 1)},
			plan: []string{"a 4->3"},
		},
		"4.5 f the new set was deleted, with one under way": {
			reason: "that one will come to the set that is created for it, which begins without another",
			d:      surging.by(canaryOf("1")), sets: []Set{old("a", 4, held, first(4, candidate), first(1, updating))},
			plan: []string{"create with 0 as revision 2"},
		},
		"another strategy while one is under way": {
			reason: "it is not taken back; the others are no candidates any more",
			d:      rolls(3, "1", "0"), sets: []Set{old("a", 3, first(3, candidate), first(1, updating)), current("b", 1, first(1, pending))},
			plan: []string{"node-a2:", "node-a3:"},
		},
		"rolled back while one is under way": {
			reason: "its update ends before its node is given back; the others are no candidates any more",
			d:      auto, sets: []Set{current("a", 4, append(ready, first(1, updating))...), old("b", 0)},
			plan: []string{"node-a2:", "node-a3:", "node-a4:"},
		},
		"machines that join no cluster": {
			reason: "the number is followed, and that is all",
			d:      auto, sets: []Set{old("a", 4), current("b", 0)}, policy: &nodeless, waiting: "machines that join no cluster cannot be updated in place",
		},
		"machines that join no cluster, before there is a set": {
			reason: "no surge is made for an update that cannot be", d: surging, sets: []Set{old("a", 4)}, policy: &nodeless,
			plan: []string{"create with 0 as revision 2"},
		},
		"machines that join no cluster, fewer": {
			reason: "the number is followed", d: rolls(3, "0", "1").by(strategy(InPlace)), sets: []Set{old("a", 4), current("b", 0)}, policy: &nodeless,
			plan: []string{"a 4->3"},
		},
		"paused": {
			reason: "nobody is chosen, and what was handed over is given back",
			d:      auto.by(paused), sets: []Set{old("a", 3, held, first(3, candidate)), current("b", 1, first(1, updated, moved))},
			plan: []string{"node-b1: release"},
		},
	})
}

func TestUpdateInPlaceManual(t *testing.T) {
	manual := rolls(4, "1", "1").by(strategy(InPlace), byHand)
	checkRows(t, map[string]row{
		"4.5 a the set comes without machines": {
			reason: "surge does not count", d: manual, sets: []Set{old("a", 4)}, plan: append(nodes("a", 4, "candidate"), "create with 0 as revision 2"),
		},
		"4.5 f nothing more": {
			reason: "a person chooses",
			d:      manual, sets: []Set{old("a", 4, held, first(4, candidate)), current("b", 0)}, waiting: "waiting for a person to select 4 machines to be updated",
		},
		"4.5 f chosen by hand": {
			reason: "the choice is left as it is",
			d:      manual, sets: []Set{old("a", 4, held, first(4, candidate), first(2, updating)), current("b", 0)}, waiting: "waiting for a person to select 2 machines to be updated",
		},
		"4.5 e updated": {
			reason: "it is handed over like any other",
			d:      manual, sets: []Set{old("a", 4, held, first(4, candidate), first(1, updated)), current("b", 0)}, plan: []string{"move a1 from a to b", "a 4->3", "b 0->1"},
		},
	})
}

// nodes are those of the first n machines of a set.
func nodes(set string, n int, marks string) (out []string) {
	for i := range n {
		out = append(out, "node-"+set+string(rune('1'+i))+": "+marks)
	}
	return out
}

func plain(m *Machine) { m.Marks, m.Update = Marks{}, inplace.Update{} }
