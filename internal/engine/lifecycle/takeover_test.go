package lifecycle_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// TestUnlistedCoversEachRequest: an answer that lists no instance is trusted only if it would list the instance of each
// request that any process can have sent, and it is trusted as soon as that is so.
func TestUnlistedCoversEachRequest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := func(name string, from, to int) time.Time {
			return now.Add(time.Duration(rapid.IntRange(from, to).Draw(t, name)) * time.Second)
		}
		takeover := lifecycle.Takeover{Over: now}
		m := lifecycle.Machine{Created: at("created", -60, 60)}
		lag := time.Duration(rapid.IntRange(0, 30).Draw(t, "lag")) * time.Second
		asked := at("asked", 60, 200)
		last := time.Time{}
		if m.Created.Before(takeover.Over) {
			last = takeover.Over // an earlier process may have sent one until then
		}
		own, first := time.Time{}, at("first", 60, 200)
		if rapid.Bool().Draw(t, "requested here") {
			if own = at("own", -2, 200); own.After(last) {
				last = own
			}
		}
		if last.IsZero() {
			last = first
		}
		u := takeover.Unlisted(m, own, first, asked, lag)
		shown := asked.Add(-lag) // requests until then are listed
		if trusted := u.For <= 0; trusted != !last.After(shown) || u.For+u.Age != lag {
			t.Fatalf("%+v: the last request was sent %v before the question, listings are up to %v old", u, asked.Sub(last), lag)
		}
	})
}

// TestMayHaveRequested: an instance of another process is looked for if one may exist.
func TestMayHaveRequested(t *testing.T) {
	takeover, several := lifecycle.Takeover{Over: now}, []provider.Choice{{Name: "a"}, {Name: "b"}}
	bySet := func(age time.Duration) lifecycle.Machine {
		return lifecycle.Machine{HasFinalizer: true, Created: now.Add(age), Recorded: lifecycle.Recorded{Origin: &lifecycle.Origin{}}}
	}
	for name, c := range map[string]struct {
		m       lifecycle.Machine
		choices []provider.Choice
		want    bool
	}{
		"no finalizer":                      {lifecycle.Machine{}, several, false},
		"no finalizer, and a stored place":  {lifecycle.Machine{Recorded: lifecycle.Recorded{Origin: inBlue()}}, nil, true},
		"held by an original":               {lifecycle.Machine{HasFinalizer: true, Created: now}, nil, true},
		"made by a set before the takeover": {bySet(-time.Second), several, true},
		"the same, with one choice":         {bySet(-time.Second), nil, false},
		"made by a set at the takeover":     {bySet(0), several, false},
	} {
		if got := takeover.MayHaveRequested(c.m, c.choices); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
