package steer

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// Revision is the current revision of a deployment, or a revision to which the deployment can be rolled back.
type Revision struct {
	// Number is the value for `rollout undo --to-revision`.
	Number int64  `json:"revision"`
	Set    string `json:"machineSet"`
	// Machines is the desired number of machines of the set. Present means that the set has the deployment's current
	// template.
	Machines int    `json:"machines"`
	Present  bool   `json:"present"`
	Cause    string `json:"changeCause,omitempty"`
}

// History returns the revisions of the sets, the oldest first. It omits sets under deletion, and new sets to which
// the controller has not assigned a revision. cause returns the change cause of a set, or "".
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

// SetOf returns the set with a revision. It fails if no set has the revision, or if the set is under deletion.
func SetOf(d Deployment, revision int64) (rollout.Set, error) {
	for _, s := range d.Sets {
		if s.Revision == revision && !s.Deleting {
			return s, nil
		}
	}
	return rollout.Set{}, fmt.Errorf("has no revision %d in its history: 'rollout history' lists those that there are", revision)
}
