package rollout

import "testing"

// TestNamedGoFirst: a cluster-autoscaler marks machines and then lowers the replicas by the same number,
// during any phase of a rollout (cluster-autoscaler#8494).
func TestNamedGoFirst(t *testing.T) {
	fewer := func(n int) func(*Deployment) { return func(d *Deployment) { d.Replicas = n } }
	three, four, five := scaledFor(3, 4), scaledFor(2, 4), scaledFor(3, 5)
	checkRows(t, map[string]row{
		"a new one, while an old one leaves": {
			reason: "2 and 1 allowed, 3 wanted: nothing would have to go, and an old one would go for the one that was named",
			d:      rolls(3, "1", "0").by(fewer(2)), sets: []Set{old("a", 2, three, more(1, leaving)), current("b", 1, three, first(1, asked))},
			plan: []string{"b 1->0"},
		},
		"one of two new ones, with room": {
			reason: "the set would keep it if it grew by one at once",
			d:      rolls(3, "2", "0").by(fewer(2)), sets: []Set{old("a", 1, five), current("b", 2, five, first(1, asked))},
			plan: []string{"b 2->1"},
		},
		"one of two new ones, with room, before its set has let it go": {
			reason: "the set is still to come down",
			d:      rolls(2, "2", "0"), sets: []Set{old("a", 1, scaledFor(2, 4)), current("b", 2, wants(1), scaledFor(2, 4), first(1, asked))},
		},
		"one of two new ones, and it has gone": {
			reason: "there is room for the next",
			d:      rolls(2, "2", "0"), sets: []Set{old("a", 1, scaledFor(2, 4)), current("b", 1, scaledFor(2, 4), more(1, leaving))},
			plan: []string{"b 1->2"},
		},
		"an old one, while another leaves": {
			reason: "its set gives it up first",
			d:      rolls(3, "1", "0").by(fewer(2)), sets: []Set{old("a", 2, three, more(1, leaving), first(1, asked)), current("b", 1, three)},
			plan: []string{"a 2->1"},
		},
		"a person sizes an old set that was not in use when the number came down": {
			reason: "that set has no machines yet, and makes none: nobody has to go for them",
			d:      rolls(4, "25%", "100%").by(fewer(3)), sets: []Set{old("a", 0, wants(3), scaledFor(4, 5)), current("b", 3, scaledFor(3, 4), first(1, asked, pending), more(1, leaving))},
			plan: []string{"a 3->0"},
		},
		"paused, while an old one leaves": {
			reason: "scaling goes on",
			d:      rolls(3, "1", "0").by(fewer(2), paused), sets: []Set{old("a", 2, three, more(1, leaving)), current("b", 1, three, first(1, asked))},
			plan: []string{"b 1->0"},
		},
		"one that was counted on when another set came down": {
			reason: "that one has yet to give its machine up, and keeps it, which is written first: none would be left that works",
			d:      rolls(2, "2", "50%").by(fewer(1)), sets: []Set{old("a", 1, wants(0)), old("b", 1, four, first(1, asked)), current("c", 1, four, first(1, pending))},
			plan: []string{"a 0->1", "b 1->0"},
		},
		"one of the only set in use, that was counted on": {
			reason: "the set of the present template has no room yet",
			d:      rolls(3, "1", "34%").by(fewer(2)), sets: []Set{old("a", 1, wants(0)), old("b", 3, three, first(1, asked), last(2, pending)), current("c", 0)},
			plan: []string{"a 0->1", "b 3->1"},
		},
		"one that was counted on, before its set has let it go": {
			reason: "the size of the other was not written, as somebody else wrote to that set",
			d:      rolls(1, "2", "50%"), sets: []Set{old("a", 1, wants(0)), old("b", 1, wants(0), first(1, asked), scaledFor(1, 3)), current("c", 1, scaledFor(1, 3), first(1, pending))},
			plan: []string{"a 0->1"},
		},
		"one that was counted on, paused": {
			reason: "scaling goes on",
			d:      rolls(2, "2", "50%").by(fewer(1), paused), sets: []Set{old("a", 1, wants(0)), old("b", 1, four, first(1, asked)), current("c", 1, four, first(1, pending))},
			plan: []string{"a 0->1", "b 1->0"},
		},
		"one that was counted on, and that the other kept its machine is to be seen": {
			reason: "once is enough",
			d:      rolls(1, "2", "50%"), sets: []Set{old("a", 2, wants(1), scaledFor(1, 3)), old("b", 1, wants(0), first(1, asked), scaledFor(1, 3)), current("c", 1, scaledFor(1, 3), first(1, pending))},
		},
		"one that was counted on, and the new one works": {
			reason: "enough are left",
			d:      rolls(2, "2", "50%").by(fewer(1)), sets: []Set{old("a", 1, wants(0)), old("b", 1, four, first(1, asked)), current("c", 1, four)},
			plan: []string{"b 1->0"},
		},
		"one that was counted on, beside one of no use": {
			reason: "nothing is won by keeping that",
			d:      rolls(2, "2", "50%").by(fewer(1)), sets: []Set{old("a", 1, wants(0), first(1, pending)), old("b", 1, four, first(1, asked)), current("c", 1, four, first(1, pending))},
			plan: []string{"b 1->0"},
		},
		"one that was counted on, frozen": {
			reason: "no set may grow",
			d:      rolls(2, "2", "50%").by(fewer(1), frozen), sets: []Set{old("a", 1, wants(0)), old("b", 1, four, first(1, asked)), current("c", 1, four, first(1, pending))},
			plan: []string{"b 1->0"},
		},
		"one that was counted on, in place": {
			reason: "as with a rolling update",
			d:      rolls(2, "1", "50%").by(fewer(1), strategy(InPlace)),
			sets:   []Set{old("a", 1, held, wants(0), first(1, candidate)), old("b", 1, held, four, first(1, candidate, asked)), current("c", 1, four, first(1, pending))},
			plan:   []string{"a 0->1", "b 1->0"},
		},
		"named, and the number stays": {
			reason: "nobody asked for fewer yet",
			d:      rolls(3, "1", "1"), sets: []Set{old("a", 2, three), current("b", 2, three, first(2, pending), first(1, asked))},
		},
	})
}
