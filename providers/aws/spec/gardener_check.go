package spec

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/lenient"
)

// Refused joins faults into one error, each with its field; nil without faults.
func Refused(faults field.ErrorList) error {
	errs := make([]error, 0, len(faults))
	for _, f := range faults {
		errs = append(errs, provider.InvalidField(f.Field, "%s", f.ErrorBody()))
	}
	return errors.Join(errs...)
}

// Check returns the faults of the spec. It is the original's validation, with three exceptions: tags of
// ownership may be missing, since the cluster's name replaces them; volumes may be of type io2; and values
// that the original passes on to AWS, which then refuses them for every machine, are refused here.
func (s *ProviderSpec) Check() (faults field.ErrorList) {
	require := func(value, name, why string) {
		if value == "" {
			faults = append(faults, field.Required(field.NewPath(name), why))
		}
	}
	require(s.AMI, "ami", "it is the image of the instance")
	require(s.Region, "region", "an instance is made in a region")
	require(s.MachineType, "machineType", "an instance has a type, such as m5.large")
	if (s.IAM.Name == "") == (s.IAM.ARN == "") {
		faults = append(faults, field.Invalid(field.NewPath("iam"), field.OmitValueType{}, "give name or arn of an instance profile, and not both"))
	}
	for _, check := range []func() field.ErrorList{
		s.checkDisks, s.checkInterfaces, s.checkReservation, s.checkMarket, s.checkMetadata, s.checkCPU, s.checkPlacement,
	} {
		faults = append(faults, check()...)
	}
	return faults
}

// volumeTypes are those that disks may have.
var volumeTypes = []string{"gp2", "gp3", "io1", "io2", "st1", "sc1", "standard"}

var dataDevice = regexp.MustCompile(`^/dev/(sd[a-z]|xvd[a-c][a-z]?)$`)

func (s *ProviderSpec) checkDisks() (faults field.ErrorList) {
	at := field.NewPath("blockDevices")
	seen := map[string]bool{}
	for i, d := range s.BlockDevices {
		if len(faults) >= lenient.MostFaults {
			return faults
		}
		name := at.Index(i).Child("deviceName")
		switch {
		case seen[d.DeviceName]:
			faults = append(faults, field.Duplicate(name, lenient.Shown(d.DeviceName)))
		case d.DeviceName != RootDevice && len(s.BlockDevices) > 1 && !dataDevice.MatchString(d.DeviceName):
			faults = append(faults, field.Invalid(name, lenient.Shown(d.DeviceName), "of several disks one is /root, and the others are named as AWS does, such as /dev/sdf"))
		}
		seen[d.DeviceName] = true
		faults = append(faults, d.EBS.check(at.Index(i).Child("ebs"))...)
	}
	if len(s.BlockDevices) > 1 && !seen[RootDevice] {
		faults = append(faults, field.Required(at, "one of several disks is named /root"))
	}
	return faults
}

func (e EBS) check(at *field.Path) (faults field.ErrorList) {
	if !slices.Contains(volumeTypes, e.VolumeType) {
		faults = append(faults, field.NotSupported(at.Child("volumeType"), lenient.Shown(e.VolumeType), volumeTypes))
	}
	if e.VolumeSize <= 0 {
		faults = append(faults, field.Invalid(at.Child("volumeSize"), e.VolumeSize, "give the size in GiB"))
	}
	if e.IOPS < 0 || e.IOPS == 0 && e.VolumeType == "io1" {
		faults = append(faults, field.Invalid(at.Child("iops"), e.IOPS, "give operations a second, which io1 cannot be without"))
	}
	if e.Throughput != nil && *e.Throughput <= 0 {
		faults = append(faults, field.Invalid(at.Child("throughput"), *e.Throughput, "give MiB a second"))
	}
	return faults
}

func (s *ProviderSpec) checkInterfaces() (faults field.ErrorList) {
	at := field.NewPath("networkInterfaces")
	if len(s.NetworkInterfaces) == 0 {
		return field.ErrorList{field.Required(at, "give at least one")}
	}
	for i, n := range s.NetworkInterfaces {
		if len(faults) >= lenient.MostFaults {
			return faults
		}
		one := at.Index(i)
		if n.SubnetID == "" {
			faults = append(faults, field.Required(one.Child("subnetID"), "a network interface is in a subnet"))
		}
		if len(n.SecurityGroupIDs) == 0 || slices.Contains(n.SecurityGroupIDs, "") {
			faults = append(faults, field.Required(one.Child("securityGroupIDs"), "give at least one, and none that is empty"))
		}
		if n.InterfaceType != nil {
			faults = append(faults, oneOf(one.Child("interfaceType"), *n.InterfaceType, "", "interface", "efa", "efa-only")...)
		}
		faults = append(faults, atLeast(0, n.DeviceIndex, one.Child("deviceIndex"))...)
		faults = append(faults, atLeast(0, n.NetworkCardIndex, one.Child("networkCardIndex"))...)
	}
	return faults
}

func (s *ProviderSpec) checkReservation() (faults field.ErrorList) {
	r, at := s.CapacityReservation, field.NewPath("capacityReservation")
	switch {
	case r == nil:
	case r.Preference != "" && (r.ID != nil || r.ResourceGroupARN != nil):
		faults = append(faults, field.Forbidden(at.Child("capacityReservationPreference"), "a reservation, or a group of them, is named beside it"))
	case r.ID != nil && r.ResourceGroupARN != nil:
		faults = append(faults, field.Forbidden(at.Child("capacityReservationResourceGroupArn"), "a reservation is named beside it"))
	}
	return faults
}

// atLeast is a fault if a given number is less.
func atLeast(least int32, given *int32, at *field.Path) field.ErrorList {
	if given == nil || *given >= least {
		return nil
	}
	return field.ErrorList{field.Invalid(at, *given, fmt.Sprintf("give %d or more", least))}
}

func (s *ProviderSpec) checkMarket() field.ErrorList {
	if s.Market == nil {
		return nil
	}
	return oneOf(field.NewPath("instanceMarketOptions", "marketType"), s.Market.MarketType, MarketSpot, MarketBlock, MarketInterruptible)
}

// The markets besides the usual one.
const (
	MarketSpot          = "spot"
	MarketBlock         = "capacity-block"
	MarketInterruptible = "interruptible-capacity-reservation"
)

// MarketType is how the instance is paid; empty for on demand. instanceMarketOptions has precedence over
// spotPrice, and that over isMLCapacityBlock, which only an older original knows.
func (s *ProviderSpec) MarketType() string {
	switch r := s.CapacityReservation; {
	case s.Market != nil:
		return s.Market.MarketType
	case s.SpotPrice != nil:
		return MarketSpot
	case r != nil && r.MLCapacityBlock != nil && *r.MLCapacityBlock:
		return MarketBlock
	}
	return ""
}

// mostHops is the limit of hops of the metadata service's answers.
const mostHops = 64

func (s *ProviderSpec) checkMetadata() (faults field.ErrorList) {
	m, at := s.Metadata, field.NewPath("instanceMetadataOptions")
	if m == nil {
		return nil
	}
	if m.HopLimit != nil && (*m.HopLimit < 0 || *m.HopLimit > mostHops) {
		faults = append(faults, field.Invalid(at.Child("httpPutResponseHopLimit"), *m.HopLimit, fmt.Sprintf("give 0 to %d", mostHops)))
	}
	for _, w := range []struct {
		name    string
		value   *string
		allowed []string
	}{
		{"httpEndpoint", m.Endpoint, []string{"", "enabled", "disabled"}},
		{"httpTokens", m.Tokens, []string{"", "required", "optional"}},
		{"httpProtocolIpv6", m.ProtocolIPv6, []string{"", "enabled", "disabled"}},
	} {
		if w.value != nil {
			faults = append(faults, oneOf(at.Child(w.name), *w.value, w.allowed...)...)
		}
	}
	return faults
}

func (s *ProviderSpec) checkCPU() (faults field.ErrorList) {
	c, at := s.CPU, field.NewPath("cpuOptions")
	if c == nil {
		return nil
	}
	switch t := c.ThreadsPerCore; {
	case c.CoreCount == nil && t != nil:
		faults = append(faults, field.Required(at.Child("coreCount"), "give it beside threadsPerCore"))
	case c.CoreCount != nil && t == nil:
		faults = append(faults, field.Required(at.Child("threadsPerCore"), "give it beside coreCount"))
	case t != nil && (*t < 1 || *t > 2):
		faults = append(faults, field.Invalid(at.Child("threadsPerCore"), *t, "give 1 or 2"))
	}
	if c.AMDSEVSNP != nil {
		faults = append(faults, oneOf(at.Child("amdSevSnp"), *c.AMDSEVSNP, "enabled", "disabled")...)
	}
	return faults
}

func (s *ProviderSpec) checkPlacement() (faults field.ErrorList) {
	p, at := s.Placement, field.NewPath("placement")
	if p == nil {
		return nil
	}
	if p.Tenancy != nil {
		faults = append(faults, oneOf(at.Child("tenancy"), *p.Tenancy, "default", "dedicated", "host")...)
	}
	if p.Affinity != nil {
		faults = append(faults, oneOf(at.Child("affinity"), *p.Affinity, "default", "host")...)
	}
	if p.HostID != nil && (p.Tenancy == nil || *p.Tenancy != "host") {
		faults = append(faults, field.Forbidden(at.Child("hostId"), "it is for tenancy host only"))
	}
	return append(faults, atLeast(1, p.PartitionNumber, at.Child("partitionNumber"))...)
}

// ownershipKeys are the first key of a cluster and the first one of a role.
func ownershipKeys(tags map[string]string) (keys []string) {
	all := slices.Sorted(maps.Keys(tags))
	for _, prefix := range []string{ClusterTagPrefix, RoleTagPrefix} {
		if n := slices.IndexFunc(all, func(k string) bool { return strings.Contains(k, prefix) }); n >= 0 {
			keys = append(keys, all[n])
		}
	}
	return keys
}
