package lifecycle_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// maxSteps is the controller's limit of steps in one pass.
const maxSteps = 20

// TestPassesEnd drives random facts through the controller's loop, with effects that succeed or fail at
// random: every pass ends, and no step is taken twice in one (no mark is written twice).
func TestPassesEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := facts{m: drawMachine(t), w: drawWorld(t), p: drawPolicy(t)}
		drawPreservation(t, &f)
		done := map[string]bool{}
		for range maxSteps {
			d := f.decide()
			if d.Waits() || !f.perform(t, d) {
				return
			}
			what := string(d.Step) + string(d.Mark)
			if done[what] {
				t.Fatalf("%s (%s) a second time in one pass", d.Step, d.Reason)
			}
			done[what] = true
		}
		t.Fatalf("%d steps without an end", maxSteps)
	})
}

// drawPreservation sets facts with which a machine may be preserved, and has a token.
func drawPreservation(t *rapid.T, f *facts) {
	f.p.Preserve.Supported, f.p.Preserve.Timeout = drawBool(t, "preserves"), drawSpan(t, "preserveTimeout")
	wish := func(label string) lifecycle.Wish {
		return rapid.SampledFrom([]lifecycle.Wish{
			lifecycle.WishNone, lifecycle.WishNot, lifecycle.WishNow, lifecycle.WishFailed, lifecycle.WishOwner, lifecycle.WishUnknown,
		}).Draw(t, label)
	}
	f.m.Preservation = lifecycle.Preservation{Own: wish("own"), LastApplied: wish("lastApplied")}
	if drawBool(t, "preserved") {
		f.m.Preservation.Until = now.Add(drawSpan(t, "until") - time.Hour)
	}
	f.w.Node.Preservation = lifecycle.NodePreservation{
		Wish: wish("node's wish"), Fenced: drawBool(t, "fenced"), FencedSince: now.Add(-drawSpan(t, "fencedFor")),
		Condition: rapid.SampledFrom([]lifecycle.PreserveCondition{lifecycle.PreserveNone, lifecycle.PreserveActive, lifecycle.PreserveDraining, lifecycle.PreserveStopped}).Draw(t, "says"),
	}
	f.w.Token.State = rapid.SampledFrom([]lifecycle.TokenState{lifecycle.TokenNone, lifecycle.TokenMade, lifecycle.TokenUnknown}).Draw(t, "token")
}

// perform applies a possible effect of a step to the facts, and reports whether the pass continues.
func (f *facts) perform(t *rapid.T, d lifecycle.Decision) bool {
	err := drawError(t, "effect of "+string(d.Step))
	switch d.Step {
	case lifecycle.AddFinalizer:
		f.m.HasFinalizer, f.w.Session.Inherited = true, nil
		if !f.m.HasOrigin() {
			f.m.Recorded.Origin = &f.w.Session.Origin
		}
		f.ask()
		return err == nil
	case lifecycle.RecordRequest:
		if err != nil {
			f.w.Retry = lifecycle.Retry{Err: err, Step: lifecycle.Create, At: now, Failures: f.w.Retry.Failures + 1}
			return true
		}
		f.ask()
	case lifecycle.RecordInstance:
		f.m.Recorded.ProviderID = f.w.Instances.Own[0].ProviderID
		return err == nil
	case lifecycle.Create:
		f.create(t, err)
	case lifecycle.Initialize:
		f.initialize(err)
	case lifecycle.SyncNode:
		f.w.Node.Stale, f.w.Node.Err, f.w.Node.Looked = err != nil, err, err == nil
	case lifecycle.MarkUpdate:
		f.m.Stage, f.m.StageSince = d.Stage, now
		if f.w.Node.Err, f.w.Node.Looked = err, err == nil; err == nil {
			f.w.Node.Update.Mark, f.w.Node.Update.Since = d.Mark, now
		}
	case lifecycle.Drain:
		f.w.Drain.Result = &drain.Decision{Done: err == nil, Message: "1 pod has to leave", Next: time.Second}
	case lifecycle.Terminate:
		f.terminate(t, err)
	case lifecycle.DeleteNode:
		f.w.Node.Object, f.w.Node.Err, f.w.Node.Looked = nil, err, err == nil
	default: // steps that end the machine's life for this pass, and the steps after it
		f.afterLife(d)
		if onNode := d.Step != lifecycle.StorePreservation && d.Step != lifecycle.DropToken; onNode && f.w.Preserving.Did != "" {
			f.w.Preserving.Err = err
		}
	}
	return true
}

// ask stores the next request.
func (f *facts) ask() {
	if f.w.Requests.Open() == nil {
		f.w.Requests = f.w.Requests.Next(now, "")
	}
	f.m.Recorded.Requests = f.w.Requests
}

func (f *facts) create(t *rapid.T, err error) {
	if provider.KindOf(err) == provider.Exhausted {
		f.w.Requests = f.w.Requests.Close(provider.Exhausted, drawBool(t, "unclear"))
	}
	switch {
	case err == nil:
		f.w.Retry, f.w.Instances.Own = lifecycle.Retry{}, []provider.Instance{drawInstance(t)}
	case drawBool(t, "token"):
		f.w.Session.UserDataErr = err
	default:
		f.w.Retry = lifecycle.Retry{Err: err, Step: lifecycle.Create, At: now, Failures: f.w.Retry.Failures + 1}
	}
}

func (f *facts) initialize(err error) {
	if err != nil {
		f.w.Retry = lifecycle.Retry{Err: err, Step: lifecycle.Initialize, At: now, Failures: f.w.Retry.Failures + 1}
		return
	}
	f.w.Retry = lifecycle.Retry{}
	f.w.Instances.Own[0].Uninitialized = false
}

func (f *facts) terminate(t *rapid.T, err error) {
	switch {
	case err != nil:
		f.w.Removal.Err = err
	case drawBool(t, "removed"):
		f.w.Instances.SeenToGo = f.w.Instances.SeenToGo || len(f.w.Instances.Own) > 0
		f.w.Removal.State, f.w.Instances.Own, f.w.Instances.Duplicates = lifecycle.RemovalDone, nil, nil
	default:
		f.w.Removal.State = lifecycle.RemovalUnderway
	}
}
