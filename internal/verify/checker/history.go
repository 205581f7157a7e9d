package checker

import (
	"cmp"
	"slices"
	"strconv"
	"time"
)

// Run is the record of a run, with the names of its users.
type Run struct {
	Events []Event
	// Sets is the user name of the controllers of sets and deployments, Machines that of the machine controllers.
	Sets, Machines string
	// DrainTimeout applies to machines of machine.sapcloud.io that name no timeout: --machine-drain-timeout.
	DrainTimeout time.Duration
	// Once: the infrastructure of this run never ends an instance that it accepted. Each machine therefore has at most one
	// instance in its whole life.
	Once bool
}

// version is the state of an object from one write to the next.
type version struct {
	Object
	*Write
	// gone: the write removed the object.
	gone bool
	// order is the resource version of the object.
	order uint64
}

// thing is an object with its versions in order.
type thing struct {
	resource string
	versions []version
	// boundBegun and boundDone are the times of the request that bound a pod to its node; zero without such a request.
	boundBegun, boundDone time.Time
	node                  string
}

// name is the object's name for people.
func (t *thing) name() string {
	m := t.last().Metadata
	return m.Namespace + "/" + m.Name
}

func (t *thing) last() version { return t.versions[len(t.versions)-1] }

// during returns the versions that may have been stored at some moment from a to b.
func (t *thing) during(a, b time.Time) []version {
	var out []version
	for i, v := range t.versions {
		if v.Begun.After(b) || i+1 < len(t.versions) && !t.versions[i+1].Done.After(a) {
			continue
		}
		out = append(out, v)
	}
	return out
}

// surely says whether the object certainly existed from a to b and so was true of it all that time.
func (t *thing) surely(a, b time.Time, so func(Object) bool) bool {
	if len(t.versions) == 0 || t.versions[0].Done.After(a) {
		return false
	}
	all := t.during(a, b)
	return len(all) > 0 && !slices.ContainsFunc(all, func(v version) bool { return v.gone || !so(v.Object) })
}

// maybe says whether the object may have existed at some moment from a to b and so may have been true of it.
func (t *thing) maybe(a, b time.Time, so func(Object) bool) bool {
	return slices.ContainsFunc(t.during(a, b), func(v version) bool { return !v.gone && so(v.Object) })
}

// firstDeleting returns the first version with a deletion timestamp, or the removal; false if there is neither.
func (t *thing) firstDeleting() (version, bool) {
	i := slices.IndexFunc(t.versions, func(v version) bool { return v.deleting() || v.gone })
	if i < 0 {
		return version{}, false
	}
	return t.versions[i], true
}

// era is the time between two restores of etcd.
type era struct {
	begin  time.Time
	writes []*Write
	things map[string]*thing // by UID
	order  []*thing
}

// eraOf returns the number of the era at a time.
func (h *history) eraOf(at time.Time) int {
	n := 0
	for i, e := range h.eras {
		if !e.begin.After(at) {
			n = i
		}
	}
	return n
}

// history is a sorted run.
type history struct {
	Run
	eras []*era
	// parts are the parts of instances, such as disks.
	instances, parts []*Instance
	// foreign are the IDs of instances of another cluster.
	foreign map[string]bool
}

// sortOut sorts a run into a history.
func sortOut(r Run) *history {
	r.Events = slices.Clone(r.Events)
	inOrder(r.Events)
	h := &history{Run: r, eras: []*era{{things: map[string]*thing{}}}, foreign: map[string]bool{}}
	h.instances, h.parts = instances(r.Events)
	for _, e := range r.Events {
		switch {
		case e.What == Mark && e.Mark == Restored:
			h.eras = append(h.eras, &era{begin: e.Until, things: map[string]*thing{}})
		case e.What == Mark && e.Mark == Foreign:
			h.foreign[e.Instance] = true
		}
	}
	for _, w := range r.writes() {
		e := h.eras[h.eraOf(w.Begun)]
		e.writes = append(e.writes, w)
		e.add(w)
	}
	for _, e := range h.eras {
		for _, t := range e.order {
			t.sort()
		}
	}
	for _, i := range h.instances {
		i.node = cmp.Or(h.nodeOf(i.UID), i.Machine)
	}
	return h
}

// nodeOf is the name of the node that a machine has recorded; empty: none.
func (h *history) nodeOf(uid string) string {
	for _, e := range h.eras {
		if m := e.machineOf(uid); m != nil && m.recordedNode() != "" {
			return m.recordedNode()
		}
	}
	return ""
}

// recordedNode is the name of the node that the machine has recorded first; empty: none.
func (t *thing) recordedNode() string {
	for _, v := range t.versions {
		if name := v.Object.node(); name != "" {
			return name
		}
	}
	return ""
}

// writes returns the requests to the API server.
func (r Run) writes() (all []*Write) {
	for _, e := range r.Events {
		if e.Write != nil {
			all = append(all, e.Write)
		}
	}
	return all
}

// sort puts versions in the order in which they were stored. A list may repeat a version.
func (t *thing) sort() {
	slices.SortStableFunc(t.versions, func(a, b version) int {
		if a.gone != b.gone {
			return map[bool]int{true: 1, false: -1}[a.gone]
		}
		return cmp.Compare(a.order, b.order)
	})
	t.versions = slices.CompactFunc(t.versions, func(a, b version) bool { return a.order == b.order && !a.gone && !b.gone })
	if first := t.versions[0]; t.boundDone.IsZero() && first.Spec.NodeName != "" {
		t.node, t.boundBegun, t.boundDone = first.Spec.NodeName, first.Begun, first.Done
	}
}

func (e *era) add(w *Write) {
	switch {
	case !w.OK() || w.Subresource == "eviction":
	case w.Verb == "list":
		for _, o := range w.Items {
			listed := *w
			listed.Begun, listed.Done = e.begin, e.begin // the object has been so since the era began
			e.put(&listed, o, false)
		}
	case w.Subresource == "binding":
		if t := e.named(w); t != nil {
			t.node, t.boundBegun, t.boundDone = w.Target, w.Begun, w.Done
		}
	case w.Object.Kind == "Status":
		t := e.things[w.Object.Details.UID]
		if t == nil {
			t = e.named(w)
		}
		if t != nil {
			t.versions = append(t.versions, version{Object: t.last().Object, Write: w, gone: true})
		}
	case w.Object.Metadata.UID != "":
		e.put(w, w.Object, w.Object.removed(w.Resource))
	}
}

func (e *era) put(w *Write, o Object, gone bool) {
	t := e.things[o.Metadata.UID]
	if t == nil {
		t = &thing{resource: w.Resource}
		e.things[o.Metadata.UID] = t
		e.order = append(e.order, t)
	}
	order, err := strconv.ParseUint(o.Metadata.ResourceVersion, 10, 64)
	if err != nil {
		order = 0
	}
	t.versions = append(t.versions, version{Object: o, Write: w, gone: gone, order: order})
}

// named returns the newest object with the name that the request is about.
func (e *era) named(w *Write) *thing {
	for _, t := range slices.Backward(e.order) {
		m := t.last().Metadata
		if t.resource == w.Resource && t.last().Group == w.Group && m.Namespace == w.Namespace && m.Name == w.Name && !t.last().gone {
			return t
		}
	}
	return nil
}

// of returns the objects of a resource in the era.
func (e *era) of(resource string) []*thing {
	return slices.DeleteFunc(slices.Clone(e.order), func(t *thing) bool { return t.resource != resource })
}

// controller says whether the user is one of the controllers that the checker judges.
func (h *history) controller(user string) bool { return user == h.Sets || user == h.Machines }
