package health

import (
	"maps"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/internal/engine/connectivity"
)

// watched is a cohort that tests update machine by machine, as the controller does.
type watched struct {
	check    Check
	seen     connectivity.State
	machines map[types.UID]*Judged
}

func watching(c Check) *watched { return &watched{check: c, machines: map[types.UID]*Judged{}} }

// put updates a machine, and reports whether it was judged again.
func (w *watched) put(now time.Time, t Target) bool {
	before := w.machines[t.UID]
	if before != nil && before.Stands(now, &t) {
		return false
	}
	w.judge(now, before, t)
	return true
}

func (w *watched) judge(now time.Time, before *Judged, t Target) {
	j := Judge(now, w.seen, &w.check, before, &t)
	w.machines[t.UID] = &j
}

// tick judges the machines that are due.
func (w *watched) tick(now time.Time) {
	for _, j := range w.all() {
		if j.Due(now) {
			w.judge(now, j, j.Target)
		}
	}
}

func (w *watched) all() []*Judged { return slices.Collect(maps.Values(w.machines)) }

func (w *watched) plan(now time.Time, s Connectivity, m Memory) Plan {
	return Decide(now, Cohort{Check: w.check, Seen: w.seen, Machines: w.all()}, s, m)
}

func (w *watched) storms(most int) []Storm {
	return DefaultBreaker().storms(w.all(), ill(w.all()), most)
}

func TestStands(t *testing.T) {
	const minutes = 4 * time.Minute
	well, sick := linked(), linked(shows("Ready", "Unknown", time.Minute))
	elsewhere := sick
	elsewhere.Zone = "b"
	due := t0.Add(minutes + time.Second)
	for _, c := range []struct {
		reason        string
		before, after Target
		now           time.Time
		want          bool
	}{
		{"W10: a machine that is well is seen again", well, linked(), t0.Add(time.Hour), true},
		{"a node that fell sick is judged", well, sick, t0, false},
		{"a machine that is found elsewhere is judged: it counts in another group", sick, elsewhere, t0, false},
		{"W10: the same again, before its moment", sick, sick, due.Add(-1), true},
		{"W5: the same again at its moment", sick, sick, due, false},
	} {
		t.Run(c.reason, func(t *testing.T) {
			check := readyCheck()
			before := Judge(t0, connectivity.State{}, &check, nil, &c.before)
			if got := before.Stands(c.now, &c.after); got != c.want {
				t.Errorf("%s: %v", c.reason, got)
			}
			if got := before.Due(c.now); got == c.want && c.before.equal(&c.after) {
				t.Errorf("%s: due: %v", c.reason, got)
			}
		})
	}
}

func TestJudge(t *testing.T) {
	later := t0.Add(10 * time.Second)
	well, sick, sicker := linked(), linked(shows("Ready", "Unknown", time.Minute)), linked(shows("Ready", "False", 2*time.Minute))
	for _, c := range []struct {
		reason  string
		before  *Judged
		target  Target
		since   time.Time
		unclear bool
	}{
		{"4.6: of a machine that nobody looked at, a request of a process before this one may be left", nil, well, later, true},
		{"no request is left of one that stays well", &Judged{Target: well, Verdict: Verdict{State: Healthy}, Since: t0}, well, t0, false},
		{"one may be left of one that falls sick", &Judged{Target: well, Verdict: Verdict{State: Healthy}, Since: t0}, sick, later, true},
		{"and of one that recovers, which is well from then on", &Judged{Target: sick, Verdict: Verdict{State: Suspect}, Since: t0, Unclear: true}, well, later, true},
		{"a machine that goes on being suspect was so before", &Judged{Target: sick, Verdict: Verdict{State: Suspect}, Since: t0, Unclear: true}, sicker, t0, true},
	} {
		check := readyCheck()
		got := Judge(later, connectivity.State{}, &check, c.before, &c.target)
		if got.Verdict != Evaluate(later, connectivity.State{}, &check, &c.target) || !got.Target.equal(&c.target) {
			t.Errorf("%s: %+v", c.reason, got)
		}
		if !got.Since.Equal(c.since) || got.Unclear != c.unclear {
			t.Errorf("%s: since %s, unclear %v", c.reason, got.Since, got.Unclear)
		}
	}
}
