package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/verify/sim/cloud"
	"github.com/millwright-dev/millwright/provider"
)

// falseAnswers are the times until which the cloud gives false answers.
type falseAnswers struct {
	// refused: the cloud accepts no spec. denied: the cloud hides instances whose nodes are ready.
	refused, denied time.Time
	// spent: the cloud has no capacity for the instances that it accepts.
	spent time.Time
	// neighbours counts the instances that other control planes created.
	neighbours int
}

// setUpFalseAnswers creates what false answers need.
func (w *World) setUpFalseAnswers() {
	w.cloud.Hides, w.cloud.Refuses = w.hides, w.refuses
	if !w.profile.accounts {
		return
	}
	s := credentials()
	s.Name, s.Data[cloud.AccountKey] = otherName(secretName), []byte(otherAccount)
	w.createMissing(append([]client.Object{s}, w.otherClasses()...))
}

// otherClasses are the classes of the other account.
func (w *World) otherClasses() []client.Object {
	if !w.profile.accounts || !w.has(provider.Gardener) {
		return nil
	}
	c := gardenerClasses()[0].(*v1alpha1.MachineClass)
	c.Name, c.CredentialsSecretRef.Name = otherName(className), otherName(secretName)
	return []client.Object{c}
}

func (w *World) credentials() *corev1.Secret {
	s, _ := w.store.Lookup(&corev1.Secret{}, client.ObjectKey{Namespace: namespace, Name: secretName}).(*corev1.Secret)
	return s
}

// switchAccount replaces the credentials of one account by the credentials of the other.
func (w *World) switchAccount() {
	s := w.credentials()
	if s == nil {
		return
	}
	account := otherAccount
	if string(s.Data[cloud.AccountKey]) == otherAccount {
		account = cloud.MainAccount
	}
	w.edit(s, "", func(o client.Object) {
		data := map[string][]byte{}
		maps.Copy(data, o.(*corev1.Secret).Data)
		data[cloud.AccountKey] = []byte(account)
		o.(*corev1.Secret).Data = data
	})
	w.does("puts in the credentials of account %s", account)
}

// toggleCredentialKey makes the credentials incomplete, or completes them.
func (w *World) toggleCredentialKey() {
	s := w.credentials()
	if s == nil {
		return
	}
	if len(s.Data[cloud.CredentialKey]) == 0 {
		w.restoreAccount()
		return
	}
	w.edit(s, "", func(o client.Object) { delete(o.(*corev1.Secret).Data, cloud.CredentialKey) })
	w.does("leaves half of the credentials")
}

func (w *World) restoreAccount() {
	s := w.credentials()
	if s == nil || !w.profile.accounts {
		return
	}
	w.edit(s, "", func(o client.Object) { o.(*corev1.Secret).Data = credentials().Data })
	w.does("puts the right credentials back")
}

// denyInstances makes the cloud report for some time that it has no instances.
func (w *World) denyInstances() {
	w.falseAnswers.denied = w.now.Add(time.Duration(w.between(10, []int{60, 600, 3600}[w.roll(3)])) * time.Second)
	w.tracef("cloud", "DENIES that there are instances until %v", w.falseAnswers.denied.Sub(epoch))
}

// hides reports whether the cloud hides the instance although its node is ready. The node's name proves that no other instance
// created that node.
func (w *World) hides(i *cloud.Machine) bool {
	there := i.Runs(w.now) || w.profile.hazard == deniedRemovals && i.Exists(w.now)
	if !w.now.Before(w.falseAnswers.denied) || !there || !w.known(i) || w.kubelet(i).hostile {
		return false
	}
	n := w.nodeOf(w.kubelet(i))
	if !nodeReady(n) || n.Spec.ProviderID == "" {
		return false
	}
	return !slices.ContainsFunc(w.cloud.Existing(""), func(o *cloud.Machine) bool { return o != i && o.Host == i.Host })
}

// neighbour creates an instance in the same place for another control plane, or for another namespace of this one.
func (w *World) neighbour() {
	if w.falseAnswers.neighbours >= 4 {
		return
	}
	w.falseAnswers.neighbours++
	name := fmt.Sprintf("single%d", w.between(1, 4))
	if m := w.anyMachine(w.chance(50)); m != nil {
		name = m.GetName()
	}
	uid := fmt.Sprintf("neighbour-%d", w.falseAnswers.neighbours)
	by, space := "another-control-plane", namespace
	if w.chance(40) {
		by, space = owner, "elsewhere"
	}
	i := w.idle(home, uid, name)
	i.Owner, i.Namespace = by, space
	w.cloud.AddPart(cloud.Part{Place: home, UID: uid, Name: "disk", Owner: by, Namespace: space})
	w.tracef("neighbour", "%s makes instance %s, %s, for namespace %s", by, i.ID, name, space)
}

// clearNames has neighbours delete the instances whose names block the creation of machines.
func (w *World) clearNames() {
	if !w.profile.cloud.ByName && !w.profile.cloud.Unique {
		return
	}
	for _, i := range w.cloud.Existing("") {
		if (i.Owner != owner || i.Namespace != namespace) && w.machineOf(w.uidOf(i)) == nil {
			w.cloud.Kill(i)
		}
	}
}

// machineOn returns the machine of node n, or nil if none exists.
func (w *World) machineOn(n *corev1.Node) client.Object {
	for _, i := range w.cloud.Machines() {
		if (i.Host != i.Name || len(w.apis) > 1) && w.nodeOf(w.kubelet(i)) == n {
			return w.machineOf(w.uidOf(i))
		}
	}
	return w.store.Lookup(w.adapter.machine, client.ObjectKey{Namespace: namespace, Name: n.Name})
}

// spelled is the provider ID of i in the spelling of its node.
func (w *World) spelled(i *cloud.Machine) string {
	id := i.ProviderID()
	if !w.profile.odd {
		return id
	}
	switch len(i.UID+i.ID) % 3 {
	case 0:
		return strings.ToUpper(id)
	case 1:
		return strings.Replace(id, ":///", ":////zone/", 1)
	}
	return id
}
