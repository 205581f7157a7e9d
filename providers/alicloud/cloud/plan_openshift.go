package cloud

import (
	"context"
	"fmt"
	"strconv"

	ecs "github.com/alibabacloud-go/ecs-20140526/v7/client"
	"github.com/alibabacloud-go/tea/dara"
	machinev1 "github.com/openshift/api/machine/v1"

	"github.com/millwright-dev/millwright/providers/alicloud/spec"
)

// machineNames are the fields of specs of machine.openshift.io.
var machineNames = map[field]string{
	ofImage: "imageId", ofType: "instanceType", ofRegion: "regionId", ofZone: "zoneId", ofVSwitch: "vSwitch", ofGroups: "securityGroups", ofRole: "ramRoleName",
	ofSystemDisk: "systemDisk", ofDataDisks: "dataDisk", ofInternet: "bandwidth", ofTags: "tag", ofUserData: "userDataSecret", ofTenancy: "tenancy",
	ofResourceGroup: "resourceGroup",
}

func planOfMachine(raw []byte) (*plan, error) {
	s, err := spec.DecodeConfig(raw)
	if err != nil {
		return nil, err
	}
	p := &plan{
		region: s.RegionID, instanceType: s.InstanceType, zone: s.ZoneID, vSwitch: nameOf(s.VSwitch), tags: map[string]string{}, diskGiB: s.SystemDisk.Size, names: machineNames,
	}
	for _, t := range s.Tags { // of duplicate keys the first counts
		if _, doubled := p.tags[t.Key]; !doubled {
			p.tags[t.Key] = t.Value
		}
	}
	p.request = func(ctx context.Context, l lookup, machine string) (*ecs.RunInstancesRequest, error) {
		return machineRequest(ctx, l, s, machine)
	}
	return p, nil
}

// nameOf is a reference as users read it.
func nameOf(r spec.Reference) string {
	switch {
	case r.ID != nil:
		return *r.ID
	case r.Name != nil:
		return *r.Name
	case r.Tags != nil:
		return fmt.Sprint(tagsOf(*r.Tags))
	}
	return ""
}

func tagsOf(list []machinev1.Tag) map[string]string {
	tags := map[string]string{}
	for _, t := range list {
		if _, doubled := tags[t.Key]; !doubled {
			tags[t.Key] = t.Value
		}
	}
	return tags
}

// machineRequest converts the whole spec to a request of ECS. Like the original, it does not send the zone:
// that of the vSwitch counts.
func machineRequest(ctx context.Context, l lookup, s *spec.Config, machine string) (*ecs.RunInstancesRequest, error) {
	group, err := l.resourceGroup(ctx, s.ResourceGroup)
	if err != nil {
		return nil, err
	}
	vSwitch, err := l.vSwitch(ctx, s)
	if err != nil {
		return nil, err
	}
	groups, err := l.securityGroups(ctx, s, group)
	if err != nil {
		return nil, err
	}
	tenancy := string(s.Tenancy)
	if tenancy == "" {
		tenancy = string(machinev1.DefaultTenancy)
	}
	in := &ecs.RunInstancesRequest{
		ImageId: text(s.ImageID), InstanceType: text(s.InstanceType), ResourceGroupId: text(group), VSwitchId: text(vSwitch), SecurityGroupIds: dara.StringSlice(groups),
		RamRoleName: text(s.RAMRoleName), Tenancy: text(tenancy), HostName: hostName(machine), InternetMaxBandwidthIn: positive(s.Bandwidth.InternetMaxBandwidthIn),
		InternetMaxBandwidthOut: positive(s.Bandwidth.InternetMaxBandwidthOut), SystemDisk: systemDisk(s.SystemDisk),
	}
	for _, d := range s.DataDisks {
		in.DataDisk = append(in.DataDisk, machineDisk(d))
	}
	return in, nil
}

func systemDisk(d machinev1.SystemDiskProperties) *ecs.RunInstancesRequestSystemDisk {
	if d == (machinev1.SystemDiskProperties{}) {
		return nil
	}
	out := &ecs.RunInstancesRequestSystemDisk{Category: text(d.Category), DiskName: text(d.Name), PerformanceLevel: text(d.PerformanceLevel)}
	if d.Size > 0 {
		out.Size = dara.String(strconv.FormatInt(d.Size, 10))
	}
	return out
}

// machineDisk converts a data disk. ECS deletes it with its instance unless the spec preserves it: the
// original ignores that.
func machineDisk(d machinev1.DataDiskProperties) *ecs.RunInstancesRequestDataDisk {
	return &ecs.RunInstancesRequestDataDisk{
		DiskName: text(d.Name), SnapshotId: text(d.SnapshotID), Size: positive(d.Size), Category: text(string(d.Category)), KMSKeyId: text(d.KMSKeyID),
		PerformanceLevel: text(string(d.PerformanceLevel)), Encrypted: dara.String(strconv.FormatBool(d.DiskEncryption == machinev1.AlibabaDiskEncryptionEnabled)),
		DeleteWithInstance: dara.Bool(d.DiskPreservation != machinev1.PreserveDisk),
	}
}

// mostNumber is the largest number that is sent: ECS refuses smaller ones.
const mostNumber = 1 << 20

func positive(n int64) *int32 {
	if n <= 0 {
		return nil
	}
	return dara.Int32(int32(min(n, mostNumber)))
}

// The lengths of host names of ECS.
const (
	leastHostName = 2
	mostHostName  = 64
)

// hostName is the host name of a machine's instance; nil if ECS does not allow the machine's name.
func hostName(machine string) *string {
	if len(machine) < leastHostName || len(machine) > mostHostName {
		return nil
	}
	return &machine
}
