package choice_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/internal/engine/choice"
	"github.com/millwright-dev/millwright/provider"
)

// story is a model that only lists the reports.
type story struct {
	now  time.Time
	told []telling
}

type telling struct {
	scope provider.Scope
	of    provider.Choice
	at    time.Time
	// dear: an instance had been accepted.
	dear bool
}

// covers reports whether a report about one choice concerns c as well.
func (k telling) covers(c provider.Choice) bool {
	switch {
	case k.of.Region != c.Region:
		return false
	case k.scope == provider.ScopeAccount:
		return true
	case k.of.Zone != c.Zone:
		return false
	}
	return k.scope == provider.ScopeZone || k.of.Type == c.Type
}

// short reports whether c was reported as exhausted within the shortest pause.
func (s *story) short(c provider.Choice) bool {
	for _, k := range s.told {
		if k.covers(c) && s.now.Sub(k.at) < time.Minute {
			return true
		}
	}
	return false
}

// dear reports whether an accepted instance of c failed within the last hour.
func (s *story) dear(c provider.Choice) bool {
	return slices.ContainsFunc(s.told, func(k telling) bool { return k.dear && k.covers(c) && s.now.Sub(k.at) < time.Hour })
}

// covers reports whether any report concerns c.
func (s *story) covers(c provider.Choice) bool {
	return slices.ContainsFunc(s.told, func(k telling) bool { return k.covers(c) })
}

func (s *story) made(c provider.Choice) {
	s.told = slices.DeleteFunc(s.told, func(k telling) bool { return k.covers(c) && k.at.Before(s.now) })
}

// TestStories: for all answers of infrastructures, the first choice that is not known to be exhausted is
// requested, none within an exhausted scope, and after a reported wait there is a choice to request.
func TestStories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var choices []provider.Choice
		for _, n := range rapid.SliceOfNDistinct(rapid.IntRange(0, 11), 1, 6, rapid.ID).Draw(t, "choices") {
			choices = append(choices, provider.Choice{
				Name: fmt.Sprintf("<%d>", n), Region: []string{"r", "s"}[n/6], Zone: []string{"a", "b"}[n/3%2], Type: []string{"x", "y", "z"}[n%3],
			})
		}
		s, known := &story{now: start}, choice.Shortages{}
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			s.now = s.now.Add(rapid.SampledFrom([]time.Duration{0, time.Second, 30 * time.Second, 3 * time.Minute}).Draw(t, "later"))
			before := fmt.Sprint(known)
			picked, after := choice.Pick(s.now, known, choices)
			if fmt.Sprint(known) != before {
				t.Fatal("what was known is changed in place")
			}
			known = after
			if picked.Err != nil {
				demandWait(t, picked.Err, s, known, choices)
				continue
			}
			for _, c := range choices {
				if c == picked.Choice {
					break
				}
				if !s.covers(c) {
					t.Fatalf("%s is picked before %s, of which nothing was told: %+v", picked.Choice.Name, c.Name, s.told)
				}
			}
			if s.short(picked.Choice) {
				t.Fatalf("%s was told to be exhausted, and is asked for: %+v", picked.Choice.Name, s.told)
			}
			if s.dear(picked.Choice) && slices.ContainsFunc(choices, func(c provider.Choice) bool { return !s.covers(c) }) {
				t.Fatalf("%s costs a machine, and is asked for before what was never found exhausted: %+v", picked.Choice.Name, s.told)
			}
			var err error
			up := rapid.Bool().Draw(t, "given up")
			if scope := rapid.SampledFrom([]provider.Scope{"made", provider.ScopeType, provider.ScopeZone, provider.ScopeAccount}).Draw(t, "answer"); scope != "made" {
				err = provider.ExhaustedIn(scope, "%s is full", scope)
				s.told = append(s.told, telling{scope, picked.Choice, s.now, up})
			} else {
				s.made(picked.Choice)
			}
			known = known.After(choice.Answer{Choice: picked.Choice, Began: s.now, At: s.now, Err: err, GivenUp: up && err != nil, Pause: time.Minute})
		}
	})
}

func demandWait(t *rapid.T, err error, s *story, known choice.Shortages, choices []provider.Choice) {
	t.Helper()
	wait := provider.AfterOf(err)
	if provider.KindOf(err) != provider.Exhausted || wait <= 0 || wait > 10*time.Minute {
		t.Fatalf("%s, a wait of %v", provider.KindOf(err), wait)
	}
	for _, c := range choices {
		if strings.Count(err.Error(), c.Name) != 1 {
			t.Fatalf("%s is not named once: %v", c.Name, err)
		}
		if !s.covers(c) {
			t.Fatalf("nothing was told of %s: %v", c.Name, err)
		}
	}
	if again, _ := choice.Pick(s.now.Add(wait), known, choices); again.Err != nil {
		t.Fatalf("after the wait of %v: %v", wait, again.Err)
	}
	if again, _ := choice.Pick(s.now.Add(wait-1), known, choices); again.Err == nil {
		t.Fatalf("%s could have been asked for sooner than %v", again.Choice.Name, wait)
	}
}

// TestTextIsBounded: the text fits into an object, for any number of choices and any messages of infrastructures.
func TestTextIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(1, 60).Draw(t, "choices")
		name := rapid.IntRange(1, 200).Draw(t, "name")
		said := rapid.IntRange(0, 5000).Draw(t, "said")
		var known choice.Shortages
		var choices []provider.Choice
		for n := range count {
			c := provider.Choice{Name: fmt.Sprintf("<%d>", n) + strings.Repeat("n", name), Zone: fmt.Sprint(n)}
			choices = append(choices, c)
			known = known.After(choice.Answer{Choice: c, Began: start, At: start, Err: provider.ExhaustedIn(provider.ScopeType, "%s", strings.Repeat("s", said)), Pause: time.Minute})
		}
		picked, _ := choice.Pick(start, known, choices)
		if picked.Err == nil {
			t.Fatalf("%s is picked", picked.Choice.Name)
		}
		text := picked.Err.Error()
		if len(text) > 1200 {
			t.Fatalf("%d bytes: %s", len(text), text)
		}
		for n := range count {
			times := strings.Count(text, fmt.Sprintf("<%d>", n))
			if times > 1 || times == 0 && count*(min(name+5, 60)+30) < 1000 {
				t.Fatalf("choice %d is named %d times: %s", n, times, text)
			}
		}
	})
}
