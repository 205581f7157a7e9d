package vcenter

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/types"
)

// Probe looks into parts of a vCenter that its instances do not show, and changes some, for tests.
type Probe struct{ cloud *Cloud }

// Probe returns one.
func (c *Cloud) Probe() Probe { return Probe{c} }

// HasFile reports whether a datastore has a file.
func (p Probe) HasFile(datacenter, datastore, file string) bool {
	ref, err := p.cloud.builder.find(context.Background(), datacenter+"/datastore/"+datastore)
	if err != nil || ref == nil {
		return false
	}
	ds := p.cloud.world.own().Map.Get(*ref).(*simulator.Datastore)
	_, err = os.Stat(filepath.Join(ds.Info.GetDatastoreInfo().Url, file))
	return err == nil
}

// Untag takes a tag from a virtual machine.
func (p Probe) Untag(id, instance string) error {
	vm := byInstance(p.cloud.world.own(), instance)
	if vm == nil {
		return fmt.Errorf("there is no virtual machine %s", instance)
	}
	return tags.NewManager(p.cloud.builder.rest).DetachTag(context.Background(), id, vm.Self)
}

// GroupMembers are the names of the virtual machines in a group of a cluster.
func (p Probe) GroupMembers(cluster, group string) (names []string) {
	ctx := p.cloud.world.own()
	for _, e := range ctx.Map.All("ClusterComputeResource") {
		c := e.(*simulator.ClusterComputeResource)
		config, ok := c.ConfigurationEx.(*types.ClusterConfigInfoEx)
		if !ok || c.Name != cluster {
			continue
		}
		for _, g := range config.Group {
			members, ok := g.(*types.ClusterVmGroup)
			if !ok || members.Name != group {
				continue
			}
			for _, vm := range members.Vm {
				names = append(names, p.cloud.NameOf(vm))
			}
		}
	}
	slices.Sort(names)
	return names
}
