package cloud

import (
	"context"
	"fmt"
	"strconv"

	ecs "github.com/alibabacloud-go/ecs-20140526/v7/client"
	"github.com/alibabacloud-go/tea/dara"

	"github.com/millwright-dev/millwright/providers/alicloud/spec"
)

// classNames are the fields of specs of machine.sapcloud.io.
var classNames = map[field]string{
	ofImage: "imageID", ofType: "instanceType", ofRegion: "region", ofZone: "zoneID", ofVSwitch: "vSwitchID", ofGroups: "securityGroupID", ofAddress: "privateIPAddress",
	ofKey: "keyPairName", ofSystemDisk: "systemDisk", ofDataDisks: "dataDisks", ofInternet: "internetMaxBandwidthOut", ofSpot: "spotStrategy",
	ofCharge: "instanceChargeType", ofTags: "tags",
}

func planOfClass(raw []byte) (*plan, error) {
	s, err := spec.DecodeProviderSpec(raw)
	if err != nil {
		return nil, err
	}
	p := &plan{
		region: s.Region, instanceType: s.InstanceType, zone: s.ZoneID, requested: s.ZoneID != "", vSwitch: s.VSwitchID, spot: s.Spot(),
		tags: s.Tags, owner: s.OwnershipTags(), names: classNames,
	}
	if s.SystemDisk != nil {
		p.diskGiB = int64(s.SystemDisk.Size)
	}
	p.request = func(_ context.Context, _ lookup, machine string) (*ecs.RunInstancesRequest, error) {
		return classRequest(s, machine), nil
	}
	return p, nil
}

// classRequest converts the whole spec to a request of ECS. Empty values are left out: the original sends
// them, and ECS then uses the same defaults.
func classRequest(s *spec.ProviderSpec, machine string) *ecs.RunInstancesRequest {
	in := &ecs.RunInstancesRequest{
		ImageId: text(s.ImageID), InstanceType: text(s.InstanceType), ZoneId: text(s.ZoneID), SecurityGroupId: text(s.SecurityGroupID), VSwitchId: text(s.VSwitchID),
		PrivateIpAddress: text(s.PrivateIPAddress), InstanceChargeType: text(s.InstanceChargeType), InternetChargeType: text(s.InternetChargeType),
		SpotStrategy: text(s.SpotStrategy), IoOptimized: text(s.IoOptimized), KeyPairName: text(s.KeyPairName),
		InternetMaxBandwidthIn: number(s.InternetMaxBandwidthIn), InternetMaxBandwidthOut: number(s.InternetMaxBandwidthOut),
	}
	if d := s.SystemDisk; d != nil {
		in.SystemDisk = &ecs.RunInstancesRequestSystemDisk{Category: text(d.Category)}
		if d.Size > 0 {
			in.SystemDisk.Size = dara.String(strconv.Itoa(d.Size))
		}
	}
	for _, d := range s.DataDisks {
		in.DataDisk = append(in.DataDisk, classDisk(d, machine))
	}
	return in
}

func classDisk(d spec.DataDisk, machine string) *ecs.RunInstancesRequestDataDisk {
	out := &ecs.RunInstancesRequestDataDisk{
		Category: text(d.Category), Encrypted: dara.String(strconv.FormatBool(d.Encrypted)), Description: text(d.Description),
		DiskName: dara.String(fmt.Sprintf("%s-%s-data-disk", machine, d.Name)), DeleteWithInstance: d.DeleteWithInstance,
	}
	if d.Size > 0 {
		out.Size = dara.Int32(int32(d.Size)) // the spec was checked
	}
	switch {
	case d.Category == spec.EphemeralSSD:
		out.DeleteWithInstance = nil
	case out.DeleteWithInstance == nil:
		out.DeleteWithInstance = dara.Bool(true)
	}
	return out
}

// text returns nil for an empty text.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func number(n *int) *int32 {
	if n == nil {
		return nil
	}
	return dara.Int32(int32(*n)) // the spec was checked
}
