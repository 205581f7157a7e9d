package judge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
)

// Unsettled names an object that is not in its desired state; empty if all are.
func (j *Judge) Unsettled() string {
	for _, check := range []func() string{
		j.unsettledMachines, j.unsettledSets, j.unsettledDeployments, j.miscounted, j.overlooked, j.staleRequest, j.withoutSize, j.Stray, j.recentNode,
	} {
		if why := check(); why != "" {
			return why
		}
	}
	return ""
}

func (j *Judge) unsettledMachines() string {
	for _, m := range j.machines() {
		n, name := j.node(m.node), m.GetName()
		switch {
		case j.onlyForeignFinalizersLeft(m), j.hopeless(m.Object):
		case m.GetDeletionTimestamp() != nil:
			return fmt.Sprintf("machine %s is still being deleted", name)
		case m.unsure && j.Well(m.Object):
			return fmt.Sprintf("machine %s does not know of its instance", name)
		case n != nil && n.DeletionTimestamp != nil:
			return fmt.Sprintf("node %s is still being deleted", n.Name)
		case !j.Well(m.Object) && !j.GivenUp(m.Object):
			return fmt.Sprintf("machine %s does not run as desired: phase %q, node %q", name, m.phase, m.node)
		case m.GetAnnotations()[unrecorded] != "" && !j.doubled(m):
			return fmt.Sprintf("machine %s says that it has instances besides its own", name)
		}
	}
	return ""
}

func (j *Judge) unsettledSets() string {
	for _, s := range j.sets() {
		if j.hopeless(s.Object) || s.GetDeletionTimestamp() != nil && j.onlyOthersHoldSet(s) {
			continue
		}
		if s.GetDeletionTimestamp() != nil {
			return fmt.Sprintf("set %s is still being deleted", s.GetName())
		}
		have := len(j.members(s))
		if n := int32(s.size); have != s.size || s.replicas < n || s.replicas > n+j.heldOnlyByOthers(s) || s.ready != n || s.available != n {
			return fmt.Sprintf("set %s of %d has %d machines and says %d, %d ready, %d available", s.GetName(), s.size, have, s.replicas, s.ready, s.available)
		}
	}
	return ""
}

// Well reports whether the machine runs, with exactly the instance that it has recorded, and its node is ready.
func (j *Judge) Well(o client.Object) bool {
	m, there := readMachine(o), j.existing(string(o.GetUID()))
	return m.running && ready(j.node(m.node)) && len(there) == 1 && there[0].ProviderID == m.provider
}

// GivenUp reports whether the machine may stay as it is: it has failed, has no controller, and can neither recover nor
// finish an update in place. The node of its name may belong to an instance whose machine was lost.
func (j *Judge) GivenUp(o client.Object) bool {
	m := readMachine(o)
	n := j.node(m.node)
	anothers := n != nil && m.provider != "" && n.Spec.ProviderID != "" && !sameID(n.Spec.ProviderID, m.provider)
	return j.replaced(m) && m.owner == "" && (!ready(n) || candidate(n) || anothers)
}

// Failed reports whether the machine has failed.
func (*Judge) Failed(o client.Object) bool { return readMachine(o).failed }

// doubled reports whether the machine has instances besides its recorded one.
func (j *Judge) doubled(m machine) bool {
	return slices.ContainsFunc(j.existing(string(m.GetUID())), func(i Instance) bool { return i.ProviderID != m.provider })
}

// Stray names an object that belongs to no machine; empty if none exists.
func (j *Judge) Stray() string {
	all := j.machines()
	for _, i := range j.existing("") {
		m, there := find(all, types.UID(i.UID))
		switch {
		case j.others(i):
		case !there && !j.Stays(i):
			return fmt.Sprintf("instance %s of %s has no machine", i.ID, i.Name)
		case there && i.ByHand && j.hasOtherInstance(i, m) && !j.hopeless(m.Object):
			return fmt.Sprintf("machine %s has instance %s besides its own", i.Name, i.ID)
		}
	}
	for _, p := range j.Parts() {
		_, there := find(all, types.UID(p.UID))
		inUse := p.UID != "" && len(j.existing(p.UID)) > 0
		if !there && !inUse && !j.MayStay(p.UID) && !j.foreign(p) {
			return fmt.Sprintf("the %s of %s has no machine", p.Name, p.UID)
		}
	}
	otherwise := func(node types.UID) bool {
		return slices.ContainsFunc(j.existing(""), func(i Instance) bool { return renamed(i) && i.Node == node })
	}
	for _, o := range j.All(&corev1.Node{}) {
		if otherwise(o.GetUID()) {
			continue
		}
		named := slices.ContainsFunc(all, func(m machine) bool { return m.GetName() == o.GetName() || m.node == o.GetName() })
		if !named && !j.ofHopeless(o) && !j.strayNode(o.GetName()) && !j.onlyOthersHoldNode(o) {
			return fmt.Sprintf("node %s has no machine", o.GetName())
		}
	}
	return ""
}

// recentNode names a node without a machine that a machine may still take: a node is marked as unmanaged only after
// the join timeout of machines.
func (j *Judge) recentNode() string {
	all := j.machines()
	for _, o := range j.All(&corev1.Node{}) {
		had := slices.ContainsFunc(all, func(m machine) bool { return m.node == o.GetName() && (m.running || m.lost) })
		age := j.Now().Sub(o.GetCreationTimestamp().Time)
		if !had && slices.ContainsFunc(j.APIs, func(a API) bool { return age < a.JoinTimeout }) {
			return fmt.Sprintf("node %s, which belongs to no machine, has existed only for %v", o.GetName(), age)
		}
	}
	return ""
}

// namesake reports whether a machine has the instance's name but no instance of its own in that place: the machine has
// failed, or its own instance is in another account. A controller that looks in that place cannot see the other
// instance, so it keeps the namesake until the machine is deleted. This holds while the machine is being deleted,
// too, which may last for ever.
func (j *Judge) namesake(i Instance) bool {
	own := func(m machine) bool {
		return slices.ContainsFunc(j.existing(string(m.GetUID())), func(o Instance) bool { return o.Place == i.Place })
	}
	stuck := func(m machine) bool { return m.GetDeletionTimestamp() != nil && j.hopeless(m.Object) }
	return slices.ContainsFunc(j.machines(), func(m machine) bool { return m.GetName() == i.Name && (!own(m) || stuck(m)) })
}

// MayStay reports whether the instances and parts of a deleted machine may stay: no collector looks for them, or the
// collector must not delete them.
func (j *Judge) MayStay(uid string) bool {
	if uid == "" {
		return true
	}
	return j.strays[uid] && !j.Collects || j.Collects && (j.mostInstancesMissing() || j.untagged(uid))
}

// Stays reports whether an instance without a machine may stay.
func (j *Judge) Stays(i Instance) bool { return j.MayStay(i.UID) || j.namesake(i) }

// strayNode reports whether a stray instance, or an instance that may stay, registered the node. No controller looks for
// the nodes of such instances, nor for the nodes of machines whose deletion users forced. A machine may be deleted
// before it knows its node, and may be unable to find it. A node with the name of a foreign instance may be a foreign
// node, as far as a machine can see.
func (j *Judge) strayNode(name string) bool {
	return slices.ContainsFunc(j.Instances(), func(i Instance) bool {
		m, there := find(j.machines(), types.UID(i.UID))
		if i.NodeName == name && there && m.GetDeletionTimestamp() != nil && j.hopeless(m.Object) {
			return true
		}
		left := !j.Collects && (j.strays[i.UID] || j.Hurried(i.UID))
		return i.NodeName == name && (left || i.Exists(j.Now()) && !there && (j.Stays(i) || j.others(i)))
	})
}

// Hurried reports whether users forced the deletion of the machine at any time.
func (j *Judge) Hurried(uid string) bool {
	return slices.ContainsFunc(j.log[types.UID(uid)], func(c change) bool { return c.now != nil && readMachine(c.now).hurried })
}

// MayStillWrite reports whether controllers may write although all objects are in their desired state:
//   - A node is being updated, and its set has no deployment any more that waits for the update.
//   - A node without a machine is not yet marked as unmanaged, or a node still has an unneeded finalizer. Both may take
//     the join timeout of machines.
//   - A check has not yet reported that a machine held by other controllers has no node.
//   - A check has not yet requested the remedy of a failed machine, because its breaker does not allow it yet, or the
//     check reports each hour that the remedy failed.
//   - A collector may still remove an instance or a part.
func (j *Judge) MayStillWrite() bool {
	nodes, all := map[string]bool{}, j.machines()
	for _, m := range all {
		nodes[m.node] = true
		minded := j.onlyForeignFinalizersLeft(m) || m.failed && j.mayBeRequested(m)
		if m.phase == string(v1alpha1.MachineInPlaceUpdating) || selected(j.node(m.node)) || minded && len(j.checks()) > 0 {
			return true
		}
	}
	for _, o := range j.All(&corev1.Node{}) {
		if _, marked := o.GetAnnotations()[v1alpha1.AnnotationKeyNotManaged]; !marked && !nodes[o.GetName()] || keepsUnneededFinalizer(o.(*corev1.Node), all) {
			return true
		}
	}
	nobodys := func(uid string) bool {
		_, there := find(all, types.UID(uid))
		return !there && uid != ""
	}
	return j.Collects && (slices.ContainsFunc(j.existing(""), func(i Instance) bool { return nobodys(i.UID) && !j.others(i) }) ||
		slices.ContainsFunc(j.Parts(), func(p Part) bool { return nobodys(p.UID) && !j.foreign(p) }))
}

// unsettledDeployments names a deployment that is not in its desired state; empty if all are.
func (j *Judge) unsettledDeployments() string {
	for _, d := range j.deployments() {
		if j.hopeless(d.Object) {
			continue
		}
		if d.GetDeletionTimestamp() != nil {
			return fmt.Sprintf("deployment %s is still being deleted", d.GetName())
		}
		for _, check := range []func(deployment) string{j.setsLeft, miscountedRollout, j.marksLeft} {
			if why := check(d); why != "" {
				return fmt.Sprintf("deployment %s: %s", d.GetName(), why)
			}
		}
	}
	for _, s := range j.sets() {
		if s.frozen && !j.hopeless(s.Object) && !j.staysFrozen(s) {
			return fmt.Sprintf("set %s is frozen", s.GetName())
		}
	}
	return ""
}

// presentSet is the set of d's template; empty if no set has it. A creation whose reply was lost may arrive late and
// create a second set, which stays empty.
func presentSet(d deployment, all []set) types.UID {
	all = slices.DeleteFunc(slices.Clone(all), func(s set) bool { return !alike(d.Object, s.Object) })
	if len(all) == 0 {
		return ""
	}
	rank := func(s set) int {
		if s.held || s.avoided {
			return 2 * s.size
		}
		return 2*s.size + 1
	}
	return slices.MaxFunc(all, func(a, b set) int { return cmp.Compare(rank(a), rank(b)) }).GetUID()
}

// setsLeft checks the sets of d.
func (j *Judge) setsLeft(d deployment) string {
	if d.rollbackTo != nil {
		return fmt.Sprintf("has not yet gone back to revision %d", *d.rollbackTo)
	}
	all := j.setsOf(d)
	present, old := presentSet(d, all), int32(0)
	if present == "" {
		return "has no set of its template"
	}
	for _, s := range all {
		switch {
		case s.GetUID() == present:
			if s.size != d.size || s.held || s.avoided {
				return fmt.Sprintf("its set %s wants %d of %d machines, held %v, avoided %v", s.GetName(), s.size, d.size, s.held, s.avoided)
			}
		case s.size > 0 || len(j.controlled(s)) > 0:
			return fmt.Sprintf("its old set %s wants %d machines and has %d", s.GetName(), s.size, len(j.controlled(s)))
		default:
			old++
		}
	}
	if d.history != nil && old > *d.history {
		return fmt.Sprintf("keeps %d old sets instead of %d", old, *d.history)
	}
	return ""
}

// miscountedRollout checks the status of d.
func miscountedRollout(d deployment) string {
	n := int32(d.size)
	if want := (counters{n, n, n, n, 0}); !d.done || d.says != want {
		return fmt.Sprintf("of %d machines it says complete %v, %+v", d.size, d.done, d.says)
	}
	return ""
}

// marksLeft checks the machines of d and their nodes.
func (j *Judge) marksLeft(d deployment) string {
	for _, s := range j.setsOf(d) {
		for _, m := range j.controlled(s) {
			var marks []string
			if n := j.node(m.node); n != nil {
				marks = rolloutMarks(n)
			}
			if !m.going && (len(marks) > 0 || m.shielded) {
				return fmt.Sprintf("machine %s and its node carry %v, handed over %v", m.GetName(), marks, m.shielded)
			}
		}
	}
	if d.wishes {
		return "still lists machines that an autoscaler chose"
	}
	return ""
}

// Leftover names an object that is left; empty if none is.
func (j *Judge) Leftover() string {
	for _, a := range j.APIs {
		for _, example := range []client.Object{a.Deployment, a.Set, a.Machine} {
			for _, o := range j.All(example) {
				return fmt.Sprintf("%T %s is left, finalizers %v", o, o.GetName(), o.GetFinalizers())
			}
		}
	}
	return j.Stray()
}

// renamed reports whether the kubelet of i uses another node name than the cloud predicts, so that no machine
// takes the node. The simulated cloud marks such names.
func renamed(i Instance) bool { return strings.HasPrefix(i.NodeName, "renamed-") }
