package sim

import (
	"context"
	"slices"
	"strings"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/controller/csr"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/verify/sim/cloud"
	"github.com/millwright-dev/millwright/internal/verify/sim/judge"
	"github.com/millwright-dev/millwright/internal/verify/sim/store"
	"github.com/millwright-dev/millwright/provider"
)

// hazard is what leads controllers to conclude from what is not there. Settings have one, and no seed.
type hazard string

const (
	// exchangedTarget: the kubeconfig of the target cluster leads to another one for some time.
	exchangedTarget hazard = "exchanged target"
	// restoredTarget: the target cluster is restored to before nodes joined, which come back when their
	// kubelets are restarted.
	restoredTarget hazard = "restored target"
	// renamedNodes: some kubelets call their nodes otherwise than the infrastructure foretells.
	renamedNodes hazard = "renamed nodes"
	// replacedManifests: people replace machines by manifests that lack what controllers noted there.
	replacedManifests hazard = "replaced manifests"
	// deniedRemovals: the infrastructure denies instances that it has promised to remove.
	deniedRemovals hazard = "denied removals"
	// silentDrains: pods are given long to end, and take it.
	silentDrains hazard = "silent drains"
	// keptFailures: deployments keep failed machines for inspection, and what is made from the first new
	// template never joins.
	keptFailures hazard = "kept failures"
)

// longGrace is what pods are given to end in worlds of silent drains.
const longGrace = 2 * time.Hour

// targets are what came of hazards to the cluster that machines join.
type targets struct {
	// kinds are those that it has where it is a cluster of its own.
	kinds []*store.Kind
	// decoy is a cluster that no machine joined; away: controllers are led there.
	decoy *store.Store
	away  bool
	// last is the backup that is restored.
	last *store.Backup
}

// hazardEffects is the world's hazard, with what it does.
type hazardEffects struct{ w *World }

// actions are those of the hazard.
func (r hazardEffects) actions() []func() {
	w := r.w
	switch w.profile.hazard {
	case exchangedTarget:
		return []func(){r.exchangeTarget}
	case restoredTarget:
		return []func(){r.restoreTarget}
	case replacedManifests:
		return []func(){r.replaceManifest, r.replaceManifest}
	}
	return nil
}

// reached is the cluster that controllers take for the one that machines join.
func (r hazardEffects) reached() *store.Store {
	w := r.w
	if w.backups.target.away {
		return w.backups.target.decoy
	}
	return w.target
}

// exchangeTarget leads all controllers to the other cluster: their Deployments have another kubeconfig
// from now on.
//
// It happens only after a machine has recorded the node that joined: before that, nothing says which cluster is
// the right one.
func (r hazardEffects) exchangeTarget() {
	w := r.w
	t := &w.backups.target
	joined := func(m client.Object) bool { return w.of(m).view(m).Recorded.Joined.Node != "" }
	if !t.away && !slices.ContainsFunc(w.machines(), joined) {
		return
	}
	if t.decoy == nil {
		t.decoy = store.New(w.Now, w.scheme(), w.backups.target.kinds)
		r.identify(t.decoy, metav1.NamespaceDefault)
	}
	t.away = !t.away
	w.does("EXCHANGES the target cluster: away %v", t.away)
	r.restartAll()
}

func (r hazardEffects) restartAll() {
	w := r.w
	for _, p := range slices.Clone(w.procs) {
		if p.deposed == nil {
			p.kill()
			w.start(p.role, p.adapter, 0)
		}
	}
}

// restoreTarget makes a backup of the target cluster, restores that backup, or restarts the kubelets whose nodes
// are missing since. Processes list anew: their watches ended.
func (r hazardEffects) restoreTarget() {
	w := r.w
	t := &w.backups.target
	switch {
	case t.last == nil:
		t.last = w.target.Backup()
		w.does("makes a BACKUP of the target cluster")
		return
	case w.chance(50) && w.reregisterNodes():
		return
	}
	for len(w.late) > 0 {
		w.stepLate()
	}
	w.does("RESTORES the target cluster")
	kept := map[types.UID]bool{}
	for _, n := range w.target.Saved(t.last, ofNodes) {
		kept[n.GetUID()] = true
	}
	for _, n := range objects(w, ofNodes) {
		if !kept[n.UID] {
			judge.NodeLostInRestore(w.judge, n.UID)
		}
	}
	w.target.Restore(t.last)
	r.restartAll()
	r.reportAgain()
}

// reportAgain lets kubelets go on with a restored node of theirs, and the cloud's controller take away those that
// no instance has any more.
func (r hazardEffects) reportAgain() {
	w := r.w
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
func (r hazardEffects) rename(i *cloud.Machine) {
	w := r.w
	if w.profile.hazard == renamedNodes && w.step >= 0 && w.chance(40) {
		i.Host = cloud.Renamed + i.Host
	}
}

// unfit reports whether the kubelet is of a template whose machines never join.
func (r hazardEffects) unfit(k *kubelet) bool {
	w := r.w
	m := w.machineOf(w.uidOf(k.on))
	return w.profile.hazard == keptFailures && w.step >= 0 && m != nil && w.of(m).templateOf(m) == 1
}

// inspected ends the preservation of failed machines, as people do once they have inspected them.
func (r hazardEffects) inspected() {
	w := r.w
	for _, m := range w.machines() {
		if w.profile.hazard == keptFailures && w.judge.Failed(m) && m.GetAnnotations()[v1alpha1.AnnotationKeyPreserve] == v1alpha1.PreserveAuto {
			w.edit(m, "", func(o client.Object) { dialect.SetAnnotation(o, v1alpha1.AnnotationKeyPreserve, "false") })
			w.does("has inspected machine %s", m.GetName())
		}
	}
}

// ourKeys is how our annotations begin.
const ourKeys = "millwright.dev/"

// replaceManifest puts a manifest in the place of a machine, as `kubectl replace` does: it has no annotation of ours,
// and may say that the instance is elsewhere.
func (r hazardEffects) replaceManifest() {
	w := r.w
	m := w.anyMachine(w.chance(40))
	if m == nil {
		return
	}
	what := ""
	w.edit(m, "", func(o client.Object) {
		kept := map[string]string{}
		for k, v := range o.GetAnnotations() {
			if !strings.HasPrefix(k, ourKeys) {
				kept[k] = v
			}
		}
		o.SetAnnotations(kept)
		switch m := o.(type) {
		case *machinev1.Machine:
			m.Spec.ProviderID = nil
		case *v1alpha1.Machine:
			m.Spec.ProviderID = ""
		}
		if w.adapter.api == provider.OpenShift && o.GetLabels() != nil {
			what = w.move(o.GetLabels())
		}
	})
	w.does("REPLACES machine %s by its manifest %s", m.GetName(), what)
}

// returnTarget leads the controllers back to the cluster that the machines joined.
func (r hazardEffects) returnTarget() {
	w := r.w
	if w.backups.target.away {
		r.exchangeTarget()
	}
}

// identify gives the cluster an identity, and the indexes by which controllers look there. What was there
// before makes the identity another one.
func (r hazardEffects) identify(s *store.Store, before ...string) {
	w := r.w
	for _, name := range append(before, metav1.NamespaceSystem) {
		_, err := s.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		w.must("identify the cluster", err)
	}
	w.must("index certificate requests", csr.SetupIndexes(context.Background(), s))
	for _, i := range w.adapter.indexes {
		w.must("index by node", s.IndexField(context.Background(), i.Object, i.Name, i.Extract))
	}
}
