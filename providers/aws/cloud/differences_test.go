package cloud_test

import (
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/recordtest"
)

// differences are all intended differences.
var differences = []recordtest.Difference{
	{
		How: recordtest.Adds, Key: `^(RunInstances|AllocateHosts) Tag\.[a-z-]+\.millwright\.dev/(machine-uid|machine-namespace|machine-role|dedicated-host)$`, Always: true,
		What: "tags", Original: "writes those of the spec, of the cluster, and `Name`",
		Here: "writes the machine's UID and namespace, its role, and the host that was allocated for it as well", Why: "Millwright finds an instance by the UID of its machine. Another machine may have the same name later",
	},
	{
		How: recordtest.Omits, Key: `^RunInstances Tag\.[a-z-]+\.millwright\.dev/`, Has: `"millwright\.dev/`,
		What: "tags of the spec that begin with `millwright.dev/`", Original: "writes them",
		Here: "does not", Why: "Millwright reads from them to which machine an instance belongs",
	},
	{
		API: provider.Gardener, How: recordtest.Adds, Key: `^RunInstances Tag\.[a-z-]+\.kubernetes\.io/cluster/c1$`, Has: `"xkubernetes\.io/cluster/`,
		What: "a tag in whose key `kubernetes.io/cluster/` is not at the beginning", Original: "accepts it in the place of the cluster's tag",
		Here: "accepts it, and tags the instance with the cluster's name as well", Why: "other programs find instances by the tag of their cluster",
	},
	{
		API: provider.OpenShift, How: recordtest.Adds, Key: `^RunInstances Placement\.(AvailabilityZone|GroupName|PartitionNumber)$`, Has: `"host":`,
		What: "`placement.host`", Original: "leaves out zone, placement group and partition",
		Here: "sends them", Why: "the spec has them. EC2 refuses an instance that cannot be there, instead of creating it elsewhere",
	},
	{
		API: provider.Gardener, How: recordtest.Adds, Key: `^RunInstances BlockDeviceMapping\.\d+\.Ebs\.KmsKeyId$`, Has: `"kmsKeyID":`,
		What: "`blockDevices[].ebs.kmsKeyID`", Original: "does not send it: the disk is encrypted with the account's default key",
		Here: "sends it where `encrypted` is set", Why: "the class names the key. The machine fails where that key may not be used ([rights](aws-policy.json))",
	},
	{
		API: provider.Gardener, How: recordtest.Adds, Key: `^RunInstances Monitoring\.Enabled$`, Has: `"monitoring":true`,
		What: "`monitoring`", Original: "does not send it",
		Here: "sends it", Why: "the class asks for it. AWS has a price for it",
	},
	{
		API: provider.Gardener, How: recordtest.Adds, Key: `^RunInstances EbsOptimized$`, Has: `"ebsOptimized":true`,
		What: "`ebsOptimized`", Original: "does not send it",
		Here: "sends it", Why: "the class asks for it. Only older types leave the choice",
	},
	{
		API: provider.Gardener, How: recordtest.Adds, Key: `^RunInstances InstanceMarketOptions\.MarketType$`, Has: `"isMLCapacityBlock":true`,
		What: "`capacityReservation.isMLCapacityBlock`", Original: "does not know it any more",
		Here: "asks for the market `capacity-block`, unless `instanceMarketOptions` or `spotPrice` say otherwise", Why: "classes for an older version of the original have it, and EC2 launches into a capacity block only in that market",
	},
	{
		API: provider.OpenShift, How: recordtest.Omits, Key: `^RunInstances BlockDeviceMapping\.\d+\.Ebs\.VolumeType$`, Has: `"volumeType":""`,
		What: "`blockDevices[].ebs.volumeType: \"\"`", Original: "sends it empty",
		Here: "leaves it out", Why: "EC2 has no type of that name, and has a default",
	},
	{
		API: provider.Gardener, How: recordtest.Omits, Key: `^RunInstances NetworkInterface\.\d+\.InterfaceType$`, Has: `"interfaceType":""`,
		What: "`networkInterfaces[].interfaceType: \"\"`", Original: "sends it empty",
		Here: "leaves it out", Why: "the API of EC2 has no type of that name",
	},
	{
		API: provider.Gardener, How: recordtest.Omits, Key: `^RunInstances BlockDeviceMapping\.\d+\.Ebs\.Encrypted$`, Has: `"snapshotID":`,
		What: "`blockDevices[].ebs.snapshotID` without `encrypted`", Original: "sends `Encrypted=false`",
		Here: "leaves it out", Why: "the disk is encrypted if its snapshot is. EC2 refuses `false` with an encrypted snapshot",
	},
	{
		API: provider.Gardener, How: recordtest.Makes, Lacks: `"blockDevices":[{`,
		What: "no `blockDevices`", Original: "refuses it as it creates the instance",
		Here: "creates the instance with the disks of its image", Why: "EC2 accepts it, and so does the validation of the original",
	},
	{
		API: provider.Gardener, How: recordtest.Makes, Has: `"volumeType":"io2"`,
		What: "`blockDevices[].ebs.volumeType: io2`", Original: "refuses it",
		Here: "sends it", Why: "EC2 has volumes of that type, with the same fields as `io1`",
	},
	{
		API: provider.Gardener, How: recordtest.Makes, Lacks: `"kubernetes.io/cluster/|"kubernetes.io/role/`,
		What: "no tag `kubernetes.io/cluster/…` or `kubernetes.io/role/…`", Original: "refuses the class",
		Here: "tags the instance with the cluster's name", Why: "instances are listed by the cluster's name in that case",
	},
}
