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

// settles is how long the fleet may take, on a machine that is busy, to become what it should be. A drain that waits for a
// budget tries again within 30 s.
const settles = 100 * time.Second

// asksAgain is after what time machine.sapcloud.io asks again for what was denied to a machine. Credentials that were mended wake
// nobody.
const asksAgain = 3 * time.Minute

// settleTime is how long the fleet may take after what came upon it.
func settleTime(comes []string) time.Duration {
	if slices.Contains(comes, comesDenied) {
		return settles + asksAgain
	}
	return settles
}

// settle waits until missing finds nothing, and says whether it did within the time. That the fleet is at rest, or what is
// missing in the end, is a mark in the log.
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

// unsettled says what of the fleet is not as it should be.
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

// finish deletes everything, and writes down the end. Pods without any node left would keep their budget from allowing
// anything, so it goes first.
func (w *world) finish() error {
	for _, r := range slices.Concat([]ref{budget}, deployments, sets) {
		if err := w.remove(w.ctx, r); err != nil {
			return err
		}
	}
	gone := w.settle("everything is gone", settles, func(ctx context.Context) (string, error) {
		if err := w.mend(ctx); err != nil {
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
		w.settle("the classes are gone", settles, func(ctx context.Context) (string, error) {
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
