package disruption

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Schedule is the times at which a window begins, as a CronJob writes them: minute, hour, day of month, month, day of week.
type Schedule struct {
	minutes, hours, days, months, weekdays uint64
	// anyDay and anyWeekday say that the field is a star: if both fields name days, either of them is enough.
	anyDay, anyWeekday bool
}

// field describes one of the five fields.
type field struct {
	what     string
	from, to int
	names    []string
}

var fields = []field{
	{"minute", 0, 59, nil},
	{"hour", 0, 23, nil},
	{"day of month", 1, 31, nil},
	{"month", 1, 12, []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{"day of week", 0, 6, []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}

var nicknames = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// ParseSchedule reads a schedule.
func ParseSchedule(text string) (Schedule, error) {
	if known, ok := nicknames[text]; ok {
		text = known
	}
	parts := strings.Fields(text)
	if len(parts) != len(fields) {
		return Schedule{}, fmt.Errorf("%q must have five fields: minute, hour, day of month, month, day of week", text)
	}
	bits := make([]uint64, len(fields))
	for i, f := range fields {
		b, err := f.parse(parts[i])
		if err != nil {
			return Schedule{}, err
		}
		bits[i] = b
	}
	s := Schedule{minutes: bits[0], hours: bits[1], days: bits[2], months: bits[3], weekdays: bits[4], anyDay: star(parts[2]), anyWeekday: star(parts[4])}
	if !s.happens() {
		return Schedule{}, fmt.Errorf("%q never happens", text)
	}
	return s, nil
}

// star reports whether one entry of a field is a star without a step.
func star(text string) bool {
	return slices.ContainsFunc(strings.Split(text, ","), func(part string) bool {
		base, step, stepped := strings.Cut(part, "/")
		return (base == "*" || base == "?") && (!stepped || step == "1")
	})
}

// parse returns the values of a field as bits.
func (f field) parse(text string) (bits uint64, err error) {
	for part := range strings.SplitSeq(text, ",") {
		first, last, step, err := f.span(part)
		if err != nil {
			return 0, fmt.Errorf("%s %q: %w", f.what, part, err)
		}
		for v := first; v <= last; v += step {
			bits |= 1 << v
		}
	}
	return bits, nil
}

// span reads one entry of a list: "*", "5", "1-5", "*/15", "10-40/10", or "5/10", which ends at the greatest value.
func (f field) span(part string) (first, last, step int, err error) {
	base, every, stepped := strings.Cut(part, "/")
	if step = 1; stepped {
		if step, err = strconv.Atoi(every); err != nil || step < 1 {
			return 0, 0, 0, fmt.Errorf("the step must be a number above zero")
		}
	}
	if base == "*" || base == "?" {
		return f.from, f.to, step, nil
	}
	low, high, ranged := strings.Cut(base, "-")
	if first, err = f.value(low); err != nil {
		return 0, 0, 0, err
	}
	switch {
	case ranged:
		if last, err = f.value(high); err != nil {
			return 0, 0, 0, err
		}
	case stepped:
		last = f.to
	default:
		last = first
	}
	if first > last {
		return 0, 0, 0, fmt.Errorf("the range ends before it begins")
	}
	return first, last, step, nil
}

func (f field) value(text string) (int, error) {
	if i := slices.Index(f.names, strings.ToLower(text)); i >= 0 {
		return f.from + i, nil
	}
	v, err := strconv.ParseUint(text, 10, 16)
	if err != nil || int(v) < f.from || int(v) > f.to {
		return 0, fmt.Errorf("must be between %d and %d", f.from, f.to)
	}
	return int(v), nil
}

func has(bits uint64, v int) bool { return bits&(1<<v) != 0 }

// longest are the days of each month in a leap year.
var longest = []int{31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}

// happens reports whether a day exists on which the schedule begins: "0 0 30 2 *" has none.
func (s Schedule) happens() bool {
	if s.anyDay || !s.anyWeekday {
		return true
	}
	for month, days := range longest {
		for day := 1; has(s.months, month+1) && day <= days; day++ {
			if has(s.days, day) {
				return true
			}
		}
	}
	return false
}

// on reports whether the schedule begins on a day, which is given by a time in the schedule's time zone.
func (s Schedule) on(day time.Time) bool {
	if !has(s.months, int(day.Month())) {
		return false
	}
	byDate, byWeekday := has(s.days, day.Day()), has(s.weekdays, int(day.Weekday()))
	if s.anyDay || s.anyWeekday {
		return byDate && byWeekday
	}
	return byDate || byWeekday
}

// changes are by how much clocks are changed in the time zones of the world.
var changes = []time.Duration{0, -time.Hour, -30 * time.Minute, 30 * time.Minute, time.Hour}

// latest returns the latest begin that is not after now, and not longer ago than within; zero: none exists.
//
// When a clock is set back, a begin in the repeated hour happens twice. When it is set forward, a begin in the missing hour
// happens as many minutes before or after that hour: a window never fails to begin.
func (s Schedule) latest(now time.Time, within time.Duration, zone *time.Location) (begin time.Time) {
	local := now.In(zone)
	for back := 0; ; back++ {
		noon := time.Date(local.Year(), local.Month(), local.Day()-back, 12, 0, 0, 0, zone)
		if now.Sub(noon) > within+36*time.Hour {
			return time.Time{}
		}
		if !s.on(noon) {
			continue
		}
		switch begin = s.lastOf(noon, now); {
		case begin.IsZero():
		case now.Sub(begin) > within:
			return time.Time{}
		default:
			return begin
		}
	}
}

// next returns the earliest begin after now, and not longer ahead than within; zero: none exists.
func (s Schedule) next(now time.Time, within time.Duration, zone *time.Location) time.Time {
	local := now.In(zone)
	for ahead := 0; ; ahead++ {
		noon := time.Date(local.Year(), local.Month(), local.Day()+ahead, 12, 0, 0, 0, zone)
		if noon.Sub(now) > within+36*time.Hour {
			return time.Time{}
		}
		if !s.on(noon) {
			continue
		}
		if begin := s.firstOf(noon, now); !begin.IsZero() {
			if begin.Sub(now) > within {
				return time.Time{}
			}
			return begin
		}
	}
}

// lastOf returns the last begin of a day that is not after now; zero: none exists.
func (s Schedule) lastOf(day, now time.Time) (last time.Time) {
	for begin := range s.begins(day) {
		if !begin.After(now) && begin.After(last) {
			last = begin
		}
	}
	return last
}

// firstOf returns the first begin of a day that is after now; zero: none exists.
func (s Schedule) firstOf(day, now time.Time) (first time.Time) {
	for begin := range s.begins(day) {
		if begin.After(now) && (first.IsZero() || begin.Before(first)) {
			first = begin
		}
	}
	return first
}

// begins returns the begins of a day, in no order.
func (s Schedule) begins(day time.Time) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		for hour := range 24 {
			for minute := 0; has(s.hours, hour) && minute < 60; minute++ {
				if has(s.minutes, minute) && !same(day, hour, minute, yield) {
					return
				}
			}
		}
	}
}

// same yields the times of a day at which a clock shows the hour and the minute: two when the clock is set back.
func same(day time.Time, hour, minute int, yield func(time.Time) bool) bool {
	at := time.Date(day.Year(), day.Month(), day.Day(), hour, minute, 0, 0, day.Location())
	for _, change := range changes {
		again := at.Add(change)
		if change != 0 && (again.Hour() != at.Hour() || again.Minute() != at.Minute()) {
			continue
		}
		if !yield(again) {
			return false
		}
	}
	return true
}
