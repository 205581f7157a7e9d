package cloud

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirt "kubevirt.io/api/core/v1"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kubeapi"
)

// Create implements [provider.Session]: it creates secrets, then the virtual machine, then makes the virtual
// machine their owner. KubeVirt creates disks.
func (s *session) Create(ctx context.Context, ref provider.Ref, want provider.Want) (provider.Instance, error) {
	if s.bare {
		return provider.Instance{}, provider.Errorf(provider.Invalid, "the class has no spec to create the virtual machine of %s from", ref.Name)
	}
	if only := s.plan.choice(); want.Choice != "" && want.Choice != only {
		return provider.Instance{}, provider.Errorf(provider.Invalid, "the spec has no choice %q: it has %q", want.Choice, only)
	}
	c, err := s.connect(ctx)
	if err != nil {
		return provider.Instance{}, err
	}
	m := creator{call{s, c}, ref}
	v, err := m.create(ctx, want)
	if err != nil {
		return provider.Instance{}, fmt.Errorf("create the virtual machine for %s: %w", ref.Name, s.observe(err))
	}
	i, err := m.toInstance(ctx, observed{vm: v})
	return i, s.observe(err)
}

// creator creates the virtual machine of one machine.
type creator struct {
	call
	ref provider.Ref
}

func (cr creator) create(ctx context.Context, want provider.Want) (*kubevirt.VirtualMachine, error) {
	found, err := cr.find(ctx, cr.ref)
	if err != nil {
		return nil, err
	}
	if v := oldest(found); v != nil {
		return v, cr.setOwner(ctx, v)
	}
	if err := cr.ensureSecrets(ctx, want.UserData); err != nil {
		return nil, err
	}
	v, err := cr.createVM(ctx)
	if err != nil {
		return nil, err
	}
	return v, cr.setOwner(ctx, v)
}

// oldest returns the virtual machine that every observer chooses; nil if all is empty.
func oldest(all []*kubevirt.VirtualMachine) (first *kubevirt.VirtualMachine) {
	for _, v := range all {
		if first == nil || v.CreationTimestamp.Before(&first.CreationTimestamp) ||
			v.CreationTimestamp.Equal(&first.CreationTimestamp) && v.Name < first.Name {
			first = v
		}
	}
	return first
}

// createVM creates the virtual machine, or returns the one that another process created for the machine
// meanwhile.
func (cr creator) createVM(ctx context.Context) (*kubevirt.VirtualMachine, error) {
	v, err := builder{cr.scope, cr.ref, cr.client.Namespace}.build()
	if err != nil {
		return nil, err
	}
	made, err := virtualMachines.Create(ctx, cr.client, cr.client.Namespace, v)
	if !errors.Is(err, kubeapi.ErrExists) {
		return made, virtualMachines.Missing(cr.client, err)
	}
	there, err := virtualMachines.Get(ctx, cr.client, cr.client.Namespace, v.Name)
	switch {
	case err != nil:
		return nil, err
	case there == nil:
		return nil, provider.Errorf(provider.Conflict, "virtual machine %s has been deleted meanwhile", v.Name)
	case marksOn(there.ObjectMeta).UID == cr.ref.UID && cr.owns(there.ObjectMeta):
		return there, nil
	}
	return nil, provider.Errorf(provider.Conflict, "namespace %s already has a virtual machine %s, which belongs to another machine", cr.client.Namespace, v.Name)
}

// ensureSecrets writes the secrets of the guest with the current data: an unfinished attempt had another
// bootstrap token.
func (cr creator) ensureSecrets(ctx context.Context, userData []byte) error {
	err := cr.ensureSecret(ctx, dependantUserData, map[string][]byte{"userdata": userData})
	if err != nil || len(cr.plan.SSHKeys) == 0 {
		return err
	}
	keys := map[string][]byte{}
	for i, key := range cr.plan.SSHKeys {
		keys[fmt.Sprintf("key-%d", i)] = []byte(strings.TrimSpace(key))
	}
	return cr.ensureSecret(ctx, dependantSSHKeys, keys)
}

func (cr creator) ensureSecret(ctx context.Context, part string, data map[string][]byte) error {
	wanted := &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: kubeapi.Secrets.Name},
		ObjectMeta: builder{cr.scope, cr.ref, cr.client.Namespace}.dependant(part), Data: data,
	}
	_, err := kubeapi.Secrets.Create(ctx, cr.client, cr.client.Namespace, wanted)
	if !errors.Is(err, kubeapi.ErrExists) {
		if err != nil {
			return fmt.Errorf("create secret %s: %w", wanted.Name, err)
		}
		return nil
	}
	there, err := kubeapi.Secrets.Get(ctx, cr.client, cr.client.Namespace, wanted.Name)
	switch {
	case err != nil:
		return err
	case there == nil || there.DeletionTimestamp != nil || there.Labels[kubeapi.LabelUID] != cr.ref.UID:
		return provider.Errorf(provider.Conflict, "secret %s exists and belongs to another machine, or is being deleted", wanted.Name)
	case same(there.Data, data):
		return nil
	}
	if _, err := kubeapi.Secrets.Patch(ctx, cr.client, cr.client.Namespace, wanted.Name, map[string]any{"data": data}); err != nil {
		return fmt.Errorf("update secret %s: %w", wanted.Name, err)
	}
	return nil
}

func same(a, b map[string][]byte) bool {
	if len(a) != len(b) {
		return false
	}
	for key, value := range a {
		if other, ok := b[key]; !ok || !bytes.Equal(value, other) {
			return false
		}
	}
	return true
}

// setOwner makes the virtual machine the owner of the machine's secrets, so that Kubernetes deletes them with
// it.
func (cr creator) setOwner(ctx context.Context, v *kubevirt.VirtualMachine) error {
	if v.Labels[kubeapi.LabelUID] != cr.ref.UID || v.DeletionTimestamp != nil {
		return nil
	}
	all, err := kubeapi.Secrets.All(ctx, cr.client, cr.client.Namespace, kubeapi.LabelUID+"="+kubeapi.LabelValue(cr.ref.UID))
	if err != nil {
		return err
	}
	owner := map[string]any{"apiVersion": "kubevirt.io/v1", "kind": virtualMachines.Name, "name": v.Name, "uid": v.UID}
	for _, s := range all {
		if len(s.OwnerReferences) > 0 || s.Annotations[annotationVM] != v.Name {
			continue
		}
		_, err := kubeapi.Secrets.Patch(ctx, cr.client, cr.client.Namespace, s.Name, map[string]any{"metadata": map[string]any{"ownerReferences": []any{owner}}})
		if err != nil && !kubeapi.IsGone(err) {
			return fmt.Errorf("make virtual machine %s the owner of secret %s: %w", v.Name, s.Name, err)
		}
	}
	return nil
}
