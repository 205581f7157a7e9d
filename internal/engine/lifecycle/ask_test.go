package lifecycle_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// TestAsksContinue: for any requests and answers, the stored asks continue the earlier ones, have at most one
// open ask, the last one, count each attempt that was finally refused, and stay small.
func TestAsksContinue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var asks lifecycle.Asks
		refused, asked := 0, 0
		for n := range rapid.IntRange(0, 30).Draw(t, "steps") {
			before := asks
			switch open := asks.Open(); {
			case open == nil:
				asks, asked = asks.Next(time.Unix(int64(n), 5), strings.Repeat("c", rapid.IntRange(0, 60).Draw(t, "choice"))), asked+1
				if got := asks.Open(); got == nil || got.Attempt != refused || got.Number != asked {
					t.Fatalf("ask %d is %+v, want attempt %d", asked, got, refused)
				}
			case rapid.Bool().Draw(t, "refused"):
				unclear := rapid.Bool().Draw(t, "unclear")
				if asks = asks.Close(provider.Exhausted, unclear); !unclear {
					refused++
				}
			default:
				asks = asks.Offered([]provider.Choice{{Name: open.Choice + "?"}, {Name: "c"}})
			}
			if !asks.Continues(before) || len(before) > 0 && before.Open() == nil && before.Continues(asks) && len(asks) != len(before) {
				t.Fatalf("%+v does not continue %+v", asks, before)
			}
			for _, ask := range asks[:max(0, len(asks)-1)] {
				if ask.Closed == "" {
					t.Fatalf("%+v is open in %+v", ask, asks)
				}
			}
		}
		raw, err := json.Marshal(asks)
		var back lifecycle.Asks
		if err != nil || json.Unmarshal(raw, &back) != nil || len(raw) > 2<<10 || !back.Continues(asks) || !asks.Continues(back) {
			t.Fatalf("%d bytes: %v", len(raw), err)
		}
	})
}

// TestAsksAreNotChanged: stored asks are only completed.
func TestAsksAreNotChanged(t *testing.T) {
	at := time.Unix(100, 0)
	stored := lifecycle.Asks{}.Next(at, "a").Close(provider.Exhausted, false).Next(at, "b")
	for name, c := range map[string]struct {
		asks lifecycle.Asks
		want bool
	}{
		"the same":        {stored, true},
		"closed":          {stored.Close(provider.Exhausted, false), true},
		"with another":    {stored.Close(provider.Exhausted, false).Next(at, "c"), true},
		"none":            {nil, false},
		"fewer":           {stored[:1], false},
		"another choice":  {lifecycle.Asks{stored[0], {Number: 2, At: at, Choice: "c", Attempt: 1}}, false},
		"another attempt": {lifecycle.Asks{stored[0], {Number: 2, At: at, Choice: "b"}}, false},
		"opened again":    {lifecycle.Asks{{Number: 1, At: at, Choice: "a"}, stored[1]}, false},
		"forgotten while open": {
			lifecycle.Asks{{Number: 3, At: at, Choice: "c"}}, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.asks.Continues(stored); got != c.want {
				t.Errorf("%+v continues %+v: %v", c.asks, stored, got)
			}
		})
	}
}

// TestOffered: an ask for a choice that the class no longer offers is closed, and the next ask has the same
// attempt number.
func TestOffered(t *testing.T) {
	a, b := provider.Choice{Name: "a"}, provider.Choice{Name: "b"}
	for name, c := range map[string]struct {
		choice  string
		offered []provider.Choice
		open    bool
	}{
		"still offered":     {"b", []provider.Choice{a, b}, true},
		"not offered":       {"b", []provider.Choice{a}, false},
		"no several":        {"", nil, true},
		"several by now":    {"", []provider.Choice{a}, false},
		"no several by now": {"a", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			asks := lifecycle.Asks{}.Next(time.Unix(1, 0), c.choice)
			got := asks.Offered(c.offered)
			if open := got.Open() != nil; open != c.open {
				t.Fatalf("open %v: %+v", open, got)
			}
			if next := got.Next(time.Unix(2, 0), "x"); !c.open && (next.Open().Attempt != 0 || next.Open().Number != 2) {
				t.Errorf("the next is %s", fmt.Sprintf("%+v", next))
			}
		})
	}
}

// TestAskIsStoredFirst: no request is sent before it is stored on the machine.
func TestAskIsStoredFirst(t *testing.T) {
	first := lifecycle.Asks{}.Next(now, "a")
	refused := first.Close(provider.Exhausted, false)
	for name, c := range map[string]struct {
		stored, known lifecycle.Asks
		want          lifecycle.Step
	}{
		"nothing was":          {nil, nil, lifecycle.RecordAsk},
		"chosen":               {nil, first, lifecycle.RecordAsk},
		"stored":               {first, first, lifecycle.Create},
		"refused":              {first, refused, lifecycle.RecordAsk},
		"refused, and another": {first, refused.Next(now, "b"), lifecycle.RecordAsk},
		"another stored":       {refused.Next(now, "b"), refused.Next(now, "b"), lifecycle.Create},
	} {
		t.Run(name, func(t *testing.T) {
			m, w := fresh(), world()
			m.Recorded.Asks, w.Asks = c.stored, c.known
			if got := lifecycle.Decide(now, m, w, patient).Step; got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// TestAskText: the text has the request and its result.
func TestAskText(t *testing.T) {
	open := lifecycle.Asks{}.Next(now, "a")
	for want, asks := range map[string]lifecycle.Asks{
		"request 1 for a":                                                        open,
		"request 1 for a, refused: Exhausted":                                    open.Close(provider.Exhausted, true),
		"request 1 for a, which the class does not offer any more":               open.Close(lifecycle.Withdrawn, true),
		"request 1 for a, not sent: another machine found that choice exhausted": open.Close(lifecycle.Withdrawn, false),
	} {
		if got := asks[0].Text(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
