package explain_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/postmortem"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
	"github.com/millwright-dev/millwright/provider"
)

var now = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

var stages = []lifecycle.Stage{
	lifecycle.StageNew, lifecycle.StageCreating, lifecycle.StageCrashing, lifecycle.StageJoining, lifecycle.StageDetached, lifecycle.StageRunning,
	lifecycle.StageLost, lifecycle.StageUpdating, lifecycle.StageUpdated, lifecycle.StageUpdateFailed, lifecycle.StageFailed, lifecycle.StageDeleting,
}

// when returns a time around now, or zero.
func when(t *rapid.T, name string) time.Time {
	if rapid.Bool().Draw(t, name+" known") {
		return now.Add(-time.Duration(rapid.IntRange(-60, 6000).Draw(t, name)) * time.Minute)
	}
	return time.Time{}
}

func statements(t *rapid.T) (out []postmortem.Statement) {
	for range rapid.IntRange(0, 3).Draw(t, "said") {
		out = append(out, postmortem.Statement{
			About:   rapid.SampledFrom([]string{postmortem.ErrorStatement, postmortem.OperationStatement, "condition Drained", "condition InstanceExists", "condition Progressing", "condition ReplicaFailure", "condition Frozen", "condition DeletionHeld"}).Draw(t, "about"),
			Status:  rapid.SampledFrom([]string{"", "True", "False", "Unknown", "Failed", "Processing", "Successful"}).Draw(t, "status"),
			Reason:  rapid.SampledFrom([]string{"", "RolloutStopped", "ProgressDeadlineExceeded", "InvalidSpec", "DeletionHeld", "Other"}).Draw(t, "reason"),
			Message: rapid.SampledFrom([]string{"", "something happened."}).Draw(t, "message"),
			Since:   when(t, "since"),
		})
	}
	return out
}

func nodeOf(t *rapid.T) *corev1.Node {
	if !rapid.Bool().Draw(t, "node") {
		return nil
	}
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n-1"}, Spec: corev1.NodeSpec{Unschedulable: rapid.Bool().Draw(t, "cordoned")}}
	for _, kind := range []corev1.NodeConditionType{corev1.NodeReady, corev1.NodeDiskPressure} {
		if rapid.Bool().Draw(t, string(kind)) {
			n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{
				Type: kind, Status: rapid.SampledFrom([]corev1.ConditionStatus{"True", "False", "Unknown"}).Draw(t, "status"), LastTransitionTime: metav1.NewTime(when(t, "transition")),
			})
		}
	}
	return n
}

func machineFacts(t *rapid.T) explain.MachineFacts {
	hooks := func(name string) []lifecycle.Hook {
		return rapid.SampledFrom([][]lifecycle.Hook{nil, {{Name: "h", Owner: "o"}}}).Draw(t, name)
	}
	f := explain.MachineFacts{
		Subject: explain.Subject{Kind: "Machine", Namespace: "blue", Name: "m"},
		View: lifecycle.Machine{
			Namespace:    "blue",
			Name:         "m",
			Created:      now.Add(-time.Hour),
			Deleted:      when(t, "deleted"),
			HasFinalizer: rapid.Bool().Draw(t, "held"),
			Stage:        rapid.SampledFrom(stages).Draw(t, "stage"),
			StageSince:   when(t, "stage since"),
			Recorded:     lifecycle.Recorded{Provisioned: rapid.Bool().Draw(t, "provisioned"), NodeName: rapid.SampledFrom([]string{"", "n-1"}).Draw(t, "node name")},
			Deletion:     lifecycle.Deletion{Drained: rapid.Bool().Draw(t, "drained"), SkipDrain: rapid.Bool().Draw(t, "skip"), PreDrain: hooks("pre-drain"), PreTerminate: hooks("pre-terminate")},
		},
		Policy: lifecycle.Policy{
			Join:   lifecycle.JoinPolicy{LinkedIsRunning: rapid.Bool().Draw(t, "linked"), Timeout: rapid.SampledFrom([]time.Duration{0, 20 * time.Minute}).Draw(t, "join")},
			Health: lifecycle.HealthPolicy{Tracked: rapid.Bool().Draw(t, "tracks"), Conditions: []string{"DiskPressure"}, Timeout: rapid.SampledFrom([]time.Duration{0, 10 * time.Minute}).Draw(t, "health")},
		},
		Said: statements(t), Failure: explain.Failure{
			Err:     rapid.SampledFrom([]error{nil, provider.Errorf(provider.Exhausted, "no room"), provider.Errorf(provider.Invalid, "no such zone"), provider.Errorf(provider.Denied, "no"), errors.New("no")}).Draw(t, "failure"),
			Unasked: rapid.Bool().Draw(t, "unasked"),
		},
		Owner: rapid.SampledFrom([]string{"", "MachineSet s"}).Draw(t, "owner"), Replaces: rapid.Bool().Draw(t, "replaces"),
		Made: explain.Made{
			Class: "machineclass c", NoClass: rapid.Bool().Draw(t, "no class"), Credentials: rapid.SampledFrom([]string{"", "secret blue/cloud"}).Draw(t, "credentials"),
			Absent: rapid.SampledFrom([][]string{nil, {"secret blue/cloud"}, {"secret blue/cloud", "secret blue/boot"}}).Draw(t, "absent"),
		},
		Obstacles: explain.Obstacles{
			Foreign: rapid.SampledFrom([][]string{nil, {"x/y"}}).Draw(t, "foreign"), Squatter: nodeOf(t),
			NoToken: rapid.SampledFrom([]string{"", "kube-system/bootstrap-token-abcdef"}).Draw(t, "token"), Unreached: rapid.Bool().Draw(t, "unreached"),
		},
		Stopped:   rapid.SampledFrom([]string{"", "its instance does not run"}).Draw(t, "stopped"),
		KeptUntil: when(t, "kept"), Node: nodeOf(t), NodeLooked: rapid.Bool().Draw(t, "looked"), PodsLooked: rapid.Bool().Draw(t, "pods"),
	}
	if rapid.Bool().Draw(t, "request") {
		f.Requests = []postmortem.Request{{
			Name: "csr", Created: when(t, "asked"), Verdict: rapid.SampledFrom([]string{"", "Wait", "Refuse", "Approve"}).Draw(t, "verdict"),
			Reason: rapid.SampledFrom([]string{"", "TokenGone", "Other"}).Draw(t, "objection"), Message: rapid.SampledFrom([]string{"", "no."}).Draw(t, "text"),
		}}
	}
	return f
}

// whole fails for an incomplete answer.
func whole(t *rapid.T, a explain.Answer) {
	t.Helper()
	if a.State == "" || a.Reason == "" || a.Next == "" || strings.HasSuffix(a.Next, ".") || !strings.HasPrefix(a.Sentence, a.Subject.String()+" ") || !strings.HasSuffix(a.Sentence, ".") || strings.HasSuffix(a.Sentence, "..") {
		t.Fatalf("incomplete: %+v", a)
	}
	for _, c := range a.Because {
		if c.Message == "" || strings.HasSuffix(c.Message, ".") {
			t.Fatalf("a cause without words, or with a full stop: %+v", a)
		}
	}
	text := a.Text(now)
	if !strings.HasPrefix(text, a.Sentence+"\n") || !strings.Contains(text, "\nNext: "+a.Next+".\n") || strings.Contains(text, " -1") || strings.ContainsAny(text, "{}") || strings.Contains(text, "%!") {
		t.Fatalf("printed as %q", text)
	}
	if _, err := json.Marshal(a); err != nil {
		t.Fatal(err)
	}
}

// TestMachineIsTotal: every combination of facts has a complete answer; a machine under deletion is never
// called healthy, nor is one whose facts cannot be read.
func TestMachineIsTotal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := machineFacts(t)
		a := explain.Machine(now, f)
		whole(t, a)
		leaving := !f.View.Deleted.IsZero()
		if out := slices.Contains([]explain.State{explain.Deleting, explain.Stuck}, a.State); out != leaving {
			t.Fatalf("in deletion: %v, but answered %s", leaving, a.State)
		}
		blind := !f.NodeLooked && f.View.Stage != lifecycle.StageDetached
		unready := f.Node == nil || lifecycle.Ready(f.Node).Status != corev1.ConditionTrue
		if a.State == explain.Healthy && (blind || unready && f.View.Stage != lifecycle.StageDetached) {
			t.Fatalf("healthy, with node %+v (seen: %v)", f.Node, f.NodeLooked)
		}
		if a.State == explain.Healthy && f.Stopped != "" && f.View.Stage != lifecycle.StageDetached {
			t.Fatalf("healthy, though %s", f.Stopped)
		}
		if !leaving && f.View.Stage == lifecycle.StageFailed && a.State != explain.Failed {
			t.Fatalf("a failed machine is %s", a.State)
		}
	})
}

// rolloutOf returns the input of a deployment's controller; nil for a set.
func rolloutOf(t *rapid.T) *explain.Rollout {
	if !rapid.Bool().Draw(t, "deployment") {
		return nil
	}
	r := &explain.Rollout{Deployment: rollout.Deployment{
		UID: "d", Name: "s", Replicas: rapid.IntRange(0, 4).Draw(t, "replicas"), Surge: ptr.To(intstr.FromInt32(1)),
		Strategy: rapid.SampledFrom([]rollout.Strategy{rollout.Rolling, rollout.Recreate, rollout.OnDelete, rollout.InPlace}).Draw(t, "strategy"),
		ByHand:   rapid.Bool().Draw(t, "by hand"), Paused: rapid.Bool().Draw(t, "held up"), Deadline: 10 * time.Minute,
		Guard: rollout.Guard{Canary: ptr.To(intstr.FromInt32(1)), Soak: rapid.SampledFrom([]time.Duration{0, time.Hour}).Draw(t, "soak")},
		Last: rollout.Last{Progress: rollout.Progress{
			Status: "True", Since: now.Add(-time.Hour), Message: "so far",
			Reason: rapid.SampledFrom([]rollout.Reason{"", rollout.Stopped, rollout.SetUpdated, rollout.SetAvailable}).Draw(t, "told"),
		}},
	}}
	for i, name := range []string{"new", "old"} {
		s := rollout.Set{
			UID: types.UID(name), Name: name, Current: i == 0, Replicas: rapid.IntRange(0, 3).Draw(t, name), Revision: int64(2 - i), Observed: true,
			Notes: rollout.Notes{CanarySince: when(t, name+" canary")}, Alarm: rollout.Alarm{State: rollout.AlarmUnsure},
			Failure: rapid.SampledFrom([]*rollout.Failure{nil, {Reason: "FailedCreate", Message: "no."}, {Withheld: true, Message: "too many."}}).Draw(t, name+" failure"),
		}
		for n := range s.Replicas {
			m := rollout.Machine{Node: fmt.Sprint(name, n), Seen: true}
			m.UID, m.Name, m.Ready = types.UID(m.Node), m.Node, rapid.Bool().Draw(t, "ready")
			m.Usable = m.Ready
			s.Machines = append(s.Machines, m)
		}
		if i > 0 || rapid.Bool().Draw(t, "made") {
			r.Sets = append(r.Sets, s)
		}
	}
	return r
}

// TestGroupIsTotal: the same of sets and deployments.
func TestGroupIsTotal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := func(name string) int { return rapid.IntRange(0, 5).Draw(t, name) }
		f := explain.GroupFacts{
			Subject: explain.Subject{Kind: "MachineSet", Namespace: "blue", Name: "s"}, Created: now.Add(-time.Hour), Deleted: when(t, "deleted"),
			Wanted: n("wanted"), Have: n("have"), Ready: n("ready"), Available: n("available"), Updated: n("updated"),
			Unseen: rapid.Bool().Draw(t, "unseen"), Paused: rapid.Bool().Draw(t, "paused"), Frozen: rapid.Bool().Draw(t, "frozen"),
			Said: statements(t), Rollout: rolloutOf(t),
		}
		usable := f.Available
		if f.Rollout != nil {
			f.Wanted, usable = f.Rollout.Deployment.Replicas, 0
			for _, s := range f.Rollout.Sets {
				for _, m := range s.Machines {
					if m.Usable {
						usable++
					}
				}
			}
		}
		if rapid.Bool().Draw(t, "fault") {
			f.Faults = []lifecycle.Fault{{Field: "spec.selector", Message: "must be set."}}
		}
		if rapid.Bool().Draw(t, "member") {
			f.Members = []explain.Answer{explain.Machine(now, machineFacts(t))}
		}
		a := explain.Group(now, f)
		whole(t, a)
		if a.State == explain.Healthy && (usable < f.Wanted || f.Have > f.Wanted && f.Rollout == nil) {
			t.Fatalf("in order with %d of %d available, %d there", usable, f.Wanted, f.Have)
		}
	})
}

func TestDepartedIsTotal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := postmortem.Record{
			Name: "m", Taken: now.Add(-time.Hour), Cause: rapid.SampledFrom([]postmortem.Cause{postmortem.GivenUp, postmortem.NeverJoined, postmortem.Unwell, "OfALaterVersion"}).Draw(t, "cause"),
			Summary: rapid.SampledFrom([]string{"", "it failed."}).Draw(t, "summary"), Console: rapid.SampledFrom([]string{"", "\n", "a\nb."}).Draw(t, "console"),
			Node: rapid.SampledFrom([]*postmortem.Node{nil, {Name: "n", Conditions: []postmortem.Statement{{About: "Ready", Status: "Unknown"}}}}).Draw(t, "node"),
		}
		if rapid.Bool().Draw(t, "created") {
			r.Moments = []postmortem.Moment{{What: postmortem.MomentCreated, At: now.Add(-2 * time.Hour)}}
		}
		whole(t, explain.Departed(now, explain.Subject{Kind: "Machine", Name: "m"}, explain.Evidence{Where: "configmap", Record: r}, nil))
	})
}

func TestNear(t *testing.T) {
	names := []string{"mill-worker-a-x7k2p", "mill-worker-b-x7k2p", "other", "mill-worker-a-zzzzz"}
	for name, want := range map[string][]string{
		"mill-worker-a-x7k2q": {"mill-worker-a-x7k2p", "mill-worker-a-zzzzz", "mill-worker-b-x7k2p"},
		"worker-a-x7k2p":      {"mill-worker-a-x7k2p"},
		"quite-different":     nil,
		"":                    {"mill-worker-a-x7k2p", "mill-worker-a-zzzzz", "mill-worker-b-x7k2p", "other"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := explain.Near(name, names); !slices.Equal(got, want) {
				t.Errorf("near %q: %v, want %v", name, got, want)
			}
		})
	}
}

// TestJustNow: a state that began within this second is not said to have lasted for 0s.
func TestJustNow(t *testing.T) {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n-1"}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now)}}}}
	if a := explain.Node(now, explain.Subject{Kind: "Node", Name: "n-1"}, n, nil, nil); !strings.Contains(a.Sentence, "has been Ready for less than 1s") {
		t.Error(a.Sentence)
	}
	view := lifecycle.Machine{UID: "u", HasFinalizer: true, Created: now.Add(-10 * time.Second), Stage: lifecycle.StageJoining, StageSince: now}
	view.Recorded.Provisioned, view.Recorded.ProviderID = true, "test:///1"
	a := explain.Machine(now, explain.MachineFacts{Subject: explain.Subject{Kind: "Machine", Name: "m"}, View: view, NodeLooked: true})
	if a.Reason != string(lifecycle.ReasonAwaitingNode) || !strings.Contains(a.Sentence, "is starting: its instance runs, and no node has joined yet") {
		t.Errorf("%s: %s", a.Reason, a.Sentence)
	}
}

// TestLongDrain: the fleet's view, which reads no pods, does not call a drain that has lasted for long a normal deletion.
func TestLongDrain(t *testing.T) {
	for _, c := range []struct {
		lasts time.Duration
		step  lifecycle.DeletionStep
		pods  bool
		want  explain.State
	}{
		{6 * time.Minute, lifecycle.DeletionDrain, false, explain.Stuck},
		{4 * time.Minute, lifecycle.DeletionDrain, false, explain.Deleting},
		{6 * time.Minute, lifecycle.DeletionInstance, false, explain.Deleting},
		{6 * time.Minute, lifecycle.DeletionDrain, true, explain.Deleting},
	} {
		f := explain.MachineFacts{Subject: explain.Subject{Kind: "Machine", Name: "m"}, NodeLooked: true, PodsLooked: c.pods}
		f.Node = &corev1.Node{}
		f.Node.Name = "n-1"
		f.View = lifecycle.Machine{Name: "m", Stage: lifecycle.StageDeleting, Deleted: now.Add(-time.Hour), HasFinalizer: true}
		f.View.Recorded.NodeName, f.View.Recorded.Provisioned = "n-1", true
		f.View.Deletion.Started = []lifecycle.StartedStep{{Step: c.step, At: now.Add(-c.lasts)}}
		if a := explain.Machine(now, f); a.State != c.want {
			t.Errorf("step %s for %s, pods read: %v: %s: %s", c.step, c.lasts, c.pods, a.State, a.Sentence)
		}
	}
}
