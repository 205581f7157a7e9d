package sim

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/controller/csr"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/verify/sim/cloud"
	"github.com/millwright-dev/millwright/internal/verify/sim/store"
)

// retargeting is that controllers are led to another cluster than the machines joined. Settings have
// it, and no seed.
type retargeting struct {
	// exchanges: the kubeconfig of the target cluster leads to another one for some time.
	exchanges bool
	// rewinds: the target cluster is restored to before nodes joined, which come back when their
	// kubelets are restarted.
	rewinds bool
	// renames: some kubelets call their nodes otherwise than the infrastructure foretells.
	renames bool
	// grace is what pods are given to end; zero: what the API server gives them. They take it.
	grace time.Duration
	// keeps: deployments keep failed machines for inspection, and what is made from the first new template never joins.
	keeps bool
}

// retargeted is what came of it.
type retargeted struct {
	// decoy is a cluster that no machine joined; away: controllers are led there.
	decoy *store.Store
	away  bool
	// backup is that of the target which is restored.
	backup *store.Backup
}

// retargets are the deeds of it.
func (w *World) retargets() (out []func()) {
	if w.profile.exchanges {
		out = append(out, w.exchangeTarget)
	}
	if w.profile.rewinds {
		out = append(out, w.rewindTarget)
	}
	return out
}

// reached is the cluster that controllers take for the one that machines join.
func (w *World) reached() *store.Store {
	if w.retargeted.away {
		return w.retargeted.decoy
	}
	return w.target
}

// exchangeTarget leads all controllers to the other cluster: their Deployments have another kubeconfig
// from now on.
//
// It happens where machines have joined, and their objects say so: which cluster it was that the first of
// them was to join, only that tells.
func (w *World) exchangeTarget() {
	r := &w.retargeted
	joined := func(m client.Object) bool { return w.of(m).view(m).Recorded.Joined.Node != "" }
	if !r.away && !slices.ContainsFunc(w.machines(), joined) {
		return
	}
	if r.decoy == nil {
		r.decoy = store.New(w.Now, w.scheme(), w.joinable)
		w.identify(r.decoy, metav1.NamespaceDefault)
	}
	r.away = !r.away
	w.does("EXCHANGES the target cluster: away %v", r.away)
	w.restartAll()
}

func (w *World) restartAll() {
	for _, p := range slices.Clone(w.procs) {
		if p.deposed == nil {
			p.kill()
			w.start(p.role, p.adapter, 0)
		}
	}
}

// rewindTarget makes a backup of the target cluster, restores it with the nodes and pods that it has, or has
// the kubelets restarted whose nodes are missing since. Processes list anew: their watches ended.
func (w *World) rewindTarget() {
	r := &w.retargeted
	switch {
	case r.backup == nil:
		r.backup = w.target.Backup()
		w.does("makes a BACKUP of the target cluster")
		return
	case w.chance(50) && w.registerAgain():
		return
	}
	for len(w.late) > 0 {
		w.stepLate()
	}
	w.does("RESTORES the target cluster")
	kept := map[types.UID]bool{}
	for _, n := range w.target.Saved(r.backup, ofNodes) {
		kept[n.GetUID()] = true
	}
	for _, n := range objects(w, ofNodes) {
		if !kept[n.UID] {
			w.judge.Forgot(n.UID)
		}
	}
	w.target.Restore(r.backup)
	w.restartAll()
	w.reportAgain()
}

// reportAgain lets kubelets go on with a restored node of theirs, and the cloud's controller take away those that
// no instance has any more.
func (w *World) reportAgain() {
	used := map[types.UID]bool{}
	for _, i := range w.cloud.Existing("") {
		k, n := w.kubelet(i), w.node(i.Host)
		if n != nil && n.Spec.ProviderID == w.spelled(i) {
			k.made, k.joined = n.UID, true
		}
		used[k.made] = true
	}
	for _, n := range objects(w, ofNodes) {
		if !used[n.UID] {
			w.edit(n, "", func(o client.Object) { o.SetFinalizers(nil) })
			w.must("delete a node", client.IgnoreNotFound(w.target.Delete(n, client.DeleteOptions{})))
		}
	}
}

// rename gives a new instance a kubelet that calls its node otherwise.
func (w *World) rename(i *cloud.Machine) {
	if w.profile.renames && w.step >= 0 && w.chance(40) {
		i.Foretold, i.Host = i.Host, "renamed-"+i.Host
	}
}

// unfit reports whether the kubelet is of a template whose machines never join.
func (w *World) unfit(k *kubelet) bool {
	m := w.machineOf(w.uidOf(k.on))
	return w.profile.keeps && w.step >= 0 && m != nil && w.of(m).templateOf(m) == 1
}

// inspected has people say of failed machines that they are kept no more.
func (w *World) inspected() {
	for _, m := range w.machines() {
		if w.profile.keeps && w.judge.Failed(m) && m.GetAnnotations()[v1alpha1.AnnotationKeyPreserve] == v1alpha1.PreserveAuto {
			w.edit(m, "", func(o client.Object) { dialect.SetAnnotation(o, v1alpha1.AnnotationKeyPreserve, "false") })
			w.does("has inspected machine %s", m.GetName())
		}
	}
}

// returnTarget ends that.
func (w *World) returnTarget() {
	if w.retargeted.away {
		w.exchangeTarget()
	}
}

// identify gives the cluster an identity, and the indexes by which controllers look there. What was there
// before makes the identity another one.
func (w *World) identify(s *store.Store, before ...string) {
	for _, name := range append(before, metav1.NamespaceSystem) {
		_, err := s.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		w.must("identify the cluster", err)
	}
	w.must("index certificate requests", csr.SetupIndexes(context.Background(), s))
	for _, i := range w.adapter.indexes {
		w.must("index by node", s.IndexField(context.Background(), i.Object, i.Name, i.Extract))
	}
}
