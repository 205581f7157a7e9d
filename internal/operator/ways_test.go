package operator

import (
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	testclock "k8s.io/utils/clock/testing"
)

// TestWays: a kind that may not be patched is updated, without asking each time, until some time has passed; and others are patched.
func TestWays(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "x"}, "y", errors.New("no"))
	clock := testclock.NewFakePassiveClock(time.Unix(1000, 0))
	w := &ways{clock: clock}
	var patch, update error
	var did string
	try := func(kind string) error {
		did = ""
		return w.patchOr(kind, func() error { did += "p"; return patch }, func() error { did += "u"; return update })
	}
	for _, c := range []struct {
		reason        string
		kind          string
		after         time.Duration
		patch, update error
		did           string
		fails         bool
	}{
		{"patching is the first choice", "a", 0, nil, nil, "p", false},
		{"another error is no refusal", "a", 0, errors.New("away"), nil, "p", true},
		{"it is refused", "a", 0, forbidden, nil, "pu", false},
		{"which is remembered", "a", time.Minute, forbidden, nil, "u", false},
		{"for this kind", "b", 0, nil, nil, "p", false},
		{"for ten minutes", "a", patchAgain, nil, nil, "p", false},
		{"then it is as before", "a", 0, nil, nil, "p", false},
		{"neither is permitted", "a", 0, forbidden, forbidden, "pu", true},
		{"and then both are tried each time", "a", 0, forbidden, forbidden, "pu", true},
		{"an update that fails otherwise is no refusal", "a", 0, forbidden, errors.New("conflict"), "pu", true},
		{"nor forgets it", "a", 0, nil, nil, "u", false},
		{"it is not permitted any more to update", "a", time.Minute, nil, forbidden, "u", true},
		{"and so patching is tried", "a", 0, nil, forbidden, "p", false},
	} {
		clock.SetTime(clock.Now().Add(c.after))
		patch, update = c.patch, c.update
		if err := try(c.kind); did != c.did || (err != nil) != c.fails {
			t.Errorf("%s: did %s, want %s: %v", c.reason, did, c.did, err)
		}
	}
}
