// Package steer decides what the commands of `rollout` print and change: the progress of a rollout, the existing
// revisions, and the patch of pause, resume, restart or undo. The commands follow kubectl's commands for Deployments.
//
// The package performs no I/O and reads no clock. The controller's own decision function selects the set for a
// rollback.
package steer

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// Deployment has the stored facts of a deployment and of its sets.
type Deployment struct {
	rollout.Deployment
	Sets   []rollout.Set
	Policy rollout.Policy
	// Generation is metadata.generation. Observed is status.observedGeneration.
	Generation, Observed int64
}

// Change is the change of a deployment by a command.
type Change struct {
	// Patch is a JSON merge patch. It is nil if the deployment already has the requested state.
	Patch map[string]any
	// Done describes the change in a word or a clause, or the reason why the deployment does not change.
	Done string
	// Revision is the target revision of a rollback. It is 0 for other changes.
	Revision int64
}

func spec(field string, value any) map[string]any {
	return map[string]any{"spec": map[string]any{field: value}}
}

// leaving returns an error if the deployment is under deletion.
func (d Deployment) leaving() error {
	if d.Deleting {
		return errors.New("is being deleted")
	}
	return nil
}

// Pause returns the change that pauses the rollout of template changes. It fails if the deployment is already paused.
func Pause(d Deployment) (Change, error) {
	if err := d.leaving(); err != nil {
		return Change{}, err
	}
	if d.Paused {
		return Change{}, errors.New("is already paused")
	}
	return Change{Patch: spec("paused", true), Done: "paused"}, nil
}

// Resume returns the change that continues the rollout of template changes. It fails if the deployment is not paused.
func Resume(d Deployment) (Change, error) {
	if err := d.leaving(); err != nil {
		return Change{}, err
	}
	if !d.Paused {
		return Change{}, errors.New("is not paused")
	}
	return Change{Patch: spec("paused", false), Done: "resumed"}, nil
}

// Undo returns the change that rolls back to a revision; 0 is the revision before the current one. The patch only
// sets spec.rollbackTo: the controller restores the template. Undo fails if the deployment is paused, invalid or
// under deletion, or does not have the revision.
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

// RestartedAt is the annotation that kubectl writes to restart pods. Here the annotation restarts machines, so that
// existing tools work. The value is an RFC 3339 time.
const RestartedAt = "kubectl.kubernetes.io/restartedAt"

// marks has the places of [RestartedAt] in a template, in the order in which Restart tries them. The first place is
// the metadata of new machines. If controllers copy a change of this metadata to existing machines, Restart uses the
// metadata of the provider's spec. Every provider's spec has this field, and no infrastructure reads it.
var marks = [][]string{
	{"spec", "template", "metadata"},
	{"spec", "template", "spec", "providerSpec", "value", "metadata"},
}

// Restart returns the change that replaces all machines of the current template. It writes the annotation in the
// first place where the API's own comparison finds a new template. tried returns d with a patch applied. Restart
// fails if the deployment is paused, invalid or under deletion, if no set has the current template, or after a
// restart in the same second.
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

// current reports whether a set has the current template of the deployment.
func current(d Deployment) bool {
	for _, s := range d.Sets {
		if s.Current {
			return true
		}
	}
	return false
}
