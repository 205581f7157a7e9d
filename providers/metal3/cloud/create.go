package cloud

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kubeapi"
)

// Create implements [provider.Session]: the machine's secret, which says which host is meant, and then that host.
func (s *session) Create(ctx context.Context, ref provider.Ref, want provider.Want) (provider.Instance, error) {
	if s.spec == nil {
		return provider.Instance{}, provider.Errorf(provider.Invalid, "the class has no spec to take a host for %s by", ref.Name)
	}
	if only := s.choice(); want.Choice != "" && want.Choice != only {
		return provider.Instance{}, provider.Errorf(provider.Invalid, "the spec has no choice %q: it has %q", want.Choice, only)
	}
	c, err := s.connect(ctx)
	if err != nil {
		return provider.Instance{}, err
	}
	h, err := taker{errand{s, c}, ref, want.UserData}.take(ctx)
	if err != nil {
		return provider.Instance{}, fmt.Errorf("take a host for %s: %w", ref.Name, s.observe(err))
	}
	return instance(h), nil
}

// taker takes a host for one machine.
type taker struct {
	errand
	ref      provider.Ref
	userData []byte
}

// attempts are made where others were quicker.
const attempts = 4

func (t taker) take(ctx context.Context) (h *host, err error) {
	for range attempts {
		if h, err = t.try(ctx); provider.KindOf(err) != provider.Conflict {
			return h, err
		}
	}
	return nil, err
}

// try reads the secret, then hosts, writes the secret if it is as it was read, and then the host if it is as it was read. Whoever means
// another host has to have seen, after he read the secret, that this one is not free.
func (t taker) try(ctx context.Context) (*host, error) {
	namespace, name := t.of(t.ref), t.secretName(t.ref)
	claim, err := kubeapi.Secrets.Get(ctx, t.c, namespace, name)
	if err != nil {
		return nil, err
	}
	if claim != nil && (claim.DeletionTimestamp != nil || claim.Labels[kubeapi.LabelUID] != t.ref.UID || !t.marked(claim.ObjectMeta)) {
		return nil, provider.Errorf(provider.Conflict, "secret %s is there, and not for this machine any more", name)
	}
	h, taken, err := t.meant(ctx, claim)
	if err != nil || taken {
		return h, err
	}
	if err := t.claim(ctx, claim, h); err != nil {
		return nil, fmt.Errorf("write secret %s: %w", name, err)
	}
	made, err := hosts.Patch(ctx, t.c, h.Namespace, h.Name, t.provision(h))
	if kubeapi.IsGone(err) {
		return nil, provider.Errorf(provider.Conflict, "host %s was there, and is gone", h.Name)
	}
	if err != nil {
		return nil, fmt.Errorf("write host %s: %w", h.Name, err)
	}
	return made, nil
}

// meant is the host that the machine has already, or else the one that it is to have: that of the secret, if it is free, or any other.
func (t taker) meant(ctx context.Context, claim *corev1.Secret) (h *host, taken bool, err error) {
	if owner := claimed(claim); owner.UID != "" {
		h, err := hosts.Get(ctx, t.c, t.of(t.ref), owner.Name)
		switch {
		case err != nil:
			return nil, false, err
		case h == nil || h.UID != owner.UID:
		case t.mine(h):
			return h, true, nil
		case unfit(h, t.spec.Selector()) == "":
			return h, false, nil
		}
	}
	all, err := hosts.All(ctx, t.c, t.of(t.ref), "")
	if err != nil {
		return nil, false, err
	}
	for _, h := range all {
		if t.mine(h) {
			return h, true, nil
		}
	}
	h, err = choose(all, t.spec, t.of(t.ref), t.ref.Token(t.class.Cluster))
	return h, false, err
}

// mine reports whether Find would find a host for the machine.
func (t taker) mine(h *host) bool {
	if !t.owns(h) {
		return false
	}
	p, ok := identified(t.ref.ProviderID)
	return t.ref.UID != "" && marksOn(h).UID == t.ref.UID || ok && p.is(h) || t.took(h, t.ref)
}

// claimed is the host that a secret belongs to.
func claimed(s *corev1.Secret) metav1.OwnerReference {
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

// claim writes the secret: what the host is given now, and that it belongs to that host, with which it goes.
func (t taker) claim(ctx context.Context, is *corev1.Secret, h *host) error {
	owner := metav1.OwnerReference{APIVersion: "metal3.io/v1alpha1", Kind: hosts.Name, Name: h.Name, UID: h.UID}
	data := map[string][]byte{userDataKey: t.userData}
	if is == nil {
		marks := t.marks(t.ref)
		_, err := kubeapi.Secrets.Create(ctx, t.c, h.Namespace, &corev1.Secret{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: kubeapi.Secrets.Name},
			ObjectMeta: metav1.ObjectMeta{
				Name: t.secretName(t.ref), Namespace: h.Namespace, Labels: marks.Labels(), Annotations: marks.Annotations(),
				OwnerReferences: []metav1.OwnerReference{owner},
			},
			Data: data,
		})
		return err
	}
	_, err := kubeapi.Secrets.Patch(ctx, t.c, h.Namespace, is.Name, map[string]any{
		"metadata": map[string]any{
			"resourceVersion": is.ResourceVersion, "annotations": map[string]any{noteVersion: is.ResourceVersion},
			"ownerReferences": []metav1.OwnerReference{owner},
		},
		"data": data,
	})
	if kubeapi.IsGone(err) {
		return provider.Errorf(provider.Conflict, "it was there, and is gone")
	}
	return err
}

// provision is what is written on a host. What people wrote of another image goes.
func (t taker) provision(h *host) map[string]any {
	marks := t.marks(t.ref)
	to := map[string]any{"consumerRef": t.consumer(t.ref), "online": true, "image": nil, "customDeploy": nil, userDataKey: nil}
	if i := t.spec.Image; i.URL != "" && i.Checksum != "" {
		to["image"] = map[string]any{"url": i.URL, "checksum": i.Checksum}
	}
	if m := t.spec.CustomDeploy.Method; m != "" {
		to["customDeploy"] = map[string]any{"method": m}
	}
	if len(t.userData) > 0 {
		to[userDataKey] = map[string]any{"name": t.secretName(t.ref), "namespace": h.Namespace}
	}
	return map[string]any{
		"metadata": map[string]any{"resourceVersion": h.ResourceVersion, "labels": marks.Labels(), "annotations": marks.Annotations()}, "spec": to,
	}
}
