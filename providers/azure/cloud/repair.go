package cloud

import (
	"context"
	"maps"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	compute "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	"github.com/millwright-dev/millwright/provider"
)

// drifted says whether a virtual machine lacks tags of the spec, or has other values of them. Further tags are their owners'.
func (d *design) drifted(tags map[string]*string) bool {
	if d == nil {
		return false
	}
	for key, value := range d.tags {
		if has, ok := tag(tags, key); !ok || has != value {
			return true
		}
	}
	return false
}

// repairRest is how long a repair that was refused is not tried again: tags hold up no machine.
const repairRest = 10 * time.Minute

// resting says whether a repair of the machine was refused lately.
func (c *client) resting(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	maps.DeleteFunc(c.refused, func(_ string, at time.Time) bool { return now.Sub(at) >= repairRest })
	_, ok := c.refused[id]
	return ok
}

func (c *client) rest(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused[id] = c.clock.Now()
}

// Initialize implements [provider.Initializer]: it writes the tags of the spec that the machine lacks. What others have changed since it was
// read is not overwritten. Where that is refused, the machine goes on without.
func (s *session) Initialize(ctx context.Context, _ provider.Ref, i provider.Instance) error {
	sc, err := s.scene(ctx)
	if err != nil {
		return err
	}
	at, ok := placeOf(i.ID)
	if !ok || s.design == nil {
		return nil
	}
	vm, err := sc.machine(ctx, at.group, at.name)
	if err != nil || vm == nil || !s.design.drifted(vm.Tags) {
		return err
	}
	has := map[string]string{}
	for key, value := range vm.Tags {
		has[key] = deref(value)
	}
	tags := merged(has, s.design.tags)
	if len(tags) > mostTags {
		sc.rest(i.ID)
		return nil
	}
	// That of users never stands in for ours.
	for _, own := range []string{tagUID, tagNamespace, tagOwner, tagCluster, tagKept} {
		if value, ok := tag(vm.Tags, own); ok {
			tags[own] = to.Ptr(value)
		}
	}
	_, err = sc.compute.NewVirtualMachinesClient().BeginUpdate(ctx, at.group, at.name, compute.VirtualMachineUpdate{Tags: tags}, &compute.VirtualMachinesClientBeginUpdateOptions{IfMatch: vm.Etag})
	if err != nil && !isMissing(err) {
		sc.rest(i.ID)
	}
	return nil
}
