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

// errand is one call of a session, with what it is made through.
type errand struct {
	*session
	c *kubeapi.Client
}

var _ provider.Session = &session{}

// seen is a virtual machine, and its instance; nil: it has none now.
type seen struct {
	machine  *kubevirt.VirtualMachine
	instance *kubevirt.VirtualMachineInstance
}

// Account implements [provider.Session]: the UID of the namespace, which no other namespace of any cluster has. A list of a namespace
// that is not there is empty, so that nothing found there says nothing.
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

// scopeName names the tags of the Gardener API: what its original made is listed by them.
func (s *session) scopeName() string {
	if s.bare || s.class.API == provider.OpenShift || len(s.plan.Tags) == 0 {
		return provider.WholeAccount
	}
	return labels.SelectorFromSet(s.plan.Tags).String()
}

// choices returns the spec's only choice. Where it names no zone, KubeVirt takes any node.
func (s *session) choices() []provider.Choice {
	if s.bare {
		return nil
	}
	return []provider.Choice{{Name: s.plan.choice(), Region: s.plan.Region, Zone: s.plan.Zone, Type: typeName(s.plan.Machine)}}
}

// Find implements [provider.Session].
func (s *session) Find(ctx context.Context, ref provider.Ref) ([]provider.Instance, error) {
	c, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	e := errand{s, c}
	found, err := e.find(ctx, ref)
	if err != nil {
		return nil, fmt.Errorf("look for virtual machines of %s: %w", ref.Name, s.observe(err))
	}
	out := make([]provider.Instance, 0, len(found))
	for _, v := range found {
		i, err := e.told(ctx, seen{machine: v})
		if err != nil {
			return nil, fmt.Errorf("look at virtual machine %s of %s: %w", v.Name, ref.Name, s.observe(err))
		}
		out = append(out, i)
	}
	return out, nil
}

// find is what may be ref's: by UID, by provider ID, by name without another UID.
func (e errand) find(ctx context.Context, ref provider.Ref) (found []*kubevirt.VirtualMachine, err error) {
	if ref.UID != "" {
		if found, err = e.ofUID(ctx, ref.UID); err != nil {
			return nil, err
		}
	}
	recorded := identified(ref.ProviderID, e.c.Namespace)
	for _, name := range slices.Compact([]string{recorded, machineName(ref.Name)}) {
		known := slices.ContainsFunc(found, func(v *kubevirt.VirtualMachine) bool { return v.Name == name })
		if name == "" || known {
			continue
		}
		v, err := virtualMachines.Get(ctx, e.c, e.c.Namespace, name)
		if err != nil {
			return nil, err
		}
		if v == nil || !e.owns(v.ObjectMeta) {
			continue
		}
		o := marksOn(v.ObjectMeta)
		if name == recorded || o.Name == ref.Name && (o.UID == "" || o.UID == ref.UID) {
			found = append(found, v)
		}
	}
	return found, nil
}

// ofUID are the virtual machines of the cluster that carry the UID.
func (e errand) ofUID(ctx context.Context, uid string) (found []*kubevirt.VirtualMachine, err error) {
	for v, err := range virtualMachines.List(ctx, e.c, e.c.Namespace, kubeapi.LabelUID+"="+kubeapi.LabelValue(uid)) {
		if err != nil {
			return nil, err
		}
		if e.owns(v.ObjectMeta) {
			found = append(found, v)
		}
	}
	return found, nil
}

// told is a virtual machine as the engine knows it, after a look at its instance if there is one that was not looked at.
func (e errand) told(ctx context.Context, v seen) (provider.Instance, error) {
	if v.instance == nil && v.machine.Status.Created {
		var err error
		if v.instance, err = instances.Get(ctx, e.c, e.c.Namespace, v.machine.Name); err != nil {
			return provider.Instance{}, err
		}
	}
	return e.instance(v, e.provider.config.Clock.Now()), nil
}

// List implements [provider.Session].
func (s *session) List(ctx context.Context) iter.Seq2[provider.Instance, error] {
	return func(yield func(provider.Instance, error) bool) {
		c, err := s.connect(ctx)
		if err != nil {
			yield(provider.Instance{}, err)
			return
		}
		for i, err := range (errand{s, c}).list(ctx) {
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

func (e errand) list(ctx context.Context) iter.Seq2[provider.Instance, error] {
	return func(yield func(provider.Instance, error) bool) {
		for _, selector := range e.selectors() {
			running := map[string]*kubevirt.VirtualMachineInstance{}
			for i, err := range instances.List(ctx, e.c, e.c.Namespace, selector) {
				if err != nil {
					yield(provider.Instance{}, err)
					return
				}
				running[i.Name] = i
			}
			for v, err := range virtualMachines.List(ctx, e.c, e.c.Namespace, selector) {
				var i provider.Instance
				if err == nil && !e.owns(v.ObjectMeta) {
					continue
				}
				if err == nil {
					i, err = e.told(ctx, seen{v, running[v.Name]})
				}
				if !yield(i, err) || err != nil {
					return
				}
			}
		}
	}
}
