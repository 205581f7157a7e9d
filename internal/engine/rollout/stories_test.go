package rollout

import "time"

var stories = map[string]story{
	"rolling-surge": {
		about:  "A rolling update with surge: one more than wanted, never one fewer.",
		d:      rolls(3, "1", "0"),
		p:      marking,
		scenes: []scene{edits("b")}, end: time.Hour,
	},
	"rolling-unavailable": {
		about:  "T24: surge 0 %, unavailable 1 % of 2. One may be unavailable, and goes before another comes.",
		d:      rolls(2, "0%", "1%"),
		p:      counting,
		scenes: []scene{edits("b")}, end: time.Hour,
	},
	"rolling-never-ready": {
		about:  "T22, T27: new machines never join. 8 of 10 stay available, there are no more than 13, and the deadline of 10 minutes says so.",
		d:      rolls(10, "3", "2").by(within(10 * time.Minute)),
		p:      counting,
		world:  func(m *model) { m.spoilt["b"] = true },
		scenes: []scene{edits("b")}, end: 25 * time.Minute,
	},
	"rolling-scaled": {
		about: "T23: more machines are wanted mid-way, and later fewer. The new set gets what is new; all give up by shares.",
		d:     rolls(6, "2", "0"),
		p:     counting,
		scenes: []scene{
			edits("b"), scales(9).later(4 * time.Minute), scales(4).later(6 * time.Minute),
		},
		end: time.Hour,
	},
	"rolling-slow-drain": {
		about:  "P9: machines take 20 minutes to leave, and take room until then.",
		d:      rolls(3, "1", "0"),
		p:      counting,
		world:  func(m *model) { m.leave = 20 * time.Minute },
		scenes: []scene{edits("b")}, end: 3 * time.Hour,
	},
	"rolling-slow-drain-overlap": {
		about:  "P9: the same, but new machines may overlap with those that leave (which count no more among the most).",
		d:      rolls(3, "1", "0"),
		p:      Policy{StatusCountsLeaving: true},
		world:  func(m *model) { m.leave = 20 * time.Minute },
		scenes: []scene{edits("b")}, end: 3 * time.Hour,
	},
	"paused": {
		about: "T25: paused, edited, resumed. Nothing is rolled out meanwhile, but the wanted number is followed.",
		d:     rolls(2, "1", "0"),
		p:     counting,
		scenes: []scene{
			{who: "user", says: "pauses", does: func(m *model) { m.d.Paused = true }},
			edits("b").later(time.Minute), scales(3).later(2 * time.Minute),
			{at: 8 * time.Minute, who: "user", says: "resumes", does: func(m *model) { m.d.Paused = false }},
		},
		end: time.Hour,
	},
	"rollback": {
		about: "T26: back to the revision before, mid-way. The old set becomes the present one, with what it still has.",
		d:     rolls(4, "2", "0"),
		p:     marking,
		scenes: []scene{
			edits("b"),
			{at: 4 * time.Minute, who: "user", says: "asks for revision 0", does: func(m *model) { m.d.RollbackTo = new(int64) }},
		},
		end: time.Hour,
	},
	"recreate": {
		about:  "Recreate: the old ones have gone before the first new one comes.",
		d:      rolls(3, "0", "0").by(strategy(Recreate)),
		p:      counting,
		scenes: []scene{edits("b")}, end: time.Hour,
	},
	"on-delete": {
		about:  "OnDelete: nothing happens until somebody deletes a machine; that one comes back new.",
		d:      rolls(2, "0", "0").by(strategy(OnDelete)),
		p:      Policy{},
		world:  func(m *model) { m.diligent = true },
		scenes: []scene{edits("b")}, end: time.Hour,
	},
	"in-place-auto": {
		about:  "T28: in place, chosen by the rollout. Machines change sets and are not replaced.",
		d:      rolls(3, "0", "1").by(strategy(InPlace)),
		p:      counting,
		scenes: []scene{edits("b")}, end: time.Hour,
	},
	"in-place-surge": {
		about:  "T28: in place with surge: a new machine stands in for the one under way, and the last old one is given up.",
		d:      rolls(3, "1", "0").by(strategy(InPlace)),
		p:      counting,
		scenes: []scene{edits("b")}, end: time.Hour,
	},
	"in-place-manual": {
		about:  "T28: in place, chosen by a person.",
		d:      rolls(2, "1", "0").by(strategy(InPlace), byHand),
		p:      counting,
		scenes: []scene{edits("b")}, end: time.Hour,
	},
	"in-place-scaled": {
		about: "T29, C7: more machines are wanted while one is updated in place, then fewer.",
		d:     rolls(3, "0", "1").by(strategy(InPlace)),
		p:     counting,
		scenes: []scene{
			edits("b"), scales(5).later(2 * time.Minute), scales(2).later(8 * time.Minute),
		},
		end: time.Hour,
	},
	"in-place-failed": {
		about:  "T28, C33: an update in place fails. The machine is given up in the end, and comes back in the new set.",
		d:      rolls(2, "0", "1").by(strategy(InPlace)),
		p:      counting,
		world:  func(m *model) { m.failing = 1 },
		scenes: []scene{edits("b"), {at: 10 * time.Minute, who: "agent", says: "works again", does: func(m *model) { m.failing = 0 }}}, end: 2 * time.Hour,
	},
	"stopped-rolled-back": {
		about:  "Two new machines in a row do not join within 5 minutes: the rollout is stopped, and goes back by itself.",
		d:      rolls(3, "2", "0").by(stopsAfter(2), func(d *Deployment) { d.Guard.ReadyWithin, d.Guard.RollBack = 5*time.Minute, true }),
		p:      counting,
		world:  func(m *model) { m.spoilt["b"] = true },
		scenes: []scene{edits("b")}, end: time.Hour,
	},
	"stopped-mended": {
		about:  "The same without going back: it stays as it is until a person changes the template.",
		d:      rolls(3, "1", "0").by(stopsAfter(1), func(d *Deployment) { d.Guard.ReadyWithin = 5 * time.Minute }),
		p:      counting,
		world:  func(m *model) { m.spoilt["b"] = true },
		scenes: []scene{edits("b"), edits("c").later(15 * time.Minute)}, end: time.Hour,
	},
	"canary-approved": {
		about: "One machine first; the rest follows when a person says so.",
		d:     rolls(3, "1", "0").by(canaryOf("1")),
		p:     counting,
		scenes: []scene{
			edits("b"),
			{at: 10 * time.Minute, who: "user", says: "approves revision 2", does: func(m *model) { m.d.Guard.Approved = 2 }},
		},
		end: time.Hour,
	},
	"canary-soaked": {
		about:  "A third first; the rest follows when that was available for 10 minutes.",
		d:      rolls(3, "1", "0").by(canaryOf("33%"), func(d *Deployment) { d.Guard.Soak = 10 * time.Minute }),
		p:      counting,
		scenes: []scene{edits("b")}, end: time.Hour,
	},
	"autoscaler": {
		about: "T20, T21: an autoscaler takes one machine of an old set away mid-way, by name, and then wants more again.",
		d:     rolls(4, "1", "0"),
		p:     counting,
		scenes: []scene{
			edits("b"),
			{at: 3 * time.Minute, who: "scaler", says: "wants 3 machines, and the last old one gone", does: (*model).wishLast},
			{at: 5 * time.Minute, who: "scaler", says: "wants 5 machines", does: func(m *model) { m.d.Replicas = 5 }},
		},
		end: time.Hour,
	},
}

// wishLast is an autoscaler that deletes the last of the old machines.
func (m *model) wishLast() {
	m.d.Replicas--
	for _, x := range m.machines {
		if x.template == "a" && !x.Leaving {
			m.d.Wishes = []Wish{{Machine: x.Name, At: m.now}}
		}
	}
}
