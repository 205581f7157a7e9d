// Package steer decides what the commands of `rollout` print and change: the progress of a rollout, the
// existing revisions, and the patch that pauses, resumes, restarts or undoes. kubectl's commands for
// Deployments are the model.
//
// The package performs no I/O and reads no clock. The controller's own decision says which set a deployment
// returns to.
package steer

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// Deployment is a deployment with its sets, as they are stored.
type Deployment struct {
	rollout.Deployment
	Sets   []rollout.Set
	Policy rollout.Policy
	// Generation is the deployment's, Observed the one that its status is about.
	Generation, Observed int64
}

// Change is a command's change of a deployment.
type Change struct {
	// Patch is a JSON merge patch; nil if there is nothing to do.
	Patch map[string]any
	// Done says in one word or clause what was done, or why nothing was.
	Done string
	// Revision is the revision that the deployment returns to.
	Revision int64
}

func spec(field string, value any) map[string]any {
	return map[string]any{"spec": map[string]any{field: value}}
}

// leaving refuses a deployment that is under deletion.
func (d Deployment) leaving() error {
	if d.Deleting {
		return errors.New("is being deleted")
	}
	return nil
}

// Pause stops the rollout of changes of the template.
func Pause(d Deployment) (Change, error) {
	if err := d.leaving(); err != nil {
		return Change{}, err
	}
	if d.Paused {
		return Change{}, errors.New("is already paused")
	}
	return Change{Patch: spec("paused", true), Done: "paused"}, nil
}

// Resume continues it.
func Resume(d Deployment) (Change, error) {
	if err := d.leaving(); err != nil {
		return Change{}, err
	}
	if !d.Paused {
		return Change{}, errors.New("is not paused")
	}
	return Change{Patch: spec("paused", false), Done: "resumed"}, nil
}

// Undo returns to a revision; 0 is the one before the present. The controller does the work: the patch only
// requests it, by the API's field for that.
func Undo(now time.Time, d Deployment, to int64) (Change, error) {
	switch err := d.leaving(); {
	case err != nil:
		return Change{}, err
	case d.Paused:
		return Change{}, errors.New("is paused and cannot be rolled back: resume it first with 'rollout resume', and try again")
	case len(d.Faults) > 0:
		return Change{}, fmt.Errorf("cannot be rolled back before its fault is fixed: %s", d.Faults[0])
	case len(d.Sets) == 0:
		return Change{}, errors.New("has no rollout history")
	}
	asked := d.Deployment
	asked.RollbackTo, asked.Wishes = ptr.To(to), nil
	back := rollout.Decide(now, asked, d.Sets, d.Policy).RollBack()
	switch {
	case back == nil || !back.Found && to == 0:
		return Change{}, errors.New("has no last revision to roll back to")
	case !back.Found:
		return Change{}, fmt.Errorf("has no revision %d in its history: 'rollout history' lists those that there are", to)
	case !back.Differs:
		return Change{Done: fmt.Sprintf("skipped rollback (current template already matches revision %d)", back.Revision)}, nil
	}
	return Change{Patch: spec("rollbackTo", map[string]any{"revision": back.Revision}), Done: "rolled back", Revision: back.Revision}, nil
}

// RestartedAt is the annotation that kubectl writes for a restart of pods. It has the same meaning here, so
// that existing tools work.
const RestartedAt = "kubectl.kubernetes.io/restartedAt"

// marks are the places of a template in which [RestartedAt] is written, in the order in which they are
// tried: among the annotations of the machines to come, and, if a change of those is copied to living
// machines, among the metadata that every provider's spec has, and that no infrastructure reads.
var marks = [][]string{
	{"spec", "template", "metadata"},
	{"spec", "template", "spec", "providerSpec", "value", "metadata"},
}

// Restart changes the template in a place that replaces machines and has no meaning for them. The API's own
// comparison of templates finds that place: tried returns d with a patch applied.
func Restart(now time.Time, d Deployment, tried func(patch map[string]any) (Deployment, error)) (Change, error) {
	switch err := d.leaving(); {
	case err != nil:
		return Change{}, err
	case d.Paused:
		return Change{}, errors.New("is paused and cannot be restarted: resume it first with 'rollout resume'")
	case len(d.Faults) > 0:
		return Change{}, fmt.Errorf("cannot be restarted before its fault is fixed: %s", d.Faults[0])
	case !current(d):
		return Change{}, errors.New("has no set of its present template yet, which would be the one to restart: its controller has to make it first")
	}
	for _, path := range marks {
		patch := nested(path, now.UTC().Format(time.RFC3339))
		after, err := tried(patch)
		if err != nil {
			return Change{}, err
		}
		if !current(after) {
			return Change{Patch: patch, Done: "restarted"}, nil
		}
	}
	return Change{}, errors.New("was restarted within the past second: wait before restarting it again")
}

func nested(path []string, at string) map[string]any {
	out := map[string]any{"annotations": map[string]any{RestartedAt: at}}
	for i := len(path) - 1; i >= 0; i-- {
		out = map[string]any{path[i]: out}
	}
	return out
}

// current reports whether a set has the present template.
func current(d Deployment) bool {
	for _, s := range d.Sets {
		if s.Current {
			return true
		}
	}
	return false
}
