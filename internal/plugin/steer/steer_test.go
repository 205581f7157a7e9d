package steer_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
	"github.com/millwright-dev/millwright/internal/plugin/steer"
)

var now = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// sample returns a deployment with revision 3 that still has the sets of revisions 1 and 2.
func sample(changes ...func(*steer.Deployment)) steer.Deployment {
	d := steer.Deployment{
		Deployment: rollout.Deployment{
			UID: "d", Name: "mill", Replicas: 3, Strategy: rollout.Rolling, Revision: 3,
			Last: rollout.Last{Updated: 3, Ready: 3, Available: 3, Progress: rollout.Progress{Status: rollout.True, Reason: rollout.SetAvailable, Message: "all there"}},
		},
		Sets: []rollout.Set{
			{UID: "3", Name: "mill-c", Revision: 3, Replicas: 3, Current: true, Observed: true},
			{UID: "1", Name: "mill-a", Revision: 1, Observed: true},
			{UID: "2", Name: "mill-b", Revision: 2, Observed: true},
		},
		Generation: 7, Observed: 7,
	}
	for _, change := range changes {
		change(&d)
	}
	return d
}

func paused(d *steer.Deployment)    { d.Paused = true }
func deleting(d *steer.Deployment)  { d.Deleting = true }
func alone(d *steer.Deployment)     { d.Sets = d.Sets[:1] }
func unmade(d *steer.Deployment)    { d.Sets = nil }
func noCurrent(d *steer.Deployment) { d.Sets = d.Sets[1:] }
func faulty(d *steer.Deployment) {
	d.Faults = []lifecycle.Fault{{Field: "spec.replicas", Message: "must not be negative, is -1"}}
}
func last(l rollout.Last) func(*steer.Deployment) { return func(d *steer.Deployment) { d.Last = l } }

func TestChanges(t *testing.T) {
	undo := func(to int64) func(steer.Deployment) (steer.Change, error) {
		return func(d steer.Deployment) (steer.Change, error) { return steer.Undo(now, d, to) }
	}
	for _, c := range []struct {
		reason  string
		command func(steer.Deployment) (steer.Change, error)
		d       steer.Deployment
		patch   string
		says    string
	}{
		{"a deployment is paused", steer.Pause, sample(), `{"spec":{"paused":true}}`, "paused"},
		{"a second pause fails, as with kubectl", steer.Pause, sample(paused), "", "is already paused"},
		{"pause fails for a deployment under deletion", steer.Pause, sample(deleting), "", "is being deleted"},
		{"a paused deployment is resumed", steer.Resume, sample(paused), `{"spec":{"paused":false}}`, "resumed"},
		{"resume fails for a deployment that is not paused", steer.Resume, sample(), "", "is not paused"},
		{"the patch names the previous revision, so that a rollout in the meantime does not change the target", undo(0), sample(), `{"spec":{"rollbackTo":{"revision":2}}}`, "rolled back"},
		{"a revision by its number", undo(1), sample(), `{"spec":{"rollbackTo":{"revision":1}}}`, "rolled back"},
		{"undo to the current revision changes nothing", undo(3), sample(), "", "skipped rollback (current template already matches revision 3)"},
		{"while the current template has no set, the controller counts the newest set as current", undo(0), sample(noCurrent), `{"spec":{"rollbackTo":{"revision":1}}}`, "rolled back"},
		{"no such revision", undo(9), sample(), "", "has no revision 9 in its history: 'rollout history' lists those that there are"},
		{"the first revision has no previous revision", undo(0), sample(alone), "", "has no last revision to roll back to"},
		{"the deployment has no sets yet", undo(0), sample(unmade), "", "has no rollout history"},
		{"undo fails for a paused deployment", undo(0), sample(paused), "", "is paused and cannot be rolled back: resume it first with 'rollout resume', and try again"},
		{"undo fails for an invalid deployment", undo(0), sample(faulty), "", "cannot be rolled back before its fault is fixed: spec.replicas: must not be negative, is -1"},
		{"undo fails for a deployment under deletion", undo(0), sample(deleting), "", "is being deleted"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			got, err := c.command(c.d)
			says := got.Done
			if err != nil {
				says = err.Error()
			}
			if patch := text(t, got.Patch); patch != c.patch || says != c.says {
				t.Errorf("%s: patch %s, text %q; want %s, %q", c.reason, patch, says, c.patch, c.says)
			}
		})
	}
}

func text(t *testing.T, patch map[string]any) string {
	if patch == nil {
		return ""
	}
	raw, err := json.Marshal(patch)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestRestart(t *testing.T) {
	const outer = `{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"2026-01-02T12:00:00Z"}}}}}`
	const inner = `{"spec":{"template":{"spec":{"providerSpec":{"value":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"2026-01-02T12:00:00Z"}}}}}}}}`
	for _, c := range []struct {
		reason string
		d      steer.Deployment
		rolls  string // a patch that contains this text changes the template
		patch  string
		says   string
	}{
		{"a change of the annotations of machines replaces the machines", sample(), "metadata", outer, "restarted"},
		{"controllers copy the annotations to existing machines", sample(), "providerSpec", inner, "restarted"},
		{"a second restart in the same second does not change the template", sample(), "nothing", "", "was restarted within the past second: wait before restarting it again"},
		{"paused", sample(paused), "metadata", "", "is paused and cannot be restarted: resume it first with 'rollout resume'"},
		{"an invalid deployment", sample(faulty), "metadata", "", "cannot be restarted before its fault is fixed: spec.replicas: must not be negative, is -1"},
		{"deleting", sample(deleting), "metadata", "", "is being deleted"},
		{"the current template has no set yet", sample(noCurrent), "metadata", "", "has no set of its present template yet, which would be the one to restart: its controller has to make it first"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			got, err := steer.Restart(now, c.d, func(patch map[string]any) (steer.Deployment, error) {
				if strings.Contains(text(t, patch), c.rolls) {
					return sample(noCurrent), nil
				}
				return sample(), nil
			})
			says := got.Done
			if err != nil {
				says = err.Error()
			}
			if patch := text(t, got.Patch); patch != c.patch || says != c.says {
				t.Errorf("%s: patch %s, text %q; want %s, %q", c.reason, patch, says, c.patch, c.says)
			}
		})
	}
	if _, err := steer.Restart(now, sample(), func(map[string]any) (steer.Deployment, error) { return steer.Deployment{}, fmt.Errorf("lost") }); err == nil {
		t.Error("Restart succeeds although the trial fails")
	}
}

func TestStatus(t *testing.T) {
	const waiting = `Waiting for machinedeployment "mill" rollout to finish: `
	progress := func(reason rollout.Reason, message string) func(*steer.Deployment) {
		return func(d *steer.Deployment) {
			d.Last.Progress = rollout.Progress{Status: rollout.False, Reason: reason, Message: message}
		}
	}
	for _, c := range []struct {
		reason   string
		d        steer.Deployment
		revision int64
		done     bool
		says     string
	}{
		{"complete", sample(), 0, true, `machinedeployment "mill" successfully rolled out`},
		{"the requested revision is the current one", sample(), 3, true, `machinedeployment "mill" successfully rolled out`},
		{"the requested revision is not the current one", sample(), 2, false, "runs revision 3, and not the desired revision 2"},
		{"the status is about an older spec", sample(func(d *steer.Deployment) { d.Generation++ }), 0, false, `Waiting for machinedeployment "mill" spec update to be observed...`},
		{"the old status takes precedence over the requested revision", sample(func(d *steer.Deployment) { d.Generation++ }), 4, false, `Waiting for machinedeployment "mill" spec update to be observed...`},
		{"the controller has not yet rolled back", sample(func(d *steer.Deployment) { d.RollbackTo = ptr.To[int64](2) }), 0, false, `Waiting for machinedeployment "mill" to go back to revision 2...`},
		{"a rollback to the previous revision waits while the deployment is paused", sample(paused, func(d *steer.Deployment) { d.RollbackTo = ptr.To[int64](0) }), 0, false, `Waiting for machinedeployment "mill" to go back to the revision before... It is paused.`},
		{"new machines are missing", sample(last(rollout.Last{Updated: 1, Old: 3, Available: 3})), 0, false, waiting + "1 out of 3 new machines have been updated..."},
		{"new machines are missing while the deployment is paused", sample(paused, last(rollout.Last{Old: 3, Available: 3})), 0, false, waiting + "0 out of 3 new machines have been updated... It is paused."},
		{"one old machine remains", sample(last(rollout.Last{Updated: 3, Old: 1, Available: 3})), 0, false, waiting + "1 old machine is pending termination..."},
		{"several old machines remain", sample(last(rollout.Last{Updated: 3, Old: 2, Available: 3})), 0, false, waiting + "2 old machines are pending termination..."},
		{"there are more machines than replicas", sample(last(rollout.Last{Updated: 4, Available: 4})), 0, false, waiting + "1 machine too many is pending termination..."},
		{"not all updated machines are available", sample(last(rollout.Last{Updated: 3, Available: 2})), 0, false, waiting + "2 of 3 updated machines are available..."},
		{"late", sample(last(rollout.Last{Updated: 1, Old: 2}), progress(rollout.DeadlineExceeded, "no progress for 10m0s")), 0, false, "exceeded its progress deadline: no progress for 10m0s"},
		{"stopped", sample(last(rollout.Last{Updated: 1, Old: 2}), progress(rollout.Stopped, "3 machines did not become ready")), 0, false, "has stopped its rollout: 3 machines did not become ready"},
		{"an invalid deployment", sample(faulty), 0, false, "cannot roll out: spec.replicas: must not be negative, is -1"},
		{"under deletion", sample(deleting), 0, false, "is being deleted"},
		{"0 replicas and no machines", sample(func(d *steer.Deployment) { d.Replicas = 0 }, last(rollout.Last{})), 0, true, `machinedeployment "mill" successfully rolled out`},
	} {
		t.Run(c.reason, func(t *testing.T) {
			got, err := steer.Status(c.d, c.revision)
			says := got.Text
			if err != nil {
				says = err.Error()
			}
			if got.Done != c.done || says != c.says {
				t.Errorf("%s: done %v, text %q; want %v, %q", c.reason, got.Done, says, c.done, c.says)
			}
		})
	}
}

func TestHistory(t *testing.T) {
	d := sample(func(d *steer.Deployment) {
		d.Sets = append(d.Sets, rollout.Set{Name: "new"}, rollout.Set{Name: "leaves", Revision: 4, Deleting: true})
	})
	want := []steer.Revision{
		{Number: 1, Set: "mill-a", Cause: "why mill-a"},
		{Number: 2, Set: "mill-b", Cause: "why mill-b"},
		{Number: 3, Set: "mill-c", Machines: 3, Present: true, Cause: "why mill-c"},
	}
	if diff := cmp.Diff(want, steer.History(d, func(set string) string { return "why " + set })); diff != "" {
		t.Errorf("revisions (-want +got)\n%s", diff)
	}
	if s, err := steer.SetOf(d, 2); err != nil || s.Name != "mill-b" {
		t.Errorf("the set of revision 2 is %q, error %v", s.Name, err)
	}
	for _, revision := range []int64{4, 9} {
		if _, err := steer.SetOf(d, revision); err == nil {
			t.Errorf("SetOf finds revision %d, want an error", revision)
		}
	}
}
