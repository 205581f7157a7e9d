package disruption

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"pgregory.net/rapid"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func TestScheduleLatest(t *testing.T) {
	cases := []struct {
		reason, schedule, zone, now string
		within                      time.Duration
		want                        string // empty: none
	}{
		{"working days: Monday", "0 9 * * mon-fri", "Europe/Berlin", "2026-11-30T10:15:00+01:00", 8 * time.Hour, "2026-11-30T09:00:00+01:00"},
		{"the minute itself counts", "0 9 * * mon-fri", "Europe/Berlin", "2026-11-30T09:00:00+01:00", 8 * time.Hour, "2026-11-30T09:00:00+01:00"},
		{"before it begins, the last begin is too long ago", "0 9 * * mon-fri", "Europe/Berlin", "2026-11-30T08:59:59+01:00", 8 * time.Hour, ""},
		{"names in any case", "0 9 * JAN,Nov Sun", "UTC", "2026-11-29T10:00:00Z", time.Hour, "2026-11-29T09:00:00Z"},
		{"a weekend across days", "0 0 * * sat", "UTC", "2026-11-29T23:59:00Z", 48 * time.Hour, "2026-11-28T00:00:00Z"},
		{"over the end of a year", "0 0 24 12 *", "UTC", "2027-01-02T12:00:00Z", 240 * time.Hour, "2026-12-24T00:00:00Z"},
		{"a day of the month or a day of the week", "0 0 13 * fri", "UTC", "2026-11-14T00:00:00Z", 24 * time.Hour, "2026-11-13T00:00:00Z"},
		{"the other of the two", "0 0 13 * mon", "UTC", "2026-11-30T01:00:00Z", 24 * time.Hour, "2026-11-30T00:00:00Z"},
		{"steps", "*/20 8-18/2 * * *", "UTC", "2026-11-30T10:59:00Z", time.Hour, "2026-11-30T10:40:00Z"},
		{"a step without an end", "5/25 * * * *", "UTC", "2026-11-30T10:59:00Z", time.Hour, "2026-11-30T10:55:00Z"},
		{"a nickname", "@daily", "America/New_York", "2026-11-30T06:00:00-05:00", 24 * time.Hour, "2026-11-30T00:00:00-05:00"},
		{"9:00 stays 9:00 in summer", "0 9 * * *", "Europe/Berlin", "2026-07-01T12:00:00+02:00", 8 * time.Hour, "2026-07-01T09:00:00+02:00"},
		{"in the hour that is missing in spring it begins all the same", "30 2 29 3 *", "Europe/Berlin", "2026-03-29T06:00:00+02:00", 8 * time.Hour, "2026-03-29T03:30:00+02:00"},
		{"in the hour that is repeated in autumn: the first", "30 2 25 10 *", "Europe/Berlin", "2026-10-25T02:45:00+02:00", time.Hour, "2026-10-25T02:30:00+02:00"},
		{"and the second", "30 2 25 10 *", "Europe/Berlin", "2026-10-25T02:45:00+01:00", time.Hour, "2026-10-25T02:30:00+01:00"},
		{"the 29th of February", "0 0 29 2 *", "UTC", "2028-03-01T00:00:00Z", 48 * time.Hour, "2028-02-29T00:00:00Z"},
	}
	for _, c := range cases {
		s, err := ParseSchedule(c.schedule)
		if err != nil {
			t.Errorf("%s: %v", c.reason, err)
			continue
		}
		now, err := time.Parse(time.RFC3339, c.now)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if at := s.latest(now, c.within, zone(t, c.zone)); !at.IsZero() {
			got = at.Format(time.RFC3339)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.reason, got, c.want)
		}
	}
}

func TestScheduleFaults(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "five fields",
		"0 9 * *":                "five fields",
		"0 9 * * * *":            "five fields",
		"60 9 * * *":             `minute "60": must be between 0 and 59`,
		"0 9 0 * *":              "day of month",
		"0 9 * 13 *":             "month",
		"0 9 * * 7":              "day of week",
		"0 9 * * mo":             "day of week",
		"0 17-9 * * *":           "ends before it begins",
		"*/0 * * * *":            "the step",
		"0 0 31 2,4,6,9,11 *":    "never happens",
		"@every 1h":              "five fields",
		"TZ=UTC 0 9 * * *":       "five fields",
		"-1 9 * * *":             "minute",
		"99999999999999 9 * * *": "minute",
	} {
		if _, err := ParseSchedule(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestLatestIsTheLatest: by a search that looks at each minute, with the clock on the wall.
func TestLatestIsTheLatest(t *testing.T) {
	schedules := []string{"0 9 * * mon-fri", "*/17 3,14-16 * * *", "30 2 * 3,10 *", "0 0 1,15 * sat", "45 23 */3 * 0-2", "@hourly"}
	zones := []*time.Location{time.UTC, zone(t, "Europe/Berlin"), zone(t, "America/New_York"), zone(t, "Asia/Kolkata")}
	rapid.Check(t, func(t *rapid.T) {
		s, err := ParseSchedule(rapid.SampledFrom(schedules).Draw(t, "schedule"))
		if err != nil {
			t.Fatal(err)
		}
		z := rapid.SampledFrom(zones).Draw(t, "zone")
		now := time.Unix(rapid.Int64Range(1767225600, 1798761600).Draw(t, "now"), 0) // 2026
		within := time.Duration(rapid.IntRange(1, 72*60).Draw(t, "within")) * time.Minute
		want := time.Time{}
		for at := now.Truncate(time.Minute); now.Sub(at) <= within; at = at.Add(-time.Minute) {
			if l := at.In(z); has(s.minutes, l.Minute()) && has(s.hours, l.Hour()) && s.on(l) {
				want = at
				break
			}
		}
		got := s.latest(now, within, z)
		if got.Equal(want) {
			return
		}
		_, before := now.Add(-within - 26*time.Hour).In(z).Zone()
		_, after := now.In(z).Zone()
		if got.After(want) && before < after {
			return // a begin in the hour that is missing in spring
		}
		t.Fatalf("now %s within %s: %s, want %s", now.In(z), within, got, want)
	})
}
