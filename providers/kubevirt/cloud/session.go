package cloud

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	kubevirt "kubevirt.io/api/core/v1"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kubeapi"
)

// session implements [provider.Session] and optional interfaces of sessions.
type session struct {
	provider.Base
	provider *Provider
	scope
}

// call is one call of a session, with its client.
type call struct {
	*session
	client *kubeapi.Client
}

var _ provider.Session = &session{}

// observed is a virtual machine and its instance; nil: it has no instance now.
type observed struct {
	vm  *kubevirt.VirtualMachine
	vmi *kubevirt.VirtualMachineInstance
}

// Account implements [provider.Session]: the UID of the namespace, which is unique among all clusters. A list
// in a namespace that does not exist is empty: without the UID, an empty list would prove nothing.
func (s *session) Account(ctx context.Context) (string, error) {
	c, err := s.connect(ctx)
	if err != nil {
		return "", err
	}
	account, err := c.UIDOf(ctx, c.Namespace)
	return account, s.observe(err)
}

// Traits implements [provider.Session].
func (s *session) Traits() provider.Traits {
	return provider.Traits{Scope: s.scopeName(), Choices: s.choices(), RebootsOnce: true}
}

// scopeName has the tags of the Gardener API, by which the original's virtual machines are listed.
func (s *session) scopeName() string {
	if s.bare || s.class.API == provider.OpenShift || len(s.plan.Tags) == 0 {
		return provider.WholeAccount
	}
	return labels.SelectorFromSet(s.plan.Tags).String()
}

// choices returns the spec's only choice. If it names no zone, KubeVirt uses any node.
func (s *session) choices() []provider.Choice {
	if s.bare {
		return nil
	}
	return []provider.Choice{{Name: s.plan.choice(), Region: s.plan.Region, Zone: s.plan.Zone, Type: typeName(s.plan.Machine)}}
}

// Find implements [provider.Session].
func (s *session) Find(ctx context.Context, ref provider.Ref) ([]provider.Instance, error) {
	client, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	c := call{s, client}
	found, err := c.find(ctx, ref)
	if err != nil {
		return nil, fmt.Errorf("look for virtual machines of %s: %w", ref.Name, s.observe(err))
	}
	out := make([]provider.Instance, 0, len(found))
	for _, v := range found {
		i, err := c.toInstance(ctx, observed{vm: v})
		if err != nil {
			return nil, fmt.Errorf("read virtual machine %s of %s: %w", v.Name, ref.Name, s.observe(err))
		}
		out = append(out, i)
	}
	return out, nil
}

// find returns the virtual machines that may be ref's: by UID, by provider ID, or by name if they have no
// other UID.
func (c call) find(ctx context.Context, ref provider.Ref) (found []*kubevirt.VirtualMachine, err error) {
	if ref.UID != "" {
		if found, err = c.withUID(ctx, ref.UID); err != nil {
			return nil, err
		}
	}
	recorded := identified(ref.ProviderID, c.client.Namespace)
	for _, name := range slices.Compact([]string{recorded, machineName(ref.Name)}) {
		known := slices.ContainsFunc(found, func(v *kubevirt.VirtualMachine) bool { return v.Name == name })
		if name == "" || known {
			continue
		}
		v, err := virtualMachines.Get(ctx, c.client, c.client.Namespace, name)
		if err != nil {
			return nil, err
		}
		if v == nil || !c.owns(v.ObjectMeta) {
			continue
		}
		o := marksOn(v.ObjectMeta)
		if name == recorded || o.Name == ref.Name && (o.UID == "" || o.UID == ref.UID) {
			found = append(found, v)
		}
	}
	return found, nil
}

// withUID returns the cluster's virtual machines that have the UID.
func (c call) withUID(ctx context.Context, uid string) (found []*kubevirt.VirtualMachine, err error) {
	for v, err := range virtualMachines.List(ctx, c.client, c.client.Namespace, kubeapi.LabelUID+"="+kubeapi.LabelValue(uid)) {
		if err != nil {
			return nil, err
		}
		if c.owns(v.ObjectMeta) {
			found = append(found, v)
		}
	}
	return found, nil
}

// toInstance converts a virtual machine. If its instance was not read yet, toInstance reads it.
func (c call) toInstance(ctx context.Context, v observed) (provider.Instance, error) {
	if v.vmi == nil && v.vm.Status.Created {
		var err error
		if v.vmi, err = instances.Get(ctx, c.client, c.client.Namespace, v.vm.Name); err != nil {
			return provider.Instance{}, err
		}
	}
	return c.instance(v, c.provider.config.Clock.Now()), nil
}

// List implements [provider.Session].
func (s *session) List(ctx context.Context) iter.Seq2[provider.Instance, error] {
	return func(yield func(provider.Instance, error) bool) {
		c, err := s.connect(ctx)
		if err != nil {
			yield(provider.Instance{}, err)
			return
		}
		for i, err := range (call{s, c}).list(ctx) {
			if err != nil {
				yield(provider.Instance{}, fmt.Errorf("list virtual machines: %w", s.observe(err)))
				return
			}
			if !yield(i, nil) {
				return
			}
		}
	}
}

func (c call) list(ctx context.Context) iter.Seq2[provider.Instance, error] {
	return func(yield func(provider.Instance, error) bool) {
		for _, selector := range c.selectors() {
			running := map[string]*kubevirt.VirtualMachineInstance{}
			for i, err := range instances.List(ctx, c.client, c.client.Namespace, selector) {
				if err != nil {
					yield(provider.Instance{}, err)
					return
				}
				running[i.Name] = i
			}
			for v, err := range virtualMachines.List(ctx, c.client, c.client.Namespace, selector) {
				var i provider.Instance
				if err == nil && !c.owns(v.ObjectMeta) {
					continue
				}
				if err == nil {
					i, err = c.toInstance(ctx, observed{v, running[v.Name]})
				}
				if !yield(i, err) || err != nil {
					return
				}
			}
		}
	}
}
