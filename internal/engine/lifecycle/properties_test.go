package lifecycle_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/inplace"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

var steps = []lifecycle.Step{
	lifecycle.Settled, lifecycle.Await, lifecycle.AddFinalizer, lifecycle.RecordRequest, lifecycle.RecordInstance, lifecycle.Create, lifecycle.Initialize, lifecycle.Reboot, lifecycle.SyncNode, lifecycle.MarkUpdate, lifecycle.Fail,
	lifecycle.Replace, lifecycle.Drain, lifecycle.Terminate, lifecycle.DeleteNode, lifecycle.RemoveFinalizer,
	lifecycle.DropToken, lifecycle.StorePreservation, lifecycle.WarnOfDrain, lifecycle.MarkPreserved, lifecycle.DrainPreserved, lifecycle.TellPreserved,
}

var stagesKnown = []lifecycle.Stage{
	lifecycle.StageNew, lifecycle.StageCreating, lifecycle.StageCrashing, lifecycle.StageJoining, lifecycle.StageDetached,
	lifecycle.StageRunning, lifecycle.StageLost, lifecycle.StageUpdating, lifecycle.StageUpdated, lifecycle.StageUpdateFailed,
	lifecycle.StageFailed, lifecycle.StageDeleting,
}

var marksKnown = []inplace.Mark{
	inplace.MarkNone, inplace.MarkCandidate, inplace.MarkSelected, inplace.MarkDrained, inplace.MarkReady,
	inplace.MarkUpdated, inplace.MarkFailed,
}

// facts is a random question.
type facts struct {
	m lifecycle.Machine
	w lifecycle.World
	p lifecycle.Policy
}

func (f facts) decide() lifecycle.Decision { return lifecycle.Decide(now, f.m, f.w, f.p) }

func drawBool(t *rapid.T, label string) bool { return rapid.Bool().Draw(t, label) }

// drawError is nil half of the time.
func drawError(t *rapid.T, label string) error {
	return rapid.SampledFrom([]error{nil, nil, nil, nil, nil, errTransient, errExhausted, errInvalid, errDenied, errThrottled}).Draw(t, label)
}

func drawSpan(t *rapid.T, label string) time.Duration {
	return rapid.SampledFrom([]time.Duration{0, time.Second, 30 * time.Second, 10 * time.Minute, 21 * time.Minute, 3 * time.Hour}).Draw(t, label)
}

func drawMachine(t *rapid.T) lifecycle.Machine {
	m := lifecycle.Machine{
		UID:          "uid-1",
		Namespace:    "ns",
		Name:         "m-1",
		HasFinalizer: rapid.IntRange(0, 5).Draw(t, "held") > 0,
		Recorded:     lifecycle.Recorded{Provisioned: drawBool(t, "provisioned")},
		Deletion:     lifecycle.Deletion{Drained: drawBool(t, "drained"), SkipDrain: drawBool(t, "skipDrain"), Force: drawBool(t, "force"), Abandon: drawBool(t, "abandon")},
		Stage:        rapid.SampledFrom(stagesKnown).Draw(t, "stage"),
		StageSince:   now.Add(-drawSpan(t, "stageSince")),
		Created:      now.Add(-drawSpan(t, "age")),
	}
	m.Recorded.Origin = rapid.SampledFrom([]*lifecycle.Origin{nil, {}, inBlue()}).Draw(t, "origin")
	m.Recorded.Requests = drawRequests(t, "stored asks")
	if m.Recorded.Provisioned {
		m.Recorded.ProviderID = "cloud:///i-1"
	}
	if drawBool(t, "deleted") {
		m.Deleted = now.Add(-drawSpan(t, "deletedFor"))
	}
	few := rapid.IntRange(0, 3)
	if few.Draw(t, "preDrain") == 0 {
		m.Deletion.PreDrain = etcdHook
	}
	if few.Draw(t, "preTerminate") == 0 {
		m.Deletion.PreTerminate = etcdHook
	}
	if few.Draw(t, "faults") == 0 {
		m.Faults = []lifecycle.Fault{{Field: "spec.x", Message: "must be set"}}
	}
	return m
}

func drawInstance(t *rapid.T) provider.Instance {
	s := rapid.SampledFrom([]provider.State{provider.Pending, provider.Running, provider.Stopped, provider.Stopping}).Draw(t, "state")
	i := instance(s)
	i.Uninitialized = drawBool(t, "uninitialized")
	return i
}

// drawOthers adds instances besides the machine's to every fourth world.
func drawOthers(t *rapid.T, w *lifecycle.World) {
	if !w.Instances.Looked || rapid.IntRange(0, 3).Draw(t, "others") > 0 {
		return
	}
	if drawBool(t, "double") {
		w.Instances.Duplicates = []provider.Instance{drawInstance(t)}
	}
	if drawBool(t, "stranger") {
		w.Instances.Foreign = []lifecycle.Sighting{{Instance: drawInstance(t), Recorded: drawBool(t, "strangerRecorded"), Claimant: "ns/m-2"}}
	}
}

func drawNode(t *rapid.T) *corev1.Node {
	n := node(rapid.SampledFrom([]corev1.ConditionStatus{"True", "True", "False", "Unknown"}).Draw(t, "ready"))
	if drawBool(t, "taint") {
		n = tainted(n, "critical")
	}
	if rapid.IntRange(0, 4).Draw(t, "withdrawn") == 0 {
		n = withdrawn(n)
	}
	return n
}

// drawUpdate is about an update in every second world.
func drawUpdate(t *rapid.T) inplace.Node {
	if drawBool(t, "no update") {
		return inplace.Node{}
	}
	return inplace.Node{
		Request: inplace.RequestOf(rapid.IntRange(0, 3).Draw(t, "candidate") > 0, drawBool(t, "selected")),
		Answer:  rapid.SampledFrom([]inplace.Answer{"", "", inplace.AnswerDone, inplace.AnswerFailed}).Draw(t, "answer"),
		Mark:    rapid.SampledFrom(marksKnown).Draw(t, "mark"), Since: now.Add(-drawSpan(t, "markSince")),
	}
}

func drawRequests(t *rapid.T, what string) lifecycle.Requests {
	refused := asked().Close(provider.Exhausted, false)
	return rapid.SampledFrom([]lifecycle.Requests{nil, asked(), asked(), refused, refused.Next(now, "b")}).Draw(t, what)
}

// drawWorld draws a world that a controller can see: without a session no instance was looked up, and every
// missing fact has a reason.
func drawWorld(t *rapid.T) lifecycle.World {
	w := lifecycle.World{
		Session:   lifecycle.Session{Origin: *inBlue(), Err: drawError(t, "classErr"), UserDataErr: drawError(t, "userDataErr")},
		Unlisted:  lifecycle.Unlisted{For: drawSpan(t, "unlistedFor") - drawSpan(t, "quietFor"), Sent: drawBool(t, "sent")},
		Instances: lifecycle.Instances{SeenToGo: drawBool(t, "seenToGo"), Doubt: rapid.SampledFrom([]string{"", "", "it lists 1 of 7"}).Draw(t, "doubt")},
		Requests:  drawRequests(t, "asks"),
		MayFail:   drawBool(t, "mayFail"),
		Node:      lifecycle.Node{Stale: drawBool(t, "nodeStale")},
	}
	if w.Session.Err == nil {
		w.Instances.Err = drawError(t, "lookErr")
		w.Instances.Looked = w.Instances.Err == nil
	}
	if w.Instances.Looked && rapid.IntRange(0, 3).Draw(t, "inherited") == 0 {
		inheriting(&w)
	}
	if w.Instances.Looked && drawBool(t, "instance") {
		w.Instances.Own = []provider.Instance{drawInstance(t)}
	}
	if w.Instances.Looked && rapid.IntRange(0, 3).Draw(t, "given up") == 0 {
		w.Instances.Fault = drawError(t, "fault")
	}
	drawOthers(t, &w)
	if w.Node.Err = drawError(t, "nodeErr"); w.Node.Err == nil {
		w.Node.Looked = true
		if drawBool(t, "node") {
			w.Node.Object, w.Node.Update = drawNode(t), drawUpdate(t)
		}
	}
	if err := drawError(t, "retryErr"); err != nil {
		w.Retry = lifecycle.Retry{
			Err: err, At: now.Add(-drawSpan(t, "retryAt")), Failures: rapid.IntRange(1, 30).Draw(t, "failures"),
			Step: rapid.SampledFrom([]lifecycle.Step{lifecycle.Create, lifecycle.Initialize, lifecycle.Await, lifecycle.Terminate}).Draw(t, "retryStep"),
		}
	}
	return w
}

func drawPolicy(t *rapid.T) lifecycle.Policy {
	p := rapid.SampledFrom([]lifecycle.Policy{patient, brisk, targetless(patient), targetless(brisk), {}}).Draw(t, "policy")
	if drawBool(t, "anyPolicy") {
		p.Join.MissingFails, p.Join.InvalidFails = drawBool(t, "missingFails"), drawBool(t, "invalidFails")
		p.Join.LinkedIsRunning, p.Health.Tracked = drawBool(t, "linkedIsRunning"), drawBool(t, "tracksHealth")
		p.Health.FailedRecovers, p.Health.NodeLossDeletes = drawBool(t, "failedRecovers"), drawBool(t, "nodeLossDeletes")
		p.Join.Timeout, p.Health.Timeout, p.Drain.Timeout = drawSpan(t, "join"), drawSpan(t, "health"), drawSpan(t, "drainTimeout")
		p.Update.InPlace, p.Update.Timeout = drawBool(t, "updatesInPlace"), drawSpan(t, "updateTimeout")
	}
	return p
}

// drawPassage sets the facts of a pass over a machine under deletion.
func drawPassage(t *rapid.T, f *facts) {
	if f.m.Deleted.IsZero() {
		return
	}
	if drawBool(t, "drainTried") {
		f.w.Drain.Result = &drain.Decision{Done: drawBool(t, "drainDone"), Message: "1 pod has to leave", Next: drawSpan(t, "drainNext")}
	}
	if !f.w.Instances.Looked || !drawBool(t, "removalTried") {
		return
	}
	switch rapid.IntRange(0, 2).Draw(t, "removal") {
	case 0:
		f.w.Removal.State, f.w.Instances.Own, f.w.Instances.Duplicates = lifecycle.RemovalDone, nil, nil
	case 1:
		f.w.Removal.State = lifecycle.RemovalUnderway
	case 2:
		f.w.Removal.Err = errDenied
	}
}

func drawFacts(t *rapid.T) facts {
	f := facts{m: drawMachine(t), w: drawWorld(t), p: drawPolicy(t)}
	drawPassage(t, &f)
	return f
}

// TestTotal: for any facts, also impossible ones, there is an answer of the closed set.
func TestTotal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFacts(t)
		if drawBool(t, "impossible") {
			f.w.Instances.Looked, f.w.Node.Looked = drawBool(t, "looked"), drawBool(t, "nodeLooked")
			f.w.Instances.Own = append(f.w.Instances.Own, drawInstance(t))
		}
		d := f.decide()
		switch {
		case !slices.Contains(steps, d.Step):
			t.Fatalf("step %q is not of the closed set", d.Step)
		case d.Reason == "":
			t.Fatalf("%s has no reason", d.Step)
		case d.After < 0:
			t.Fatalf("%s (%s) asks to come back %v ago", d.Step, d.Reason, -d.After)
		case !slices.Contains(stagesKnown, d.Stage):
			t.Fatalf("stage %q is not known", d.Stage)
		case d.Step == lifecycle.Settled && d.After != 0:
			t.Fatalf("settled, and yet to be asked again after %v", d.After)
		}
	})
}

// TestFailuresExplainThemselves: a failure always has a message.
func TestFailuresExplainThemselves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawFacts(t).decide()
		if (d.Step == lifecycle.Fail || d.Step == lifecycle.Replace || d.Err != nil) && d.Message == "" {
			t.Fatalf("%s (%s, %v) has no message", d.Step, d.Reason, d.Err)
		}
		if d.Step == lifecycle.Fail && d.Stage != lifecycle.StageFailed {
			t.Fatalf("Fail (%s) leaves the machine %s", d.Reason, d.Stage)
		}
	})
}

// TestCreatesOnlyWhatIsMissing: at most one instance per machine.
func TestCreatesOnlyWhatIsMissing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFacts(t)
		if f.decide().Step != lifecycle.Create {
			return
		}
		switch {
		case f.m.Recorded.Provisioned:
			t.Fatal("a machine that had an instance gets another")
		case len(f.w.Instances.Owned()) > 0:
			t.Fatal("an instance is there")
		case len(f.w.Instances.Foreign) > 0:
			t.Fatal("another machine's instance has the name")
		case !f.w.Instances.Looked:
			t.Fatal("nobody looked whether there is one")
		case !f.m.HasFinalizer:
			t.Fatal("the finalizer is not in place")
		case !f.m.HasOrigin():
			t.Fatal("it is not stored where the instance is asked for")
		case !f.w.Requests.Stored(f.m.Recorded.Requests):
			t.Fatal("it is not stored what is asked for")
		case f.w.Session.Inherited != nil:
			t.Fatal("it is not stored what the instance is made from")
		case !f.m.Deleted.IsZero():
			t.Fatal("the machine is deleted")
		case len(f.m.Faults) > 0:
			t.Fatal("the object is invalid")
		}
	})
}

// TestTerminatesOnlyWhatIsFree: workloads first, and hooks are honoured.
func TestTerminatesOnlyWhatIsFree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFacts(t)
		if f.decide().Step != lifecycle.Terminate {
			return
		}
		i := f.w.Instances.Of(f.m.Recorded.ProviderID)
		recorded := f.m.Deletion.Drained && (f.w.Node.Object == nil || f.w.Node.Object.Spec.Unschedulable)
		empty := recorded || f.m.Deletion.SkipDrain || f.p.Targetless || f.w.Drain.Result != nil && f.w.Drain.Result.Done
		lost := f.w.Node.Looked && f.w.Node.Object == nil || i == nil && f.w.Instances.Looked || i != nil && i.State == provider.Stopping
		switch {
		case f.m.Deleted.IsZero():
			t.Fatal("the machine is wanted")
		case len(f.m.Deletion.PreTerminate) > 0, len(f.m.Deletion.PreDrain) > 0 && !f.m.Deletion.Drained:
			t.Fatal("a hook is there")
		case !empty && !lost:
			t.Fatal("the drain is not done")
		case !f.w.Instances.Looked || f.w.Session.Err != nil:
			t.Fatal("nobody knows what would be terminated")
		}
	})
}

// TestReleasesOnlyWhatIsGone: no instance without a machine, and a denied answer never means that the
// instance is terminated.
func TestReleasesOnlyWhatIsGone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFacts(t)
		if f.decide().Step != lifecycle.RemoveFinalizer {
			return
		}
		never := neverAsked(f)
		switch {
		case f.m.Deleted.IsZero() || !f.m.HasFinalizer:
			t.Fatal("there is nothing to release")
		case len(f.w.Instances.Owned()) > 0:
			t.Fatal("an instance is there")
		case len(f.m.Deletion.PreTerminate) > 0, len(f.m.Deletion.PreDrain) > 0 && !f.m.Deletion.Drained:
			t.Fatal("a hook is there")
		case !f.p.Targetless && (!f.w.Node.Looked || f.w.Node.Object != nil):
			t.Fatal("the node is there, or may be")
		case f.w.Removal.State != lifecycle.RemovalDone && !f.m.Deletion.Abandon && !never:
			t.Fatal("nobody confirmed that nothing is left")
		}
		for _, err := range []error{f.w.Session.Err, f.w.Instances.Err, f.w.Removal.Err} {
			if provider.KindOf(err) == provider.Denied && !f.m.Deletion.Abandon && !never {
				t.Fatal("released on a denied answer")
			}
		}
	})
}

// neverAsked reports whether the object itself says that no instance was requested, and nothing else could be
// learned: its class was never valid, or a minute has passed without an answer.
func neverAsked(f facts) bool {
	if f.m.Recorded.Provisioned || f.m.Asked() {
		return false
	}
	return provider.KindOf(f.w.Session.Err) == provider.Invalid || !f.w.Instances.Looked && now.Sub(f.m.Deleted) >= time.Minute
}

// TestBlindnessIsNotLoss: when the cloud or the cluster does not answer, a machine with an instance neither
// fails nor is replaced because of that.
func TestBlindnessIsNotLoss(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFacts(t)
		f.m.Deleted, f.m.Recorded.Provisioned, f.m.Stage = time.Time{}, true, lifecycle.StageRunning
		f.w.Retry = lifecycle.Retry{Step: lifecycle.Await, Err: errTransient, At: now, Failures: 3}
		blind(errDenied)(&f.w)
		nodeBlind(&f.w)
		if d := f.decide(); d.Step == lifecycle.Fail || d.Step == lifecycle.Replace {
			t.Fatalf("%s (%s) in the dark", d.Step, d.Reason)
		}
	})
}
