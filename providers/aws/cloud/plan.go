package cloud

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/millwright-dev/millwright/provider"
)

// plan is what a spec of either API asks for, as far as the spec alone says it. It is shared: not to be changed.
type plan struct {
	region, instanceType string
	// zones are those in which the instance may be made, best first; empty where a subnet decides that the spec only names.
	zones []string
	// subnet is what the spec calls the one that decides then; empty where that is the cloud's.
	subnet string
	spot   bool
	// stock is what else than the type capacity is counted by; it may have empty parts.
	stock []string
	// tags are the user's, keys those of them that say whose instances are.
	tags map[string]string
	keys []string
	// balancers are those that know the instance, while it runs.
	balancers []balancer
	// routes are where the network interfaces are that send and take packets of other addresses than their own.
	routes []slot
	// prefixes are how many IPv6 prefixes the network interface in a slot has.
	prefixes map[slot]int32
	host     hostPlan
	// annotated: the spec leaves it to an annotation of the machine where in its zone the instance runs.
	annotated bool
	rootGiB   int64
	// vcpus are as many as are used of those that the type has; 0 for all.
	vcpus int64
	// names are the spec's for what requests are made of.
	names map[field]string
	// request makes one instance, in a zone if one is given. It asks for what the spec names by other means than IDs.
	request func(ctx context.Context, l lookup, zone string) (*ec2.RunInstancesInput, error)
}

// slot is where a network interface is attached: each card counts its devices.
type slot struct{ card, device int32 }

// hostPlan is what a spec asks for of dedicated hosts.
type hostPlan struct {
	// own: one is allocated for the instance, with the tags.
	own  bool
	tags map[string]string
	// given is one that the user has; shared: it is tagged as one that the cluster uses.
	given  string
	shared bool
}

// balancer is a load balancer that instances are registered with.
type balancer struct {
	name    string
	network bool // else it is a classic one
}

// byAddress reports whether load balancers may know the plan's instances by their addresses.
func (p *plan) byAddress() bool {
	return p != nil && slices.ContainsFunc(p.balancers, func(b balancer) bool { return b.network })
}

// judge decodes a spec.
func judge(api string, raw []byte) (*plan, error) {
	switch api {
	case provider.OpenShift:
		return planOfMachine(raw)
	case provider.Gardener:
		return planOfClass(raw)
	}
	return nil, provider.Errorf(provider.Invalid, "there are no specs of AWS in %q", api)
}

// spotStock is what spot instances are called.
const spotStock = "spot"

// choices are what an instance may be made of. Without a zone it is one: the subnet decides, and since its zone is not known,
// types in different subnets are not used up together.
func (p *plan) choices() (all []provider.Choice) {
	for _, zone := range p.zones {
		all = append(all, provider.Choice{Name: p.sold() + " in " + zone, Region: p.region, Zone: zone, Type: p.sold()})
	}
	if len(all) > 0 {
		return all
	}
	sold := p.sold()
	if p.subnet != "" {
		sold += " in " + p.subnet
	}
	return []provider.Choice{{Name: sold, Region: p.region, Type: sold}}
}

// sold is the type, as capacity is counted: spot instances are another stock, and so is what is reserved.
func (p *plan) sold() string {
	stock := slices.DeleteFunc(slices.Clone(p.stock), func(part string) bool { return part == "" || part == string(types.TenancyDefault) })
	if len(stock) > 0 {
		return p.instanceType + " (" + strings.Join(stock, ", ") + ")"
	}
	return p.instanceType
}

// zoneOf is the zone of a choice.
func (p *plan) zoneOf(choice string) (string, error) {
	all := p.choices()
	for _, c := range all {
		if c.Name == choice || choice == "" {
			return c.Zone, nil
		}
	}
	return "", provider.Errorf(provider.Invalid, "the spec has no choice %q", choice)
}

// differences are what an instance is and the spec says otherwise. One that was made of any choice is as the spec says.
func (p *plan) differences(i provider.Instance) (out []string) {
	differs := func(f field, has, says string) {
		if has != "" && says != "" && has != says {
			out = append(out, fmt.Sprintf("%s: the instance has %q, the spec says %q", p.names[f], has, says))
		}
	}
	differs(ofType, i.Type, p.instanceType)
	if i.Interruptible != p.spot {
		differs(ofMarket, market(i.Interruptible), market(p.spot))
	}
	for _, zone := range p.zones {
		if zone == i.Zone {
			return out
		}
	}
	if len(p.zones) > 0 {
		differs(ofZone, i.Zone, p.zones[0])
	}
	return out
}

func market(spot bool) string {
	if spot {
		return "spot"
	}
	return "on demand"
}
