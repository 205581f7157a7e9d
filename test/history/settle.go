package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/test/history/checker"
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

// settle waits until missing finds nothing, and says whether it did within the time. What is missing in the end is a mark in
// the log.
func (w *world) settle(what string, within time.Duration, missing func(context.Context) (string, error)) bool {
	began := time.Now()
	last := ""
	for time.Since(began) < within && w.ctx.Err() == nil {
		found, err := missing(w.ctx)
		if err == nil && found == "" {
			say("%s after %.1fs", what, time.Since(began).Seconds())
			return true
		}
		if last = found; err != nil {
			last = err.Error()
		}
		time.Sleep(300 * time.Millisecond)
	}
	say("NOT %s: %s", what, last)
	w.log.mark(checker.Entry{Mark: checker.Unsettled, From: began, Message: what + ": " + last})
	return false
}

// unsettled says what of the fleet is not as it should be: each set has its machines, all of them Running and with one
// instance and one node each, each deployment has one set, and there is nothing else.
func (w *world) unsettled(ctx context.Context) (string, error) {
	machines, err := w.list(ctx, "Machine", apis...)
	if err != nil {
		return "", err
	}
	have := map[types.UID]int64{}
	for _, m := range machines {
		if why := w.unready(m); why != "" {
			return fmt.Sprintf("machine %s of %s %s", m.GetName(), m.GroupVersionKind().Group, why), nil
		}
		have[m.GetOwnerReferences()[0].UID]++
	}
	all, err := w.list(ctx, "MachineSet", apis...)
	if err != nil {
		return "", err
	}
	var total int64
	larger := map[types.UID]int64{}
	for _, s := range all {
		want, _, _ := unstructured.NestedInt64(s.Object, "spec", "replicas")
		if why := unobserved(s); why != "" || have[s.GetUID()] != want {
			return fmt.Sprintf("set %s has %d machines and wants %d%s", s.GetName(), have[s.GetUID()], want, why), nil
		}
		total += want
		for _, o := range s.GetOwnerReferences() {
			if want > 0 && larger[o.UID] > 0 {
				return "the deployment of set " + s.GetName() + " has machines of two sets", nil
			}
			larger[o.UID] += want
		}
	}
	if found, err := w.unrolled(ctx, larger); found != "" || err != nil {
		return found, err
	}
	if n := int64(len(machines)); n != total {
		return fmt.Sprintf("there are %d machines, and %d are wanted", n, total), nil
	}
	return w.others(ctx, len(machines))
}

// unready says what a machine lacks.
func (w *world) unready(m *unstructured.Unstructured) string {
	phase, _, _ := unstructured.NestedString(m.Object, "status", "phase")
	if m.GroupVersionKind().Group == gardener.Group {
		phase, _, _ = unstructured.NestedString(m.Object, "status", "currentStatus", "phase")
	}
	switch {
	case m.GetDeletionTimestamp() != nil:
		return "is being deleted"
	case phase != "Running":
		return "is " + phase
	case len(m.GetOwnerReferences()) == 0:
		return "has no set"
	case len(w.log.instances()[string(m.GetUID())]) != 1:
		return fmt.Sprintf("has %d instances", len(w.log.instances()[string(m.GetUID())]))
	}
	return ""
}

// unobserved says that a status is not that of the present generation.
func unobserved(o *unstructured.Unstructured) string {
	observed, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
	if observed < o.GetGeneration() {
		return fmt.Sprintf(", and its status is that of generation %d, not of %d", observed, o.GetGeneration())
	}
	return ""
}

// unrolled says which deployment has not the machines that it wants.
func (w *world) unrolled(ctx context.Context, have map[types.UID]int64) (string, error) {
	all, err := w.list(ctx, "MachineDeployment", apis...)
	for _, d := range all {
		want, _, _ := unstructured.NestedInt64(d.Object, "spec", "replicas")
		updated, _, _ := unstructured.NestedInt64(d.Object, "status", "updatedReplicas")
		if why := unobserved(d); why != "" || have[d.GetUID()] != want || updated != want {
			return fmt.Sprintf("deployment %s has %d machines, %d of them up to date, and wants %d%s", d.GetName(), have[d.GetUID()], updated, want, why), nil
		}
	}
	return "", err
}

// others says what there is besides n machines.
func (w *world) others(ctx context.Context, n int) (string, error) {
	instances := 0
	for _, of := range w.log.instances() {
		instances += len(of)
	}
	nodes, err := w.list(ctx, "Node", schema.GroupVersion{Version: "v1"})
	if err != nil {
		return "", err
	}
	if instances != n || len(nodes) != n {
		return fmt.Sprintf("%d machines have %d instances and %d nodes", n, instances, len(nodes)), nil
	}
	return "", nil
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
		return w.others(ctx, 0)
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
	w.log.mark(checker.Entry{Mark: checker.End, Message: left})
	return nil
}
