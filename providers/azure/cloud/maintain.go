package cloud

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	compute "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	network "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v6"

	"github.com/millwright-dev/millwright/provider"
)

// Unkept implements [provider.Maintainer]. Machines do not show whether they are in the pools of their load balancers.
func (s *session) Unkept(ref provider.Ref, i provider.Instance) bool {
	return s.plan != nil && (len(maintainer{s}.missingTags(ref, i)) > 0 || s.plan.network.balanced())
}

// Maintain implements [provider.Maintainer]. A failed repair does not stop the others.
func (s *session) Maintain(ctx context.Context, ref provider.Ref, i provider.Instance) error {
	at, ok := parseID(i.ID)
	if !ok || s.plan == nil {
		return nil
	}
	c, err := s.newCall(ctx)
	if err != nil {
		return err
	}
	asked, balanceErr := c.missingPools(ctx, at)
	if asked == nil && len(maintainer{s}.missingTags(ref, i)) == 0 {
		return balanceErr
	}
	vm, err := c.machine(ctx, at.group, at.name)
	if err != nil || vm == nil {
		return errors.Join(balanceErr, err)
	}
	return errors.Join(balanceErr, c.restoreTags(ctx, ref, vm), c.restorePools(ctx, vm, asked))
}

// maintainer finds what live machines lack.
type maintainer struct{ *session }

// refusal classifies the error of a repair. The client stays: a permission that only repairs need is no
// reason to log in again.
func (d *plan) refusal(err error, format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, d.called().classify(err))...)
}

// ownTags are reserved, users cannot set them.
var ownTags = []string{tagUID, tagNamespace, tagOwner, tagCluster, tagKept}

func isOwn(key string) bool {
	return slices.ContainsFunc(ownTags, func(own string) bool { return strings.EqualFold(own, key) })
}

// missingTags are the tags to write to ref's instance: missing tags of the owner, and missing or changed tags of
// the spec. An instance with another machine's UID gets none.
func (s maintainer) missingTags(ref provider.Ref, i provider.Instance) map[string]string {
	if i.UID != "" && i.UID != ref.UID {
		return nil
	}
	has, out := map[string]string{}, map[string]string{}
	for key, value := range i.Tags {
		has[strings.ToLower(key)] = value
	}
	for key, value := range s.plan.tags {
		if is, ok := has[strings.ToLower(key)]; (!ok || is != value) && !isOwn(key) {
			out[key] = value
		}
	}
	for key, value := range s.ours.mark(s.class, ref) {
		if _, ok := has[key]; !ok && value != "" {
			out[key] = value
		}
	}
	return out
}

// restoreTags writes the tags that a machine lacks now. It overwrites no change that others have made since it was
// read.
func (s call) restoreTags(ctx context.Context, ref provider.Ref, vm *compute.VirtualMachine) error {
	now := s.toInstance(vm, observed{})
	owed := maintainer{s.session}.missingTags(ref, now)
	if len(owed) == 0 {
		return nil
	}
	tags := s.ours.fitting(merged(now.Tags, owed))
	if len(tags) == len(now.Tags) && len(owed) == 1 && owed[tagCluster] != "" {
		return nil
	}
	if len(tags) > mostTags {
		return provider.Errorf(provider.Conflict, "virtual machine %s has no room for the tags %s: it would have %d, and Azure keeps %d",
			now.Name, strings.Join(slices.Sorted(maps.Keys(owed)), ", "), len(tags), mostTags)
	}
	at, _ := parseID(now.ID)
	_, err := s.compute.NewVirtualMachinesClient().BeginUpdate(ctx, at.group, at.name, compute.VirtualMachineUpdate{Tags: tags},
		&compute.VirtualMachinesClientBeginUpdateOptions{IfMatch: vm.Etag})
	if err == nil || isMissing(err) {
		return nil
	}
	return s.plan.refusal(err, "tag virtual machine %s", now.Name)
}

// balanced reports whether machines are in pools of load balancers.
func (n networking) balanced() bool { return n.publicBalancer != "" || n.internalBalancer != "" }

// missingPools are the pools and rules of load balancers that a machine should be in; nil: it has no load
// balancers, or a listing of the last minute showed it in all of them.
func (s call) missingPools(ctx context.Context, at resourceID) (*poolMembership, error) {
	if !s.plan.network.balanced() {
		return nil, nil
	}
	asked, err := s.balance(ctx)
	if err != nil {
		return nil, err
	}
	seen, ok := s.joined.Recall(at.key())
	wanted := pools(&asked.four)
	if !slices.Contains(seen, onlyFour) {
		wanted = append(wanted, pools(&asked.six)...)
	}
	if ok && !slices.ContainsFunc(wanted, func(id string) bool { return !slices.Contains(seen, id) }) {
		return nil, nil
	}
	return &asked, nil
}

// restorePools adds a machine to the wanted pools of load balancers. The interface is otherwise written as it was
// read.
func (s call) restorePools(ctx context.Context, vm *compute.VirtualMachine, asked *poolMembership) error {
	ids := nicsOf(vm)
	if asked == nil || len(ids) == 0 {
		return nil
	}
	at, _ := parseID(ids[0])
	nics := s.network.NewInterfacesClient()
	got, err := nics.Get(ctx, at.group, at.name, nil)
	if isMissing(err) {
		return nil
	}
	if err != nil {
		return s.observe(err, "read network interface %s", at.name)
	}
	four, six := addressesOf(&got.Interface)
	changed := four != nil && join(four, &asked.four)
	if six != nil && join(six, &asked.six) {
		changed = true
	}
	if !changed {
		return nil
	}
	if _, err := nics.BeginCreateOrUpdate(ctx, at.group, at.name, got.Interface, nil); err != nil && !isMissing(err) {
		return s.plan.refusal(err, "put network interface %s into the pools of its load balancers", at.name)
	}
	return nil
}

// addressesOf are the configurations of an interface for pools, by version of the address; nil: it has
// none.
func addressesOf(n *network.Interface) (four, six *network.InterfaceIPConfigurationPropertiesFormat) {
	if n.Properties == nil {
		return nil, nil
	}
	for _, c := range n.Properties.IPConfigurations {
		switch {
		case c.Properties == nil:
		case deref(c.Properties.PrivateIPAddressVersion) == network.IPVersionIPv6:
			six = cmp.Or(six, c.Properties)
		case deref(c.Properties.Primary) || len(n.Properties.IPConfigurations) == 1:
			four = cmp.Or(four, c.Properties)
		}
	}
	return four, six
}

// onlyFour marks, among the pools, an interface without an IPv6 address.
const onlyFour = "no IPv6"

// poolsOf are the IDs of the pools and rules that an interface belongs to, or nil.
func poolsOf(n *network.Interface) []string {
	four, six := addressesOf(n)
	if four == nil {
		return nil
	}
	in := pools(four)
	if six != nil {
		return append(in, pools(six)...)
	}
	if len(in) > 0 {
		in = append(in, onlyFour)
	}
	return in
}

// pools are the IDs of the pools and rules of load balancers that an address belongs to, in lower case.
func pools(p *network.InterfaceIPConfigurationPropertiesFormat) (ids []string) {
	for _, pool := range p.LoadBalancerBackendAddressPools {
		ids = append(ids, strings.ToLower(deref(pool.ID)))
	}
	for _, rule := range p.LoadBalancerInboundNatRules {
		ids = append(ids, strings.ToLower(deref(rule.ID)))
	}
	return ids
}

// join adds the wanted pools and rules, and reports whether any was missing. Those of others stay.
func join(has, asked *network.InterfaceIPConfigurationPropertiesFormat) (changed bool) {
	for _, a := range asked.LoadBalancerBackendAddressPools {
		if !slices.ContainsFunc(has.LoadBalancerBackendAddressPools, func(h *network.BackendAddressPool) bool { return strings.EqualFold(deref(h.ID), deref(a.ID)) }) {
			has.LoadBalancerBackendAddressPools = append(has.LoadBalancerBackendAddressPools, &network.BackendAddressPool{ID: to.Ptr(deref(a.ID))})
			changed = true
		}
	}
	for _, a := range asked.LoadBalancerInboundNatRules {
		if !slices.ContainsFunc(has.LoadBalancerInboundNatRules, func(h *network.InboundNatRule) bool { return strings.EqualFold(deref(h.ID), deref(a.ID)) }) {
			has.LoadBalancerInboundNatRules = append(has.LoadBalancerInboundNatRules, &network.InboundNatRule{ID: to.Ptr(deref(a.ID))})
			changed = true
		}
	}
	return changed
}
