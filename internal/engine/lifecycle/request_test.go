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

// TestRequestsContinue: for any requests and answers, the stored requests continue the earlier ones, have at most one
// open request, the last one, count each attempt that was finally refused, and stay small.
func TestRequestsContinue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var requests lifecycle.Requests
		refused, asked := 0, 0
		for n := range rapid.IntRange(0, 30).Draw(t, "steps") {
			before := requests
			switch open := requests.Open(); {
			case open == nil:
				requests, asked = requests.Next(time.Unix(int64(n), 5), strings.Repeat("c", rapid.IntRange(0, 60).Draw(t, "choice"))), asked+1
				if got := requests.Open(); got == nil || got.Attempt != refused || got.Number != asked {
					t.Fatalf("request %d is %+v, want attempt %d", asked, got, refused)
				}
			case rapid.Bool().Draw(t, "refused"):
				unclear := rapid.Bool().Draw(t, "unclear")
				if requests = requests.Close(provider.Exhausted, unclear); !unclear {
					refused++
				}
			default:
				requests = requests.Offered([]provider.Choice{{Name: open.Choice + "?"}, {Name: "c"}})
			}
			if !requests.Continues(before) || len(before) > 0 && before.Open() == nil && before.Continues(requests) && len(requests) != len(before) {
				t.Fatalf("%+v does not continue %+v", requests, before)
			}
			for _, request := range requests[:max(0, len(requests)-1)] {
				if request.Closed == "" {
					t.Fatalf("%+v is open in %+v", request, requests)
				}
			}
		}
		raw, err := json.Marshal(requests)
		var back lifecycle.Requests
		if err != nil || json.Unmarshal(raw, &back) != nil || len(raw) > 2<<10 || !back.Continues(requests) || !requests.Continues(back) {
			t.Fatalf("%d bytes: %v", len(raw), err)
		}
	})
}

// TestRequestsAreNotChanged: stored requests are only completed.
func TestRequestsAreNotChanged(t *testing.T) {
	at := time.Unix(100, 0)
	stored := lifecycle.Requests{}.Next(at, "a").Close(provider.Exhausted, false).Next(at, "b")
	for name, c := range map[string]struct {
		requests lifecycle.Requests
		want     bool
	}{
		"the same":        {stored, true},
		"closed":          {stored.Close(provider.Exhausted, false), true},
		"with another":    {stored.Close(provider.Exhausted, false).Next(at, "c"), true},
		"none":            {nil, false},
		"fewer":           {stored[:1], false},
		"another choice":  {lifecycle.Requests{stored[0], {Number: 2, At: at, Choice: "c", Attempt: 1}}, false},
		"another attempt": {lifecycle.Requests{stored[0], {Number: 2, At: at, Choice: "b"}}, false},
		"opened again":    {lifecycle.Requests{{Number: 1, At: at, Choice: "a"}, stored[1]}, false},
		"forgotten while open": {
			lifecycle.Requests{{Number: 3, At: at, Choice: "c"}}, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.requests.Continues(stored); got != c.want {
				t.Errorf("%+v continues %+v: %v", c.requests, stored, got)
			}
		})
	}
}

// TestOffered: a request for a choice that the class no longer offers is closed, and the next request has the same
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
			requests := lifecycle.Requests{}.Next(time.Unix(1, 0), c.choice)
			got := requests.Offered(c.offered)
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
	first := lifecycle.Requests{}.Next(now, "a")
	refused := first.Close(provider.Exhausted, false)
	for name, c := range map[string]struct {
		stored, known lifecycle.Requests
		want          lifecycle.Step
	}{
		"nothing was":          {nil, nil, lifecycle.RecordRequest},
		"chosen":               {nil, first, lifecycle.RecordRequest},
		"stored":               {first, first, lifecycle.Create},
		"refused":              {first, refused, lifecycle.RecordRequest},
		"refused, and another": {first, refused.Next(now, "b"), lifecycle.RecordRequest},
		"another stored":       {refused.Next(now, "b"), refused.Next(now, "b"), lifecycle.Create},
	} {
		t.Run(name, func(t *testing.T) {
			m, w := fresh(), world()
			m.Recorded.Requests, w.Requests = c.stored, c.known
			if got := lifecycle.Decide(now, m, w, patient).Step; got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// TestAskText: the text has the request and its result.
func TestAskText(t *testing.T) {
	open := lifecycle.Requests{}.Next(now, "a")
	for want, requests := range map[string]lifecycle.Requests{
		"request 1 for a":                                                        open,
		"request 1 for a, refused: Exhausted":                                    open.Close(provider.Exhausted, true),
		"request 1 for a, which the class does not offer any more":               open.Close(lifecycle.Withdrawn, true),
		"request 1 for a, not sent: another machine found that choice exhausted": open.Close(lifecycle.Withdrawn, false),
	} {
		if got := requests[0].Text(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
