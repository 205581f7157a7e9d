package choice_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/choice"
	"github.com/millwright-dev/millwright/provider"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

var (
	bigA   = provider.Choice{Name: "big in a", Region: "r", Zone: "a", Type: "big"}
	smallA = provider.Choice{Name: "small in a", Region: "r", Zone: "a", Type: "small"}
	bigB   = provider.Choice{Name: "big in b", Region: "r", Zone: "b", Type: "big"}
	spotA  = provider.Choice{Name: "big in a, spot", Region: "r", Zone: "a", Type: "big (spot)"}
	far    = provider.Choice{Name: "far", Region: "other", Zone: "a", Type: "big"}
	all    = []provider.Choice{bigA, smallA, bigB, spotA, far}
)

// answer is an immediate answer to a request for c at a time.
type answer struct {
	at  time.Duration
	c   provider.Choice
	err error
}

func full(s provider.Scope) error { return provider.ExhaustedIn(s, "no room") }

// givenUpError is the failure of an accepted instance.
type givenUpError struct{ error }

func (g givenUpError) Unwrap() error { return g.error }

func known(answers ...answer) (s choice.Shortages) {
	for _, a := range answers {
		_, up := errors.AsType[givenUpError](a.err)
		s = s.After(choice.Answer{Choice: a.c, Began: start.Add(a.at), At: start.Add(a.at), Err: a.err, GivenUp: up, Pause: time.Minute})
	}
	return s
}

func TestPick(t *testing.T) {
	late := provider.ExhaustedIn(provider.ScopeType, "come back")
	late.After = time.Hour
	for name, tc := range map[string]struct {
		reason  string
		answers []answer
		now     time.Duration
		want    string
		after   time.Duration
	}{
		"nothing known":           {"the best one", nil, 0, "big in a", 0},
		"type":                    {"another type in that zone may have room", []answer{{0, bigA, full(provider.ScopeType)}}, 0, "small in a", 0},
		"no scope":                {"is taken for the narrowest", []answer{{0, bigA, full("")}}, 0, "small in a", 0},
		"zone":                    {"no type of that zone is asked for", []answer{{0, bigA, full(provider.ScopeZone)}}, 0, "big in b", 0},
		"account":                 {"nothing of that region is asked for", []answer{{0, bigA, full(provider.ScopeAccount)}}, 0, "far", 0},
		"both regions":            {"nothing is left", []answer{{0, bigA, full(provider.ScopeAccount)}, {0, far, full(provider.ScopeAccount)}}, 0, "", time.Minute},
		"other failure":           {"says nothing about capacity", []answer{{0, bigA, errors.New("reset")}}, 0, "big in a", 0},
		"refused":                 {"says nothing about capacity", []answer{{0, bigA, provider.Errorf(provider.Invalid, "no such type")}}, 0, "big in a", 0},
		"before its time":         {"left alone", []answer{{0, bigA, full(provider.ScopeType)}}, 59 * time.Second, "small in a", 0},
		"at its time":             {"the best one is tried again", []answer{{0, bigA, full(provider.ScopeType)}}, time.Minute, "big in a", 0},
		"twice":                   {"the pause doubles", []answer{{0, bigA, full(provider.ScopeType)}, {time.Minute, bigA, full(provider.ScopeType)}}, 150 * time.Second, "small in a", 0},
		"twice, later":            {"and ends", []answer{{0, bigA, full(provider.ScopeType)}, {time.Minute, bigA, full(provider.ScopeType)}}, 3 * time.Minute, "big in a", 0},
		"made":                    {"what was made ends the shortage of its type", []answer{{0, bigA, full(provider.ScopeType)}, {time.Second, bigA, nil}}, time.Second, "big in a", 0},
		"made beside":             {"another type's instance says that the zone has room", []answer{{0, bigA, full(provider.ScopeZone)}, {time.Second, smallA, nil}}, time.Second, "big in a", 0},
		"made, of as old":         {"what was asked for when that was told says nothing", []answer{{0, bigA, full(provider.ScopeType)}, {0, bigA, nil}}, 0, "small in a", 0},
		"made of another type":    {"and nothing of this type", []answer{{0, bigA, full(provider.ScopeType)}, {time.Second, smallA, nil}}, time.Second, "small in a", 0},
		"asked to wait":           {"as long as the infrastructure says", []answer{{0, bigA, late}}, 59 * time.Minute, "small in a", 0},
		"given up":                {"left alone as after a refusal", []answer{{0, bigA, givenUpError{full(provider.ScopeType)}}}, 0, "small in a", 0},
		"given up, in its zone":   {"as far as it reaches", []answer{{0, bigA, givenUpError{full(provider.ScopeZone)}}}, 0, "big in b", 0},
		"given up, an hour later": {"worth another machine", []answer{{0, bigA, givenUpError{full(provider.ScopeType)}}}, time.Hour, "big in a", 0},
		"given up, sooner":        {"others come first, after any pause", []answer{{0, bigA, givenUpError{full(provider.ScopeType)}}}, time.Hour - time.Second, "small in a", 0},
		"given up, then refused":  {"a refusal does not make it cheaper", []answer{{0, bigA, givenUpError{full(provider.ScopeType)}}, {time.Second, bigA, full(provider.ScopeType)}}, 30 * time.Minute, "small in a", 0},
		"given up, then made":     {"there is room by now", []answer{{0, bigA, givenUpError{full(provider.ScopeType)}}, {time.Second, bigA, nil}}, time.Second, "big in a", 0},
		"all given up": {
			"the pause is over, and nothing else is to be had",
			[]answer{{0, bigA, givenUpError{full(provider.ScopeAccount)}}, {time.Second, far, givenUpError{full(provider.ScopeAccount)}}},
			time.Minute, "big in a", 0,
		},
		"all given up, one refused": {
			"what was refused costs a call only",
			[]answer{{0, bigA, givenUpError{full(provider.ScopeAccount)}}, {0, far, full(provider.ScopeAccount)}},
			time.Minute, "far", 0,
		},
		"all given up, too soon": {
			"the first pause is waited for",
			[]answer{{0, bigA, givenUpError{full(provider.ScopeAccount)}}, {time.Second, far, givenUpError{full(provider.ScopeAccount)}}},
			time.Second, "", 59 * time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := choice.Pick(start.Add(tc.now), known(tc.answers...), all)
			if got.Choice.Name != tc.want || (got.Err != nil) != (tc.want == "") {
				t.Errorf("%s: picked %q, error %v; want %q", tc.reason, got.Choice.Name, got.Err, tc.want)
			}
			if got.Err != nil && (provider.KindOf(got.Err) != provider.Exhausted || provider.AfterOf(got.Err) != tc.after) {
				t.Errorf("%s: %s after %v, want %v", tc.reason, provider.KindOf(got.Err), provider.AfterOf(got.Err), tc.after)
			}
		})
	}
}

// TestOneTries: when a shortage's time is over, one machine tries the choice, not all at once.
func TestOneTries(t *testing.T) {
	choices := []provider.Choice{bigA, bigB}
	s := known(answer{0, bigA, full(provider.ScopeZone)})
	now := start.Add(time.Minute)
	first, s := choice.Pick(now, s, choices)
	second, s := choice.Pick(now, s, choices)
	if first.Choice != bigA || second.Choice != bigB {
		t.Fatalf("picked %q, and then %q", first.Choice.Name, second.Choice.Name)
	}
	later, _ := choice.Pick(now.Add(10*time.Second), s, choices)
	if later.Choice != bigA {
		t.Errorf("whoever tried did not come back, and %q is picked", later.Choice.Name)
	}
	s = s.After(choice.Answer{Choice: bigA, Began: now, At: now.Add(time.Second)})
	if third, _ := choice.Pick(now.Add(time.Second), s, choices); third.Choice != bigA {
		t.Errorf("it had room, and %q is picked", third.Choice.Name)
	}
}

// TestAskedBefore: of many that asked at the same time, the first answer counts.
func TestAskedBefore(t *testing.T) {
	var s choice.Shortages
	for n := range 4 {
		s = s.After(choice.Answer{Choice: bigA, Began: start, At: start.Add(time.Duration(n+1) * time.Second), Err: full(provider.ScopeType), Pause: time.Minute})
	}
	if got, _ := choice.Pick(start.Add(61*time.Second), s, all); got.Choice != bigA {
		t.Errorf("four answers at a time are told as four in a row: %q is picked", got.Choice.Name)
	}
	s = s.After(choice.Answer{Choice: bigA, Began: start, At: start.Add(5 * time.Second)})
	if got, _ := choice.Pick(start.Add(5*time.Second), s, all); got.Choice == bigA {
		t.Error("the last one that had room was asked for before the shortage was told, and ends it")
	}
}

// TestAskedWithinThePause: a request sent before the answer to another one was known, and a repetition of a
// request without a clear answer, start the pause again without making it longer. A request after the pause
// makes it longer.
func TestAskedWithinThePause(t *testing.T) {
	var s choice.Shortages
	for n := range 4 {
		at := start.Add(time.Duration(n) * time.Second)
		s = s.After(choice.Answer{Choice: bigA, Began: at, At: at.Add(time.Millisecond), Err: full(provider.ScopeType), Pause: time.Minute})
	}
	now := start.Add(64 * time.Second)
	got, s := choice.Pick(now, s, all)
	if got.Choice != bigA {
		t.Errorf("four answers within a pause are told as four in a row: %q is picked", got.Choice.Name)
	}
	s = s.After(choice.Answer{Choice: bigA, Began: now, At: now, Err: full(provider.ScopeType), Pause: time.Minute})
	for after, want := range map[time.Duration]bool{119 * time.Second: false, 2 * time.Minute: true} {
		if got, _ := choice.Pick(now.Add(after), s, all[:1]); (got.Err == nil) != want {
			t.Errorf("%s after it was tried in vain: %v", after, got.Err)
		}
	}
}

func TestText(t *testing.T) {
	s := known(answer{0, bigA, full(provider.ScopeZone)}, answer{0, bigB, provider.ExhaustedIn(provider.ScopeType, "no host")}, answer{0, far, full("")})
	got, _ := choice.Pick(start, s, all)
	if want := "none of 5 choices has capacity: big in a, small in a (no room); big in b (no host); big in a, spot (no room); far (no room)"; got.Err == nil || got.Err.Error() != want {
		t.Errorf("%v\nwant %s", got.Err, want)
	}
	if err := choice.Partly(s, all[:1], time.Second); provider.KindOf(err) != provider.Exhausted || provider.AfterOf(err) != time.Second || !strings.Contains(err.Error(), "big in a (no room)") {
		t.Errorf("%s after %v: %v", provider.KindOf(err), provider.AfterOf(err), err)
	}
	scope := func(err error) provider.Scope {
		e, _ := errors.AsType[*provider.Error](err)
		return e.Scope
	}
	if scope(got.Err) != "" {
		t.Error("choices in several regions are told as one account's")
	}
	near, _ := choice.Pick(start, known(answer{0, bigA, full(provider.ScopeAccount)}), all[:3])
	if scope(near.Err) != provider.ScopeAccount {
		t.Errorf("scope %q of %v", scope(near.Err), near.Err)
	}
}

// TestForgotten: a shortage is remembered for an hour after its end.
func TestForgotten(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		err    error
		after  time.Duration
		empty  bool
	}{
		"refused":                 {"the next pause is longer", full(provider.ScopeType), time.Hour + 59*time.Second, false},
		"refused, long ago":       {"that says nothing any more", full(provider.ScopeType), time.Hour + time.Minute, true},
		"given up":                {"others come first for an hour, and that was an hour ago", givenUpError{full(provider.ScopeType)}, 2*time.Hour - time.Second, false},
		"given up, two hours ago": {"that says nothing any more", givenUpError{full(provider.ScopeType)}, 2 * time.Hour, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := known(answer{0, bigA, tc.err}).Empty(start.Add(tc.after)); got != tc.empty {
				t.Errorf("%s: empty %v, want %v", tc.reason, got, tc.empty)
			}
		})
	}
}
