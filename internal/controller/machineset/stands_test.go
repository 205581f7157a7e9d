package machineset_test

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestDeletedSetMakesNoMachine(t *testing.T) {
	t.Run("machine.openshift.io", func(t *testing.T) { deletedSetMakesNoMachine(t, openshiftAPI) })
	t.Run("machine.sapcloud.io", func(t *testing.T) { deletedSetMakesNoMachine(t, gardenerAPI) })
}

// A user deletes a set and its machines at once, and the cache shows only the deletion of the machines. No
// machine is created in their place, whether the set is deleted already or under deletion.
func deletedSetMakesNoMachine[S client.Object](t *testing.T, a api[S]) {
	w := newWorld(a)
	w.declare(t, 2)
	r := w.controller()
	w.rest(t, r)
	w.sync(t, true, true)
	set := w.lens.New()
	if err := w.Client.Get(t.Context(), w.key(), set); err != nil {
		t.Fatal(err)
	}
	if err := w.Client.Delete(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	for _, m := range w.machinesOf(t, w.Client) {
		if err := w.Client.Delete(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	made := w.created
	w.sync(t, false, true)
	res, err := w.reconcile(t, r)
	if err != nil || res.RequeueAfter == 0 {
		t.Errorf("looks again after %v, %v", res.RequeueAfter, err)
	}
	if w.created != made {
		t.Errorf("%d machines are made for a set that was deleted", w.created-made)
	}
}
