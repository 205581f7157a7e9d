package sim

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// uidlessProfile is a world in which instances carry no UID, because another implementation created them. Only settings have
// it. Seeds do not draw it, so that their worlds do not change.
type uidlessProfile struct {
	// twins: users delete machines that have a second instance of the same name. copies: users copy a machine's
	// manifest under another name, with its provider ID, and delete the copy.
	twins, copies bool
}

// uidlessActions are the actions of this profile.
func (w *World) uidlessActions() (out []func()) {
	if w.profile.twins {
		out = append(out, w.deleteMachineWithTwin)
	}
	if w.profile.copies {
		out = append(out, w.copyMachine)
	}
	return out
}

// deleteMachineWithTwin deletes a machine for which another implementation had created a second instance.
func (w *World) deleteMachineWithTwin() {
	i, m := w.recordedInstance()
	if m == nil {
		return
	}
	d := w.idle(i.Place, "", i.Name)
	w.losses.secondInstances[d.ID] = true
	w.recreated.successors[d.ID] = w.uidOf(i)
	w.deleteObject(m)
	w.does("deletes machine %s, for which another implementation had created %s in addition to %s", m.GetName(), d.ID, i.ID)
}

// copyMachine copies a machine whose instance another implementation created, with finalizers and provider ID, and
// deletes the copy.
func (w *World) copyMachine() {
	i, m := w.recordedInstance()
	if m == nil || len(w.store.All(w.adapter.machine)) >= mostMachines {
		return
	}
	w.recreated.successors[i.ID] = w.uidOf(i)
	i.UID = ""
	c := m.DeepCopyObject().(client.Object)
	w.named++
	c.SetName(fmt.Sprintf("copy%d", w.named))
	c.SetUID("")
	c.SetResourceVersion("")
	c.SetCreationTimestamp(metav1.Time{})
	c, err := w.store.Create(c)
	w.must("copy a machine", err)
	w.deleteObject(c)
	w.does("copies machine %s of %s, and deletes copy %s", m.GetName(), i.ID, c.GetName())
}
