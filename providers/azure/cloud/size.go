package cloud

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	compute "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/provider"
)

// catalog are the sizes of a location, by name in lower case.
type catalog map[string]size

func (c catalog) find(name string) (size, bool) {
	s, ok := c[strings.ToLower(name)]
	return s, ok
}

// alignedSets is the entry of the availability sets for machines with managed disks. No size has a / in its name.
const alignedSets = "availabilitysets/aligned"

// domains is the number of fault and update domains of an availability set in the location.
func (c catalog) domains() (fault, update int32) {
	fault, update = 2, 5 // the minimum of every location
	if n := c[alignedSets].faultDomains; n > 0 {
		fault = int32(n)
	}
	if fault == 1 {
		update = 1
	}
	return fault, update
}

// size is a size of virtual machines.
type size struct {
	vcpus, gpus, faultDomains int64
	memoryMiB                 int64
	architecture              string
	zones                     []string
	accelerated               bool
}

// sizes are those of the spec's location, read once in an hour for all sessions of the client: the list is
// long, and changes every few weeks.
func (s call) sizes(ctx context.Context) (catalog, error) {
	where := strings.ToLower(s.plan.location)
	return s.sizesOf.Get(ctx, where, func(ctx context.Context) (catalog, error) { return s.readSizes(ctx, where) })
}

func (s call) readSizes(ctx context.Context, where string) (catalog, error) {
	known := catalog{}
	pager := s.compute.NewResourceSKUsClient().NewListPager(&compute.ResourceSKUsClientListOptions{Filter: to.Ptr("location eq '" + strings.ReplaceAll(where, "'", "") + "'")})
	for pager.More() {
		page, err := pager.NextPage(ctx)
		if err != nil {
			return known, s.observe(err, "list sizes of %s", where)
		}
		for _, sku := range page.Value {
			name := strings.ToLower(deref(sku.Name))
			switch kind := strings.ToLower(deref(sku.ResourceType)); kind {
			case "virtualmachines":
				known[name] = sizeOf(sku, where)
			case "availabilitysets":
				known[kind+"/"+name] = sizeOf(sku, where)
			}
		}
	}
	return known, nil
}

func sizeOf(sku *compute.ResourceSKU, location string) (s size) {
	number := func(text string) int64 { n, _ := strconv.ParseInt(text, 10, 64); return n }
	for _, c := range sku.Capabilities {
		switch value := deref(c.Value); deref(c.Name) {
		case "vCPUs":
			s.vcpus = number(value)
		case "GPUs":
			s.gpus = number(value)
		case "MemoryGB":
			gib, _ := strconv.ParseFloat(value, 64)
			s.memoryMiB = int64(math.Round(gib * 1024))
		case "CpuArchitectureType":
			s.architecture = map[string]string{"x64": "amd64", "arm64": "arm64"}[strings.ToLower(value)]
		case "MaximumPlatformFaultDomainCount":
			s.faultDomains = number(value)
		case "AcceleratedNetworkingEnabled":
			s.accelerated = strings.EqualFold(value, "True")
		}
	}
	for _, l := range sku.LocationInfo {
		if strings.EqualFold(deref(l.Location), location) {
			for _, z := range l.Zones {
				s.zones = append(s.zones, deref(z))
			}
		}
	}
	slices.Sort(s.zones)
	return s
}

// Size implements [provider.Sizer] with the minimum of each resource among the choices.
func (s *session) Size(ctx context.Context) (out provider.Size, err error) {
	if s.plan == nil {
		return out, provider.Errorf(provider.Invalid, "the class has no spec")
	}
	c, err := s.newCall(ctx)
	if err != nil {
		return out, err
	}
	sizes, err := c.sizes(ctx)
	if err != nil {
		return out, err
	}
	for n, choice := range s.plan.choices {
		one, ok := sizes.find(choice.size)
		if !ok {
			return out, provider.InvalidField(s.plan.fields[fieldSize], "there is no size %s in %s", choice.size, s.plan.location)
		}
		if n == 0 {
			out = provider.Size{VCPU: one.vcpus, GPU: one.gpus, MemoryMiB: one.memoryMiB, Architecture: one.architecture}
			continue
		}
		out.VCPU, out.GPU, out.MemoryMiB = min(out.VCPU, one.vcpus), min(out.GPU, one.gpus), min(out.MemoryMiB, one.memoryMiB)
		if out.Architecture != one.architecture {
			out.Architecture = ""
		}
	}
	if out.GPU > 0 {
		out.GPUResource = "nvidia.com/gpu"
	}
	out.Labels = s.plan.labels()
	return out, nil
}

// labels are those that Azure's cloud controller adds to nodes, if all choices agree on them.
func (d *plan) labels() map[string]string {
	location := strings.ToLower(d.location)
	first := d.choices[0]
	out := map[string]string{corev1.LabelTopologyRegion: location, corev1.LabelInstanceTypeStable: first.size}
	if first.zone != "" {
		out[corev1.LabelTopologyZone] = fmt.Sprintf("%s-%s", location, first.zone)
	}
	for _, c := range d.choices {
		if c.size != first.size {
			delete(out, corev1.LabelInstanceTypeStable)
		}
		if c.zone != first.zone {
			delete(out, corev1.LabelTopologyZone)
		}
	}
	return out
}
