package sim

import (
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/verify/sim/store"
)

// openStores creates the API servers: one, or one for machines and one for the target cluster. Each knows its own
// kinds only, so that a controller fails when it asks the wrong one.
func (w *World) openStores() {
	kinds := append(w.kinds(), slices.Concat(w.oldChecks(), w.remediationKinds(), w.disruptionKinds())...)
	if w.profile.apart {
		w.backups.target.kinds = coreKinds()
		w.target = store.New(w.Now, w.scheme(), w.backups.target.kinds)
		w.store = store.New(w.Now, w.scheme(), append(kinds, secretKind()))
	} else {
		w.store = store.New(w.Now, w.scheme(), append(coreKinds(), kinds...))
		w.target = w.store
	}
	hazardEffects{w}.identify(w.target)
}

// home is the API server for the kind of example. Both clusters have Secrets; home returns that of the machines.
func (w *World) home(example runtime.Object) *store.Store {
	switch example.(type) {
	case *corev1.Node, *corev1.Namespace, *certificatesv1.CertificateSigningRequest, *corev1.Pod, *policyv1.PodDisruptionBudget,
		*corev1.PersistentVolume, *corev1.PersistentVolumeClaim, *storagev1.VolumeAttachment:
		return w.target
	}
	return w.store
}

// view is the process's view of the kind of example.
func (p *process) view(example runtime.Object) *store.View {
	return p.byKind[p.w.home(example).KindOf(example)]
}

// connect gives the process its clients of an API server. Their first listings are behind.
func (p *process) connect(s *store.Store, behind int) (client.Client, client.Reader) {
	views := map[*store.Kind]*store.View{}
	for _, k := range s.Kinds() {
		if !p.caches(k) {
			continue
		}
		v := s.View(k, behind)
		p.views = append(p.views, v)
		p.byKind[k], views[k] = v, v
	}
	gate := func(c store.Call, do func() error) error {
		if c.Kind.Kind == "Namespace" { // the identity of the cluster: only outages affect this request
			if o := p.w.outageOf(s, p.w.now); o != nil {
				return o.failure(c)
			}
			return do()
		}
		return p.gate(s, c, do)
	}
	live := store.Live{Store: s, Gate: gate}
	reads := func(o client.Object) {
		if p.running != nil {
			p.recalls.reads(o)
		}
	}
	cached := &store.Client{Store: s, Views: views, Gate: gate, Shows: reads}
	if m := p.w.o.Mutation; m != nil && m.Client != nil {
		return m.Client(cached, live)
	}
	return cached, live
}
