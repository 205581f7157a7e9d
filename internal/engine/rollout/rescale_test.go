package rollout

import (
	"testing"
	"time"
)

func TestScaling(t *testing.T) {
	many := func(n int) func(*Deployment) { return func(d *Deployment) { d.Replicas = n } }
	ten := scaledFor(10, 13)
	ripe := counting
	ripe.MinReady = 10 * time.Minute
	ahead := func(m *Machine) { m.ReadySince = now.Add(time.Hour) }
	checkRows(t, map[string]row{
		"4.4 1 one set in use": {
			reason: "it is what is wanted", d: rolls(7, "1", "0"), sets: []Set{current("a", 5, scaledFor(5, 6))}, plan: []string{"a 5->7"},
		},
		"4.4 1 one set in use, fewer": {
			reason: "likewise", d: rolls(3, "1", "0"), sets: []Set{current("a", 5, scaledFor(5, 6))}, plan: []string{"a 5->3"},
		},
		"4.4 1 one set in use, an old one": {
			reason: "a rollout that has not begun yet: capacity follows first, and the first new one comes with it",
			d:      rolls(7, "1", "0"), sets: []Set{old("a", 5, scaledFor(5, 6)), current("b", 0)}, plan: []string{"a 5->7", "b 0->1"},
		},
		"4.4 1 one set in use beside machines that leave": {
			reason: "6 of another set are still there, there is room for 5 of 10 and 1",
			d:      rolls(10, "1", "0"), sets: []Set{old("a", 0, more(6, leaving)), current("b", 2, scaledFor(2, 3))}, plan: []string{"b 2->5"},
		},
		"4.4 1 none in use": {
			reason: "the present set gets what is wanted", d: rolls(3, "1", "0"), sets: []Set{current("a", 0)}, plan: []string{"a 0->3"},
		},
		"4.4 1 none in use, paused, and no set of the template": {
			reason: "the newest stands in", d: rolls(3, "1", "0").by(paused), sets: []Set{old("a", 0), old("b", 0)}, plan: []string{"b 0->3"},
		},
		"4.4 1 none in use, paused, beside a set that has yet to hear that it is to have none": {
			reason: "it may have made machines that are not seen", d: rolls(5, "0", "5").by(paused), sets: []Set{old("a", 0, unseen, more(3)), current("b", 0)},
		},
		"4.4 1 none in use, paused, beside a set that has heard that it is to have none": {
			reason: "there is room for 2", d: rolls(5, "0", "5").by(paused), sets: []Set{old("a", 0, more(3)), current("b", 0)}, plan: []string{"b 0->2"},
		},
		"4.4 2 the new set has all": {
			reason: "the others go",
			d:      rolls(10, "3", "2"), sets: []Set{old("a", 3, scaledFor(8, 11)), current("b", 10, ten)}, plan: []string{"a 3->0"},
		},
		"4.4 2 the new set has all, one of them about to be updated in place and to go": {
			reason: "that one goes, and not the other set's, which works",
			d:      rolls(3, "0", "1").by(strategy(InPlace), many(2), paused),
			sets:   []Set{old("a", 1, scaledFor(3, 3)), current("b", 2, scaledFor(2, 2), first(1, selected, asked))}, plan: []string{"b 2->1"},
		},
		"4.4 3 T23 more while rolling": {
			reason: "15 and 3 allowed, 13 there: all 5 go to the new set",
			d:      rolls(10, "3", "2").by(many(15)), sets: []Set{old("a", 8, ten), current("b", 5, ten)}, plan: []string{"b 5->10"},
		},
		"4.4 3 T23 more while rolling, beside machines that leave": {
			reason: "2 are on their way out: room for 3 of the 5",
			d:      rolls(10, "3", "2").by(many(15)), sets: []Set{old("a", 8, ten, more(2, leaving)), current("b", 5, ten)}, plan: []string{"b 5->8"},
		},
		"4.4 3 T23 fewer while rolling": {
			reason: "5 and 3 allowed of 13: 8*8/13 is 5, 5*8/13 is 3",
			d:      rolls(10, "3", "2").by(many(5), paused), sets: []Set{old("a", 8, ten), current("b", 5, ten)}, plan: []string{"a 8->5", "b 5->3"},
		},
		"4.4 3 T23 fewer while rolling, and the rollout goes on": {
			reason: "once shared out, 2 of the 5 old ones may be unavailable, and 3 new ones work",
			d:      rolls(10, "3", "2").by(many(5)), sets: []Set{old("a", 8, ten), current("b", 5, ten)}, plan: []string{"a 8->0", "b 5->3"},
		},
		"4.4 3 T23 what rounding leaves over comes from the largest": {
			reason: "4 and 3 allowed of 13: 5*7/13 is 3 twice, 3*7/13 is 2, and the 8th is the older large set's",
			d:      rolls(10, "3", "0").by(many(4), paused), sets: []Set{old("a", 5, ten), old("b", 5, ten), current("c", 3, ten)},
			plan: []string{"a 5->2", "b 5->3", "c 3->2"},
		},
		"4.4 3 fewer while an old set has yet to make machines": {
			reason: "3 and 1 allowed of 7: the 3 that are not there go, and no new one",
			d:      rolls(5, "1", "1").by(many(3)), sets: []Set{old("a", 0, scaledFor(5, 7), wants(3)), current("b", 4, scaledFor(5, 7))},
			plan: []string{"a 3->0", "b 4->3"},
		},
		"4.4 3 fewer while the new set has yet to make machines, paused": {
			reason: "1 of 4 allowed: one that is there stays, and none is waited for",
			d:      rolls(4, "0", "1").by(many(1), paused), sets: []Set{old("a", 2, scaledFor(4, 4), first(2, pending)), current("b", 0, scaledFor(4, 4), wants(2))},
			plan: []string{"a 2->1", "b 2->0"},
		},
		"4.4 3 fewer while the new ones are not available yet": {
			reason: "5 and 3 allowed of 11: 4 and 4 by shares, but 5 have to be available",
			d:      rolls(8, "3", "0").by(many(5), paused),
			sets:   []Set{old("a", 6, scaledFor(8, 11)), current("b", 5, scaledFor(8, 11), first(5, pending))}, plan: []string{"a 6->5", "b 5->3"},
		},
		"4.4 3 fewer while an old set has yet to give one up": {
			reason: "all 3 that work have to go on: though the one that goes is not chosen yet, none of them goes for the 3 that are too many",
			d:      rolls(4, "1", "25%").by(many(3)),
			sets:   []Set{old("a", 4, scaledFor(4, 5), wants(3), first(1, pending)), current("b", 0, scaledFor(4, 5), wants(4))}, plan: []string{"b 4->1"},
		},
		"4.4 3 fewer, ready since a time that is yet to come": {
			reason: "3 have to be available, and nobody knows how many are: what was not made goes",
			d:      rolls(4, "1", "0").by(many(3), paused), policy: &ripe,
			sets: []Set{old("a", 4, scaledFor(4, 5), first(4, ahead)), current("b", 1, scaledFor(4, 5), first(1, pending))}, plan: []string{"b 1->0"},
		},
		"4.4 3 to none": {
			reason: "nothing is allowed, surge neither",
			d:      rolls(10, "3", "2").by(many(0)), sets: []Set{old("a", 8, ten), current("b", 5, ten)}, plan: []string{"a 8->0", "b 5->0"},
		},
		"4.4 3 an autoscaler's choice goes before shares": {
			reason: "1 fewer, and the new set has the machine that was chosen; the old one goes on as it would",
			d:      rolls(10, "3", "0").by(many(9)), sets: []Set{old("a", 10, ten), current("b", 3, ten, first(3, pending), first(1, asked))},
			plan: []string{"a 10->9", "b 3->2"},
		},
		"4.4 paused": {
			reason: "the number is followed although nothing is rolled out",
			d:      rolls(10, "3", "2").by(many(15), paused), sets: []Set{old("a", 8, ten), current("b", 5, ten)}, plan: []string{"b 5->10"},
		},
		"4.4 paused, the same number": {
			reason: "there would be room for more new ones, and they have to wait",
			d:      rolls(10, "3", "2").by(paused), sets: []Set{old("a", 8, ten), current("b", 3, ten)},
		},
		"4.4 paused, and Recreate since": {
			reason: "no new one comes beside an old one: the old set grows instead",
			d:      rolls(5, "0", "0").by(strategy(Recreate), paused), sets: []Set{old("a", 1, scaledFor(2, 2)), current("b", 1, scaledFor(2, 2))}, plan: []string{"a 1->4"},
		},
		"4.4 paused, and Recreate since, and an old one leaves": {
			reason: "no new one comes beside it",
			d:      rolls(5, "0", "0").by(strategy(Recreate), paused), sets: []Set{old("a", 0, more(1, leaving)), current("b", 1, scaledFor(2, 2))},
		},
		"4.4 paused between the old and the new of Recreate": {
			reason: "the old ones are not gone yet",
			d:      rolls(3, "1", "0").by(paused, strategy(Recreate)), sets: []Set{old("a", 0, more(1, leaving)), current("b", 0)},
		},
		"4.4 4 C7 Recreate with several in use": {
			reason: "the strategy goes on",
			d:      rolls(5, "0", "0").by(strategy(Recreate)), sets: []Set{old("a", 2, scaledFor(3, 3)), current("b", 1, scaledFor(3, 3))}, plan: []string{"a 2->0"},
		},
		"4.4 4 C7 T29 in place with several in use, more": {
			reason: "the new set makes what is missing",
			d:      rolls(5, "0", "1").by(strategy(InPlace)), sets: []Set{old("a", 2, held, first(2, selected), scaledFor(3, 3)), current("b", 1, scaledFor(3, 3))}, plan: []string{"b 1->3"},
		},
		"4.4 4 C7 T29 in place with several in use, fewer": {
			reason: "old ones go",
			d:      rolls(2, "0", "1").by(strategy(InPlace)), sets: []Set{old("a", 3, held, first(3, candidate), scaledFor(5, 5)), current("b", 2, scaledFor(5, 5))}, plan: []string{"a 3->0"},
		},
		"at its canary, more": {
			reason: "the canary stays as it is, the old set gives the capacity",
			d:      rolls(10, "2", "0").by(canaryOf("1"), many(15)), sets: []Set{old("a", 9, scaledFor(10, 12)), current("b", 1, scaledFor(10, 12))},
			plan: []string{"a 9->14"},
		},
		"before its canary, more": {
			reason: "both",
			d:      rolls(10, "2", "0").by(canaryOf("2"), many(15)), sets: []Set{old("a", 10, scaledFor(10, 12)), current("b", 1, scaledFor(10, 12))},
			plan: []string{"a 10->13", "b 1->2"},
		},
		"stopped, more": {
			reason: "what fails gets no more",
			d:      rolls(4, "1", "0").by(many(6), stopsAfter(1)), sets: []Set{old("a", 4, scaledFor(4, 5)), current("b", 1, scaledFor(4, 5), first(1, broken))},
			plan: []string{"a 4->5"},
		},
		"stopped, fewer": {
			reason: "the number is followed down, by shares",
			d:      rolls(4, "1", "0").by(many(2), stopsAfter(1)), sets: []Set{old("a", 4, scaledFor(4, 5)), current("b", 1, scaledFor(4, 5), first(1, broken))},
			plan: []string{"a 4->2"},
		},
		"never written down": {
			reason: "a set taken over is brought to the number by the rollout",
			d:      rolls(4, "1", "0"), sets: []Set{current("a", 6)}, plan: []string{"a 6->4"},
		},
		"never written down, paused": {
			reason: "and while that is paused, too",
			d:      rolls(4, "1", "0").by(paused), sets: []Set{current("a", 6)}, plan: []string{"a 6->4"},
		},
	})
}

func stopsAfter(n int) func(*Deployment) { return func(d *Deployment) { d.Guard.MaxFailures = n } }

// A set that was held while it shrank, and wants to create machines after all, is no longer held.
func TestScalingFreesHeldSets(t *testing.T) {
	tests := map[string]struct {
		reason string
		d      Deployment
		sets   []Set
	}{
		"alone": {
			"paused before the first machine changed sets", rolls(5, "0", "1").by(strategy(InPlace), paused),
			[]Set{old("a", 3, held, scaledFor(3, 3)), current("b", 0)},
		},
		"at its canary": {
			"held by an earlier strategy", rolls(5, "1", "0").by(canaryOf("1")), []Set{old("a", 3, held, scaledFor(4, 5)), current("b", 1, scaledFor(4, 5))},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if w := want(t, Decide(now, tt.d, tt.sets, counting), "a"); !w.Scales() || w.NoGrowth {
				t.Errorf("set a goes from %d to %d, held %v: %s", w.Was, w.Replicas, w.NoGrowth, tt.reason)
			}
		})
	}
}

func TestScalingIsWrittenDown(t *testing.T) {
	tests := map[string]struct {
		reason        string
		d             Deployment
		desired, most int
	}{
		"4.4 rolling":   {"with surge", rolls(7, "2", "0"), 7, 9},
		"4.4 in place":  {"surge counts only for a rolling update", rolls(7, "2", "0").by(strategy(InPlace)), 7, 7},
		"4.4 recreated": {"likewise", rolls(7, "2", "0").by(strategy(Recreate)), 7, 7},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := want(t, Decide(now, tt.d, []Set{current("a", 5, scaledFor(5, 5))}, counting), "a")
			if w.Desired == nil || *w.Desired != tt.desired || *w.Max != tt.most {
				t.Errorf("written down for %v and %v, expected %d and %d: %s", w.Desired, w.Max, tt.desired, tt.most, tt.reason)
			}
		})
	}
	for _, w := range Decide(now, rolls(15, "3", "2"), []Set{old("a", 8, scaledFor(10, 13)), current("b", 5, scaledFor(10, 13))}, counting).Sets() {
		if w.Desired == nil || *w.Desired != 15 || *w.Max != 18 {
			t.Errorf("set %s took part in scaling to 15 and is not written down for it", w.Name)
		}
	}
}
