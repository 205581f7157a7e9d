package sim

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/health"
	"github.com/millwright-dev/millwright/internal/sight"
)

// overdue is how much longer than it has to a check may take without faults:
// for caches to catch up, and for a look that was put off.
const overdue = 3 * time.Minute

// checkOverdue looks for machines that a check should have replaced by now.
func (w *World) checkOverdue() {
	if w.ward.calm.IsZero() {
		return
	}
	for _, c := range w.checks() {
		v, under := prescription(c), w.under(c, w.truth())
		allowed := w.allowed(c, v, under)
		for uid, t := range under {
			key := [2]types.UID{c.UID, uid}
			if !allowed || !w.mustGo(v, t) {
				delete(w.ward.since, key)
				continue
			}
			if w.ward.since[key].IsZero() {
				w.ward.since[key] = w.now
			}
			if d := w.now.Sub(w.ward.since[key]); d > overdue {
				w.broken(SickGo, "machine %s is there %v after check %s had to replace it: %+v", t.Name, d, c.Name, symptoms(v, t))
			}
		}
	}
}

// allowed reports whether the check has to act now. Who made machines and sent
// them away again before anybody saw that has to wait for an hour. What an
// enforcing breaker holds is a matter of its own.
func (w *World) allowed(c *check, v health.Check, under map[types.UID]health.Target) bool {
	if v.Paused || v.Breaker.Mode == health.Enforce || w.hushed() {
		return false
	}
	sick := len(w.unreplaced(w.noted(c), func(uid types.UID) bool { return w.machineOf(string(uid)) != nil }))
	for _, t := range under {
		if ill(v, t) {
			sick++
		}
	}
	return sick <= budget(c, len(under))
}

// hushed reports whether no node can be believed: there is none, or not one of
// three or more has been heard of for long.
func (w *World) hushed() bool {
	nodes := objects(w, &corev1.Node{})
	heard := func(n *corev1.Node) bool {
		return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.LastHeartbeatTime.Add(2 * beats).After(w.now)
		})
	}
	return len(nodes) == 0 || len(nodes) >= 3 && !slices.ContainsFunc(nodes, heard)
}

// noted are the machines that c gave up, and those that it stored it was about to.
// They count for it even if it never came so far, and they went for other reasons.
func (w *World) noted(c *check) []remedy {
	out := slices.Clone(w.ward.remedies[c.UID])
	for _, p := range dialect.ReadMemory(c).Past {
		if !w.asked(c, p.Machine) {
			out = append(out, remedy{machine: p.Machine, owner: p.Owner, at: p.At})
		}
	}
	return out
}

// mustGo reports whether the machine has to be replaced. Nobody watched before
// the faults stopped.
func (w *World) mustGo(v health.Check, t health.Target) bool {
	if t.Deleting || t.Skip || t.Owner.UID == "" {
		return false
	}
	for _, s := range symptoms(v, t) {
		from := s.from
		if w.ward.calm.After(from) {
			from = w.ward.calm
		}
		if w.now.Sub(from) > s.timeout+sight.Settle+w.is.skew {
			return true
		}
	}
	return false
}

// miscountedChecks says which check does not say how its machines are, or has
// still to say that a storm is over; empty when none.
func (w *World) miscountedChecks() string {
	for _, c := range w.checks() {
		v, under, healthy := prescription(c), w.under(c, w.truth()), int64(0)
		for _, t := range under {
			if !ill(v, t) {
				healthy++
			}
		}
		for _, s := range dialect.ReadMemory(c).Storms {
			if !s.Over.IsZero() || len(under)-int(healthy) < v.Breaker.StormMin {
				return fmt.Sprintf("check %s remembers that %s was in a storm", c.Name, s.Group)
			}
		}
		if st := c.Status; ptr.Deref(st.ExpectedMachines, -1) != int64(len(under)) || ptr.Deref(st.CurrentHealthy, -1) != healthy {
			return fmt.Sprintf("check %s of %d machines, of which %d are healthy, says %d and %d", c.Name, len(under), healthy,
				ptr.Deref(st.ExpectedMachines, -1), ptr.Deref(st.CurrentHealthy, -1))
		}
	}
	return ""
}
