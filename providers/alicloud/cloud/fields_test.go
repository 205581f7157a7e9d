package cloud_test

import (
	"cmp"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"testing"

	machinev1 "github.com/openshift/api/machine/v1"

	"github.com/millwright-dev/millwright/dev/clouds/ecs"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/fieldsdoc"
	"github.com/millwright-dev/millwright/providers/alicloud/spec"
)

// reached says how a field of a spec reaches Alibaba Cloud: the parameters of the request that the simulator receives, or the
// reason why no request has it.
type reached struct {
	// set is merged into the spec, as a JSON merge patch.
	set string
	// in is the operation, RunInstances if empty; want are parameters of it, in the form of queries. An empty value
	// means that the request has no such parameter.
	in, want string
	// why is the reason for which no request has it.
	why string
}

const (
	byEngine  = "Millwright reads the named secret"
	typeOfIt  = "identifies the type of the spec"
	notByName = "the original finds it by ID or tags only; a spec with the type `Name` is invalid"
	switchTag = `{"vSwitch":{"type":"Tags","tags":[{"Key":"Name","Value":"c1-i"}]}}`
	groupTag  = `{"securityGroups":[{"type":"Tags","tags":[{"Key":"Name","Value":"c1-node"}]}]}`
	byName    = `{"resourceGroup":{"type":"Name","name":"c1"}}`
	byID      = `{"resourceGroup":{"type":"ID","id":"rg-1"}}`
)

// machineFields are those of machine.openshift.io.
var machineFields = map[string]reached{
	"apiVersion": {why: typeOfIt}, "kind": {why: typeOfIt}, "metadata": {why: "a spec inside an object has no metadata"},
	"instanceType":                      {set: `{"instanceType":"ecs.g7.xlarge"}`, want: "InstanceType=ecs.g7.xlarge&HostName=worker-1&InstanceName=worker-1&MinAmount=1"},
	"vpcId":                             {set: `{"vpcId":"vpc-1"}`, in: "vpc.DescribeVSwitches", want: "VpcId=vpc-1&RegionId=cn-hangzhou"},
	"regionId":                          {set: `{"regionId":"eu-central-1"}`, want: "RegionId=eu-central-1"},
	"zoneId":                            {set: `{"zoneId":"cn-hangzhou-i"}`, want: "VSwitchId=vsw-bp1example0000000000i&ZoneId="},
	"imageId":                           {set: `{"imageId":"m-1"}`, want: "ImageId=m-1"},
	"dataDisk[].Name":                   {set: `{"dataDisk":[{"Name":"data","Size":40}]}`, want: "DataDisk.1.DiskName=data&DataDisk.1.Encrypted=false"},
	"dataDisk[].SnapshotID":             {set: `{"dataDisk":[{"SnapshotID":"s-1"}]}`, want: "DataDisk.1.SnapshotId=s-1&DataDisk.1.Size="},
	"dataDisk[].Size":                   {set: `{"dataDisk":[{"Size":40}]}`, want: "DataDisk.1.Size=40"},
	"dataDisk[].DiskEncryption":         {set: `{"dataDisk":[{"Size":40,"DiskEncryption":"encrypted"}]}`, want: "DataDisk.1.Encrypted=true"},
	"dataDisk[].PerformanceLevel":       {set: `{"dataDisk":[{"Size":40,"PerformanceLevel":"PL0"}]}`, want: "DataDisk.1.PerformanceLevel=PL0"},
	"dataDisk[].Category":               {set: `{"dataDisk":[{"Size":40,"Category":"cloud_essd"}]}`, want: "DataDisk.1.Category=cloud_essd"},
	"dataDisk[].KMSKeyID":               {set: `{"dataDisk":[{"Size":40,"KMSKeyID":"key-1"}]}`, want: "DataDisk.1.KMSKeyId=key-1"},
	"dataDisk[].DiskPreservation":       {set: `{"dataDisk":[{"Size":40,"DiskPreservation":"PreserveDisk"},{"Size":40}]}`, want: "DataDisk.1.DeleteWithInstance=false&DataDisk.2.DeleteWithInstance=true"},
	"securityGroups[].type":             {set: groupTag, want: "SecurityGroupIds.1=sg-bp1example00000000002"},
	"securityGroups[].id":               {set: `{"securityGroups":[{"type":"ID","id":"sg-2"},{"type":"ID","id":"sg-1"}]}`, want: "SecurityGroupIds.1=sg-1&SecurityGroupIds.2=sg-2"},
	"securityGroups[].name":             {why: notByName},
	"securityGroups[].tags[].Key":       {set: groupTag, in: "DescribeSecurityGroups", want: "Tag.1.Key=Name&VpcId=vpc-bp1example00000000001&ResourceGroupId=rg-aekexample00001"},
	"securityGroups[].tags[].Value":     {set: groupTag, in: "DescribeSecurityGroups", want: "Tag.1.Value=c1-node"},
	"bandwidth.internetMaxBandwidthIn":  {set: `{"bandwidth":{"internetMaxBandwidthIn":10}}`, want: "InternetMaxBandwidthIn=10"},
	"bandwidth.internetMaxBandwidthOut": {set: `{"bandwidth":{"internetMaxBandwidthOut":20}}`, want: "InternetMaxBandwidthOut=20"},
	"systemDisk.category":               {set: `{"systemDisk":{"category":"cloud_ssd"}}`, want: "SystemDisk.Category=cloud_ssd"},
	"systemDisk.performanceLevel":       {set: `{"systemDisk":{"performanceLevel":"PL1"}}`, want: "SystemDisk.PerformanceLevel=PL1"},
	"systemDisk.name":                   {set: `{"systemDisk":{"name":"root"}}`, want: "SystemDisk.DiskName=root"},
	"systemDisk.size":                   {set: `{"systemDisk":{"size":200}}`, want: "SystemDisk.Size=200"},
	"vSwitch.type":                      {set: switchTag, want: "VSwitchId=vsw-bp1example0000000000i"},
	"vSwitch.id":                        {set: `{"vSwitch":{"type":"ID","id":"vsw-1"}}`, want: "VSwitchId=vsw-1"},
	"vSwitch.name":                      {why: notByName},
	"vSwitch.tags[].Key":                {set: switchTag, in: "vpc.DescribeVSwitches", want: "Tag.1.Key=Name"},
	"vSwitch.tags[].Value":              {set: switchTag, in: "vpc.DescribeVSwitches", want: "Tag.1.Value=c1-i"},
	"ramRoleName":                       {set: `{"ramRoleName":"role-1"}`, want: "RamRoleName=role-1"},
	"resourceGroup.type":                {set: `{"resourceGroup":{"type":""}}`, want: "ResourceGroupId="},
	"resourceGroup.id":                  {set: byID, want: "ResourceGroupId=rg-1"},
	"resourceGroup.name":                {set: byName, in: "resourcemanager.ListResourceGroups", want: "Name=c1"},
	"resourceGroup.tags[].Key":          {why: "resource groups have no tags; a spec with the type `Tags` is invalid"},
	"resourceGroup.tags[].Value":        {why: "resource groups have no tags; a spec with the type `Tags` is invalid"},
	"tenancy":                           {set: `{"tenancy":"host"}`, want: "Tenancy=host"},
	"userDataSecret.name":               {why: byEngine},
	"credentialsSecret.name":            {why: byEngine},
	"tag[].Key":                         {set: `{"tag":[{"Key":"a","Value":"b"}]}`, want: "Tag.3.Key=a&Tag.2.Key=Name&Tag.5.Key=kubernetes.io/cluster/c1"},
	"tag[].Value":                       {set: `{"tag":[{"Key":"a","Value":"b"}]}`, want: "Tag.3.Value=b"},
}

// classFields are those of machine.sapcloud.io.
var classFields = map[string]reached{
	"apiVersion": {why: typeOfIt}, "kind": {why: typeOfIt},
	"imageID":                        {set: `{"imageID":"m-1"}`, want: "ImageId=m-1&Amount=1&MinAmount=&HostName=&Tenancy=&UserData=I2Nsb3VkLWNvbmZpZwo="},
	"instanceType":                   {set: `{"instanceType":"ecs.g7.xlarge"}`, want: "InstanceType=ecs.g7.xlarge"},
	"region":                         {set: `{"region":"eu-central-1"}`, want: "RegionId=eu-central-1"},
	"zoneID":                         {set: `{"zoneID":null}`, want: "ZoneId="},
	"securityGroupID":                {set: `{"securityGroupID":"sg-1"}`, want: "SecurityGroupId=sg-1"},
	"vSwitchID":                      {set: `{"vSwitchID":"vsw-1"}`, want: "VSwitchId=vsw-1"},
	"privateIPAddress":               {set: `{"privateIPAddress":"10.0.0.77"}`, want: "PrivateIpAddress=10.0.0.77"},
	"systemDisk.category":            {set: `{"systemDisk":{"category":"cloud_ssd"}}`, want: "SystemDisk.Category=cloud_ssd"},
	"systemDisk.size":                {set: `{"systemDisk":{"size":200}}`, want: "SystemDisk.Size=200"},
	"dataDisks[].name":               {set: `{"dataDisks":[{"name":"k","size":30}]}`, want: "DataDisk.1.DiskName=worker-1-k-data-disk&DataDisk.1.DeleteWithInstance=true"},
	"dataDisks[].category":           {set: `{"dataDisks":[{"category":"DiskEphemeralSSD","size":30}]}`, want: "DataDisk.1.Category=DiskEphemeralSSD&DataDisk.1.DeleteWithInstance="},
	"dataDisks[].description":        {set: `{"dataDisks":[{"description":"kept","size":30}]}`, want: "DataDisk.1.Description=kept"},
	"dataDisks[].encrypted":          {set: `{"dataDisks":[{"encrypted":true,"size":30},{"size":30}]}`, want: "DataDisk.1.Encrypted=true&DataDisk.2.Encrypted=false"},
	"dataDisks[].deleteWithInstance": {set: `{"dataDisks":[{"deleteWithInstance":false,"size":30}]}`, want: "DataDisk.1.DeleteWithInstance=false"},
	"dataDisks[].size":               {set: `{"dataDisks":[{"size":30}]}`, want: "DataDisk.1.Size=30"},
	"instanceChargeType":             {set: `{"instanceChargeType":"PrePaid"}`, want: "InstanceChargeType=PrePaid"},
	"internetChargeType":             {set: `{"internetChargeType":"PayByBandwidth"}`, want: "InternetChargeType=PayByBandwidth"},
	"internetMaxBandwidthIn":         {set: `{"internetMaxBandwidthIn":5}`, want: "InternetMaxBandwidthIn=5"},
	"internetMaxBandwidthOut":        {set: `{"internetMaxBandwidthOut":0}`, want: "InternetMaxBandwidthOut=0"},
	"spotStrategy":                   {set: `{"spotStrategy":"SpotAsPriceGo"}`, want: "SpotStrategy=SpotAsPriceGo"},
	"IoOptimized":                    {set: `{"IoOptimized":"optimized"}`, want: "IoOptimized=optimized"},
	"tags":                           {set: `{"tags":{"a":"b"}}`, want: "Tag.1.Key=a&Tag.1.Value=b&Tag.2.Key=kubernetes.io/cluster/c1"},
	"keyPairName":                    {set: `{"keyPairName":"key-1"}`, want: "KeyPairName=key-1"},
}

// dialects are the specs of both APIs.
var dialects = []struct {
	api, kind string
	shape     any
	rows      map[string]reached
}{
	{provider.OpenShift, "AlibabaCloudMachineProviderConfig, in providerSpec.value", machinev1.AlibabaCloudMachineProviderConfig{}, machineFields},
	{provider.Gardener, "providerSpec of a MachineClass", spec.ProviderSpec{}, classFields},
}

func TestEveryFieldReachesECS(t *testing.T) {
	for _, fields := range dialects {
		api, there := fields.api, fieldsdoc.Leaves(reflect.TypeOf(fields.shape))
		for _, path := range slices.Sorted(maps.Keys(fields.rows)) {
			if _, ok := there[path]; !ok {
				t.Errorf("%s: there is a row for %s, which no spec has", api, path)
			}
		}
		for _, path := range slices.Sorted(maps.Keys(there)) {
			row, ok := fields.rows[path]
			if !ok {
				t.Errorf("%s: %s has neither a row nor a reason", api, path)
				continue
			}
			if row.why == "" {
				t.Run(api+"/"+path, func(t *testing.T) { row.check(t, classOf(api, "c1")) })
			}
		}
	}
}

func (r reached) operation() string { return cmp.Or(r.in, "RunInstances") }

func (r reached) check(t *testing.T, class provider.Class) {
	w := newWorld(t, ecs.Options{Inventory: ecs.Sample(), AcceptAny: true})
	class.Spec = fieldsdoc.Patched(t, class.Spec, r.set)
	if _, err := w.open(t, class).Create(t.Context(), refOf("worker-1"), want); err != nil {
		t.Fatal(err)
	}
	expected, err := url.ParseQuery(r.want)
	if err != nil {
		t.Fatal(err)
	}
	all := w.Received(r.operation())
	if !slices.ContainsFunc(all, func(has url.Values) bool { return includes(has, expected) }) {
		t.Errorf("no %s has %v; there are %v", r.operation(), expected, all)
	}
}

func includes(has, expected url.Values) bool {
	for key := range expected {
		if has.Get(key) != expected.Get(key) {
			return false
		}
	}
	return true
}
