package cloud

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/millwright-dev/millwright/providers/aws/spec"
)

// classNames are the fields of specs of machine.sapcloud.io.
var classNames = map[field]string{
	ofImage: "ami", ofType: "machineType", ofSubnet: "networkInterfaces", ofGroups: "networkInterfaces", ofKey: "keyName", ofProfile: "iam", ofZone: "networkInterfaces",
	ofDisks: "blockDevices", ofTags: "tags", ofHost: "placement.hostId", ofReservation: "capacityReservation", ofGroup: "placement.groupId",
	ofMarket: "spotPrice", ofNetwork: "networkInterfaces",
}

func planOfClass(raw []byte) (*plan, error) {
	s, err := spec.DecodeProviderSpec(raw)
	if err != nil {
		return nil, err
	}
	p := &plan{
		region: s.Region, instanceType: s.MachineType, spot: s.MarketType() == spec.MarketSpot, tags: s.Tags, keys: s.Whose(), names: classNames,
		prefixes: map[slot]int32{}, stock: classStock(s), subnet: s.NetworkInterfaces[0].SubnetID, annotated: s.Placement == nil,
	}
	for n, i := range s.NetworkInterfaces {
		if s.SrcAndDstChecksEnabled != nil && !*s.SrcAndDstChecksEnabled {
			p.routes = append(p.routes, slotOf(i, n))
		}
		if deref(i.IPv6PrefixCount) > 0 {
			p.prefixes[slotOf(i, n)] = *i.IPv6PrefixCount
		}
	}
	for _, d := range s.BlockDevices {
		if root(s, d) {
			p.rootGiB = int64(d.EBS.VolumeSize)
		}
	}
	if c := s.CPU; c != nil && c.CoreCount != nil && c.ThreadsPerCore != nil {
		p.vcpus = int64(*c.CoreCount) * int64(*c.ThreadsPerCore)
	}
	p.request = func(ctx context.Context, l lookup, _ string) (*ec2.RunInstancesInput, error) {
		return classRequest(ctx, l, s)
	}
	return p, nil
}

// classStock are the properties besides the type by which capacity is counted.
func classStock(s *spec.ProviderSpec) (out []string) {
	switch s.MarketType() {
	case spec.MarketSpot:
		out = append(out, spotStock)
	case spec.MarketBlock:
		out = append(out, "capacity block")
	case spec.MarketInterruptible:
		out = append(out, "interruptible")
	}
	if r := s.CapacityReservation; r != nil {
		out = append(out, deref(r.ID), deref(r.ResourceGroupARN))
	}
	if p := s.Placement; p != nil {
		out = append(out, deref(p.Tenancy), deref(p.HostID))
	}
	return out
}

// root reports whether a disk of the spec is the image's root disk: a single disk is, whatever its name, as
// always.
func root(s *spec.ProviderSpec, d spec.BlockDevice) bool {
	return d.DeviceName == spec.RootDevice || len(s.BlockDevices) == 1
}

func deviceOf(i spec.NetworkInterface, n int) int32 {
	if i.DeviceIndex != nil {
		return *i.DeviceIndex
	}
	return int32(n)
}

func slotOf(i spec.NetworkInterface, n int) slot {
	return slot{card: deref(i.NetworkCardIndex), device: deviceOf(i, n)}
}

// classRequest converts the whole spec to AWS's request.
func classRequest(ctx context.Context, l lookup, s *spec.ProviderSpec) (*ec2.RunInstancesInput, error) {
	disks, err := classDisks(ctx, l, s)
	if err != nil {
		return nil, err
	}
	in := &ec2.RunInstancesInput{
		ImageId: aws.String(s.AMI), InstanceType: types.InstanceType(s.MachineType), BlockDeviceMappings: disks, NetworkInterfaces: classInterfaces(s),
		IamInstanceProfile: &types.IamInstanceProfileSpecification{Name: text(s.IAM.Name), Arn: text(s.IAM.ARN)},
		KeyName:            text(deref(s.KeyName)), InstanceMarketOptions: classMarket(s), CapacityReservationSpecification: classReservation(s),
	}
	if s.EBSOptimized {
		in.EbsOptimized = aws.Bool(true)
	}
	if s.Monitoring {
		in.Monitoring = &types.RunInstancesMonitoringEnabled{Enabled: aws.Bool(true)}
	}
	in.Placement = l.placement
	if p := s.Placement; p != nil {
		in.Placement = &types.Placement{
			GroupId: p.GroupID, Tenancy: types.Tenancy(deref(p.Tenancy)), HostId: p.HostID, PartitionNumber: p.PartitionNumber, Affinity: p.Affinity,
		}
	}
	if c := s.CPU; c != nil {
		in.CpuOptions = &types.CpuOptionsRequest{CoreCount: c.CoreCount, ThreadsPerCore: c.ThreadsPerCore, AmdSevSnp: types.AmdSevSnpSpecification(deref(c.AMDSEVSNP))}
	}
	if m := s.Metadata; m != nil {
		in.MetadataOptions = &types.InstanceMetadataOptionsRequest{
			HttpEndpoint: types.InstanceMetadataEndpointState(deref(m.Endpoint)), HttpPutResponseHopLimit: m.HopLimit,
			HttpTokens: types.HttpTokensState(deref(m.Tokens)), HttpProtocolIpv6: types.InstanceMetadataProtocolState(deref(m.ProtocolIPv6)),
		}
	}
	return in, nil
}

// text returns nil for an empty one, which AWS would treat as a value.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func classInterfaces(s *spec.ProviderSpec) (out []types.InstanceNetworkInterfaceSpecification) {
	for n, i := range s.NetworkInterfaces {
		goes := i.DeleteOnTermination
		if goes == nil {
			goes = aws.Bool(true)
		}
		primary := i.PrimaryIPv6
		switch {
		case i.IPv6AddressCount == nil:
			primary = nil
		case primary == nil:
			primary = aws.Bool(true)
		}
		out = append(out, types.InstanceNetworkInterfaceSpecification{
			SubnetId: text(i.SubnetID), Groups: i.SecurityGroupIDs, AssociatePublicIpAddress: i.AssociatePublicIPAddress, DeleteOnTermination: goes,
			Description: i.Description, DeviceIndex: aws.Int32(deviceOf(i, n)), NetworkCardIndex: i.NetworkCardIndex, InterfaceType: text(deref(i.InterfaceType)),
			Ipv6AddressCount: i.IPv6AddressCount, PrimaryIpv6: primary,
		})
	}
	return out
}

func classDisks(ctx context.Context, l lookup, s *spec.ProviderSpec) (out []types.BlockDeviceMapping, err error) {
	for _, d := range s.BlockDevices {
		name := aws.String(d.DeviceName)
		if root(s, d) {
			i, err := l.image(ctx, s.AMI)
			if err != nil {
				return nil, err
			}
			name = i.RootDeviceName
		}
		out = append(out, types.BlockDeviceMapping{DeviceName: name, Ebs: classDisk(d.EBS)})
	}
	return out, nil
}

func classDisk(e spec.EBS) *types.EbsBlockDevice {
	out := &types.EbsBlockDevice{
		DeleteOnTermination: e.DeleteOnTermination, Encrypted: aws.Bool(e.Encrypted), SnapshotId: e.SnapshotID,
		VolumeSize: aws.Int32(e.VolumeSize), VolumeType: types.VolumeType(e.VolumeType), Throughput: e.Throughput,
	}
	if out.DeleteOnTermination == nil {
		out.DeleteOnTermination = aws.Bool(true)
	}
	if e.Encrypted { // EC2 takes no key of a disk that is not
		out.KmsKeyId = text(deref(e.KMSKeyID))
	}
	if deref(e.SnapshotID) != "" && !e.Encrypted {
		out.Encrypted = nil // a snapshot says itself whether it is
	}
	if e.IOPS > 0 {
		out.Iops = aws.Int32(e.IOPS)
	}
	return out
}

func classMarket(s *spec.ProviderSpec) *types.InstanceMarketOptionsRequest {
	market := s.MarketType()
	if market == "" {
		return nil
	}
	out := &types.InstanceMarketOptionsRequest{MarketType: types.MarketType(market)}
	if s.Market == nil && market == spec.MarketSpot { // a price, and all else of spot instances, is of the older field
		out.SpotOptions = &types.SpotMarketOptions{SpotInstanceType: types.SpotInstanceTypeOneTime, MaxPrice: text(deref(s.SpotPrice))}
	}
	return out
}

func classReservation(s *spec.ProviderSpec) *types.CapacityReservationSpecification {
	r := s.CapacityReservation
	if r == nil || r.Preference == "" && r.ID == nil && r.ResourceGroupARN == nil {
		return nil
	}
	out := &types.CapacityReservationSpecification{CapacityReservationPreference: types.CapacityReservationPreference(r.Preference)}
	if r.ID != nil || r.ResourceGroupARN != nil {
		out.CapacityReservationTarget = &types.CapacityReservationTarget{CapacityReservationId: r.ID, CapacityReservationResourceGroupArn: r.ResourceGroupARN}
	}
	return out
}
