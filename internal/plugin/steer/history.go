package steer

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// Revision is one revision that a deployment can go back to, or is at.
type Revision struct {
	// Number is what `rollout undo --to-revision` takes.
	Number int64  `json:"revision"`
	Set    string `json:"machineSet"`
	// Machines is how many the set is to have, Present that its template is the deployment's.
	Machines int    `json:"machines"`
	Present  bool   `json:"present"`
	Cause    string `json:"changeCause,omitempty"`
}

// History are the revisions of the sets, the oldest first. Sets without one are new: their
// controller has yet to number them. cause is why a set was made, as people noted it.
func History(d Deployment, cause func(set string) string) []Revision {
	out := []Revision{}
	for _, s := range d.Sets {
		if s.Revision != 0 && !s.Deleting {
			out = append(out, Revision{Number: s.Revision, Set: s.Name, Machines: s.Replicas, Present: s.Current, Cause: cause(s.Name)})
		}
	}
	slices.SortFunc(out, func(a, b Revision) int { return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Set, b.Set)) })
	return out
}

// SetOf is the set of a revision.
func SetOf(d Deployment, revision int64) (rollout.Set, error) {
	for _, s := range d.Sets {
		if s.Revision == revision && !s.Deleting {
			return s, nil
		}
	}
	return rollout.Set{}, fmt.Errorf("has no revision %d in its history: 'rollout history' lists those that there are", revision)
}
