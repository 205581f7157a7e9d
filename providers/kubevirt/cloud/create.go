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

// Create implements [provider.Session]: secrets, then the virtual machine, then its ownership of them. KubeVirt makes disks.
func (s *session) Create(ctx context.Context, ref provider.Ref, want provider.Want) (provider.Instance, error) {
	if s.bare {
		return provider.Instance{}, provider.Errorf(provider.Invalid, "the class has no spec to make a virtual machine of %s from", ref.Name)
	}
	if only := s.plan.choice(); want.Choice != "" && want.Choice != only {
		return provider.Instance{}, provider.Errorf(provider.Invalid, "the spec has no choice %q: it has %q", want.Choice, only)
	}
	c, err := s.connect(ctx)
	if err != nil {
		return provider.Instance{}, err
	}
	m := maker{errand{s, c}, ref}
	v, err := m.make(ctx, want)
	if err != nil {
		return provider.Instance{}, fmt.Errorf("make a virtual machine for %s: %w", ref.Name, s.observe(err))
	}
	i, err := m.told(ctx, seen{machine: v})
	return i, s.observe(err)
}

// maker makes the virtual machine of one machine.
type maker struct {
	errand
	ref provider.Ref
}

func (m maker) make(ctx context.Context, want provider.Want) (*kubevirt.VirtualMachine, error) {
	found, err := m.find(ctx, m.ref)
	if err != nil {
		return nil, err
	}
	if v := oldest(found); v != nil {
		return v, m.own(ctx, v)
	}
	if err := m.ensureSecrets(ctx, want.UserData); err != nil {
		return nil, err
	}
	v, err := m.ask(ctx)
	if err != nil {
		return nil, err
	}
	return v, m.own(ctx, v)
}

// oldest is the one that every observer takes; nil for none.
func oldest(all []*kubevirt.VirtualMachine) (first *kubevirt.VirtualMachine) {
	for _, v := range all {
		if first == nil || v.CreationTimestamp.Before(&first.CreationTimestamp) ||
			v.CreationTimestamp.Equal(&first.CreationTimestamp) && v.Name < first.Name {
			first = v
		}
	}
	return first
}

// ask makes the virtual machine, or reports the one that somebody else has made for the machine by now.
func (m maker) ask(ctx context.Context) (*kubevirt.VirtualMachine, error) {
	v, err := builder{m.scope, m.ref, m.c.Namespace}.build()
	if err != nil {
		return nil, err
	}
	made, err := virtualMachines.Create(ctx, m.c, m.c.Namespace, v)
	if !errors.Is(err, kubeapi.ErrExists) {
		return made, virtualMachines.Missing(m.c, err)
	}
	there, err := virtualMachines.Get(ctx, m.c, m.c.Namespace, v.Name)
	switch {
	case err != nil:
		return nil, err
	case there == nil:
		return nil, provider.Errorf(provider.Conflict, "virtual machine %s was there, and is gone", v.Name)
	case marksOn(there.ObjectMeta).UID == m.ref.UID && m.owns(there.ObjectMeta):
		return there, nil
	}
	return nil, provider.Errorf(provider.Conflict, "the namespace %s has a virtual machine %s already, which is not of this machine", m.c.Namespace, v.Name)
}

// ensureSecrets makes what the guest is given, with what it is given now: an attempt that was not finished had another token in it.
func (m maker) ensureSecrets(ctx context.Context, userData []byte) error {
	err := m.ensureSecret(ctx, partUserData, map[string][]byte{"userdata": userData})
	if err != nil || len(m.plan.SSHKeys) == 0 {
		return err
	}
	keys := map[string][]byte{}
	for i, key := range m.plan.SSHKeys {
		keys[fmt.Sprintf("key-%d", i)] = []byte(strings.TrimSpace(key))
	}
	return m.ensureSecret(ctx, partSSHKeys, keys)
}

func (m maker) ensureSecret(ctx context.Context, part string, data map[string][]byte) error {
	wanted := &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: kubeapi.Secrets.Name},
		ObjectMeta: builder{m.scope, m.ref, m.c.Namespace}.part(part), Data: data,
	}
	_, err := kubeapi.Secrets.Create(ctx, m.c, m.c.Namespace, wanted)
	if !errors.Is(err, kubeapi.ErrExists) {
		if err != nil {
			return fmt.Errorf("make secret %s: %w", wanted.Name, err)
		}
		return nil
	}
	there, err := kubeapi.Secrets.Get(ctx, m.c, m.c.Namespace, wanted.Name)
	switch {
	case err != nil:
		return err
	case there == nil || there.DeletionTimestamp != nil || there.Labels[kubeapi.LabelUID] != m.ref.UID:
		return provider.Errorf(provider.Conflict, "secret %s is there, and not for this machine any more", wanted.Name)
	case same(there.Data, data):
		return nil
	}
	if _, err := kubeapi.Secrets.Patch(ctx, m.c, m.c.Namespace, wanted.Name, map[string]any{"data": data}); err != nil {
		return fmt.Errorf("change secret %s: %w", wanted.Name, err)
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

// own makes the virtual machine the owner of the machine's secrets, so that they go with it whoever deletes it.
func (m maker) own(ctx context.Context, v *kubevirt.VirtualMachine) error {
	if v.Labels[kubeapi.LabelUID] != m.ref.UID || v.DeletionTimestamp != nil {
		return nil
	}
	all, err := kubeapi.Secrets.All(ctx, m.c, m.c.Namespace, kubeapi.LabelUID+"="+kubeapi.LabelValue(m.ref.UID))
	if err != nil {
		return err
	}
	owner := map[string]any{"apiVersion": "kubevirt.io/v1", "kind": virtualMachines.Name, "name": v.Name, "uid": v.UID}
	for _, s := range all {
		if len(s.OwnerReferences) > 0 || s.Annotations[noteMachine] != v.Name {
			continue
		}
		_, err := kubeapi.Secrets.Patch(ctx, m.c, m.c.Namespace, s.Name, map[string]any{"metadata": map[string]any{"ownerReferences": []any{owner}}})
		if err != nil && !kubeapi.IsGone(err) {
			return fmt.Errorf("make virtual machine %s the owner of secret %s: %w", v.Name, s.Name, err)
		}
	}
	return nil
}
