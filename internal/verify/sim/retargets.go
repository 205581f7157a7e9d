package sim

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/verify/sim/store"
)

// targetUID is the identity of the cluster that machines join.
const targetUID = "kube-system-of-the-target"

// retargeting is a world in which the controllers are led to another cluster than the machines
// join, as by a kubeconfig that was exchanged, and in which the cluster that they join is
// restored from before some of its nodes.
type retargeting struct {
	// exchanges: another, healthy and empty cluster answers for some time. forgets: the target
	// comes back without nodes that joined, under its own identity; their kubelets run on, and
	// are restarted in the end. No seed draws them: seeds mean what they meant, and settings
	// have them.
	exchanges, forgets bool
	// decoy is the other cluster while it answers, until then.
	decoy *store.Store
	until time.Time
	// saved is the backup of the target.
	saved *store.Backup
}

// retargets are the deeds.
func (w *World) retargets() (out []func()) {
	if w.profile.exchanges {
		out = append(out, w.exchangeTarget, w.exchangeTarget)
	}
	if w.profile.forgets {
		out = append(out, w.forgetNodes, w.forgetNodes)
	}
	return out
}

// exchangeTarget leads the controllers to another cluster, or back.
func (w *World) exchangeTarget() {
	if w.profile.decoy != nil {
		w.leadBack()
		return
	}
	if !w.targetKnown() {
		return
	}
	w.profile.decoy = store.New(w.Now, w.scheme(), w.target.Kinds())
	w.identify(w.profile.decoy, "kube-system-of-another")
	w.index(w.profile.decoy)
	w.profile.until = w.now.Add(time.Duration(w.between(30, []int{120, 1200, 3600}[w.roll(3)])) * time.Second)
	w.does("leads the controllers to ANOTHER CLUSTER")
	w.startAnew()
}

// targetKnown reports whether a machine has recorded which cluster it joins: before, any may be
// the one.
func (w *World) targetKnown() bool {
	return slices.ContainsFunc(w.machines(), func(m client.Object) bool { return w.of(m).view(m).Recorded.Joined.Cluster == targetUID })
}

// leadBack ends that.
func (w *World) leadBack() {
	if w.profile.decoy == nil {
		return
	}
	w.profile.decoy = nil
	w.does("leads the controllers back to the target cluster")
	w.startAnew()
}

// answering is the cluster that answers the controllers as the target.
func (w *World) answering() *store.Store {
	if w.profile.decoy != nil {
		return w.profile.decoy
	}
	return w.target
}

// startAnew starts all processes anew, as they are when their configuration changes.
func (w *World) startAnew() {
	for _, p := range slices.Clone(w.procs) {
		if p.deposed == nil {
			p.kill()
			w.start(p.role, p.adapter, 0)
		}
	}
}

// identify gives the cluster the namespace by which it is known.
func (w *World) identify(s *store.Store, uid string) {
	system := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: types.UID(uid)}}
	_, err := s.Create(system)
	w.must("identify a cluster", err)
}

// forgetNodes makes a backup of the target, or restores it.
func (w *World) forgetNodes() {
	if w.profile.saved == nil {
		w.profile.saved = w.target.Backup()
		w.does("makes a BACKUP of the target cluster")
		return
	}
	kept := map[string]bool{}
	for _, o := range w.target.Saved(w.profile.saved, &corev1.Node{}) {
		kept[o.GetName()] = true
	}
	lost := 0
	for _, n := range objects(w, &corev1.Node{}) {
		if !kept[n.GetName()] {
			w.target.Forget(n)
			lost++
		}
	}
	w.profile.saved = nil
	w.does("RESTORES the target cluster without %d of its nodes", lost)
}
