package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/internal/verify/checker"
	"github.com/millwright-dev/millwright/internal/verify/record"
)

// settles limits the time in which the fleet must reach the wanted state, on a busy computer. A drain that waits for a budget
// tries again within 30 s.
const settles = 100 * time.Second

// asksAgain is the time after which machine.sapcloud.io repeats a denied request for a machine. A corrected secret does not
// trigger a reconcile.
const asksAgain = 3 * time.Minute

// settleTime returns the time that the fleet has after the faults.
func settleTime(comes []string) time.Duration {
	if slices.Contains(comes, comesDenied) {
		return settles + asksAgain
	}
	return settles
}

// settle waits until missing returns nothing, and returns whether it did in time. It marks the settled fleet, or the last
// missing state, in the log.
func (w *world) settle(what string, within time.Duration, missing func(context.Context) (string, error)) bool {
	began := time.Now()
	last := ""
	for time.Since(began) < within && w.ctx.Err() == nil {
		found, err := missing(w.ctx)
		if err == nil && found == "" {
			say("%s after %.1fs", what, time.Since(began).Seconds())
			w.log.mark(checker.Event{Mark: checker.AtRest})
			return true
		}
		if last = found; err != nil {
			last = err.Error()
		}
		time.Sleep(300 * time.Millisecond)
	}
	say("NOT %s: %s", what, last)
	w.log.mark(checker.Event{Mark: checker.Unsettled, From: began, Message: what + ": " + last})
	return false
}

// unsettled returns the difference between the fleet and its wanted state.
func (w *world) unsettled(ctx context.Context) (string, error) {
	events, err := record.Objects(ctx, w.client)
	if err != nil {
		return "", err
	}
	var seen record.Watch
	now := time.Now()
	events = append(events, seen.Look(now, now, w.log.living())...)
	events = append(events, checker.Event{At: time.Now(), What: checker.Mark, Mark: checker.AtRest})
	return checker.Wrong(checker.Run{Events: events}, checker.Rest), nil
}

// finish deletes everything, and records the end. It first deletes the budget: pods without a node would keep it from allowing
// evictions.
func (w *world) finish() error {
	for _, r := range slices.Concat([]ref{budget}, deployments, sets) {
		if err := w.remove(w.ctx, r); err != nil {
			return err
		}
	}
	gone := w.settle("all objects are deleted", settles, func(ctx context.Context) (string, error) {
		if err := w.repair(ctx); err != nil {
			return "", err
		}
		machines, err := w.list(ctx, "Machine", apis...)
		if err != nil {
			return "", err
		}
		for _, m := range machines {
			if len(m.GetOwnerReferences()) == 0 && m.GetDeletionTimestamp() == nil { // a stray of the last round
				if err := w.remove(ctx, ref{m.GroupVersionKind(), types.NamespacedName{Namespace: m.GetNamespace(), Name: m.GetName()}}); err != nil {
					return "", err
				}
			}
		}
		for _, kind := range []string{"MachineDeployment", "MachineSet", "Machine"} {
			if left, err := w.list(ctx, kind, apis...); err != nil || len(left) > 0 {
				return fmt.Sprintf("%d of kind %s are left", len(left), kind), err
			}
		}
		return w.unsettled(ctx)
	})
	for _, class := range []string{"v1", "v2"} {
		if err := w.remove(w.ctx, refTo(gardener, "MachineClass", "default", class)); err != nil {
			return err
		}
	}
	if gone {
		w.settle("the classes are deleted", settles, func(ctx context.Context) (string, error) {
			left, err := w.list(ctx, "MachineClass", gardener)
			if err != nil || len(left) == 0 {
				return "", err
			}
			return fmt.Sprintf("class %s has the finalizers %v", left[0].GetName(), left[0].GetFinalizers()), nil
		})
	}
	left, err := w.log.leftovers()
	if err != nil {
		return err
	}
	w.log.mark(checker.Event{Mark: checker.End, Message: left})
	return nil
}
