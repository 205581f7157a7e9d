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

// hazard makes controllers draw a wrong conclusion from a missing object. Only settings have hazards; seeds draw none.
type hazard string

const (
	// exchangedTarget: for some time the kubeconfig of the target cluster points to another cluster.
	exchangedTarget hazard = "exchanged target"
	// restoredTarget: the target cluster is restored to a state before nodes joined. The nodes return when their kubelets
	// restart.
	restoredTarget hazard = "restored target"
	// renamedNodes: some kubelets use another node name than the cloud predicts.
	renamedNodes hazard = "renamed nodes"
	// replacedManifests: users replace machines by manifests without the controllers' annotations.
	replacedManifests hazard = "replaced manifests"
	// removedStatuses: clients remove the status of machines, often while another process takes over.
	removedStatuses hazard = "removed statuses"
	// deniedRemovals: the cloud hides instances whose removal it has accepted.
	deniedRemovals hazard = "denied removals"
	// silentDrains: pods have a long grace period and use it up.
	silentDrains hazard = "silent drains"
	// keptFailures: deployments keep failed machines for inspection, and no machine of the first new template
	// joins.
	keptFailures hazard = "kept failures"
)

// longGrace is the grace period of pods in worlds of silent drains.
const longGrace = 2 * time.Hour

// targets is the state of the target cluster that hazards change.
type targets struct {
	// kinds are the kinds of the target cluster if it is a separate cluster.
	kinds []*store.Kind
	// decoy is a cluster that no machine joined. away: the controllers use the decoy.
	decoy *store.Store
	away  bool
	// last is the backup to restore.
	last *store.Backup
}

// hazardEffects carries out the world's hazard.
type hazardEffects struct{ w *World }

// actions are the hazard's actions.
func (r hazardEffects) actions() []func() {
	w := r.w
	switch w.profile.hazard {
	case exchangedTarget:
		return []func(){r.exchangeTarget}
	case restoredTarget:
		return []func(){r.restoreTarget}
	case replacedManifests:
		return []func(){r.replaceManifest, r.replaceManifest}
	case removedStatuses:
		return []func(){r.removeStatus, r.removeStatus}
	}
	return nil
}

// reached is the cluster that controllers use as the target cluster now.
func (r hazardEffects) reached() *store.Store {
	w := r.w
	if w.backups.target.away {
		return w.backups.target.decoy
	}
	return w.target
}

// exchangeTarget gives all controllers' Deployments another kubeconfig, which points to the other cluster.
//
// It happens only after a machine has recorded the node that joined: before that, controllers cannot tell which
// cluster is the right one.
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

// restoreTarget makes a backup of the target cluster, restores that backup, or restarts the kubelets whose nodes the
// restore removed. All processes list again, because the restore ended their watches.
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

// reportAgain lets kubelets use their restored nodes, and lets the cloud controller manager delete nodes without an
// instance.
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

// rename gives a new instance a kubelet that uses another node name.
func (r hazardEffects) rename(i *cloud.Machine) {
	w := r.w
	if w.profile.hazard == renamedNodes && w.step >= 0 && w.chance(40) {
		i.Host = cloud.Renamed + i.Host
	}
}

// unfit reports whether the machines of the kubelet's template never join.
func (r hazardEffects) unfit(k *kubelet) bool {
	w := r.w
	m := w.machineOf(w.uidOf(k.on))
	return w.profile.hazard == keptFailures && w.step >= 0 && m != nil && w.of(m).templateOf(m) == 1
}

// inspected has users end the preservation of failed machines after an inspection.
func (r hazardEffects) inspected() {
	w := r.w
	for _, m := range w.machines() {
		if w.profile.hazard == keptFailures && w.judge.Failed(m) && m.GetAnnotations()[v1alpha1.AnnotationKeyPreserve] == v1alpha1.PreserveAuto {
			w.edit(m, "", func(o client.Object) { dialect.SetAnnotation(o, v1alpha1.AnnotationKeyPreserve, "false") })
			w.does("has inspected machine %s", m.GetName())
		}
	}
}

// ourKeys is the prefix of our annotations.
const ourKeys = "millwright.dev/"

// replaceManifest replaces a machine by its manifest, as `kubectl replace` does: without our annotations, and
// sometimes with another place for the instance.
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

// removeStatus removes the status of a machine, as a restore without status or a client of another tool does. In most cases, another
// process takes over before the controller has stored it again.
func (r hazardEffects) removeStatus() {
	w := r.w
	m := w.anyMachine(w.chance(30))
	if m == nil {
		return
	}
	w.edit(m, "status", func(o client.Object) {
		switch m := o.(type) {
		case *machinev1.Machine:
			m.Status = machinev1.MachineStatus{}
		case *v1alpha1.Machine:
			m.Status = v1alpha1.MachineStatus{}
		}
	})
	w.judge.RequestForgotten(string(m.GetUID()))
	w.does("REMOVES the status of machine %s", m.GetName())
	leads := slices.DeleteFunc(w.leading(), func(p *process) bool { return p.role != machineRole || p.adapter != w.adapter })
	if p, ok := pick(w, leads); ok && w.chance(70) {
		w.expireLease(p)
		w.tracef(p.name(), "IS DEPOSED with %d passes under way", len(p.tasks))
		w.start(p.role, p.adapter, w.roll(1+int(w.profile.viewLag/time.Second)))
	}
}

// returnTarget makes the controllers use the cluster that the machines joined.
func (r hazardEffects) returnTarget() {
	w := r.w
	if w.backups.target.away {
		r.exchangeTarget()
	}
}

// identify gives the cluster an identity, and the indexes that controllers use there. Namespaces created before
// change the identity.
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
