package cloud

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/millwright-dev/millwright/provider"
)

var _ provider.Sizer = &session{}

// Size implements [provider.Sizer] with the size of the flavor.
func (s *session) Size(ctx context.Context) (provider.Size, error) {
	if s.bare {
		return provider.Size{}, provider.Errorf(provider.Invalid, "the class has no spec")
	}
	c, err := s.connect(ctx)
	if err != nil {
		return provider.Size{}, err
	}
	size, err := call{s, c}.size(ctx)
	if err != nil {
		return provider.Size{}, fmt.Errorf("ask what servers have: %w", s.observe(err))
	}
	return size, nil
}

func (c call) size(ctx context.Context) (provider.Size, error) {
	f, err := c.client.flavor(ctx, c.plan.paths["flavor"], c.plan.flavor)
	if err != nil {
		return provider.Size{}, err
	}
	specs, err := lookup(ctx, c.client, "extra specs "+f.ID, func(ctx context.Context) (map[string]string, error) {
		all, err := flavors.ListExtraSpecs(ctx, c.client.compute, f.ID).Extract()
		if isGone(err) {
			return nil, nil
		}
		return all, classify(err)
	})
	if err != nil {
		return provider.Size{}, err
	}
	size := provider.Size{
		VCPU: int64(f.VCPUs), MemoryMiB: int64(f.RAM), GPU: gpus(specs), EphemeralStorageMiB: int64(f.Disk) << 10, Labels: map[string]string{},
	}
	if r := c.plan.root; r != nil {
		size.EphemeralStorageMiB = int64(r.size) << 10
	}
	// If the image cannot be read, only the architecture is missing.
	if i, err := c.client.imageOf(ctx, c.plan.paths["image"], c.plan.image); err == nil {
		size.Architecture = architecture(i)
	}
	for key, value := range map[string]string{
		corev1.LabelInstanceTypeStable: f.Name, corev1.LabelTopologyZone: c.plan.zone, corev1.LabelTopologyRegion: c.client.region,
	} {
		if value != "" && len(validation.IsValidLabelValue(value)) == 0 {
			size.Labels[key] = value
		}
	}
	return size, nil
}

// passed matches "name:count" of a PCI device, as flavors request them.
var passed = regexp.MustCompile(`^[^:,]+:(\d+)$`)

// gpus counts the accelerators of a flavor: PCI devices that are passed through, and virtual ones. Only the
// cloud's configuration defines the devices of an alias; network cards are excluded by their usual names.
func gpus(specs map[string]string) (n int64) {
	for _, alias := range strings.Split(specs["pci_passthrough:alias"], ",") {
		m := passed.FindStringSubmatch(strings.TrimSpace(alias))
		if m == nil || notGPU.MatchString(alias) {
			continue
		}
		count, _ := strconv.ParseInt(m[1], 10, 32)
		n += count
	}
	for key, value := range specs {
		if key == "resources:VGPU" || key == "resources:PGPU" {
			count, _ := strconv.ParseInt(value, 10, 32)
			n += count
		}
	}
	return n
}

var notGPU = regexp.MustCompile(`(?i)nic|sriov|sr-iov|nvme|ssd|vf\b`)

// architecture is the one in an image's properties, in Kubernetes' words; empty if they have none.
func architecture(i images.Image) string {
	for _, key := range []string{"hw_architecture", "architecture"} {
		switch i.Properties[key] {
		case "x86_64", "amd64":
			return "amd64"
		case "aarch64", "arm64":
			return "arm64"
		case "ppc64le", "s390x":
			return i.Properties[key].(string) //nolint:forcetypeassert // It is one of these texts.
		}
	}
	return ""
}
