package disruption

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/api/millwright/v1alpha1"
)

func TestLimits(t *testing.T) {
	b := Parse(budget("b", always("10%"), working("3"), v1alpha1.Budget{}), time.LoadLocation)
	night := monday.Add(12 * time.Hour)
	evening, morning := time.Date(2026, 11, 30, 16, 0, 0, 0, time.UTC), time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		reason string
		now    time.Time
		want   LimitState
	}{
		{"in the window", monday, LimitState{Allowed: 3, Active: true, Ends: evening}},
		{"after it, the next one is known", night, LimitState{Allowed: 3, Begins: morning}},
	} {
		got := b.Limits(c.now, 11)
		if got[0] != (LimitState{Allowed: 2, Active: true}) {
			t.Errorf("%s: a limit without a schedule: %+v", c.reason, got[0])
		}
		if g := got[1]; g.Allowed != c.want.Allowed || g.Active != c.want.Active || !g.Ends.Equal(c.want.Ends) || !g.Begins.Equal(c.want.Begins) {
			t.Errorf("%s: %+v, want %+v", c.reason, g, c.want)
		}
	}
}

func TestScheduleNext(t *testing.T) {
	for _, c := range []struct{ reason, schedule, zone, now, want string }{
		{"later on the same day", "*/20 8-18/2 * * *", "UTC", "2026-11-30T10:59:00Z", "2026-11-30T12:00:00Z"},
		{"the minute itself is over", "0 9 * * *", "UTC", "2026-11-30T09:00:00Z", "2026-12-01T09:00:00Z"},
		{"after a weekend", "0 9 * * mon-fri", "Europe/Berlin", "2026-11-27T12:00:00+01:00", "2026-11-30T09:00:00+01:00"},
		{"in the hour that is missing in spring", "30 2 29 3 *", "Europe/Berlin", "2026-03-28T12:00:00+01:00", "2026-03-29T03:30:00+02:00"},
		{"the second in the hour that is repeated in autumn", "30 2 25 10 *", "Europe/Berlin", "2026-10-25T02:45:00+02:00", "2026-10-25T02:30:00+01:00"},
		{"too far ahead", "0 0 29 2 *", "UTC", "2026-11-30T09:00:00Z", ""},
	} {
		s, err := ParseSchedule(c.schedule)
		if err != nil {
			t.Fatal(err)
		}
		now, err := time.Parse(time.RFC3339, c.now)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if at := s.next(now, horizon, zone(t, c.zone)); !at.IsZero() {
			got = at.Format(time.RFC3339)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.reason, got, c.want)
		}
	}
}

// TestStopped: a refusal says whether waiting alone helps, and whether other machines have the permits.
func TestStopped(t *testing.T) {
	for _, c := range []struct {
		reason        string
		budget        *v1alpha1.MachineDisruptionBudget
		use           Use
		stopped, turn bool
	}{
		{"paused", paused(budget("b"), ""), Use{Machines: 9}, true, false},
		{"invalid", budget("b", always("110%")), Use{Machines: 9}, true, false},
		{"none for ever", budget("b", always("0")), Use{Machines: 9}, true, false},
		{"none until the evening", budget("b", working("0")), Use{Machines: 9}, false, false},
		{"all permits are in use", budget("b", always("1")), Use{Machines: 9, InUse: 1}, false, true},
	} {
		got := Parse(c.budget, time.LoadLocation).Decide(monday, c.use, Ask{Reason: v1alpha1.ReasonManual})
		if got.Granted || got.Stopped != c.stopped || got.Turn != c.turn {
			t.Errorf("%s: %+v", c.reason, got)
		}
	}
	got := Parse(budget("b", always("1")), time.LoadLocation).Decide(monday, Use{Machines: 9, InUse: 1}, Ask{Reason: v1alpha1.ReasonManual})
	if want := "machine disruption budget b, which permits 1 disruption at a time"; got.Limit() != want {
		t.Errorf("%q, want %q", got.Limit(), want)
	}
}

// TestNextIsTheNext: no begin is between now and the next one, and the next one is a begin.
func TestNextIsTheNext(t *testing.T) {
	schedules := []string{"0 9 * * mon-fri", "*/17 3,14-16 * * *", "30 2 * 3,10 *", "0 0 1,15 * sat", "45 23 */3 * 0-2", "@hourly", "0 0 29 2 *"}
	zones := []*time.Location{time.UTC, zone(t, "Europe/Berlin"), zone(t, "America/New_York"), zone(t, "Asia/Kolkata")}
	rapid.Check(t, func(t *rapid.T) {
		s, err := ParseSchedule(rapid.SampledFrom(schedules).Draw(t, "schedule"))
		if err != nil {
			t.Fatal(err)
		}
		z := rapid.SampledFrom(zones).Draw(t, "zone")
		now := time.Unix(rapid.Int64Range(1767225600, 1798761600).Draw(t, "now"), 0) // 2026
		next := s.next(now, horizon, z)
		if next.IsZero() {
			if last := s.latest(now.Add(horizon), horizon, z); last.After(now) {
				t.Fatalf("now %s: none, and %s is one", now.In(z), last)
			}
			return
		}
		if !next.After(now) || !s.latest(next, horizon, z).Equal(next) {
			t.Fatalf("now %s: %s is no begin after it", now.In(z), next)
		}
		if before := s.latest(next.Add(-time.Second), next.Sub(now)+time.Hour, z); before.After(now) {
			t.Fatalf("now %s: %s, and %s is earlier", now.In(z), next, before)
		}
	})
}
