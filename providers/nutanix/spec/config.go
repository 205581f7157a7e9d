package spec

import (
	machinev1 "github.com/openshift/api/machine/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider/lenient"
)

// Config is a spec of machine.openshift.io. No public spec of Nutanix exists for machine.sapcloud.io.
type Config = machinev1.NutanixMachineProviderConfig

// DecodeConfig reads a spec to create virtual machines from it. It refuses specs from which the original
// creates none. If the config is nil, the error is a decoding error; otherwise it has the invalid fields.
func DecodeConfig(raw []byte) (*Config, error) {
	s, _, err := lenient.Decode[Config](raw)
	if err != nil {
		return nil, err
	}
	return s, lenient.Error(checkConfig(s))
}

// FailureDomainOf is the name of the failure domain of a spec; empty if it names none.
func FailureDomainOf(s *Config) string {
	if s.FailureDomain == nil {
		return ""
	}
	return s.FailureDomain.Name
}

// checkConfig returns the faults of a spec. A failure domain replaces the cluster and the subnets, which
// a spec then may leave out.
func checkConfig(s *Config) (faults field.ErrorList) {
	if FailureDomainOf(s) == "" {
		faults = append(identifier(field.NewPath("cluster"), s.Cluster), subnets(field.NewPath("subnets"), s.Subnets)...)
	}
	faults = append(faults, identifier(field.NewPath("image"), s.Image)...)
	faults = append(faults, hardware(nil, s)...)
	return append(faults, sizes(s)...)
}

// hardware checks the parts that the original checks alike when a spec is written and when it is used.
func hardware(at *field.Path, s *Config) (faults field.ErrorList) {
	faults = append(faults, bootType(at.Child("bootType"), s.BootType)...)
	if s.Project.Type != "" {
		faults = append(faults, identifier(at.Child("project"), s.Project)...)
	}
	for i, c := range s.Categories {
		faults = append(faults, category(at.Child("categories").Index(i), c)...)
	}
	for i, g := range s.GPUs {
		faults = append(faults, gpu(at.Child("gpus").Index(i), g)...)
	}
	for i, d := range s.DataDisks {
		faults = append(faults, dataDisk(at.Child("dataDisks").Index(i), d)...)
	}
	return faults
}

// sizes refuses the sizes of which [Admitter] only warns: the original creates no virtual machine of them.
func sizes(s *Config) (faults field.ErrorList) {
	least := func(name string, has, least int64, unit string) {
		if has < least {
			faults = append(faults, field.Invalid(field.NewPath(name), has, "must be "+unit+" at least"))
		}
	}
	least("vcpusPerSocket", int64(s.VCPUsPerSocket), 1, "1")
	least("vcpuSockets", int64(s.VCPUSockets), 1, "1")
	least("memorySize", MiB(s.MemorySize), MiB(leastMemory), "2Gi")
	least("systemDiskSize", MiB(s.SystemDiskSize), MiB(leastSystemDisk), "20Gi")
	return faults
}
