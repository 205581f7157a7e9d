package cloud

import (
	"cmp"
	"slices"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"google.golang.org/api/compute/v1"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/gcp/spec"
)

// plan is the spec of a class, of one API; without either the class has lost its spec.
type plan struct {
	openshift *machinev1beta1.GCPMachineProviderSpec
	gardener  *spec.Gardener
}

func decode(api string, raw []byte) (t plan, err error) {
	if api == provider.Gardener {
		t.gardener, err = spec.DecodeGardener(raw)
	} else {
		t.openshift, err = spec.DecodeOpenShift(raw)
	}
	return t, err
}

// placement is the zone and the type of an instance.
type placement struct{ project, region, zone, machineType string }

// project is empty if the spec leaves it to the credentials.
func (t plan) project() string {
	if t.openshift != nil {
		return t.openshift.ProjectID
	}
	return ""
}

func (t plan) where() (region, zone, machineType string) {
	switch {
	case t.openshift != nil:
		return t.openshift.Region, t.openshift.Zone, t.openshift.MachineType
	case t.gardener != nil:
		return t.gardener.Region, t.gardener.Zone, t.gardener.MachineType
	}
	return "", "", ""
}

// places are those that the spec allows, best first: its first type in every zone, then the next type.
func (t plan) places(project string) (all []placement) {
	region, zones, types := t.where()
	for _, machineType := range listed(types) {
		for _, zone := range listed(zones) {
			all = append(all, placement{project, region, zone, machineType})
		}
	}
	return all
}

// listed reads "a, b".
func listed(text string) (all []string) {
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" && !slices.Contains(all, part) {
			all = append(all, part)
		}
	}
	return all
}

func (t plan) spot() bool {
	switch {
	case t.openshift != nil:
		return spec.Spot(t.openshift)
	case t.gardener != nil:
		return t.gardener.Scheduling.Preemptible
	}
	return false
}

// gpus are those in the spec, besides the ones included in types.
func (t plan) gpus() (kind string, count int64) {
	switch {
	case t.openshift != nil && len(t.openshift.GPUs) > 0:
		g := t.openshift.GPUs[0]
		return g.Type, int64(cmp.Or(g.Count, 1))
	case t.gardener != nil && t.gardener.GPU != nil:
		return t.gardener.GPU.AcceleratorType, t.gardener.GPU.Count
	}
	return "", 0
}

// bootGB is the size of the boot disk; 0 if the image decides.
func (t plan) bootGB() int64 {
	switch {
	case t.openshift != nil:
		for _, d := range t.openshift.Disks {
			if d.Boot {
				return d.SizeGB
			}
		}
	case t.gardener != nil:
		for _, d := range t.gardener.Disks {
			if d.Boot {
				return d.SizeGB
			}
		}
	}
	return 0
}

// pools are target pools that have instances as members.
func (t plan) pools() []string {
	if t.openshift != nil {
		return t.openshift.TargetPools
	}
	return nil
}

// labels are those of users for the instance.
func (t plan) labels() map[string]string {
	switch {
	case t.openshift != nil:
		return t.openshift.Labels
	case t.gardener != nil:
		return t.gardener.Labels
	}
	return nil
}

// tags are the network tags.
func (t plan) tags() []string {
	switch {
	case t.openshift != nil:
		return t.openshift.Tags
	case t.gardener != nil:
		return t.gardener.Tags
	}
	return nil
}

// instance is the instance in the spec. The caller adds the name, the labels of the owner, and the names of
// disks.
func (t plan) instance(p placement, userData []byte) (*compute.Instance, error) {
	if t.gardener != nil {
		return gardenerInstance(t.gardener, p, string(userData))
	}
	return openshiftInstance(t.openshift, p, string(userData)), nil
}
