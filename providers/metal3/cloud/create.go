package cloud

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kubeapi"
)

// Create implements [provider.Session]: it writes the machine's secret, which names the chosen host, and then
// claims that host.
func (s *session) Create(ctx context.Context, ref provider.Ref, want provider.Want) (provider.Instance, error) {
	if s.spec == nil {
		return provider.Instance{}, provider.Errorf(provider.Invalid, "the class has no spec to choose a host for %s", ref.Name)
	}
	if only := s.choice(); want.Choice != "" && want.Choice != only {
		return provider.Instance{}, provider.Errorf(provider.Invalid, "the spec has no choice %q: it has %q", want.Choice, only)
	}
	c, err := s.connect(ctx)
	if err != nil {
		return provider.Instance{}, err
	}
	h, err := creator{call{s, c}, ref, want.UserData}.create(ctx)
	if err != nil {
		return provider.Instance{}, fmt.Errorf("claim a host for %s: %w", ref.Name, s.observe(err))
	}
	return toInstance(h), nil
}

// creator claims a host for one machine.
type creator struct {
	call
	ref      provider.Ref
	userData []byte
}

// attempts limits the retries after a conflict with another process.
const attempts = 4

func (cr creator) create(ctx context.Context) (h *host, err error) {
	for range attempts {
		if h, err = cr.try(ctx); provider.KindOf(err) != provider.Conflict {
			return h, err
		}
	}
	return nil, err
}

// try reads the secret, then the hosts, then writes the secret and then the host, each only if it is
// unchanged since it was read. A process that chooses another host has read the secret before, and then seen
// that this host is not free.
func (cr creator) try(ctx context.Context) (*host, error) {
	namespace, name := cr.of(cr.ref), cr.secretName(cr.ref)
	claim, err := kubeapi.Secrets.Get(ctx, cr.client, namespace, name)
	if err != nil {
		return nil, err
	}
	if claim != nil && (claim.DeletionTimestamp != nil || claim.Labels[kubeapi.LabelUID] != cr.ref.UID || !cr.marked(claim.ObjectMeta)) {
		return nil, provider.Errorf(provider.Conflict, "secret %s exists and belongs to another machine, or is being deleted", name)
	}
	h, taken, err := cr.choose(ctx, claim)
	if err != nil || taken {
		return h, err
	}
	if err := cr.writeSecret(ctx, claim, h); err != nil {
		return nil, fmt.Errorf("write secret %s: %w", name, err)
	}
	made, err := hosts.Patch(ctx, cr.client, h.Namespace, h.Name, cr.provision(h))
	if kubeapi.IsGone(err) {
		return nil, provider.Errorf(provider.Conflict, "host %s has been deleted meanwhile", h.Name)
	}
	if err != nil {
		return nil, fmt.Errorf("claim host %s: %w", h.Name, err)
	}
	return made, nil
}

// choose returns the machine's current host, or else the host to claim: the secret's host if it is free, or
// any other free host.
func (cr creator) choose(ctx context.Context, claim *corev1.Secret) (h *host, taken bool, err error) {
	if owner := claimedBy(claim); owner.UID != "" {
		h, err := hosts.Get(ctx, cr.client, cr.of(cr.ref), owner.Name)
		switch {
		case err != nil:
			return nil, false, err
		case h == nil || h.UID != owner.UID:
		case cr.mine(h):
			return h, true, nil
		case unfit(h, cr.spec.Selector()) == "":
			return h, false, nil
		}
	}
	all, err := hosts.All(ctx, cr.client, cr.of(cr.ref), "")
	if err != nil {
		return nil, false, err
	}
	for _, h := range all {
		if cr.mine(h) {
			return h, true, nil
		}
	}
	h, err = choose(all, cr.spec, cr.of(cr.ref), cr.ref.Token(cr.class.Cluster))
	return h, false, err
}

// mine reports whether Find would find a host for the machine.
func (cr creator) mine(h *host) bool {
	if !cr.owns(h) {
		return false
	}
	p, ok := identified(cr.ref.ProviderID)
	return cr.ref.UID != "" && marksOn(h).UID == cr.ref.UID || ok && p.is(h) || cr.claimedByOriginal(h, cr.ref)
}

// claimedBy is the host that owns a secret.
func claimedBy(s *corev1.Secret) metav1.OwnerReference {
	if s != nil {
		for _, owner := range s.OwnerReferences {
			if owner.Kind == hosts.Name {
				return owner
			}
		}
	}
	return metav1.OwnerReference{}
}

const userDataKey = "userData"

// writeSecret stores the current user data, and makes the host the owner of the secret, so that Kubernetes
// deletes it with the host.
func (cr creator) writeSecret(ctx context.Context, is *corev1.Secret, h *host) error {
	owner := metav1.OwnerReference{APIVersion: "metal3.io/v1alpha1", Kind: hosts.Name, Name: h.Name, UID: h.UID}
	data := map[string][]byte{userDataKey: cr.userData}
	if is == nil {
		marks := cr.marks(cr.ref)
		_, err := kubeapi.Secrets.Create(ctx, cr.client, h.Namespace, &corev1.Secret{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: kubeapi.Secrets.Name},
			ObjectMeta: metav1.ObjectMeta{
				Name: cr.secretName(cr.ref), Namespace: h.Namespace, Labels: marks.Labels(), Annotations: marks.Annotations(),
				OwnerReferences: []metav1.OwnerReference{owner},
			},
			Data: data,
		})
		return err
	}
	_, err := kubeapi.Secrets.Patch(ctx, cr.client, h.Namespace, is.Name, map[string]any{
		"metadata": map[string]any{
			"resourceVersion": is.ResourceVersion, "annotations": map[string]any{annotationVersion: is.ResourceVersion},
			"ownerReferences": []metav1.OwnerReference{owner},
		},
		"data": data,
	})
	if kubeapi.IsGone(err) {
		return provider.Errorf(provider.Conflict, "the secret has been deleted meanwhile")
	}
	return err
}

// provision returns the patch that claims a host. It replaces a user's image settings.
func (cr creator) provision(h *host) map[string]any {
	marks := cr.marks(cr.ref)
	to := map[string]any{"consumerRef": cr.consumer(cr.ref), "online": true, "image": nil, "customDeploy": nil, userDataKey: nil}
	if i := cr.spec.Image; i.URL != "" && i.Checksum != "" {
		to["image"] = map[string]any{"url": i.URL, "checksum": i.Checksum}
	}
	if m := cr.spec.CustomDeploy.Method; m != "" {
		to["customDeploy"] = map[string]any{"method": m}
	}
	if len(cr.userData) > 0 {
		to[userDataKey] = map[string]any{"name": cr.secretName(cr.ref), "namespace": h.Namespace}
	}
	return map[string]any{
		"metadata": map[string]any{"resourceVersion": h.ResourceVersion, "labels": marks.Labels(), "annotations": marks.Annotations()}, "spec": to,
	}
}
