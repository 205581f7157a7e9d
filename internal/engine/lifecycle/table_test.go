package lifecycle_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// row is one question and its answer.
type row struct {
	// name begins with the place in the specifications that the row restates;
	// reason says why the answer is right.
	name, reason string
	policy       lifecycle.Policy
	m            lifecycle.Machine
	w            lifecycle.World
	want         lifecycle.Decision
}

func check(t *testing.T, rows []row) {
	t.Helper()
	seen := map[string]bool{}
	for _, r := range rows {
		if seen[r.name] {
			t.Fatalf("two rows are named %q", r.name)
		}
		seen[r.name] = true
		t.Run(r.name, func(t *testing.T) {
			got := lifecycle.Decide(now, r.m, r.w, r.policy)
			if d := cmp.Diff(r.want, got, cmpopts.EquateErrors()); d != "" {
				t.Errorf("%s\n(-want +got)\n%s", r.reason, d)
			}
		})
	}
}
