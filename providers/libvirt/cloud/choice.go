package cloud

import (
	"fmt"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/libvirt/spec"
)

var _ provider.Chooser = &session{}

// Choices implements [provider.Chooser]: a spec has one. Where the host has no memory for it, it may have some for a fallback that is smaller.
func (s *session) Choices(provider.Ref) []provider.Choice {
	if s.spec == nil {
		return nil
	}
	return []provider.Choice{{Name: choice(s.spec), Type: typeOf(s.spec.DomainVcpu, s.spec.DomainMemory)}}
}

// choice is the name of the only one.
func choice(c *spec.Config) string {
	return fmt.Sprintf("%d CPUs with %d MiB", c.DomainVcpu, c.DomainMemory)
}

// typeOf is what people read as the type of an instance, which is a label of its machine, too.
func typeOf(vcpus, memoryMiB int64) string { return fmt.Sprintf("%dcpu-%dmib", vcpus, memoryMiB) }
