package steer

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// Revision is the present revision of a deployment, or one that it can return to.
type Revision struct {
	// Number is the value for `rollout undo --to-revision`.
	Number int64  `json:"revision"`
	Set    string `json:"machineSet"`
	// Machines is the size of the set, Present says that its template is the deployment's.
	Machines int    `json:"machines"`
	Present  bool   `json:"present"`
	Cause    string `json:"changeCause,omitempty"`
}

// History are the revisions of the sets, the oldest first. Sets without one are new: their controller has
// yet to number them. cause is the noted reason for a set.
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
