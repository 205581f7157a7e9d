package sim

import (
	"cmp"
	"math/rand/v2"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/verify/sim/cloud"
	"github.com/millwright-dev/millwright/provider"
)

// maxRecreations bounds how often all objects are recreated.
const maxRecreations = 1

// recreated are objects that were recreated from a backup, as Velero does: they have other UIDs.
type recreated struct {
	// successors maps the ID of an instance to the UID of the recreated machine that has recorded the instance.
	successors map[string]string
	// all counts how often all objects were recreated.
	all int
	// lost are the machines that were lost and are in a backup. asked are the IDs of the instances whose removal the collector
	// requested.
	lost  []client.Object
	asked []string
}

// recreationProfile says whether objects are recreated.
type recreationProfile struct {
	// recreates: machines, sets and deployments are deleted by force and recreated with other UIDs.
	recreates bool
	// recreatesLate: machines with two instances are lost and recreated much later. killsRecorded: instead, the recorded
	// instances of such machines die while the others are removed. Only settings have them, not seeds.
	recreatesLate, killsRecorded bool
}

func (r *recreationProfile) draw(rng *rand.Rand) { r.recreates = rng.IntN(8) == 0 }

// settleRecreation adapts the rest of a world. Other restores would restore UIDs as well, and kubemark identifies its
// instances by UID. A machine may be restored without our finalizer and deleted before it has one again. It then cannot get
// one: if a foreign finalizer keeps it, its instance is hidden from every controller, so that finalizer must not stay for
// ever.
func (c *profile) settleRecreation() {
	if c.recreates {
		c.restores, c.versions, c.hollow, c.lasting, c.ends, c.permanent = false, false, false, false, 0, ""
	}
}

// recreationActions are the actions of this profile.
func (w *World) recreationActions() []func() {
	switch {
	case w.profile.killsRecorded:
		return []func(){w.createSecondInstance, w.createSecondInstance, w.killRecorded}
	case w.profile.recreatesLate:
		return []func(){w.loseMachineWithTwo, w.restoreMachine, w.restoreMachine}
	case !w.profile.recreates:
		return nil
	}
	return []func(){w.recreateMachine, w.recreateMachine, w.recreateAll}
}

// recordedInstance returns an instance that a machine has recorded, and that machine; nil if no such machine exists. The machine has no
// controller and is not being deleted.
func (w *World) recordedInstance() (*cloud.Machine, client.Object) {
	var fit []*cloud.Machine
	for _, i := range w.cloud.Existing("") {
		if m := w.machineOf(w.uidOf(i)); w.known(i) && m.GetDeletionTimestamp() == nil && metav1.GetControllerOf(m) == nil {
			fit = append(fit, i)
		}
	}
	i, ok := pick(w, fit)
	if !ok {
		return nil, nil
	}
	return i, w.machineOf(w.uidOf(i))
}

// loseMachineWithTwo loses a machine that is in a backup and has a second instance.
func (w *World) loseMachineWithTwo() {
	i, m := w.recordedInstance()
	if m == nil || i.UID != string(m.GetUID()) {
		return
	}
	d := w.secondInstance(i)
	w.losses.since[i.UID] = w.now
	w.forceDelete(m)
	w.recreated.lost = append(w.recreated.lost, m)
	w.does("LOSES machine %s, which has %s and %s", m.GetName(), i.ID, d.ID)
}

// delayedRemoval is the error of the collector's removals in worlds that recreate machines late: no removal
// succeeds until the faults stop.
func (w *World) delayedRemoval(p *process, c cloud.Call) error {
	if !w.profile.recreatesLate || p.role != orphanRole || c.Verb != "delete" || w.step < 0 {
		return nil
	}
	w.recreated.asked = append(w.recreated.asked, c.Given...)
	return provider.Errorf(provider.Transient, "internal error in zone 1")
}

// killRecorded kills the recorded instance of a machine while the collector removes the machine's other instance.
func (w *World) killRecorded() {
	second := func(i *cloud.Machine) bool {
		return slices.ContainsFunc(w.cloud.Existing(i.UID), func(o *cloud.Machine) bool { return o != i && slices.Contains(w.recreated.asked, o.ID) })
	}
	i, ok := pick(w, slices.DeleteFunc(w.cloud.Existing(""), func(i *cloud.Machine) bool { return !w.known(i) || !second(i) }))
	if !ok {
		return
	}
	w.tracef("cloud", "instance %s of %s DIES", i.ID, i.Name)
	w.cloud.Kill(i)
}

// restoreMachine recreates a machine whose instance the collector has asked to remove.
func (w *World) restoreMachine() {
	var fit []client.Object
	for _, m := range w.recreated.lost {
		id := w.adapter.view(m).Recorded.ProviderID
		runs := slices.ContainsFunc(w.cloud.Machines(), func(i *cloud.Machine) bool {
			return i.ProviderID() == id && i.Runs(w.now) && slices.Contains(w.recreated.asked, i.ID)
		})
		if runs && w.machineOf(string(m.GetUID())) == nil && w.store.Lookup(m, client.ObjectKeyFromObject(m)) == nil {
			fit = append(fit, m)
		}
	}
	if m, ok := pick(w, fit); ok {
		w.recreated.lost = slices.DeleteFunc(w.recreated.lost, func(o client.Object) bool { return o == m })
		w.createAgain(m)
	}
}

func (w *World) recreateMachine() {
	if m := w.anyMachine(false); m != nil {
		w.recreateObjects(m)
	}
}

// recreateAll recreates all objects that users created, and the objects that these created. A deletion is undone, but the
// status still reports it.
func (w *World) recreateAll() {
	if w.recreated.all >= maxRecreations || !w.chance(30) {
		return
	}
	w.recreated.all++
	var all []client.Object
	for _, kind := range [][]client.Object{w.deployments(), w.store.All(w.adapter.set), w.store.All(w.adapter.machine)} {
		all = append(all, kind...)
	}
	w.does("LOSES ALL, and has a backup")
	w.recreateObjects(all...)
}

// recreateObjects deletes objects by force and recreates them.
func (w *World) recreateObjects(all ...client.Object) {
	w.forceDelete(all...)
	w.createAgain(all...)
}

func (w *World) forceDelete(all ...client.Object) {
	for _, o := range all {
		w.edit(o, "", func(o client.Object) { o.SetFinalizers(nil) })
		if o := w.store.Lookup(o, client.ObjectKeyFromObject(o)); o != nil {
			w.must("lose an object", w.store.Delete(o, client.DeleteOptions{}))
		}
	}
}

// createAgain recreates objects, owners first, with or without their finalizers and status.
func (w *World) createAgain(all ...client.Object) {
	// The judge does not know former UIDs, and needs a UID to judge how long a process has watched an object.
	finalizers, status := w.chance(50), w.chance(70) && !w.looks()
	finalizers = finalizers || w.profile.recreatesLate // a machine without finalizers would leave its instances behind
	owners, successors := w.roll(3), map[types.UID]types.UID{}
	for _, o := range all {
		c := o.DeepCopyObject().(client.Object)
		c.SetUID("")
		c.SetResourceVersion("")
		c.SetCreationTimestamp(metav1.Time{})
		c.SetOwnerReferences(w.references(o, owners, successors))
		if !finalizers {
			c.SetFinalizers(nil)
		}
		now, err := w.store.Create(c)
		w.must("create an object again", err)
		if status {
			c.SetUID(now.GetUID())
			now, err = w.store.Update(c, "status")
			w.must("put a status back", err)
		}
		successors[o.GetUID()] = now.GetUID()
		w.does("REMAKES %s with the UID %s instead of %s, references %d, finalizers %v, status %v", o.GetName(), now.GetUID(), o.GetUID(), owners, finalizers, status)
		w.transferInstances(o, now)
	}
}

// references are the restored owner references of o: the references to an existing owner, or else none (0), the former
// references (1), or references to the recreated owner (2).
func (w *World) references(o client.Object, how int, successors map[types.UID]types.UID) []metav1.OwnerReference {
	refs := slices.Clone(o.GetOwnerReferences())
	if w.setOf(o) != nil || w.deploymentOf(o) != nil || how == 1 {
		return refs
	}
	if how == 0 {
		return nil
	}
	for i := range refs {
		refs[i].UID = cmp.Or(successors[refs[i].UID], refs[i].UID)
	}
	return refs
}

// transferInstances records the owners of a recreated machine's instances. The recreated machine owns the instance that it has
// recorded. The other instances belong to no machine.
func (w *World) transferInstances(was, now client.Object) {
	delete(w.owners.chosen, was.GetUID())
	if w.store.KindOf(was) != w.store.KindOf(w.adapter.machine) {
		return
	}
	id := w.adapter.view(was).Recorded.ProviderID
	for _, i := range w.cloud.Machines() {
		switch {
		case w.uidOf(i) != string(was.GetUID()):
		case i.ProviderID() == id:
			w.recreated.successors[i.ID] = string(now.GetUID())
		default:
			w.losses.since[i.UID] = w.now
		}
	}
}

// uidOf is the UID of the machine that has recorded i, or for which i was created.
func (w *World) uidOf(i *cloud.Machine) string {
	if heir := w.recreated.successors[i.ID]; heir != "" {
		return heir
	}
	return i.UID
}

// uidOfPart is the UID of the machine of a part. A part without an instance belongs to no recreated machine.
func (w *World) uidOfPart(p *cloud.Part) string {
	for _, i := range w.cloud.Existing(p.UID) {
		if p.UID != "" && w.recreated.successors[i.ID] != "" {
			return w.recreated.successors[i.ID]
		}
	}
	return p.UID
}
