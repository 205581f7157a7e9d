package health

import (
	"slices"
	"testing"
	"time"
)

func TestAlarms(t *testing.T) {
	bad := Group{Template, "bad"}
	rages := Storm{Group: bad, Sick: 3, Total: 4}
	over := Storm{Group: bad, Over: ago(4 * time.Minute)}
	for name, c := range map[string]struct {
		reason string
		mode   Mode
		paused bool
		storms []Storm
		want   []string
	}{
		"calm":                           {"nothing to tell", Enforce, false, nil, nil},
		"a storm":                        {"with its arithmetic", Enforce, false, []Storm{rages}, []string{"3 of 4 machines of template bad became unhealthy"}},
		"remembered by an older version": {"without numbers", Enforce, false, []Storm{{Group: bad}}, []string{"template bad is in a storm"}},
		"reported":                       {"told as well", Report, false, []Storm{rages}, []string{"3 of 4 machines of template bad became unhealthy (reported)"}},
		"off":                            {"left from before", Off, false, []Storm{rages}, nil},
		"paused":                         {"nobody would end it", Enforce, true, []Storm{rages}, nil},
		"cooling down":                   {"until its end", Enforce, false, []Storm{over}, []string{"template bad is left alone until 2026-11-21T12:06:00Z, after a storm"}},
		"reported, and over":             {"nothing is held back", Report, false, []Storm{over}, nil},
		"others": {
			"a zone, a rack and the fleet are not made from anything", Enforce, false,
			[]Storm{{Group: Group{Zone, "bad"}, Sick: 3, Total: 3}, {Group: Group{Rack, "bad"}, Sick: 3, Total: 3}, {Group: Group{Kind: Fleet}, Sick: 3, Total: 3}},
			nil,
		},
		"two": {
			"each for itself", Enforce, false,
			[]Storm{rages, {Group: Group{Template, "worse"}, Sick: 5, Total: 5}},
			[]string{"3 of 4 machines of template bad became unhealthy", "5 of 5 machines of template worse became unhealthy"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			check := readyCheck(mode(c.mode))
			check.Paused = c.paused
			var got []string
			for _, a := range check.Alarms(Memory{Storms: c.storms}) {
				text := a.String()
				if !a.Enforced {
					text += " (reported)"
				}
				got = append(got, text)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%s: %s: got %q, want %q", name, c.reason, got, c.want)
			}
		})
	}
}

func TestAlarmStands(t *testing.T) {
	for reason, c := range map[string]struct {
		until time.Time
		want  bool
	}{
		"under way": {time.Time{}, true}, "cooling down": {t0.Add(1), true}, "the cooldown is over": {t0, false},
	} {
		t.Run(reason, func(t *testing.T) {
			if got := (Alarm{Until: c.until}).Stands(t0); got != c.want {
				t.Errorf("%s: stands %v", reason, got)
			}
		})
	}
}

func TestAlarmsThatMeanTheSame(t *testing.T) {
	a := Alarm{Storm: Storm{Group: Group{Template, "a"}, Sick: 3, Total: 4}, Enforced: true, Until: t0}
	for name, c := range map[string]struct {
		edit func(*Alarm)
		same bool
	}{
		"counters":     {func(a *Alarm) { a.Sick, a.Total = 5, 9 }, true},
		"another zone": {func(a *Alarm) { a.Until = a.Until.In(time.FixedZone("x", 3600)) }, true},
		"group":        {func(a *Alarm) { a.Name = "b" }, false},
		"enforced":     {func(a *Alarm) { a.Enforced = false }, false},
		"over":         {func(a *Alarm) { a.Until = time.Time{} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := a
			c.edit(&b)
			if a.Same(b) != c.same {
				t.Errorf("%s: same %v", name, !c.same)
			}
		})
	}
}

// A check without a connection neither finds a storm nor ends one: the alarm would tell other controllers
// that these machines' template is the cause.
func TestTheBlindFindNoStorm(t *testing.T) {
	bad := slices.Concat(many(4, placed{template: "bad", sick: true}), many(8, placed{template: "good"}))
	well := slices.Concat(many(4, placed{template: "bad"}), many(8, placed{template: "good"}))
	dark := Connectivity{Blind: "it is dark"}
	storm := Storm{Group: Group{Template, "bad"}, Sick: 4, Total: 4}
	over := Storm{Group: Group{Template, "bad"}, Over: ago(9 * time.Minute)}
	for name, c := range map[string]struct {
		reason   string
		machines []placed
		sight    Connectivity
		before   []Storm
		want     []Storm
	}{
		"begins, seen":    {"it is found", bad, seen, nil, []Storm{storm}},
		"begins, unseen":  {"it is not", bad, dark, nil, nil},
		"goes on, unseen": {"as it was", bad, dark, []Storm{{Group: storm.Group, Sick: 3, Total: 5}}, []Storm{{Group: storm.Group, Sick: 3, Total: 5}}},
		"ends, seen":      {"the cooldown begins", well, seen, []Storm{storm}, []Storm{{Group: storm.Group, Over: t0}}},
		"ends, unseen":    {"nobody knows", well, dark, []Storm{storm}, []Storm{storm}},
		"cools down":      {"time goes by all the same", well, dark, []Storm{over}, []Storm{over}},
		"has cooled down": {"and is forgotten", well, dark, []Storm{{Group: over.Group, Over: ago(10 * time.Minute)}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := ward(readyCheck(mode(Enforce)), c.machines...).plan(t0, c.sight, Memory{Storms: c.before})
			if !slices.Equal(p.Memory.Storms, c.want) || !slices.Equal(p.Storms, c.want) {
				t.Errorf("%s: %s: remembers %+v, want %+v", name, c.reason, p.Memory.Storms, c.want)
			}
			if p.Due.Before(t0) && !p.Due.IsZero() {
				t.Errorf("%s: due %s, which has been", name, p.Due)
			}
		})
	}
}
