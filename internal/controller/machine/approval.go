package machine

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/controller/index"
	"github.com/millwright-dev/millwright/internal/engine/approval"
	"github.com/millwright-dev/millwright/provider"
)

// instance is the last known state of a machine's instance. Certificates are checked against it, because
// not every API records addresses, and what a kubelet reports about its own node proves nothing.
type instance struct {
	nodeName  string
	addresses []corev1.NodeAddress
}

// saw notes the answer of the infrastructure.
func (m memory) saw(key types.NamespacedName, i provider.Instance) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.all[key]; r != nil {
		if r.instance.nodeName != i.NodeName || !slices.Equal(r.instance.addresses, i.Addresses) {
			m.setInstance(r, instance{nodeName: i.NodeName, addresses: slices.Clone(i.Addresses)})
		}
		r.placed.zone = cmp.Or(i.Zone, r.placed.zone)
	}
}

// instanceOf is the last known state of the instance of o, without that of an earlier machine of its name.
func (m memory) instanceOf(o client.Object) instance {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.all[client.ObjectKeyFromObject(o)]; r != nil && r.uid == o.GetUID() {
		return r.instance
	}
	return instance{}
}

// hosts are the host names of instance, as DNS compares them.
func (i instance) hosts() []string {
	out := append(namesIn(i.addresses), i.nodeName)
	for k, name := range out {
		out[k] = approval.FoldName(name)
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(name string) bool { return name == "" })
}

// setInstance replaces the known state of the instance of r, and indexes its host names; the lock is held.
func (m memory) setInstance(r *remembered, now instance) {
	for _, host := range r.instance.hosts() {
		if left := slices.DeleteFunc(m.hosts[host], func(uid types.UID) bool { return uid == r.uid }); len(left) > 0 {
			m.hosts[host] = left
		} else {
			delete(m.hosts, host)
		}
	}
	r.instance = now
	for _, host := range now.hosts() {
		m.hosts[host] = append(m.hosts[host], r.uid)
	}
}

// hasNamed reports whether an instance with the host name was seen for another machine than the one with
// the UID. Caches may not show that on the other machine yet.
func (m memory) hasNamed(uid, host string) bool {
	return slices.ContainsFunc(m.named(host), func(of types.UID) bool { return string(of) != uid })
}

// named are the UIDs of the machines whose instances were seen with the host name.
func (m memory) named(host string) []types.UID {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.hosts[approval.FoldName(host)])
}

// Approvals are the machines that a certificate request may be about, ordered by namespace and name. It
// reads only those, so that a request costs the same in a fleet of any size.
func (r *Reconciler[M]) Approvals(ctx context.Context, s approval.Subject) ([]approval.Machine, error) {
	found := map[types.UID]approval.Machine{}
	err := index.Each(ctx, r.Client, r.Dialect, r.memory.subjectKeys(s), func(m M) {
		if _, known := found[m.GetUID()]; !known {
			found[m.GetUID()] = r.approval(m)
		}
	})
	if err != nil {
		return nil, err
	}
	return slices.SortedFunc(maps.Values(found), func(a, b approval.Machine) int { return strings.Compare(a.Key(), b.Key()) }), nil
}

// subjectKeys are the keys under which [index.Node] has the machines that a request may be about. No object
// has the last known state of an instance yet, so its machine is found by UID.
func (m memory) subjectKeys(s approval.Subject) (keys []string) {
	if s.Node != "" {
		keys = append(keys, index.NodeNameKey(s.Node))
	}
	for _, uid := range m.named(s.Node) {
		keys = append(keys, index.UIDKey(string(uid)))
	}
	if _, name, ok := strings.Cut(s.Owner, "/"); ok {
		keys = append(keys, index.NameKey(name))
	}
	return keys
}

// Fleet counts the machines.
func (r *Reconciler[M]) Fleet(ctx context.Context) (int, error) {
	list := r.Dialect.NewList()
	if err := r.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return 0, fmt.Errorf("count machines: %w", err)
	}
	return meta.LenList(list), nil
}

// Latest reads one of them from the API server; false if it does not exist, or is of another API.
func (r *Reconciler[M]) Latest(ctx context.Context, shown approval.Machine) (approval.Machine, bool, error) {
	m := r.Dialect.New()
	if own := r.reference(m); own.APIVersion != shown.Ref.APIVersion || own.Kind != shown.Ref.Kind {
		return approval.Machine{}, false, nil
	}
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: shown.Namespace, Name: shown.Name}, m)
	if apierrors.IsNotFound(err) || err == nil && string(m.GetUID()) != shown.UID {
		return approval.Machine{}, false, nil
	}
	if err != nil {
		return approval.Machine{}, false, fmt.Errorf("read machine past the cache: %w", err)
	}
	return r.approval(m), true, nil
}

// Approval is the same for one machine; false for an object of another kind.
func (r *Reconciler[M]) Approval(o client.Object) (approval.Machine, bool) {
	m, ok := o.(M)
	if !ok {
		return approval.Machine{}, false
	}
	return r.approval(m), true
}

func (r *Reconciler[M]) approval(m M) approval.Machine {
	v := r.Dialect.View(m)
	seen := r.memory.instanceOf(m)
	a := approval.Machine{
		UID: v.UID, Namespace: v.Namespace, Name: v.Name, NodeName: v.Recorded.NodeName, Linked: v.Recorded.NodeUID != "" || v.HadNode(),
		Deleting: !v.Deleted.IsZero(), Created: v.Created, ProviderID: v.Recorded.ProviderID,
		Addresses: append(slices.Clone(v.Recorded.Addresses), seen.addresses...),
		Ref:       r.reference(m),
	}
	if a.NodeName == "" {
		a.NodeName = seen.nodeName
	}
	if seen.nodeName != "" {
		a.Addresses = append(a.Addresses, corev1.NodeAddress{Type: corev1.NodeHostName, Address: seen.nodeName})
	}
	return a
}

func (r *Reconciler[M]) reference(m M) corev1.ObjectReference {
	gvk, err := r.Client.GroupVersionKindFor(m)
	if err != nil {
		return corev1.ObjectReference{}
	}
	return corev1.ObjectReference{
		APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind,
		Namespace: m.GetNamespace(), Name: m.GetName(), UID: m.GetUID(),
	}
}
