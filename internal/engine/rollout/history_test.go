package rollout

import "testing"

func backTo(n int64) func(*Deployment) { return func(d *Deployment) { d.RollbackTo = &n } }
func keeps(n int) func(*Deployment)    { return func(d *Deployment) { d.HistoryLimit = &n } }

func TestRollback(t *testing.T) {
	d := rolls(3, "1", "0")
	three := []Set{old("a", 0), old("b", 0), current("c", 3)}
	tests := map[string]struct {
		reason         string
		d              Deployment
		sets           []Set
		to             string
		found, differs bool
		revision       int64
		note           string
	}{
		"4.5 T26 revision 0": {
			reason: "the highest but one", d: d.by(backTo(0)), sets: three,
			to: "b", found: true, differs: true, revision: 2, note: "went back to the template of revision 2",
		},
		"4.5 T26 a revision": {
			reason: "that one", d: d.by(backTo(1)), sets: three,
			to: "a", found: true, differs: true, revision: 1, note: "went back to the template of revision 1",
		},
		"4.5 T26 a revision that is not there": {
			reason: "only the request is cleared", d: d.by(backTo(7)), sets: three,
			revision: 7, note: "there is no set of revision 7 to go back to",
		},
		"4.5 T26 revision 0 without an earlier one": {
			reason: "likewise", d: d.by(backTo(0)), sets: []Set{current("a", 3)}, note: "there is no earlier revision to go back to",
		},
		"4.5 revision 0 among sets without revisions": {
			reason: "what never had a revision is none to go back to",
			d:      d.by(backTo(0)), sets: []Set{old("a", 0, func(s *Set) { s.Revision = 0 }), current("b", 3)}, note: "there is no earlier revision to go back to",
		},
		"4.5 the present template": {
			reason: "only the request is cleared", d: d.by(backTo(3)), sets: three,
			found: true, revision: 3, note: "the template of revision 3 is the current one",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := Decide(now, tt.d, tt.sets, counting)
			r := p.RollBack()
			if r == nil {
				t.Fatal("no answer to the request")
			}
			to := ""
			if r.To != nil {
				to = r.To.Name
			}
			if to != tt.to || r.Found != tt.found || r.Differs != tt.differs || r.Revision != tt.revision || r.Note != tt.note || r.Automatic {
				t.Errorf("%+v to %q: %s", r, to, tt.reason)
			}
			if len(p.Sets())+len(p.Nodes())+len(p.Delete()) > 0 || p.Create() != nil {
				t.Errorf("something else is planned beside it: %q", brief(tt.sets, p))
			}
		})
	}
	if p := Decide(now, d.by(backTo(1), paused), three, counting); p.RollBack() != nil {
		t.Error("4.1 step 9: a paused deployment goes back when it is resumed")
	}
}

func TestRevisions(t *testing.T) {
	tests := map[string]struct {
		reason string
		sets   []Set
		want   int64
	}{
		"4.3 the highest":              {"stays", []Set{old("a", 0), current("b", 3)}, 2},
		"4.3 gone back to":             {"above all others", []Set{current("a", 3), old("b", 0), old("c", 0)}, 4},
		"4.3 the first":                {"1", []Set{current("a", 3, func(s *Set) { s.Revision = 0 })}, 1},
		"4.3 others were deleted":      {"what it has stays, gaps do no harm", []Set{current("f", 3)}, 6},
		"4.3 a set without a number":   {"is taken over at the top", []Set{old("b", 1), current("c", 3, func(s *Set) { s.Revision = 0 })}, 3},
		"4.3 set that is on its way":   {"does not count", []Set{old("b", 1, dying), current("a", 3)}, 1},
		"4.3 an equal but younger one": {"counts as an old one", []Set{current("a", 3), current("b", 0)}, 3},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := Decide(now, rolls(3, "1", "0"), tt.sets, counting)
			for _, w := range p.Sets() {
				if w.Current && w.Revision != tt.want {
					t.Errorf("set %s gets revision %d, expected %d: %s", w.Name, w.Revision, tt.want, tt.reason)
				}
			}
			if p.Amendment().Revision != tt.want {
				t.Errorf("the deployment gets revision %d, expected %d: %s", p.Amendment().Revision, tt.want, tt.reason)
			}
		})
	}
}

func TestHistory(t *testing.T) {
	d := rolls(3, "1", "0")
	checkRows(t, map[string]row{
		"4.5 no limit": {
			reason: "all are kept", d: d, sets: []Set{old("a", 0), old("b", 0), current("c", 3)},
		},
		"4.5 a limit": {
			reason: "the oldest go", d: d.by(keeps(1)), sets: []Set{old("a", 0), old("b", 0), old("c", 0), current("d", 3)}, plan: []string{"delete a", "delete b"},
		},
		"4.5 oldest by revision": {
			reason: "b was gone back to once, and is younger for it",
			d:      d.by(keeps(1)), sets: []Set{old("a", 0, func(s *Set) { s.Revision = 5 }), old("b", 0), current("g", 3)}, plan: []string{"delete b"},
		},
		"4.5 none are kept": {
			reason: "a limit of 0", d: d.by(keeps(0)), sets: []Set{old("a", 0), current("b", 3)}, plan: []string{"delete a"},
		},
		"4.5 a negative limit": {
			reason: "counts as 0", d: d.by(keeps(-1)), sets: []Set{old("a", 0), current("b", 3)}, plan: []string{"delete a"},
		},
		"4.5 machines are left": {
			reason: "one that leaves slowly", d: rolls(3, "1", "0").by(keeps(0)), sets: []Set{old("a", 0, more(1, leaving)), current("b", 3)},
		},
		"4.5 not observed": {
			reason: "its controller may be making machines", d: d.by(keeps(0)), sets: []Set{old("a", 0, unseen), current("b", 3)},
		},
		"4.5 being deleted": {
			reason: "it is deleted once", d: d.by(keeps(0)), sets: []Set{old("a", 0, dying), current("b", 3)},
		},
		"4.5 g the rollout is not complete": {
			reason: "it may have to go back", d: d.by(keeps(0)), sets: []Set{old("a", 0), current("b", 3, first(1, pending))},
		},
		"4.1 step 9 paused": {
			reason: "what was emptied goes all the same", d: d.by(keeps(0), paused), sets: []Set{old("a", 0), current("b", 3, first(1, pending))},
			plan: []string{"delete a"},
		},
		"without a set of the template": {
			reason: "nothing is deleted before there is one", d: d.by(keeps(0), paused), sets: []Set{old("a", 0), old("b", 3)},
		},
	})
}

func TestTheEndOfADeployment(t *testing.T) {
	going := rolls(3, "1", "0").by(func(d *Deployment) { d.Deleting = true })
	collected := Policy{}
	sets := []Set{old("a", 1), current("b", 2)}
	tests := map[string]struct {
		reason   string
		d        Deployment
		sets     []Set
		policy   Policy
		deletes  int
		finished bool
	}{
		"4.1 step 5 sets are left":  {"they are deleted first", going, sets, counting, 2, false},
		"4.1 step 5 at fault":       {"that does not keep it from being deleted", going.by(atFault), sets, counting, 2, false},
		"4.1 step 5 sets are going": {"they are waited for", going, []Set{old("a", 1, dying)}, counting, 0, false},
		"4.1 step 5 no set is left": {"it may go", going, nil, counting, 0, true},
		"orphaned":                  {"its sets survive it", going.by(func(d *Deployment) { d.Orphaning = true }), sets, counting, 0, false},
		"collected as garbage":      {"that is not its work", going, sets, collected, 0, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := Decide(now, tt.d, tt.sets, tt.policy)
			if len(p.Delete()) != tt.deletes || p.Finished() != tt.finished || len(p.Sets()) > 0 || p.Create() != nil {
				t.Errorf("deletes %d, finished %v, %q: %s", len(p.Delete()), p.Finished(), brief(tt.sets, p), tt.reason)
			}
		})
	}
}
