package cloud

import (
	"context"
	"iter"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	compute "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	network "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v6"
	resourcegraph "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resourcegraph/armresourcegraph"

	"github.com/millwright-dev/millwright/provider"
)

// List implements [provider.Session]. It sends one request for each page of machines, interfaces
// and power states, not one for each machine.
func (s *session) List(ctx context.Context) iter.Seq2[provider.Instance, error] {
	return func(yield func(provider.Instance, error) bool) {
		c, err := s.newCall(ctx)
		if err != nil {
			yield(provider.Instance{}, err)
			return
		}
		around, err := c.relatedResources(ctx)
		if err != nil {
			yield(provider.Instance{}, err)
			return
		}
		for vm, err := range c.machines(ctx) {
			if err != nil {
				yield(provider.Instance{}, err)
				return
			}
			if !s.ours.has(vm.Tags) {
				continue
			}
			i, err := c.listed(ctx, vm, around)
			if !yield(i, err) || err != nil {
				return
			}
		}
	}
}

// relatedResources has the listed resources that belong to machines, by ID in lower case.
type relatedResources struct {
	nics      map[string]*network.Interface
	addresses map[string]*network.PublicIPAddress
	powers    map[string]string
}

func (s call) relatedResources(ctx context.Context) (v relatedResources, err error) {
	v = relatedResources{nics: map[string]*network.Interface{}, addresses: map[string]*network.PublicIPAddress{}}
	public := false
	for n, err := range s.interfaces(ctx) {
		if err != nil {
			return v, err
		}
		v.nics[strings.ToLower(deref(n.ID))] = n
		public = public || len(publicOf(n)) > 0
	}
	if public {
		for a, err := range s.publicAddresses(ctx) {
			if err != nil {
				return v, err
			}
			v.addresses[strings.ToLower(deref(a.ID))] = a
		}
	}
	v.powers, err = s.powers(ctx)
	return v, err
}

// listed converts a machine of a listing. Listings do not show why provisioning failed: such a machine is
// read.
func (s call) listed(ctx context.Context, vm *compute.VirtualMachine, v relatedResources) (provider.Instance, error) {
	saw := observed{addresses: v.addresses, power: v.powers[strings.ToLower(deref(vm.ID))]}
	for _, id := range nicsOf(vm) {
		if n := v.nics[strings.ToLower(id)]; n != nil {
			saw.nics = append(saw.nics, n)
		}
	}
	s.notePools(vm, saw.nics)
	if vm.Properties != nil && strings.EqualFold(deref(vm.Properties.ProvisioningState), failed) {
		at, _ := parseID(deref(vm.ID))
		read, err := s.machine(ctx, at.group, at.name)
		if err != nil {
			return provider.Instance{}, err
		}
		if read != nil && read.Properties != nil {
			saw.power, saw.cause = readInstanceView(read.Properties.InstanceView)
		}
	}
	return s.toInstance(vm, saw), nil
}

// notePools caches the pools of load balancers of a machine in a listing.
func (s call) notePools(vm *compute.VirtualMachine, nics []*network.Interface) {
	at, ok := parseID(deref(vm.ID))
	if !ok || len(nics) == 0 {
		return
	}
	if in := poolsOf(nics[0]); len(in) > 0 {
		s.joined.Put(at.key(), in)
	} else {
		s.joined.Forget(at.key())
	}
}

// powers asks Resource Graph which machines run, a thousand in each answer: listings do not show that.
// It omits machines that the credentials may not read, and may be a minute behind, so a missing entry
// proves nothing: a machine without an entry counts as running if it was provisioned. Without the
// permission, powers returns nothing.
func (s call) powers(ctx context.Context) (map[string]string, error) {
	query := "Resources | where type =~ 'microsoft.compute/virtualmachines'"
	if s.group != "" {
		query += " and resourceGroup =~ '" + strings.ReplaceAll(s.group, "'", "") + "'"
	}
	query += " | project id, power = tostring(properties.extended.instanceView.powerState.code) | order by id asc"
	request := resourcegraph.QueryRequest{
		Query: to.Ptr(query), Subscriptions: []*string{to.Ptr(s.subscription)},
		Options: &resourcegraph.QueryRequestOptions{ResultFormat: to.Ptr(resourcegraph.ResultFormatObjectArray), Top: to.Ptr[int32](1000)},
	}
	out := map[string]string{}
	for {
		got, err := s.graph.Resources(ctx, request, nil)
		if err != nil {
			err = s.plan.called().classify(err)
			if provider.KindOf(err) == provider.Denied {
				return out, nil
			}
			return nil, s.observe(err, "ask Resource Graph for power states")
		}
		rows, _ := got.Data.([]any)
		for _, row := range rows {
			one, _ := row.(map[string]any)
			id, _ := one["id"].(string)
			code, _ := one["power"].(string)
			if power, ok := cutFold(code, powerState); ok {
				out[strings.ToLower(id)] = strings.ToLower(power)
			}
		}
		if deref(got.SkipToken) == "" {
			return out, nil
		}
		request.Options.SkipToken = got.SkipToken
	}
}
