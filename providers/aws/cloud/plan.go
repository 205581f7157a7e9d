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

// plan is the request of a spec of either API, as far as the spec alone determines it. It is shared: do not
// change it.
type plan struct {
	region, instanceType string
	// zones are the possible zones of the instance, best first; empty if a subnet decides that the spec
	// only names.
	zones []string
	// subnet is the spec's name for that subnet; empty if the cloud decides.
	subnet string
	spot   bool
	// stock are the properties besides the type by which capacity is counted; parts may be empty.
	stock []string
	// tags are the user's, keys those of them that record the owner of instances.
	tags map[string]string
	keys []string
	// balancers are those with which the running instance is registered.
	balancers []balancer
	// routes are the slots of network interfaces that send and receive packets of other addresses than
	// their own.
	routes []slot
	// prefixes are the numbers of IPv6 prefixes of the network interfaces, by slot.
	prefixes map[slot]int32
	host     hostPlan
	// annotated: an annotation of the machine decides the placement of the instance in its zone.
	annotated bool
	rootGiB   int64
	// vcpus is the number of used ones of the type's; 0 for all.
	vcpus int64
	// names are the spec's names for the parts of requests.
	names map[field]string
	// request returns the request for one instance, in a zone if one is given. It looks up objects that the
	// spec does not name by ID.
	request func(ctx context.Context, l lookup, zone string) (*ec2.RunInstancesInput, error)
}

// slot is the attachment of a network interface: each card counts its devices.
type slot struct{ card, device int32 }

// hostPlan is a spec's request for dedicated hosts.
type hostPlan struct {
	// own: one is allocated for the instance, with the tags.
	own  bool
	tags map[string]string
	// given is a host of the user; shared: it is tagged as used by the cluster.
	given  string
	shared bool
}

// balancer is a load balancer that instances are registered with.
type balancer struct {
	name    string
	network bool // else it is a classic one
}

// byAddress reports whether load balancers may identify the plan's instances by address.
func (p *plan) byAddress() bool {
	return p != nil && slices.ContainsFunc(p.balancers, func(b balancer) bool { return b.network })
}

// decode decodes a spec.
func decode(api string, raw []byte) (*plan, error) {
	switch api {
	case provider.OpenShift:
		return planOfMachine(raw)
	case provider.Gardener:
		return planOfClass(raw)
	}
	return nil, provider.Errorf(provider.Invalid, "there are no specs of AWS in %q", api)
}

// spotStock is the name of spot capacity.
const spotStock = "spot"

// choices are the variants of an instance. Without a zone there is one: the subnet decides, and since its
// zone is not known, types in different subnets are counted separately.
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

// sold is the type under which capacity is counted: spot instances are another stock, and so are
// reservations.
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

// differences are the differences of an instance from the spec. An instance of any choice matches the spec.
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
