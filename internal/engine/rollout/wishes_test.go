package rollout

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

func atFault(d *Deployment) {
	d.Faults = []lifecycle.Fault{{Field: "spec.selector", Message: "must not be empty"}}
}

func TestWishes(t *testing.T) {
	at := now.Add(-time.Minute)
	wish := func(machine string) Wish { return Wish{Machine: machine, At: at} }
	marked := func(m *Machine) { m.Asked, m.Marked = true, at }
	tests := map[string]struct {
		reason  string
		wishes  []Wish
		sets    []Set
		left    []Wish
		rewrite bool
		victims []string
	}{
		"4.1 step 8 a machine": {
			reason: "it is marked, and the wish stays until it goes",
			wishes: []Wish{wish("a1")}, sets: []Set{current("a", 3)}, left: []Wish{wish("a1")}, victims: []string{"a1"},
		},
		"4.1 step 8 of an old set": {
			reason: "likewise", wishes: []Wish{wish("a1")}, sets: []Set{old("a", 3), current("b", 0)}, left: []Wish{wish("a1")}, victims: []string{"a1"},
		},
		"4.1 step 8 marked before": {
			reason: "once is enough", wishes: []Wish{wish("a1")}, sets: []Set{current("a", 3, first(1, marked))}, left: []Wish{wish("a1")},
		},
		"4.1 step 8 asked for by somebody else": {
			reason: "the time is missing", wishes: []Wish{wish("a1")}, sets: []Set{current("a", 3, first(1, asked))}, left: []Wish{wish("a1")}, victims: []string{"a1"},
		},
		"4.1 step 8 gone": {
			reason: "the wish has come true", wishes: []Wish{wish("a9"), wish("a1")}, sets: []Set{current("a", 3)},
			left: []Wish{wish("a1")}, rewrite: true, victims: []string{"a1"},
		},
		"4.1 step 8 on its way out": {
			reason: "likewise", wishes: []Wish{wish("a1")}, sets: []Set{current("a", 3, first(1, leaving))}, rewrite: true,
		},
		"4.1 step 8 failed": {
			reason: "that is a reason of its own to go", wishes: []Wish{wish("a1")}, sets: []Set{current("a", 3, first(1, broken))}, rewrite: true,
		},
		"4.1 step 8 malformed": {
			reason: "a time that is none is dropped", wishes: []Wish{{Machine: "a1"}}, sets: []Set{current("a", 3)}, rewrite: true,
		},
		"4.1 step 7 undated": {
			reason: "the time that was made up is written down", wishes: []Wish{{Machine: "a1", At: at, Undated: true}}, sets: []Set{current("a", 3)},
			left: []Wish{wish("a1")}, rewrite: true, victims: []string{"a1"},
		},
		"4.1 step 8 named twice": {
			reason: "and marked once", wishes: []Wish{wish("a1"), wish("a1")}, sets: []Set{current("a", 3)},
			left: []Wish{wish("a1"), wish("a1")}, victims: []string{"a1"},
		},
		"T20 several": {
			reason: "in the order in which they were wished for",
			wishes: []Wish{wish("a2"), wish("a1"), {Machine: "a3", At: at.Add(-time.Minute)}}, sets: []Set{current("a", 3)},
			left: []Wish{wish("a2"), wish("a1"), {Machine: "a3", At: at.Add(-time.Minute)}}, victims: []string{"a3", "a1", "a2"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := Decide(now, rolls(3, "1", "0").by(func(d *Deployment) { d.Wishes = tt.wishes }), tt.sets, counting)
			var victims []string
			for _, v := range p.Victims() {
				victims = append(victims, v.Name)
			}
			if diff := cmp.Diff(tt.left, p.Amendment().Wishes); diff != "" || p.Amendment().Rewish != tt.rewrite {
				t.Errorf("rewritten %v, %s (-want +got)\n%s", p.Amendment().Rewish, tt.reason, diff)
			}
			if diff := cmp.Diff(tt.victims, victims); diff != "" {
				t.Errorf("%s (-want +got)\n%s", tt.reason, diff)
			}
		})
	}
}

// A machine that is marked in this pass counts as marked in this pass: the set that has it shrinks, not the
// largest.
func TestWishesAreGrantedTogetherWithTheNumber(t *testing.T) {
	d := rolls(9, "3", "0").by(paused, func(d *Deployment) { d.Wishes = []Wish{{Machine: "b1", At: now}} })
	p := Decide(now, d, []Set{old("a", 10, scaledFor(10, 13)), current("b", 3, scaledFor(10, 13))}, counting)
	if a, b := want(t, p, "a"), want(t, p, "b"); a.Replicas != 10 || b.Replicas != 2 {
		t.Errorf("a is to have %d and b %d, expected 10 and 2", a.Replicas, b.Replicas)
	}
}
