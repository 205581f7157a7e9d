package cloud_test

import (
	"cmp"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"testing"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"

	"github.com/millwright-dev/millwright/dev/clouds/ec2"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/fieldsdoc"
	"github.com/millwright-dev/millwright/providers/aws/spec"
)

// reached says how a field of a spec reaches AWS: the parameters of the request that the simulator
// receives, or the reason why no request has it.
type reached struct {
	// set is merged into the spec, as a JSON merge patch.
	set string
	// in is the operation, RunInstances if empty; want are parameters of it, in the form of queries.
	in, want string
	// also are further parameters that result from it and are not the field's.
	also string
	// why is the reason for which no request has it.
	why string
}

const (
	byEngine = "Millwright reads the named secret"
	notEBS   = "the original ignores entries without `ebs`, and ignores this field in all entries"
)

// machineFields are those of machine.openshift.io.
var machineFields = map[string]reached{
	"apiVersion": {why: "identifies the type of the spec"}, "kind": {why: "identifies the type of the spec"}, "metadata": {why: "a spec inside an object has no metadata"},
	"ami.id":                         {set: `{"ami":{"id":"ami-0fedcba9876543210"}}`, want: "ImageId=ami-0fedcba9876543210"},
	"ami.filters[].name":             {set: `{"ami":{"id":null,"filters":[{"name":"tag:os","values":["rhcos"]}]}}`, in: "DescribeImages", want: "Filter.1.Name=tag:os"},
	"ami.filters[].values":           {set: `{"ami":{"id":null,"filters":[{"name":"tag:os","values":["rhcos"]}]}}`, in: "DescribeImages", want: "Filter.1.Value.1=rhcos"},
	"ami.arn":                        {why: "Millwright finds no image by ARN; admission warns"},
	"instanceType":                   {set: `{"instanceType":"m5.xlarge"}`, want: "InstanceType=m5.xlarge"},
	"cpuOptions.confidentialCompute": {set: `{"cpuOptions":{"confidentialCompute":"AMDEncryptedVirtualizationNestedPaging"}}`, want: "CpuOptions.AmdSevSnp=enabled"},
	"tags[].name":                    {set: `{"tags":[{"name":"team","value":"blue"}]}`, want: "TagSpecification.1.Tag.6.Key=team"},
	"tags[].value":                   {set: `{"tags":[{"name":"team","value":"blue"}]}`, want: "TagSpecification.1.Tag.6.Value=blue"},
	"iamInstanceProfile.id":          {set: `{"iamInstanceProfile":{"id":"masters"}}`, want: "IamInstanceProfile.Name=masters"},
	"iamInstanceProfile.arn":         {why: "the original finds profiles by ID only; admission warns"}, "iamInstanceProfile.filters[].name": {why: "the original finds profiles by ID only; admission warns"},
	"iamInstanceProfile.filters[].values": {why: "the original finds profiles by ID only; admission warns"},
	"userDataSecret.name":                 {why: byEngine}, "credentialsSecret.name": {why: byEngine},
	"keyName":                           {set: `{"keyName":"ops"}`, want: "KeyName=ops"},
	"deviceIndex":                       {set: `{"deviceIndex":1}`, want: "NetworkInterface.1.DeviceIndex=1"},
	"publicIp":                          {set: `{"publicIp":true}`, want: "NetworkInterface.1.AssociatePublicIpAddress=true"},
	"networkInterfaceType":              {set: `{"networkInterfaceType":"EFA"}`, want: "NetworkInterface.1.InterfaceType=efa"},
	"securityGroups[].id":               {set: `{"securityGroups":[{"id":"sg-1"},{"id":"sg-2"}]}`, want: "NetworkInterface.1.SecurityGroupId.2=sg-2"},
	"securityGroups[].arn":              {why: "the original finds groups by ID or filters only"},
	"securityGroups[].filters[].name":   {set: `{"securityGroups":[{"filters":[{"name":"group-name","values":["c1-node"]}]}]}`, in: "DescribeSecurityGroups", want: "Filter.1.Name=group-name"},
	"securityGroups[].filters[].values": {set: `{"securityGroups":[{"filters":[{"name":"group-name","values":["c1-node"]}]}]}`, want: "NetworkInterface.1.SecurityGroupId.1=sg-0fedcba9876543210"},
	"subnet.id":                         {set: `{"subnet":{"id":"subnet-0b00000000000000b","filters":null}}`, want: "NetworkInterface.1.SubnetId=subnet-0b00000000000000b"},
	"subnet.arn":                        {why: "Millwright finds no subnet by ARN; admission warns"},
	"subnet.filters[].name":             {set: `{"subnet":{"filters":[{"name":"tag:Name","values":["c1-private-*"]}]}}`, in: "DescribeSubnets", want: "Filter.2.Name=tag:Name"},
	"subnet.filters[].values":           {set: `{"subnet":{"filters":[{"name":"tag:Name","values":["c1-private-*"]}]}}`, want: "NetworkInterface.1.SubnetId=subnet-0a00000000000000a"},
	"placement.region":                  {why: "selects the endpoint, and the region in the signature of each request"},
	"placement.availabilityZone":        {set: `{"placement":{"availabilityZone":"us-east-1b"}}`, want: "Placement.AvailabilityZone=us-east-1b"},
	"placement.tenancy":                 {set: `{"placement":{"tenancy":"dedicated"}}`, want: "Placement.Tenancy=dedicated"},
	"placement.host.affinity":           {set: `{"placement":{"tenancy":"host","host":{"affinity":"DedicatedHost","dedicatedHost":{"id":"h-0123456789abcdef0"}}}}`, want: "Placement.Affinity=host"},
	"placement.host.dedicatedHost.id":   {set: `{"placement":{"tenancy":"host","host":{"affinity":"AnyAvailable","dedicatedHost":{"id":"h-0123456789abcdef0"}}}}`, want: "Placement.HostId=h-0123456789abcdef0", also: "Placement.Affinity=default"},
	"placement.host.dedicatedHost.allocationStrategy":                 {set: dynamicHost, in: "AllocateHosts", want: "AutoPlacement=off&Quantity=1", also: "AvailabilityZone=us-east-1a&InstanceType=m5.large"},
	"placement.host.dedicatedHost.dynamicHostAllocation.tags[].name":  {set: dynamicHost, in: "AllocateHosts", want: "TagSpecification.1.Tag.2.Key=cost", also: "TagSpecification.1.ResourceType=dedicated-host"},
	"placement.host.dedicatedHost.dynamicHostAllocation.tags[].value": {set: dynamicHost, in: "AllocateHosts", want: "TagSpecification.1.Tag.2.Value=7"},
	"loadBalancers[].name":                     {set: `{"loadBalancers":[{"name":"c1-int","type":"network"}]}`, in: "elbv2.DescribeLoadBalancers", want: "Names.member.1=c1-int"},
	"loadBalancers[].type":                     {set: `{"loadBalancers":[{"name":"c1-classic","type":"classic"}]}`, in: "elb.RegisterInstancesWithLoadBalancer", want: "LoadBalancerName=c1-classic"},
	"blockDevices[].deviceName":                {set: disk(`"deviceName":"/dev/sdf","ebs":{"volumeSize":5}`), want: "BlockDeviceMapping.1.DeviceName=/dev/sdf"},
	"blockDevices[].noDevice":                  {why: notEBS},
	"blockDevices[].virtualName":               {why: notEBS},
	"blockDevices[].ebs.deleteOnTermination":   {why: "deprecated, and without effect in the original: disks are deleted with their instance"},
	"blockDevices[].ebs.encrypted":             {set: disk(`"ebs":{"encrypted":true}`), want: "BlockDeviceMapping.1.Ebs.Encrypted=true"},
	"blockDevices[].ebs.kmsKey.id":             {set: disk(`"ebs":{"kmsKey":{"id":"key"}}`), want: "BlockDeviceMapping.1.Ebs.KmsKeyId=key"},
	"blockDevices[].ebs.kmsKey.arn":            {set: disk(`"ebs":{"kmsKey":{"arn":"arn:key"}}`), want: "BlockDeviceMapping.1.Ebs.KmsKeyId=arn:key"},
	"blockDevices[].ebs.kmsKey.filters[].name": {why: "KMS has no filters"}, "blockDevices[].ebs.kmsKey.filters[].values": {why: "KMS has no filters"},
	"blockDevices[].ebs.iops":               {set: disk(`"ebs":{"volumeType":"io1","iops":500}`), want: "BlockDeviceMapping.1.Ebs.Iops=500"},
	"blockDevices[].ebs.throughputMib":      {set: disk(`"ebs":{"volumeType":"gp3","throughputMib":200}`), want: "BlockDeviceMapping.1.Ebs.Throughput=200"},
	"blockDevices[].ebs.volumeSize":         {set: disk(`"ebs":{"volumeSize":77}`), want: "BlockDeviceMapping.1.Ebs.VolumeSize=77", also: "BlockDeviceMapping.1.DeviceName=/dev/xvda&BlockDeviceMapping.1.Ebs.DeleteOnTermination=true"},
	"blockDevices[].ebs.volumeType":         {set: disk(`"ebs":{"volumeType":"st1"}`), want: "BlockDeviceMapping.1.Ebs.VolumeType=st1"},
	"spotMarketOptions.maxPrice":            {set: `{"spotMarketOptions":{"maxPrice":"0.1"}}`, want: "InstanceMarketOptions.MarketType=spot&InstanceMarketOptions.SpotOptions.MaxPrice=0.1&InstanceMarketOptions.SpotOptions.SpotInstanceType=one-time&InstanceMarketOptions.SpotOptions.InstanceInterruptionBehavior=terminate"},
	"metadataServiceOptions.authentication": {set: `{"metadataServiceOptions":{"authentication":"Required"}}`, want: "MetadataOptions.HttpTokens=required"},
	"placementGroupName":                    {set: `{"placementGroupName":"together"}`, want: "Placement.GroupName=together"},
	"placementGroupPartition":               {set: `{"placementGroupName":"together","placementGroupPartition":3}`, want: "Placement.PartitionNumber=3"},
	"capacityReservationId":                 {set: `{"capacityReservationId":"cr-0123456789abcdef0"}`, want: "CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId=cr-0123456789abcdef0"},
	"marketType":                            {set: `{"marketType":"CapacityBlock","capacityReservationId":"cr-0123456789abcdef0"}`, want: "InstanceMarketOptions.MarketType=capacity-block"},
}

const dynamicHost = `{"placement":{"tenancy":"host","host":{"affinity":"DedicatedHost","dedicatedHost":{"allocationStrategy":"Dynamic","dynamicHostAllocation":{"tags":[{"name":"cost","value":"7"}]}}}}}`

func disk(fields string) string { return `{"blockDevices":[{` + fields + `}]}` }

func nic(fields string) string {
	return `{"networkInterfaces":[{"subnetID":"subnet-0a00000000000000a","securityGroupIDs":["sg-0123456789abcdef0"],` + fields + `}]}`
}

func classDisk(fields string) string {
	return `{"blockDevices":[{"ebs":{"volumeSize":50,"volumeType":"gp3",` + fields + `}}]}`
}

// classFields are those of machine.sapcloud.io.
var classFields = map[string]reached{
	"apiVersion": {why: "identifies the type of the spec"}, "kind": {why: "identifies the type of the spec"},
	"ami":                                  {set: `{"ami":"ami-0fedcba9876543210"}`, want: "ImageId=ami-0fedcba9876543210&BlockDeviceMapping.1.DeviceName=/dev/sda1"},
	"machineType":                          {set: `{"machineType":"m5.xlarge"}`, want: "InstanceType=m5.xlarge"},
	"region":                               {why: "selects the endpoint, and the region in the signature of each request"},
	"iam.name":                             {set: `{"iam":{"name":"n"}}`, want: "IamInstanceProfile.Name=n"},
	"iam.arn":                              {set: `{"iam":{"name":null,"arn":"arn:aws:iam::1:instance-profile/n"}}`, want: "IamInstanceProfile.Arn=arn:aws:iam::1:instance-profile/n"},
	"keyName":                              {set: `{"keyName":"ops"}`, want: "KeyName=ops"},
	"networkInterfaces[].subnetID":         {set: nic(`"description":"x"`), want: "NetworkInterface.1.SubnetId=subnet-0a00000000000000a"},
	"networkInterfaces[].securityGroupIDs": {set: nic(`"description":"x"`), want: "NetworkInterface.1.SecurityGroupId.1=sg-0123456789abcdef0"},
	"networkInterfaces[].associatePublicIPAddress":            {set: nic(`"associatePublicIPAddress":true`), want: "NetworkInterface.1.AssociatePublicIpAddress=true"},
	"networkInterfaces[].ipv6AddressCount":                    {set: nic(`"ipv6AddressCount":2`), want: "NetworkInterface.1.Ipv6AddressCount=2"},
	"networkInterfaces[].ipv6PrefixCount":                     {set: nic(`"ipv6PrefixCount":1`), in: "AssignIpv6Addresses", want: "Ipv6PrefixCount=1"},
	"networkInterfaces[].primaryIpv6":                         {set: nic(`"ipv6AddressCount":1,"primaryIpv6":false`), want: "NetworkInterface.1.PrimaryIpv6=false"},
	"networkInterfaces[].deleteOnTermination":                 {set: nic(`"deleteOnTermination":false`), want: "NetworkInterface.1.DeleteOnTermination=false"},
	"networkInterfaces[].description":                         {set: nic(`"description":"first"`), want: "NetworkInterface.1.Description=first", also: "NetworkInterface.1.DeleteOnTermination=true"},
	"networkInterfaces[].interfaceType":                       {set: nic(`"interfaceType":"efa"`), want: "NetworkInterface.1.InterfaceType=efa"},
	"networkInterfaces[].networkCardIndex":                    {set: nic(`"networkCardIndex":1`), want: "NetworkInterface.1.NetworkCardIndex=1"},
	"networkInterfaces[].deviceIndex":                         {set: nic(`"deviceIndex":2`), want: "NetworkInterface.1.DeviceIndex=2"},
	"srcAndDstChecksEnabled":                                  {set: `{"srcAndDstChecksEnabled":false}`, in: "ModifyNetworkInterfaceAttribute", want: "SourceDestCheck.Value=false"},
	"blockDevices[].deviceName":                               {set: `{"blockDevices":[{"deviceName":"/root","ebs":{"volumeSize":50,"volumeType":"gp3"}},{"deviceName":"/dev/sdf","ebs":{"volumeSize":5,"volumeType":"gp3"}}]}`, want: "BlockDeviceMapping.1.DeviceName=/dev/xvda&BlockDeviceMapping.2.DeviceName=/dev/sdf"},
	"blockDevices[].noDevice":                                 {why: "the original requests a disk and this field together, which EC2 refuses"},
	"blockDevices[].virtualName":                              {why: "the original requests a disk and this field together, which EC2 refuses"},
	"blockDevices[].ebs.deleteOnTermination":                  {set: classDisk(`"deleteOnTermination":false`), want: "BlockDeviceMapping.1.Ebs.DeleteOnTermination=false"},
	"blockDevices[].ebs.encrypted":                            {set: classDisk(`"encrypted":true`), want: "BlockDeviceMapping.1.Ebs.Encrypted=true"},
	"blockDevices[].ebs.kmsKeyID":                             {set: classDisk(`"encrypted":true,"kmsKeyID":"key"`), want: "BlockDeviceMapping.1.Ebs.KmsKeyId=key"},
	"blockDevices[].ebs.snapshotID":                           {set: classDisk(`"snapshotID":"snap-1"`), want: "BlockDeviceMapping.1.Ebs.SnapshotId=snap-1"},
	"blockDevices[].ebs.volumeSize":                           {set: classDisk(`"iops":0`), want: "BlockDeviceMapping.1.Ebs.VolumeSize=50", also: "BlockDeviceMapping.1.Ebs.DeleteOnTermination=true"},
	"blockDevices[].ebs.volumeType":                           {set: classDisk(`"iops":0`), want: "BlockDeviceMapping.1.Ebs.VolumeType=gp3"},
	"blockDevices[].ebs.iops":                                 {set: classDisk(`"iops":3500`), want: "BlockDeviceMapping.1.Ebs.Iops=3500"},
	"blockDevices[].ebs.throughput":                           {set: classDisk(`"throughput":200`), want: "BlockDeviceMapping.1.Ebs.Throughput=200"},
	"ebsOptimized":                                            {set: `{"ebsOptimized":true}`, want: "EbsOptimized=true"},
	"monitoring":                                              {set: `{"monitoring":true}`, want: "Monitoring.Enabled=true"},
	"spotPrice":                                               {set: `{"spotPrice":"0.2"}`, want: "InstanceMarketOptions.MarketType=spot&InstanceMarketOptions.SpotOptions.MaxPrice=0.2&InstanceMarketOptions.SpotOptions.SpotInstanceType=one-time"},
	"instanceMarketOptions.marketType":                        {set: `{"instanceMarketOptions":{"marketType":"spot"}}`, want: "InstanceMarketOptions.MarketType=spot"},
	"capacityReservation.capacityReservationPreference":       {set: `{"capacityReservation":{"capacityReservationPreference":"open"}}`, want: "CapacityReservationSpecification.CapacityReservationPreference=open"},
	"capacityReservation.capacityReservationId":               {set: `{"capacityReservation":{"capacityReservationId":"cr-0123456789abcdef0"}}`, want: "CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId=cr-0123456789abcdef0"},
	"capacityReservation.capacityReservationResourceGroupArn": {set: `{"capacityReservation":{"capacityReservationResourceGroupArn":"arn:g"}}`, want: "CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationResourceGroupArn=arn:g"},
	"capacityReservation.isMLCapacityBlock":                   {set: `{"capacityReservation":{"capacityReservationId":"cr-0123456789abcdef0","isMLCapacityBlock":true}}`, want: "InstanceMarketOptions.MarketType=capacity-block"},
	"placement.groupId":                                       {set: `{"placement":{"groupId":"pg-1"}}`, want: "Placement.GroupId=pg-1"},
	"placement.tenancy":                                       {set: `{"placement":{"tenancy":"dedicated"}}`, want: "Placement.Tenancy=dedicated"},
	"placement.hostId":                                        {set: `{"placement":{"tenancy":"host","hostId":"h-0123456789abcdef0"}}`, want: "Placement.HostId=h-0123456789abcdef0"},
	"placement.partitionNumber":                               {set: `{"placement":{"groupId":"pg-1","partitionNumber":2}}`, want: "Placement.PartitionNumber=2"},
	"placement.affinity":                                      {set: `{"placement":{"tenancy":"host","hostId":"h-0123456789abcdef0","affinity":"host"}}`, want: "Placement.Affinity=host"},
	"cpuOptions.coreCount":                                    {set: `{"cpuOptions":{"coreCount":1,"threadsPerCore":1}}`, want: "CpuOptions.CoreCount=1"},
	"cpuOptions.threadsPerCore":                               {set: `{"cpuOptions":{"coreCount":1,"threadsPerCore":1}}`, want: "CpuOptions.ThreadsPerCore=1"},
	"cpuOptions.amdSevSnp":                                    {set: `{"cpuOptions":{"coreCount":1,"threadsPerCore":1,"amdSevSnp":"enabled"}}`, want: "CpuOptions.AmdSevSnp=enabled"},
	"instanceMetadataOptions.httpEndpoint":                    {set: `{"instanceMetadataOptions":{"httpEndpoint":"disabled"}}`, want: "MetadataOptions.HttpEndpoint=disabled"},
	"instanceMetadataOptions.httpPutResponseHopLimit":         {set: `{"instanceMetadataOptions":{"httpPutResponseHopLimit":2}}`, want: "MetadataOptions.HttpPutResponseHopLimit=2"},
	"instanceMetadataOptions.httpTokens":                      {set: `{"instanceMetadataOptions":{"httpTokens":"required"}}`, want: "MetadataOptions.HttpTokens=required"},
	"instanceMetadataOptions.httpProtocolIpv6":                {set: `{"instanceMetadataOptions":{"httpProtocolIpv6":"enabled"}}`, want: "MetadataOptions.HttpProtocolIpv6=enabled"},
	"tags": {set: `{"tags":{"team":"blue"}}`, want: "TagSpecification.1.Tag.7.Key=team&TagSpecification.1.Tag.7.Value=blue", also: "TagSpecification.2.ResourceType=volume&TagSpecification.3.ResourceType=network-interface"},
}

// dialects are the specs of both APIs.
var dialects = []struct {
	api, kind string
	shape     any
	rows      map[string]reached
}{
	{provider.OpenShift, "AWSMachineProviderConfig, in providerSpec.value", machinev1beta1.AWSMachineProviderConfig{}, machineFields},
	{provider.Gardener, "providerSpec of a MachineClass", spec.ProviderSpec{}, classFields},
}

func TestEveryFieldReachesAWS(t *testing.T) {
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
	w := newWorld(t, ec2.Options{Inventory: ec2.Sample(), AcceptAny: true})
	class.Spec = fieldsdoc.Patched(t, class.Spec, r.set)
	s := w.open(t, class)
	ref := provider.Ref{UID: "0b6c1a4e-0000-4000-8000-000000000001", Namespace: "machines", Name: "m"}
	i, err := s.Create(t.Context(), ref, provider.Want{UserData: []byte("#cloud-config\n"), Role: "worker"})
	if err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(time.Minute)
	if in, ok := provider.As[provider.Initializer](s); ok {
		if err := in.Initialize(t.Context(), ref, i); err != nil {
			t.Fatal(err)
		}
	}
	m, _ := provider.As[provider.Maintainer](s)
	if err := m.Maintain(t.Context(), ref, i); err != nil {
		t.Fatal(err)
	}
	want, err := url.ParseQuery(r.want + "&" + r.also)
	if err != nil {
		t.Fatal(err)
	}
	all := w.Received(r.operation())
	if !slices.ContainsFunc(all, func(has url.Values) bool { return includes(has, want) }) {
		t.Errorf("no %s has %v; there are %v", r.operation(), want, all)
	}
}

func includes(has, want url.Values) bool {
	for key, values := range want {
		if !slices.Equal(has[key], values) {
			return false
		}
	}
	return true
}

// merged is a spec with a JSON merge patch.
var merged = fieldsdoc.Patched
