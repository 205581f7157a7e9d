package rollout

import "testing"

func avoided(m *Machine) { m.Marks.Avoid = true }
func stays(m *Machine)   { m.Marks.Stay = true }

func TestMarks(t *testing.T) {
	d := rolls(2, "1", "0")
	avoiding := marking
	avoiding.StayDuringRollout = false
	both := []func(*Machine){avoided, stays}
	checkRows(t, map[string]row{
		"4.5 b and c a rollout begins": {
			reason: "old nodes are avoided, none is taken by the autoscaler", policy: &marking,
			d: d, sets: []Set{old("a", 2), current("b", 1, first(1, pending))},
			plan: []string{"node-a1: avoid stay", "node-a2: avoid stay"},
		},
		"4.5 b with the new set": {
			reason: "before it has machines", policy: &marking,
			d: d, sets: []Set{old("a", 2)}, plan: []string{"node-a1: avoid stay", "node-a2: avoid stay", "create with 1 as revision 2"},
		},
		"C21 b a node that joined late, or could not be written": {
			reason: "is made good whatever was recorded with the set", policy: &marking,
			d: d, sets: []Set{old("a", 2, first(1, both...), func(s *Set) { s.Avoided = true }), current("b", 1, first(1, pending))},
			plan: []string{"node-a2: avoid stay"},
		},
		"4.5 c new nodes": {
			reason: "are not to be taken either", policy: &marking,
			d: d, sets: []Set{old("a", 2, first(2, both...)), current("b", 1)}, plan: []string{"node-b1: stay", "a 2->1"},
		},
		"4.5 c new nodes that are still joining": {
			reason: "are left to those who make them ready, and what is marked stays marked", policy: &marking,
			d: d, sets: []Set{old("a", 2, first(2, both...)), current("b", 2, first(2, unready), last(1, stays))},
		},
		"4.5 c without the flag": {
			reason: "the autoscaler may take what it likes", policy: &avoiding,
			d: d, sets: []Set{old("a", 2, first(1, avoided)), current("b", 1, first(1, pending))}, plan: []string{"node-a2: avoid"},
		},
		"4.5 c somebody else asked for the same": {
			reason: "the node is left as it is", policy: &marking,
			d: d, sets: []Set{old("a", 2, first(2, both...), first(1, foreign)), current("b", 1, first(1, foreign, pending))},
		},
		"4.5 machines on their way out": {
			reason: "are not touched", policy: &marking,
			d: d, sets: []Set{old("a", 1, first(1, both...), more(1, leaving)), current("b", 1, first(1, stays))}, waiting: "waiting for 1 machine to leave",
		},
		"4.5 f complete": {
			reason: "nothing is left behind", policy: &marking,
			d: d, sets: []Set{old("a", 0), current("b", 2, first(2, stays))}, plan: []string{"node-b1:", "node-b2:"},
		},
		"4.5 f complete, and somebody else asked for it": {
			reason: "that is not ours to remove", policy: &marking, d: d, sets: []Set{old("a", 0), current("b", 2, first(2, foreign))},
		},
		"4.5 f back and forth": {
			reason: "nodes of what was old are not avoided any more", policy: &marking,
			d: d, sets: []Set{current("a", 2, first(2, avoided)), old("b", 0)}, plan: []string{"node-a1:", "node-a2:"},
		},
		"4.5 f back while its update failed, and it works again": {
			reason: "the answer to what nobody asks for any more goes",
			d:      rolls(2, "1", "1").by(strategy(InPlace)), sets: []Set{current("a", 2, first(1, failedOnce)), old("b", 0)}, plan: []string{"node-a1: release"},
		},
		"4.5 f back while its update failed, and it does not work": {
			reason: "the answer stays for people to see",
			d:      rolls(2, "1", "1").by(strategy(InPlace)), sets: []Set{current("a", 2, first(1, failedOnce, broken)), old("b", 0)},
		},
		"4.5 f back while its update is asked for and failed": {
			reason: "the answer stays as long as the request",
			d:      rolls(2, "1", "1").by(strategy(InPlace)), sets: []Set{current("a", 2, first(1, selected, failedOnce)), old("b", 0)},
		},
		"4.5 an answer that came late, to a rollout before": {
			reason: "it goes before anything is asked of the node, or it would pass for the answer to that",
			d:      rolls(2, "0", "1").by(strategy(InPlace)), sets: []Set{old("a", 2, held, first(1, failedOnce), last(1, updatedOnce)), current("b", 0)},
			plan: []string{"node-a1: release", "node-a2: release"},
		},
		"4.5 a late answer of a node that does not work": {
			reason: "it stays for people to see, and nothing is asked",
			d:      rolls(2, "0", "1").by(strategy(InPlace)), sets: []Set{old("a", 2, held, first(1, failedOnce, unready), last(1, candidate)), current("b", 0)},
		},
		"4.5 paused": {
			reason: "marks stay as they are", policy: &marking,
			d: d.by(paused), sets: []Set{old("a", 1, first(1, both...)), current("b", 1)},
		},
		"4.5 Recreate": {
			reason: "nodes are not avoided, since all go at once", policy: &marking,
			d: d.by(strategy(Recreate)), sets: []Set{old("a", 2), current("b", 0)}, plan: []string{"node-a1: stay", "node-a2: stay", "a 2->0"},
		},
		"OnDelete": {
			reason: "it may take for ever: nothing is marked", policy: &marking,
			d: d.by(strategy(OnDelete)), sets: []Set{old("a", 2, held), current("b", 0)},
		},
		"an API group that does without": {
			reason: "nothing is marked", d: d, sets: []Set{old("a", 2), current("b", 1, first(1, pending))},
		},
	})
}

func foreign(m *Machine) { m.Marks.StayForeign = true }

func TestSetsRememberThatTheyAreAvoided(t *testing.T) {
	d := rolls(2, "1", "0")
	p := Decide(now, d, []Set{old("a", 2), current("b", 1, first(1, pending))}, marking)
	if !want(t, p, "a").Avoided || want(t, p, "b").Avoided {
		t.Error("4.5 b: the old set is to be recorded as avoided, the new one not")
	}
	was := func(s *Set) { s.Avoided = true }
	p = Decide(now, d, []Set{current("a", 2, was, first(1, avoided)), old("b", 0)}, marking)
	if !want(t, p, "a").Avoided {
		t.Error("4.5 f: one of its nodes is still avoided")
	}
	p = Decide(now, d, []Set{current("a", 2, was), old("b", 0)}, marking)
	if want(t, p, "a").Avoided {
		t.Error("4.5 f: none of its nodes is avoided any more")
	}
}
