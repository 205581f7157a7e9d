package cloud

import (
	"cmp"
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/millwright-dev/millwright/provider"
)

var _ provider.Sizer = &session{}

// architectures maps Metal3's names to those of Kubernetes, where they differ.
var architectures = map[string]string{"x86_64": "amd64", "aarch64": "arm64"}

// Size implements [provider.Sizer]: the smallest hardware among the selected hosts, free or not.
func (s *session) Size(ctx context.Context) (provider.Size, error) {
	if s.spec == nil {
		return provider.Size{}, provider.Errorf(provider.Invalid, "the class has no spec")
	}
	c, err := s.connect(ctx)
	if err != nil {
		return provider.Size{}, err
	}
	all, err := hosts.All(ctx, c, call{s, c}.listed(), "")
	if err != nil {
		return provider.Size{}, s.observe(err)
	}
	var least provider.Size
	selector, seen := s.spec.Selector(), false
	for _, h := range all {
		hardware := h.Status.HardwareDetails
		if hardware == nil || hardware.CPU.Count == 0 || !selector.Matches(labels.Set(h.Labels)) {
			continue
		}
		arch := cmp.Or(architectures[hardware.CPU.Arch], hardware.CPU.Arch)
		is := provider.Size{VCPU: int64(hardware.CPU.Count), MemoryMiB: int64(hardware.RAMMebibytes), Architecture: arch}
		if seen {
			is.VCPU, is.MemoryMiB = min(is.VCPU, least.VCPU), min(is.MemoryMiB, least.MemoryMiB)
			if is.Architecture != least.Architecture {
				is.Architecture = ""
			}
		}
		least, seen = is, true
	}
	if !seen {
		return least, provider.Errorf(provider.Exhausted, "no host that hostSelector selects has been inspected, so the size is unknown")
	}
	return least, nil
}

// choice is the name of the only choice.
func (s scope) choice() string {
	return "hosts with " + cmp.Or(s.spec.Selector().String(), "any label")
}

// Differences implements [provider.Session] for the properties that a host shows.
func (s *session) Differences(_ provider.Ref, i provider.Instance) []string {
	if s.spec == nil || s.spec.Selector().Matches(labels.Set(i.Tags)) {
		return nil
	}
	return []string{fmt.Sprintf("hostSelector: host %s does not have the labels %s", i.ID, s.spec.Selector())}
}
