package checker

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// daemon and mirror report pods that no drain evicts.
func daemon(o Object) bool {
	kind, _ := o.owner()
	return kind == "DaemonSet"
}

func mirror(o Object) bool { return o.Metadata.Annotations["kubernetes.io/config.mirror"] != "" }

func finished(o Object) bool { return o.Status.Phase == "Succeeded" || o.Status.Phase == "Failed" }

// drainFirst looks for pods on the node of each instance at the moment at which the end of the instance was requested.
func drainFirst(h *history, v *Verdict) {
	for _, i := range h.instances {
		at := i.Ending.At
		e := h.eras[h.eraOf(at)]
		m := e.machineOf(i.UID)
		if at.IsZero() || m == nil {
			continue // the record does not have the machine
		}
		deleted, ok := m.firstDeleting()
		if !ok || h.undrained(m, deleted, at) || m.taken(h, at) {
			continue
		}
		v.Judged++
		closed := e.cordoned(i.node, at)
		if e.older(i.node, i.Made.At, at) {
			continue // the node belongs to another instance
		}
		for _, pod := range e.of("pods") {
			if pod.node != i.node || !pod.boundDone.Before(at) || pod.boundDone.After(closed) {
				continue // the pod was bound after the node was cordoned
			}
			silent := e.silent(i.node, at)
			if pod.surely(at, at, func(o Object) bool { return !daemon(o) && !mirror(o) && !finished(o) && (!silent || !o.deleting()) }) {
				v.breaks(at, []string{i.Ending.Where(), pod.during(at, at)[0].Where(), deleted.Where()},
					"instance %s of machine %s is ended with pod %s on it", i.ID, m.name(), pod.name())
			}
		}
	}
}

// taken says whether a user other than the machine controller had removed the machine by a time. The instance then has no owner.
func (t *thing) taken(h *history, at time.Time) bool {
	return t.last().gone && t.last().User != h.Machines && !t.last().Begun.After(at)
}

// silent says whether the node may be not Ready at a time. No kubelet then reports that terminating pods have ended.
func (e *era) silent(node string, at time.Time) bool {
	return slices.ContainsFunc(e.of("nodes"), func(n *thing) bool {
		return n.last().Metadata.Name == node && n.maybe(at, at, func(o Object) bool { return !o.ready() })
	})
}

// older says whether the node that has the name at a time existed at an earlier time, than.
func (e *era) older(node string, than, at time.Time) bool {
	return slices.ContainsFunc(e.of("nodes"), func(n *thing) bool {
		return n.last().Metadata.Name == node && n.surely(than, than, Object.wanted) && n.maybe(at, at, Object.wanted)
	})
}

// undrained says whether the instance may end with its pods at a time: the drain is excluded, forced or has timed out.
func (h *history) undrained(m *thing, deleted version, at time.Time) bool {
	return m.maybe(deleted.Begun, at, func(o Object) bool {
		_, excluded := o.Metadata.Annotations["machine.openshift.io/exclude-node-draining"]
		force := strings.EqualFold(o.Metadata.Labels["force-deletion"], "true")
		return excluded || force || h.timedOut(o, deleted.Group, at)
	})
}

func (h *history) timedOut(o Object, group string, at time.Time) bool {
	if !o.deleting() {
		return false
	}
	var timeout time.Duration
	text := o.Metadata.Annotations["millwright.dev/drain-timeout"]
	if group == "machine.sapcloud.io" {
		if timeout = h.DrainTimeout; o.Spec.DrainTimeout != "" {
			text = o.Spec.DrainTimeout
		}
	}
	if d, err := time.ParseDuration(text); err == nil {
		timeout = d
	}
	// The shorter timeout of nodes that have long been silent is not checked: these runs have no such node.
	return timeout > 0 && at.Sub(*o.Metadata.DeletionTimestamp) > timeout
}

// cordoned returns the time of the request that cordoned the node, if the node was still cordoned at the time at; else the far
// future.
func (e *era) cordoned(node string, at time.Time) time.Time {
	closed := time.Unix(1<<40, 0)
	for _, n := range e.of("nodes") {
		if n.last().Metadata.Name != node || n.versions[0].Begun.After(at) {
			continue
		}
		closed = time.Unix(1<<40, 0)
		for _, w := range n.versions {
			switch {
			case w.Begun.After(at):
			case !w.Spec.Unschedulable:
				closed = time.Unix(1<<40, 0)
			case closed.After(w.Begun):
				closed = w.Begun
			}
		}
	}
	return closed
}

// hooks judges each removal of a pod by the machine controllers, and each end of an instance. Hooks that a user adds after the
// deletion do not count.
func hooks(h *history, v *Verdict) {
	preDrain := func(o Object) bool { return len(o.Spec.LifecycleHooks.PreDrain) > 0 }
	ends := func(o Object) bool { return len(o.Spec.LifecycleHooks.PreTerminate) > 0 || preDrain(o) && !o.drained() }
	for _, e := range h.eras {
		for _, w := range e.writes {
			evicts := w.Subresource == "eviction" || w.Verb == "delete" && w.Subresource == ""
			if w.User != h.Machines || w.Resource != "pods" || !evicts {
				continue
			}
			m := e.hostOf(w)
			if m == nil {
				continue
			}
			v.Judged++
			if deleted, held := m.heldBy(preDrain, w.Begun, w.Done); held {
				v.breaks(w.Begun, []string{w.Where(), deleted.Where()}, "pod %s/%s is removed while machine %s has a preDrain hook", w.Namespace, w.Name, m.name())
			}
		}
	}
	for _, i := range h.instances {
		if i.Ending.At.IsZero() {
			continue
		}
		m := h.eras[h.eraOf(i.Ending.At)].machineOf(i.UID)
		if m == nil {
			continue
		}
		v.Judged++
		if deleted, held := m.heldBy(ends, i.Ending.At, i.Ending.At); held {
			v.breaks(i.Ending.At, []string{i.Ending.Where(), deleted.Where()}, "instance %s is ended while machine %s has a hook", i.ID, m.name())
		}
	}
}

// heldBy says whether the machine was being deleted from a to b, and had the hook from its deletion until b.
func (t *thing) heldBy(hook func(Object) bool, a, b time.Time) (deleted version, held bool) {
	deleted, ok := t.firstDeleting()
	if !ok || !hook(deleted.Object) || !t.surely(a, b, func(o Object) bool { return o.deleting() && hook(o) }) {
		return deleted, false
	}
	return deleted, t.surely(deleted.Done, b, hook)
}

// hostOf returns the machine that is being deleted and whose node runs the pod of a request.
func (e *era) hostOf(w *Write) *thing {
	var node string
	for _, p := range e.of("pods") {
		if m := p.last().Metadata; m.Namespace == w.Namespace && m.Name == w.Name {
			node = p.node
		}
	}
	i := slices.IndexFunc(e.order, func(t *thing) bool {
		return node != "" && t.resource == "machines" && cmp.Or(t.recordedNode(), t.last().Metadata.Name) == node && t.maybe(w.Begun, w.Done, Object.deleting)
	})
	if i < 0 {
		return nil
	}
	return e.order[i]
}
