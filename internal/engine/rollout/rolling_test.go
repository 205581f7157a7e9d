package rollout

import (
	"testing"
	"time"
)

func TestRollingUpdate(t *testing.T) {
	overlapping := counting
	overlapping.LeavingTakesRoom = false
	ripe := counting
	ripe.MinReady = 10 * time.Minute
	young := func(m *Machine) { m.ReadySince = now.Add(-time.Minute) }
	ahead := func(m *Machine) { m.ReadySince = now.Add(time.Hour) }
	checkRows(t, map[string]row{
		"4.5 a no set of the template": {
			reason: "one is made with as many as there is room for",
			d:      rolls(10, "3", "2"), sets: []Set{old("a", 10)}, plan: []string{"create with 3 as revision 2"},
		},
		"4.5 a no surge": {
			reason: "it is there with none, so that old ones can go",
			d:      rolls(10, "0", "2"), sets: []Set{old("a", 10)}, plan: []string{"create with 0 as revision 2"},
		},
		"4.5 a the first set of all": {
			reason: "nothing holds it up", d: rolls(10, "0", "2"), plan: []string{"create with 10 as revision 1"},
		},
		"4.5 a equal templates": {
			reason: "the oldest equal set wins, the other is rolled away",
			d:      rolls(2, "1", "0"), sets: []Set{current("a", 2), current("b", 2)}, plan: []string{"b 2->0"},
		},
		"4.5 d equal": {
			reason: "at rest", d: rolls(10, "3", "2"), sets: []Set{current("a", 10)},
		},
		"4.5 d larger": {
			reason: "shrinks to replicas", d: rolls(10, "3", "2"), sets: []Set{current("a", 12)}, plan: []string{"a 12->10"},
		},
		"4.5 d no room": {
			reason: "replicas and surge are reached",
			d:      rolls(10, "3", "2"), sets: []Set{old("a", 10), current("b", 3, first(3, pending))}, plan: []string{"a 10->8"},
			waiting: "waiting for 3 of 3 new machines to become available",
		},
		"4.5 d P9 machines on their way out take room": {
			reason: "8 old, 2 of which leave slowly, and 3 new: 13 of 13",
			d:      rolls(10, "3", "2"), sets: []Set{old("a", 8, more(2, leaving)), current("b", 3, first(3, pending))},
			waiting: "waiting for 2 machines to leave",
		},
		"4.5 d P9 with overlap": {
			reason: "who asks for it does not wait for drains",
			d:      rolls(10, "3", "2"), sets: []Set{old("a", 8, more(2, leaving)), current("b", 3, first(3, pending))}, policy: &overlapping,
			plan: []string{"b 3->5"},
		},
		"4.5 d those that the old set has yet to give up take room": {
			reason: "8 wanted of a set that still has 10",
			d:      rolls(10, "3", "2"), sets: []Set{old("a", 10, wants(8)), current("b", 3, first(3, pending))},
		},
		"4.5 e ready since a time that is yet to come": {
			reason: "for how long nobody knows, our clock is behind or kubelets' are ahead: all may be available",
			d:      rolls(4, "1", "1"), sets: []Set{old("a", 4, first(4, ahead)), current("b", 1, first(1, pending))}, policy: &ripe,
			waiting: "waiting for 1 of 1 new machines to become available",
		},
		"4.5 e some of them of no use": {
			reason: "which goes before them",
			d:      rolls(4, "1", "1"), sets: []Set{old("a", 4, first(3, ahead), last(1, pending)), current("b", 1, first(1, pending))}, policy: &ripe,
			plan: []string{"a 4->3"},
		},
		"4.5 d a set that its controller has not looked at": {
			reason: "it may have made machines that nobody has seen",
			d:      rolls(10, "3", "2"), sets: []Set{old("a", 8, unseen), current("b", 3, first(3, pending))},
		},
		"4.5 d machines of a dying set take room": {
			reason: "none of them is gone for sure",
			d:      rolls(4, "0", "1"), sets: []Set{old("a", 2, dying), current("b", 1), old("c", 0)}, plan: []string{"b 1->2"},
		},
		"4.5 e those that do not work go first": {
			reason: "2 of the older set and 1 of the younger, before any that works",
			d:      rolls(6, "3", "0"), sets: []Set{old("a", 3, first(2, broken)), old("b", 3, first(1, broken)), current("c", 3)},
			plan: []string{"a 3->1", "b 3->2"},
		},
		"4.5 e the oldest set first": {
			reason: "2 may be unavailable",
			d:      rolls(6, "0", "2"), sets: []Set{old("a", 3), old("b", 3), current("c", 0)}, plan: []string{"a 3->1"},
		},
		"4.5 e new machines are not counted on before they work": {
			reason: "2 of the 3 new ones do not work yet: one old one may go for the one that does",
			d:      rolls(10, "3", "0"), sets: []Set{old("a", 10), current("b", 3, first(2, pending))}, plan: []string{"a 10->9"},
		},
		"4.5 d and e in one pass": {
			reason: "what makes room is written before what takes it, whichever set is older",
			d:      rolls(4, "2", "1"), sets: []Set{current("a", 2), old("b", 2)}, plan: []string{"b 2->1", "a 2->4"},
		},
		"4.5 e no budget": {
			reason: "nothing may be unavailable, and nothing new works",
			d:      rolls(10, "3", "0"), sets: []Set{old("a", 10), current("b", 3, first(3, pending))},
		},
		"4.5 e old machines that fail by themselves use the budget up": {
			reason: "2 of 10 are broken and 2 may be unavailable: those 2 go, no others",
			d:      rolls(10, "0", "2"), sets: []Set{old("a", 10, first(2, broken)), current("b", 0)}, plan: []string{"a 10->8"},
		},
		"4.5 e an autoscaler's choice goes first": {
			reason: "the set gives up the machine that works, because it was asked to: the broken one is not free",
			d:      rolls(2, "1", "0"), sets: []Set{old("a", 2, first(1, broken), last(1, asked)), current("b", 1)},
		},
		"4.5 e a new set that still has one to give up": {
			reason: "it may have chosen the one that is available by now, while that was not",
			d:      rolls(2, "0", "1"), sets: []Set{old("a", 1, scaledFor(2, 2)), current("b", 2, wants(1), scaledFor(2, 2), first(1, pending))},
		},
		"4.5 e a new set that has given it up": {
			reason: "what is left of it stays",
			d:      rolls(2, "0", "1"), sets: []Set{old("a", 1, scaledFor(2, 2)), current("b", 1, scaledFor(2, 2), more(1, leaving))},
			plan: []string{"a 1->0"},
		},
		"4.5 e an old set that still has one to give up": {
			reason: "it may give up the one that works, or that which has yet to for long enough: its last is not spared for that",
			d:      rolls(2, "1", "1"), sets: []Set{old("a", 2, wants(1), last(1, young)), old("b", 2, first(2, pending)), current("c", 0)},
			policy: &ripe, plan: []string{"b 2->0"},
		},
		"4.5 e an old set that has many to give up": {
			reason: "none of which has worked for long enough: they are of no account",
			d:      rolls(2, "1", "1"), sets: []Set{old("a", 2, wants(1), first(2, young)), old("b", 2), current("c", 0)},
			policy: &ripe, plan: []string{"a 1->0", "b 2->1"},
		},
		"4.5 e machines kept for inspection": {
			reason: "the kept one goes last, so that a working one goes; who keeps it does without one",
			d:      rolls(3, "1", "0"), sets: []Set{old("a", 3, first(1, keptOne)), current("b", 1)}, plan: []string{"a 3->2"},
		},
		"T22 new machines never become ready": {
			reason: "8 old ones stay available, no more than 13 are there",
			d:      rolls(10, "3", "2"), sets: []Set{old("a", 8), current("b", 5, first(5, pending))},
		},
		"T24 the one that may be unavailable goes": {
			reason: "surge 0 %, unavailable 1 % of 2",
			d:      rolls(2, "0%", "1%"), sets: []Set{old("a", 2), current("b", 0)}, plan: []string{"a 2->1"},
		},
		"4.5 e T24 the next one does not": {
			reason: "before the first new one works",
			d:      rolls(2, "0%", "1%"), sets: []Set{old("a", 1), current("b", 1, first(1, pending))},
		},
		"no replicas": {
			reason: "everything goes", d: rolls(0, "1", "0"), sets: []Set{old("a", 2), current("b", 1)}, plan: []string{"a 2->0", "b 1->0"},
		},
		"frozen": {
			reason: "nothing grows, old ones go as far as enough stay",
			d:      rolls(10, "3", "2").by(frozen), sets: []Set{old("a", 10), current("b", 0)}, plan: []string{"a 10->8"},
			waiting: "no set may grow: there are far too many machines",
		},
		"frozen before there is a set": {
			reason: "the set is made, without machines",
			d:      rolls(10, "3", "2").by(frozen), sets: []Set{old("a", 10)}, plan: []string{"create with 0 as revision 2"},
		},
	})
}

func TestRecreate(t *testing.T) {
	recreates := rolls(3, "1", "0").by(strategy(Recreate))
	checkRows(t, map[string]row{
		"4.5 Recreate the set comes first, without machines": {
			reason: "so that the template has its revision", d: recreates, sets: []Set{old("a", 3)}, plan: []string{"create with 0 as revision 2"},
		},
		"4.5 Recreate all old to 0": {
			reason: "before any new one comes", d: recreates, sets: []Set{old("a", 2), old("b", 1), current("c", 0)}, plan: []string{"a 2->0", "b 1->0"},
			waiting: "waiting for the deletion of 3 machines of old sets",
		},
		"4.5 Recreate old machines on their way out": {
			reason: "they are not gone yet", d: recreates, sets: []Set{old("a", 0, more(2, leaving)), current("b", 0)},
			waiting: "waiting for the deletion of 2 machines of old sets",
		},
		"4.5 Recreate machines of a dying set": {
			reason: "nor are these", d: recreates, sets: []Set{old("a", 2, dying), current("b", 0)}, waiting: "waiting for the deletion of 2 machines of old sets",
		},
		"4.5 Recreate an old set that its controller has not looked at": {
			reason: "it may have made a machine that nobody has seen, by the size that it had before",
			d:      recreates, sets: []Set{old("a", 0, unseen), current("b", 0)},
		},
		"4.5 Recreate nothing is left": {
			reason: "now the new ones come", d: recreates, sets: []Set{old("a", 0), current("b", 0)}, plan: []string{"b 0->3"},
		},
		"4.5 Recreate the first set of all": {
			reason: "nothing to wait for", d: recreates, plan: []string{"create with 3 as revision 1"},
		},
		"4.5 Recreate going back half-way": {
			reason: "machines of the template that are there may stay, the others go first",
			d:      recreates, sets: []Set{current("a", 1), old("b", 2)}, plan: []string{"b 2->0"},
		},
		"C7 Recreate replicas changed half-way": {
			reason: "no share of an emptied set is waited for",
			d:      recreates, sets: []Set{old("a", 2, scaledFor(9, 9)), current("b", 1, scaledFor(9, 9))}, plan: []string{"a 2->0"},
		},
		"frozen": {
			reason: "who may not make new ones keeps the old ones",
			d:      recreates.by(frozen), sets: []Set{old("a", 3), current("b", 0)},
			waiting: "no set may grow, so no old machine is deleted either: there are far too many machines",
		},
	})
}

func TestOnDelete(t *testing.T) {
	waits := rolls(3, "1", "0").by(strategy(OnDelete))
	checkRows(t, map[string]row{
		"a new template": {
			reason: "nothing happens to the machines", d: waits, sets: []Set{old("a", 3)}, plan: []string{"create with 0 as revision 2"},
		},
		"somebody deletes a machine": {
			reason: "it comes back in the new set, at once",
			d:      waits, sets: []Set{old("a", 3, held, first(1, leaving)), current("b", 0)}, plan: []string{"a 3->2", "b 0->1"},
			waiting: "2 machines of an old template until a user deletes them",
		},
		"a machine is missing in a set that is not held yet": {
			reason: "it may be one that was just created and is not seen yet",
			d:      waits, sets: []Set{old("a", 3, first(1, leaving)), current("b", 0)},
		},
		"somebody deletes a new machine": {
			reason: "its own set makes another",
			d:      waits, sets: []Set{old("a", 2, held), current("b", 1, first(1, leaving))},
		},
		"fewer replicas": {
			reason: "old ones go before new ones",
			d:      waits.by(func(d *Deployment) { d.Replicas = 2 }), sets: []Set{old("a", 2, held), current("b", 1)}, plan: []string{"a 2->1"},
		},
		"fewer replicas, and the new one does not work yet": {
			reason: "an old one that works is not given up for it",
			d:      waits.by(func(d *Deployment) { d.Replicas = 2 }), sets: []Set{old("a", 2, held), current("b", 1, first(1, pending))}, plan: []string{"b 1->0"},
		},
		"the strategy was another when a rollout began": {
			reason: "what was made for surge goes again, and not old ones for it",
			d:      waits, sets: []Set{old("a", 3), current("b", 2, first(2, pending))}, plan: []string{"b 2->0"},
		},
		"it went back while the other set had yet to make its machines": {
			reason: "machines that are there are not given up for those that nobody has seen",
			d:      waits, sets: []Set{old("a", 0, wants(3)), current("b", 3, first(3, pending))}, plan: []string{"a 3->0"},
		},
		"fewer replicas, and the new one is yet to be made": {
			reason: "none that is there is given up for it",
			d:      waits.by(func(d *Deployment) { d.Replicas = 2 }), sets: []Set{old("a", 2, held, first(2, pending)), current("b", 0, wants(1))}, plan: []string{"b 1->0"},
		},
		"fewer replicas, and an autoscaler's choice": {
			reason: "the machine it chose is the one that goes",
			d:      waits.by(func(d *Deployment) { d.Replicas = 2 }), sets: []Set{old("a", 2, held), current("b", 1, first(1, asked))}, plan: []string{"b 1->0"},
		},
		"a second set of the present template came late": {
			reason: "nobody deletes its machines: they are of the present template",
			d:      waits, sets: []Set{current("a", 3, first(1, pending)), current("b", 1)},
		},
		"a second set of the present template, and all is there": {
			reason: "what is too many goes from the younger one",
			d:      waits, sets: []Set{current("a", 3), current("b", 1, held)}, plan: []string{"b 1->0"},
		},
		"more replicas": {
			reason: "new ones come", d: waits.by(func(d *Deployment) { d.Replicas = 5 }), sets: []Set{old("a", 2, held), current("b", 1)}, plan: []string{"b 1->3"},
		},
	})
	p := Decide(now, waits, []Set{old("a", 3), current("b", 0)}, counting)
	if !want(t, p, "a").NoGrowth || want(t, p, "b").NoGrowth {
		t.Error("the old set is to be kept from making machines, the new one not")
	}
}
