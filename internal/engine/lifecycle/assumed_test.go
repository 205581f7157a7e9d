package lifecycle_test

import (
	"slices"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// TestAssumedRequest: a set's machine without a status is released only after the infrastructure has answered.
func TestAssumedRequest(t *testing.T) {
	newborn := func(edit func(*lifecycle.Machine)) lifecycle.Machine {
		m := lifecycle.Machine{UID: "u", Created: now.Add(-time.Hour), Deleted: now.Add(-30 * time.Minute), HasFinalizer: true, Recorded: lifecycle.Recorded{Origin: &lifecycle.Origin{}}}
		edit(&m)
		return m
	}
	assumed := lifecycle.Requests{{Number: 1, At: now.Add(-time.Hour).UTC().Truncate(time.Second), Assumed: true}}
	known := lifecycle.Requests{{Number: 2}}
	for _, c := range []struct {
		reason      string
		edit        func(*lifecycle.Machine)
		known, want lifecycle.Requests
	}{
		{"deleted, without a status", func(*lifecycle.Machine) {}, nil, assumed},
		{"the process knows its requests", func(*lifecycle.Machine) {}, known, known},
		{"it is not deleted: a request follows, after listings have caught up", func(m *lifecycle.Machine) { m.Deleted = time.Time{} }, nil, nil},
		{"it has a status that has no request", func(m *lifecycle.Machine) { m.Stage = lifecycle.StageCreating }, nil, nil},
		{"no controller has taken it over", func(m *lifecycle.Machine) { m.HasFinalizer = false }, nil, nil},
		{"another implementation processed it: the finalizer says so", func(m *lifecycle.Machine) { m.Recorded.Origin = nil }, nil, nil},
	} {
		if got := newborn(c.edit).AssumeRequest(c.known); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.reason, got, c.want)
		}
	}
	m := newborn(func(m *lifecycle.Machine) { m.Recorded.Requests = assumed })
	if !m.Asked() || newborn(func(*lifecycle.Machine) {}).Asked() {
		t.Error("an assumed request does not count, or one counts that is not assumed")
	}
	if d := lifecycle.Decide(now, m, world(blind(errTransient)), patient); d.Step != lifecycle.Await || d.Reason != lifecycle.ReasonDeletionNeedsHelp {
		t.Errorf("while the infrastructure does not answer: %s (%s)", d.Step, d.Reason)
	}
}
