package cloud

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"

	"github.com/millwright-dev/millwright/providers/aws/spec"
)

// machineNames are the fields of specs of machine.openshift.io.
var machineNames = map[field]string{
	ofImage: "ami", ofType: "instanceType", ofSubnet: "subnet", ofGroups: "securityGroups", ofKey: "keyName", ofProfile: "iamInstanceProfile",
	ofZone: "placement.availabilityZone", ofDisks: "blockDevices", ofTags: "tags", ofHost: "placement.host", ofReservation: "capacityReservationId",
	ofGroup: "placementGroupName", ofMarket: "marketType", ofUserData: "userDataSecret", ofNetwork: "networkInterfaceType",
}

type machineSpec = machinev1beta1.AWSMachineProviderConfig

func planOfMachine(raw []byte) (*plan, error) {
	s, err := spec.DecodeConfig(raw)
	if err != nil {
		return nil, err
	}
	p := &plan{
		region: s.Placement.Region, instanceType: s.InstanceType, zones: zonesOf(s), spot: spotOf(s), tags: map[string]string{}, names: machineNames,
		host: hostOf(s), rootGiB: rootOf(s), stock: machineStock(s), subnet: subnetName(s),
	}
	addTags(p.tags, s.Tags)
	for _, b := range s.LoadBalancers { // the original ignores those of other types
		if b.Type != machinev1beta1.NetworkLoadBalancerType && b.Type != machinev1beta1.ClassicLoadBalancerType {
			continue
		}
		p.balancers = append(p.balancers, balancer{name: b.Name, network: b.Type == machinev1beta1.NetworkLoadBalancerType})
	}
	p.request = func(ctx context.Context, l lookup, zone string) (*ec2.RunInstancesInput, error) {
		return machineRequest(ctx, l, s, zone)
	}
	return p, nil
}

// addTags adds tags of a spec; of duplicate names the first counts.
func addTags(into map[string]string, tags []machinev1beta1.TagSpecification) {
	for _, t := range tags {
		if _, doubled := into[t.Name]; !doubled {
			into[t.Name] = t.Value
		}
	}
}

// zonesOf are the zones that the spec names: one, or those that a filter of subnets allows.
func zonesOf(s *machineSpec) []string {
	if s.Placement.AvailabilityZone != "" {
		return []string{s.Placement.AvailabilityZone}
	}
	for _, f := range s.Subnet.Filters {
		if s.Subnet.ID == nil && zoneFilter(f.Name) && !slices.ContainsFunc(f.Values, func(v string) bool { return strings.ContainsAny(v, "*?") }) {
			return slices.Compact(slices.Clone(f.Values))
		}
	}
	return nil
}

func zoneFilter(name string) bool { return name == "availabilityZone" || name == "availability-zone" }

// machineStock are the properties besides the type by which capacity is counted.
func machineStock(s *machineSpec) (out []string) {
	if s.MarketType == machinev1beta1.MarketTypeCapacityBlock {
		out = append(out, "capacity block")
	}
	if spotOf(s) {
		out = append(out, spotStock)
	}
	h := hostOf(s)
	return append(out, s.CapacityReservationID, string(s.Placement.Tenancy), h.given)
}

// subnetName identifies the subnet that the spec names, also for users.
func subnetName(s *machineSpec) string {
	if s.Subnet.ID != nil {
		return *s.Subnet.ID
	}
	var says []string
	for _, f := range s.Subnet.Filters {
		says = append(says, f.Name+"="+strings.Join(f.Values, ","))
	}
	return strings.Join(says, " ")
}

func spotOf(s *machineSpec) bool {
	return s.MarketType == machinev1beta1.MarketTypeSpot || s.MarketType == "" && s.SpotMarketOptions != nil
}

// hostOf is the spec's request for dedicated hosts. A host beside an unknown strategy is used by the
// original, and not tagged.
func hostOf(s *machineSpec) (h hostPlan) {
	if s.Placement.Host == nil || s.Placement.Host.DedicatedHost == nil {
		return h
	}
	d := s.Placement.Host.DedicatedHost
	if d.AllocationStrategy == nil || *d.AllocationStrategy == machinev1beta1.AllocationStrategyUserProvided {
		return hostPlan{given: d.ID, shared: d.ID != ""}
	}
	h = hostPlan{own: *d.AllocationStrategy == machinev1beta1.AllocationStrategyDynamic, given: d.ID, tags: map[string]string{}}
	if d.DynamicHostAllocation != nil && d.DynamicHostAllocation.Tags != nil {
		addTags(h.tags, *d.DynamicHostAllocation.Tags)
	}
	return h
}

func rootOf(s *machineSpec) int64 {
	for _, d := range s.BlockDevices {
		if d.DeviceName == nil && d.EBS != nil {
			return deref(d.EBS.VolumeSize)
		}
	}
	return 0
}

// machineRequest converts the whole spec to AWS's request.
func machineRequest(ctx context.Context, l lookup, s *machineSpec, zone string) (*ec2.RunInstancesInput, error) {
	image, err := imageOf(ctx, l, s)
	if err != nil {
		return nil, err
	}
	nic, err := interfaceOf(ctx, l, s, zone)
	if err != nil {
		return nil, err
	}
	disks, err := disksOf(ctx, l, s, image)
	if err != nil {
		return nil, err
	}
	in := &ec2.RunInstancesInput{
		ImageId: aws.String(image), InstanceType: types.InstanceType(s.InstanceType), KeyName: s.KeyName, BlockDeviceMappings: disks,
		NetworkInterfaces: []types.InstanceNetworkInterfaceSpecification{nic}, Placement: placementOf(s), InstanceMarketOptions: marketOf(s),
	}
	if s.IAMInstanceProfile != nil && s.IAMInstanceProfile.ID != nil {
		in.IamInstanceProfile = &types.IamInstanceProfileSpecification{Name: s.IAMInstanceProfile.ID}
	}
	if s.CapacityReservationID != "" {
		in.CapacityReservationSpecification = &types.CapacityReservationSpecification{
			CapacityReservationTarget: &types.CapacityReservationTarget{CapacityReservationId: aws.String(s.CapacityReservationID)},
		}
	}
	if s.CPUOptions != nil {
		switch deref(s.CPUOptions.ConfidentialCompute) {
		case machinev1beta1.AWSConfidentialComputePolicyDisabled:
			in.CpuOptions = &types.CpuOptionsRequest{AmdSevSnp: types.AmdSevSnpSpecificationDisabled}
		case machinev1beta1.AWSConfidentialComputePolicySEVSNP:
			in.CpuOptions = &types.CpuOptionsRequest{AmdSevSnp: types.AmdSevSnpSpecificationEnabled}
		}
	}
	switch s.MetadataServiceOptions.Authentication {
	case machinev1beta1.MetadataServiceAuthenticationOptional:
		in.MetadataOptions = &types.InstanceMetadataOptionsRequest{HttpTokens: types.HttpTokensStateOptional}
	case machinev1beta1.MetadataServiceAuthenticationRequired:
		in.MetadataOptions = &types.InstanceMetadataOptionsRequest{HttpTokens: types.HttpTokensStateRequired}
	}
	if l.stack.dual {
		putDualStack(in, l.stack.sixFirst)
	}
	return in, nil
}

// putDualStack configures an instance of a cluster with both protocols: its name is its ID, which has
// addresses of both.
func putDualStack(in *ec2.RunInstancesInput, sixFirst bool) {
	if sixFirst {
		in.NetworkInterfaces[0].PrimaryIpv6, in.NetworkInterfaces[0].Ipv6AddressCount = aws.Bool(true), aws.Int32(1)
	}
	in.PrivateDnsNameOptions = &types.PrivateDnsNameOptionsRequest{
		HostnameType: types.HostnameTypeResourceName, EnableResourceNameDnsARecord: aws.Bool(true), EnableResourceNameDnsAAAARecord: aws.Bool(true),
	}
	if in.MetadataOptions == nil {
		in.MetadataOptions = &types.InstanceMetadataOptionsRequest{}
	}
	in.MetadataOptions.HttpProtocolIpv6 = types.InstanceMetadataProtocolStateEnabled
}

func filtersOf(all []machinev1beta1.Filter) []types.Filter {
	return filters(all, func(f machinev1beta1.Filter) (string, []string) { return f.Name, f.Values })
}

func imageOf(ctx context.Context, l lookup, s *machineSpec) (string, error) {
	if s.AMI.ID != nil {
		return *s.AMI.ID, nil
	}
	i, err := l.newest(ctx, filtersOf(s.AMI.Filters))
	return deref(i.ImageId), err
}

func interfaceOf(ctx context.Context, l lookup, s *machineSpec, zone string) (types.InstanceNetworkInterfaceSpecification, error) {
	nic := types.InstanceNetworkInterfaceSpecification{DeviceIndex: aws.Int32(int32(s.DeviceIndex))}
	switch s.NetworkInterfaceType {
	case machinev1beta1.AWSENANetworkInterfaceType:
		nic.InterfaceType = aws.String("interface")
	case machinev1beta1.AWSEFANetworkInterfaceType:
		nic.InterfaceType = aws.String("efa")
	}
	subnet, err := subnetOf(ctx, l, s, zone)
	if err != nil {
		return nic, err
	}
	nic.SubnetId = subnet
	for _, g := range s.SecurityGroups {
		switch {
		case g.ID != nil:
			nic.Groups = append(nic.Groups, *g.ID)
		case g.Filters != nil:
			ids, err := l.groupsBy(ctx, filtersOf(g.Filters))
			if err != nil {
				return nic, err
			}
			nic.Groups = append(nic.Groups, ids...)
		}
	}
	if len(nic.Groups) == 0 {
		return nic, l.missing(ofGroups, "no security group is given by id, and none passes the filters")
	}
	if s.PublicIP == nil {
		return nic, nil
	}
	carrier, err := inWavelength(ctx, l, subnet, zone)
	if carrier {
		nic.AssociateCarrierIpAddress = s.PublicIP
	} else {
		nic.AssociatePublicIpAddress = s.PublicIP
	}
	return nic, err
}

// subnetOf is the subnet that the spec names, or else the first one, in the zone if there is one.
func subnetOf(ctx context.Context, l lookup, s *machineSpec, zone string) (*string, error) {
	if s.Subnet.ID != nil {
		return s.Subnet.ID, nil
	}
	by := filtersOf(slices.DeleteFunc(slices.Clone(s.Subnet.Filters), func(f machinev1beta1.Filter) bool {
		return zone != "" && s.Placement.AvailabilityZone == "" && zoneFilter(f.Name)
	}))
	if zone != "" {
		by = append([]types.Filter{{Name: aws.String("availabilityZone"), Values: []string{zone}}}, by...)
	}
	fault := ofSubnet
	if len(s.Subnet.Filters) == 0 && zone != "" {
		fault = ofZone
	}
	found, err := l.firstSubnet(ctx, by, fault)
	return found.SubnetId, err
}

// inWavelength reports whether the subnet, or else the zone, is at the edge of a carrier's network.
func inWavelength(ctx context.Context, l lookup, subnet *string, zone string) (bool, error) {
	if subnet != nil {
		found, err := l.subnet(ctx, *subnet)
		if err != nil {
			return false, err
		}
		zone = deref(found.AvailabilityZone)
	}
	if zone == "" {
		return false, nil
	}
	return l.wavelength(ctx, zone)
}

// disksOf are the disks. One without a name is the image's root disk, and every disk is deleted with its
// instance. The original ignores disks that are no EBS volume.
func disksOf(ctx context.Context, l lookup, s *machineSpec, image string) (out []types.BlockDeviceMapping, err error) {
	for _, d := range s.BlockDevices {
		m := types.BlockDeviceMapping{DeviceName: d.DeviceName}
		if d.EBS == nil {
			continue
		}
		if d.DeviceName == nil {
			i, err := l.image(ctx, image)
			if err != nil {
				return nil, err
			}
			m.DeviceName = i.RootDeviceName
		}
		m.Ebs = diskOf(d.EBS)
		out = append(out, m)
	}
	return out, nil
}

func diskOf(e *machinev1beta1.EBSBlockDeviceSpec) *types.EbsBlockDevice {
	kind := types.VolumeType(deref(e.VolumeType))
	out := &types.EbsBlockDevice{VolumeType: kind, Encrypted: e.Encrypted, DeleteOnTermination: aws.Bool(true)}
	if e.VolumeSize != nil {
		out.VolumeSize = aws.Int32(int32(*e.VolumeSize))
	}
	provisioned := kind == types.VolumeTypeIo1 || kind == types.VolumeTypeIo2 || kind == types.VolumeTypeGp3
	if provisioned && deref(e.Iops) > 0 { // installers write 0 for nothing
		out.Iops = aws.Int32(int32(*e.Iops))
	}
	if kind == types.VolumeTypeGp3 && deref(e.ThroughputMib) > 0 {
		out.Throughput = e.ThroughputMib
	}
	switch {
	case deref(e.KMSKey.ID) != "":
		out.KmsKeyId = e.KMSKey.ID
	case deref(e.KMSKey.ARN) != "":
		out.KmsKeyId = e.KMSKey.ARN
	}
	return out
}

// placementOf keeps zone, group and partition when a host is given, too. A zone that a filter of subnets
// leaves open is that of the subnet.
func placementOf(s *machineSpec) *types.Placement {
	p := &types.Placement{Tenancy: types.Tenancy(s.Placement.Tenancy)}
	if zone := s.Placement.AvailabilityZone; s.Subnet.ID == nil && zone != "" {
		p.AvailabilityZone = aws.String(zone)
	}
	if s.PlacementGroupName != "" {
		p.GroupName, p.PartitionNumber = aws.String(s.PlacementGroupName), s.PlacementGroupPartition
	}
	if h := s.Placement.Host; h != nil && h.Affinity != nil {
		p.Affinity = aws.String("default")
		if *h.Affinity == machinev1beta1.HostAffinityDedicatedHost {
			p.Affinity = aws.String("host")
		}
	}
	if h := hostOf(s); h.given != "" && !h.own {
		p.HostId = aws.String(h.given)
	}
	if s.Placement.Host != nil && s.Placement.Tenancy != "" {
		p.Tenancy = types.TenancyHost
	}
	if *p == (types.Placement{}) {
		return nil
	}
	return p
}

func marketOf(s *machineSpec) *types.InstanceMarketOptionsRequest {
	switch {
	case s.MarketType == machinev1beta1.MarketTypeCapacityBlock:
		return &types.InstanceMarketOptionsRequest{MarketType: types.MarketTypeCapacityBlock}
	case spotOf(s):
		o := &types.SpotMarketOptions{
			InstanceInterruptionBehavior: types.InstanceInterruptionBehaviorTerminate, SpotInstanceType: types.SpotInstanceTypeOneTime,
		}
		if s.SpotMarketOptions != nil && deref(s.SpotMarketOptions.MaxPrice) != "" {
			o.MaxPrice = s.SpotMarketOptions.MaxPrice
		}
		return &types.InstanceMarketOptionsRequest{MarketType: types.MarketTypeSpot, SpotOptions: o}
	}
	return nil
}
