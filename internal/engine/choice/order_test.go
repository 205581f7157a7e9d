package choice_test

import (
	"testing"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/choice"
	"github.com/millwright-dev/millwright/provider"
)

// instance is an instance in the zone of c.
func instance(c provider.Choice, s provider.State, why *provider.Error) provider.Instance {
	return provider.Instance{Region: c.Region, Zone: c.Zone, Type: c.Type, State: s, Fault: why, Created: start}
}

func TestNews(t *testing.T) {
	asked := choice.Order{Choice: bigA.Name, At: start}
	told := asked
	told.Told = true
	noRoom, unfit := provider.Errorf(provider.Exhausted, "no room"), provider.Errorf(provider.Invalid, "no image")
	for name, tc := range map[string]struct {
		reason string
		order  choice.Order
		state  provider.State
		why    *provider.Error
		want   bool
	}{
		"pending":                {"it may be given up still", asked, provider.Pending, nil, false},
		"running":                {"there was room", asked, provider.Running, nil, true},
		"running, told":          {"once is enough", told, provider.Running, nil, false},
		"running, of another":    {"it may have run for long before this process knew of any shortage", choice.Order{}, provider.Running, nil, false},
		"given up":               {"there was none after all", asked, provider.Stopped, noRoom, true},
		"given up, nothing left": {"nor then", asked, provider.Terminated, noRoom, true},
		"given up, told":         {"it goes on saying so for as long as it is there", told, provider.Stopped, noRoom, false},
		"given up, of another":   {"it was given up some time", choice.Order{}, provider.Stopped, noRoom, true},
		"given up for its image": {"that says nothing about room", asked, provider.Stopped, unfit, false},
		"switched off":           {"nor does that", asked, provider.Stopped, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.order.News(instance(bigA, tc.state, tc.why)); got != tc.want {
				t.Errorf("%s: %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
}

func TestAnswerOfAnInstance(t *testing.T) {
	nowhere := provider.Choice{}
	odd := provider.Choice{Region: "r", Zone: "a", Type: "odd"}
	inA := provider.Choice{Region: "r", Zone: "a"}
	for name, tc := range map[string]struct {
		reason string
		asked  string
		at     provider.Choice
		scope  provider.Scope
		// want is the choice that the answer reports as exhausted; empty: none.
		want string
	}{
		"as asked":                    {"this process knows what it asked for", bigA.Name, bigA, provider.ScopeType, "big in a"},
		"as asked, which nobody sees": {"an infrastructure need not say where it is", smallA.Name, nowhere, provider.ScopeType, "small in a"},
		"spot":                        {"its type is that of another choice", spotA.Name, bigA, provider.ScopeType, "big in a, spot"},
		"elsewhere":                   {"an earlier process asked for it in another zone", bigA.Name, bigB, provider.ScopeType, "big in b"},
		"not asked":                   {"region, zone and type tell", "", smallA, provider.ScopeType, "small in a"},
		"not asked, in a region":      {"zones may have one name in two regions", "", far, provider.ScopeType, "far"},
		"of an unknown type":          {"it may be any of that zone", "", odd, provider.ScopeType, ""},
		"of no type":                  {"it may be any of that zone", "", inA, provider.ScopeType, ""},
		"of no type, in its zone":     {"all of them lack the same", "", inA, provider.ScopeZone, "big in a"},
		"nothing known":               {"it may be any", "", nowhere, provider.ScopeAccount, ""},
		"in no zone of the spec":      {"the spec has changed", "", provider.Choice{Region: "r", Zone: "z", Type: "big"}, provider.ScopeType, ""},
	} {
		t.Run(name, func(t *testing.T) {
			order := choice.Order{Choice: tc.asked, At: start}
			a, known := order.Answer(choice.Seen{At: start.Add(time.Minute)}, instance(tc.at, provider.Stopped, provider.ExhaustedIn(tc.scope, "no room")), all)
			if known != (tc.want != "") || known && a.Choice.Name != tc.want {
				t.Errorf("%s: of %q, known %v; want %q", tc.reason, a.Choice.Name, known, tc.want)
			}
			if !a.GivenUp || provider.KindOf(a.Err) != provider.Exhausted || !a.Began.Equal(start) || !a.At.Equal(start.Add(time.Minute)) {
				t.Errorf("%+v", a)
			}
		})
	}
}

// TestAnswerOfWhatRuns: a running instance is not a failure, and ends a shortage from before its request.
func TestAnswerOfWhatRuns(t *testing.T) {
	order := choice.Order{Choice: bigA.Name, At: start.Add(time.Minute)}
	a, known := order.Answer(choice.Seen{At: start.Add(2 * time.Minute)}, instance(bigA, provider.Running, nil), all)
	if !known || a.Err != nil || a.GivenUp || a.Choice != bigA {
		t.Fatalf("%+v, known %v", a, known)
	}
	var s choice.Shortages
	s = s.After(choice.Answer{Choice: bigA, Began: start, At: start, Err: full(provider.ScopeZone), GivenUp: true, Pause: time.Hour})
	if got, _ := choice.Pick(a.At, s.After(a), all); got.Choice != bigA {
		t.Errorf("%q is picked", got.Choice.Name)
	}
}

// TestWhenItWasAsked: for another process's request, the time is when the infrastructure accepted the
// instance. An instance that failed after others saw the shortage only confirms it.
func TestWhenItWasAsked(t *testing.T) {
	a, known := choice.Order{}.Answer(choice.Seen{At: start.Add(time.Minute)}, instance(bigA, provider.Stopped, provider.Errorf(provider.Exhausted, "no room")), all)
	if !known || !a.Began.Equal(start) {
		t.Fatalf("began %v, known %v", a.Began, known)
	}
	a.Pause = time.Minute
	var s choice.Shortages
	s = s.After(choice.Answer{Choice: bigA, Began: start.Add(time.Second), At: start.Add(30 * time.Second), Err: full(provider.ScopeType), GivenUp: true, Pause: time.Minute}).After(a)
	if got, _ := choice.Pick(start.Add(90*time.Second), s, all[:1]); got.Err != nil {
		t.Errorf("two that failed together are told as two in a row: %v", got.Err)
	}
}

// TestWhenItWasGivenUp: an instance that this process did not request, of a machine that has failed or is
// under deletion, failed some time after the infrastructure accepted it.
func TestWhenItWasGivenUp(t *testing.T) {
	asked := choice.Order{Choice: bigA.Name, At: start}
	for name, tc := range map[string]struct {
		reason  string
		order   choice.Order
		created time.Time
		after   time.Duration
		late    bool
		// want is how long after the start the choice was found exhausted; negative: no answer.
		want time.Duration
	}{
		"in time":              {"its machine has not failed yet", choice.Order{}, start, 20 * time.Minute, false, 20 * time.Minute},
		"late":                 {"it was not given up before it was accepted", choice.Order{}, start, 59 * time.Minute, true, 0},
		"an hour late":         {"nothing comes before the choice for that any more", choice.Order{}, start, time.Hour, true, -1},
		"days late":            {"nor then", choice.Order{}, start, 72 * time.Hour, true, -1},
		"late, nobody knows":   {"it may be days ago", choice.Order{}, time.Time{}, time.Minute, true, -1},
		"in time, of any age":  {"not every infrastructure says when it accepted an instance", choice.Order{}, time.Time{}, time.Minute, false, time.Minute},
		"late, but asked for":  {"this process has not seen it before, so it is new", asked, start, 2 * time.Hour, true, 2 * time.Hour},
		"late, by other clock": {"no choice is left alone for a clock that is ahead", choice.Order{}, start.Add(time.Hour), time.Minute, true, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			i := instance(bigA, provider.Stopped, provider.Errorf(provider.Exhausted, "no room"))
			i.Created = tc.created
			a, known := tc.order.Answer(choice.Seen{At: start.Add(tc.after), Late: tc.late}, i, all)
			if known != (tc.want >= 0) || known && !a.At.Equal(start.Add(tc.want)) {
				t.Errorf("%s: known %v, at %v; want %v after the start", tc.reason, known, a.At.Sub(start), tc.want)
			}
		})
	}
}
