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

// mostRemade is how often all objects are made anew at most.
const mostRemade = 1

// remade are objects that were put back from a backup by making them anew, as Velero
// does: they have other UIDs.
type remade struct {
	// heirs are the UIDs of the machines that have instances recorded which were made
	// for a machine with another UID, by ID.
	heirs map[string]string
	// all is how often all objects were.
	all int
	// lost are the machines that were lost, and of which there is a backup; asked are the IDs of
	// the instances that the collector asked to remove.
	lost  []client.Object
	asked []string
}

// remaking is that objects are made anew.
type remaking struct {
	// remakes: machines and what makes them are taken away and made anew, with other UIDs.
	remakes bool
	// tardy: machines that have two instances are lost, and made anew much later. No seed draws
	// it: settings have it. bereaves: their own instances die instead, as the others are removed.
	tardy, bereaves bool
}

func (r *remaking) draw(rng *rand.Rand) { r.remakes = rng.IntN(8) == 0 }

// settleRemaking makes the rest of a world fit: what else puts objects back that were
// there before would put back the UIDs too, and kubemark knows its instances by them. A
// machine that is put back without our finalizer, and deleted before it has one again,
// cannot get one: whoever holds it then keeps its instance from everybody, and may not do
// so for ever.
func (c *profile) settleRemaking() {
	if c.remakes {
		c.restores, c.versions, c.hollow, c.lasting, c.ends, c.ill = false, false, false, false, 0, ""
	}
}

// remakeDeeds are the deeds of it.
func (w *World) remakeDeeds() []func() {
	switch {
	case w.profile.bereaves:
		return []func(){w.double, w.double, w.bereave}
	case w.profile.tardy:
		return []func(){w.loseDoubled, w.putBack, w.putBack}
	case !w.profile.remakes:
		return nil
	}
	return []func(){w.remakeMachine, w.remakeMachine, w.remakeAll}
}

// settled is an instance whose machine stays and has it recorded, with the machine; nil: there is
// none.
func (w *World) settled() (*cloud.Machine, client.Object) {
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

// loseDoubled takes a machine away, of which there is a backup, and that has a second instance.
func (w *World) loseDoubled() {
	i, m := w.settled()
	if m == nil || i.UID != string(m.GetUID()) {
		return
	}
	d := w.doubled(i)
	w.losses.since[i.UID] = w.now
	w.take(m)
	w.remade.lost = append(w.remade.lost, m)
	w.does("LOSES machine %s, which has %s and %s", m.GetName(), i.ID, d.ID)
}

// tardyCall is what a call comes to where machines are made anew late: until the faults stop
// nothing goes that the collector asks to remove.
func (w *World) tardyCall(p *process, c cloud.Call) error {
	if !w.profile.tardy || p.role != orphanRole || c.Verb != "delete" || w.step < 0 {
		return nil
	}
	w.remade.asked = append(w.remade.asked, c.Given...)
	return provider.Errorf(provider.Transient, "internal error in zone 1")
}

// bereave kills the instance that a machine has recorded, where the collector asked to remove another.
func (w *World) bereave() {
	second := func(i *cloud.Machine) bool {
		return slices.ContainsFunc(w.cloud.Existing(i.UID), func(o *cloud.Machine) bool { return o != i && slices.Contains(w.remade.asked, o.ID) })
	}
	i, ok := pick(w, slices.DeleteFunc(w.cloud.Existing(""), func(i *cloud.Machine) bool { return !w.known(i) || !second(i) }))
	if !ok {
		return
	}
	w.tracef("cloud", "instance %s of %s DIES", i.ID, i.Name)
	w.cloud.Kill(i)
}

// putBack makes a machine anew whose instance the collector asked to remove.
func (w *World) putBack() {
	var fit []client.Object
	for _, m := range w.remade.lost {
		id := w.adapter.view(m).Recorded.ProviderID
		runs := slices.ContainsFunc(w.cloud.Machines(), func(i *cloud.Machine) bool {
			return i.ProviderID() == id && i.Runs(w.now) && slices.Contains(w.remade.asked, i.ID)
		})
		if runs && w.machineOf(string(m.GetUID())) == nil && w.store.Lookup(m, client.ObjectKeyFromObject(m)) == nil {
			fit = append(fit, m)
		}
	}
	if m, ok := pick(w, fit); ok {
		w.remade.lost = slices.DeleteFunc(w.remade.lost, func(o client.Object) bool { return o == m })
		w.makeAnew(m)
	}
}

func (w *World) remakeMachine() {
	if m := w.anyMachine(false); m != nil {
		w.remake(m)
	}
}

// remakeAll makes all anew that people make, or what they make does. What was being deleted
// is back as if nobody had asked for that, with what its status says of it.
func (w *World) remakeAll() {
	if w.remade.all >= mostRemade || !w.chance(30) {
		return
	}
	w.remade.all++
	var all []client.Object
	for _, kind := range [][]client.Object{w.deployments(), w.store.All(w.adapter.set), w.store.All(w.adapter.machine)} {
		all = append(all, kind...)
	}
	w.does("LOSES ALL, and has a backup")
	w.remake(all...)
}

// remake takes objects away and makes them anew.
func (w *World) remake(all ...client.Object) {
	w.take(all...)
	w.makeAnew(all...)
}

func (w *World) take(all ...client.Object) {
	for _, o := range all {
		w.edit(o, "", func(o client.Object) { o.SetFinalizers(nil) })
		if o := w.store.Lookup(o, client.ObjectKeyFromObject(o)); o != nil {
			w.must("lose an object", w.store.Delete(o, client.DeleteOptions{}))
		}
	}
}

// makeAnew makes objects anew, owners first, with or without their finalizers and their status.
func (w *World) makeAnew(all ...client.Object) {
	// Where it is judged how long something was in sight, the judge knows of no former UID.
	finalizers, status := w.chance(50), w.chance(70) && !w.looks()
	finalizers = finalizers || w.profile.tardy // one that goes at once leaves what was asked to go before
	owners, heirs := w.roll(3), map[types.UID]types.UID{}
	for _, o := range all {
		c := o.DeepCopyObject().(client.Object)
		c.SetUID("")
		c.SetResourceVersion("")
		c.SetCreationTimestamp(metav1.Time{})
		c.SetOwnerReferences(w.references(o, owners, heirs))
		if !finalizers {
			c.SetFinalizers(nil)
		}
		now, err := w.store.Create(c)
		w.must("make an object anew", err)
		if status {
			c.SetUID(now.GetUID())
			now, err = w.store.Update(c, "status")
			w.must("put a status back", err)
		}
		heirs[o.GetUID()] = now.GetUID()
		w.does("REMAKES %s with the UID %s instead of %s, references %d, finalizers %v, status %v", o.GetName(), now.GetUID(), o.GetUID(), owners, finalizers, status)
		w.inherits(o, now)
	}
}

// references are those of o to its owners as they are put back: to one that is there, or
// else none (0), as they were (1), or to who took its place (2).
func (w *World) references(o client.Object, how int, heirs map[types.UID]types.UID) []metav1.OwnerReference {
	refs := slices.Clone(o.GetOwnerReferences())
	if w.setOf(o) != nil || w.deploymentOf(o) != nil || how == 1 {
		return refs
	}
	if how == 0 {
		return nil
	}
	for i := range refs {
		refs[i].UID = cmp.Or(heirs[refs[i].UID], refs[i].UID)
	}
	return refs
}

// inherits notes whose the instances of a machine are that was made anew: what it has
// recorded is its, what it has not is nobody's.
func (w *World) inherits(was, now client.Object) {
	delete(w.owners.chosen, was.GetUID())
	if w.store.KindOf(was) != w.store.KindOf(w.adapter.machine) {
		return
	}
	id := w.adapter.view(was).Recorded.ProviderID
	for _, i := range w.cloud.Machines() {
		switch {
		case w.uidOf(i) != string(was.GetUID()):
		case i.ProviderID() == id:
			w.remade.heirs[i.ID] = string(now.GetUID())
		default:
			w.losses.since[i.UID] = w.now
		}
	}
}

// uidOf is the UID of the machine whose instance i is, or for which it was made.
func (w *World) uidOf(i *cloud.Machine) string {
	if heir := w.remade.heirs[i.ID]; heir != "" {
		return heir
	}
	return i.UID
}

// uidOfPart is the same of a part. What outlives its instance is nobody's.
func (w *World) uidOfPart(p *cloud.Part) string {
	for _, i := range w.cloud.Existing(p.UID) {
		if p.UID != "" && w.remade.heirs[i.ID] != "" {
			return w.remade.heirs[i.ID]
		}
	}
	return p.UID
}
