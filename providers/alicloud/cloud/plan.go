package cloud

import (
	"context"
	"fmt"

	ecs "github.com/alibabacloud-go/ecs-20140526/v7/client"

	"github.com/millwright-dev/millwright/provider"
)

// plan is the request of a spec of either API, as far as the spec alone determines it. It is shared: do not
// change it.
type plan struct {
	region, instanceType string
	// zone is the zone that the spec names; empty if the vSwitch alone decides.
	zone string
	// requested: the request names the zone, so that an instance in another zone differs from the spec.
	requested bool
	// vSwitch identifies the vSwitch that the spec names, also for users.
	vSwitch string
	spot    bool
	// tags are the user's, owner are those of them that name the owner of instances.
	tags, owner map[string]string
	// diskGiB is the size of the system disk; 0 for that of the image.
	diskGiB int64
	// names are the spec's names for the parts of requests.
	names map[field]string
	// request returns the request for one instance. It looks up objects that the spec does not name by ID.
	request func(ctx context.Context, l lookup, machine string) (*ecs.RunInstancesRequest, error)
}

// decode decodes a spec.
func decode(api string, raw []byte) (*plan, error) {
	switch api {
	case provider.OpenShift:
		return planOfMachine(raw)
	case provider.Gardener:
		return planOfClass(raw)
	}
	return nil, provider.Errorf(provider.Invalid, "there are no specs of Alibaba Cloud in %q", api)
}

// choice is the one variant of an instance of the spec: the vSwitch decides the zone.
func (p *plan) choice() provider.Choice {
	place := p.zone
	if place == "" {
		place = p.vSwitch
	}
	return provider.Choice{Name: p.sold() + " in " + place, Region: p.region, Zone: p.zone, Type: p.sold()}
}

// sold is the type under which capacity is counted: spot instances are another stock.
func (p *plan) sold() string {
	if p.spot {
		return p.instanceType + " (spot)"
	}
	return p.instanceType
}

// accepts returns an error for a choice that the spec does not have.
func (p *plan) accepts(choice string) error {
	if choice == "" || choice == p.choice().Name {
		return nil
	}
	return provider.Errorf(provider.Invalid, "the spec has no choice %q", choice)
}

// differences are the differences of an instance from the spec.
func (p *plan) differences(i provider.Instance) (out []string) {
	differs := func(f field, has, says string) {
		if has != "" && says != "" && has != says {
			out = append(out, fmt.Sprintf("%s: the instance has %q, the spec says %q", p.names[f], has, says))
		}
	}
	differs(ofType, i.Type, p.instanceType)
	if p.requested {
		differs(ofZone, i.Zone, p.zone)
	}
	if i.Interruptible != p.spot {
		differs(ofSpot, market(i.Interruptible), market(p.spot))
	}
	return out
}

func market(spot bool) string {
	if spot {
		return "spot"
	}
	return "pay-as-you-go"
}
