package cloud_test

import (
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/recordtest"
)

// differences are all intended differences.
var differences = []recordtest.Difference{
	{
		How: recordtest.Adds, Key: `^(RunInstances|AllocateHosts) Tag\.[a-z-]+\.millwright\.dev/(machine-uid|machine-namespace|machine-role|dedicated-host)$`, Always: true,
		What: "tags", Original: "writes the tags of the spec and of the cluster, and `Name`",
		Here: "also writes the machine's UID, namespace and role, and the host that was allocated for it", Why: "Millwright finds an instance by the UID of its machine. Another machine may have the same name later",
	},
	{
		How: recordtest.Omits, Key: `^RunInstances Tag\.[a-z-]+\.millwright\.dev/`, Has: `"millwright\.dev/`,
		What: "tags of the spec that begin with `millwright.dev/`", Original: "writes them",
		Here: "does not", Why: "these tags say to which machine an instance belongs",
	},
	{
		API: provider.Gardener, How: recordtest.Adds, Key: `^RunInstances Tag\.[a-z-]+\.kubernetes\.io/cluster/c1$`, Has: `"xkubernetes\.io/cluster/`,
		What: "a tag whose key contains `kubernetes.io/cluster/`, but not at the beginning", Original: "accepts it instead of the cluster's tag",
		Here: "accepts it, and also tags the instance with the cluster's name", Why: "other programs find instances by the tag of their cluster",
	},
	{
		API: provider.OpenShift, How: recordtest.Adds, Key: `^RunInstances Placement\.(AvailabilityZone|GroupName|PartitionNumber)$`, Has: `"host":`,
		What: "`placement.host`", Original: "omits zone, placement group and partition",
		Here: "sends them", Why: "the spec has them. EC2 refuses an instance that cannot run there, instead of creating it elsewhere",
	},
	{
		API: provider.Gardener, How: recordtest.Adds, Key: `^RunInstances BlockDeviceMapping\.\d+\.Ebs\.KmsKeyId$`, Has: `"kmsKeyID":`,
		What: "`blockDevices[].ebs.kmsKeyID`", Original: "does not send it: the disk is encrypted with the account's default key",
		Here: "sends it if `encrypted` is set", Why: "the class names the key. The machine fails if its credentials may not use that key ([permissions](aws-policy.json))",
	},
	{
		API: provider.Gardener, How: recordtest.Adds, Key: `^RunInstances Monitoring\.Enabled$`, Has: `"monitoring":true`,
		What: "`monitoring`", Original: "does not send it",
		Here: "sends it", Why: "the class requests it. AWS charges for it",
	},
	{
		API: provider.Gardener, How: recordtest.Adds, Key: `^RunInstances EbsOptimized$`, Has: `"ebsOptimized":true`,
		What: "`ebsOptimized`", Original: "does not send it",
		Here: "sends it", Why: "the class requests it. Only older types have this option",
	},
	{
		API: provider.Gardener, How: recordtest.Adds, Key: `^RunInstances InstanceMarketOptions\.MarketType$`, Has: `"isMLCapacityBlock":true`,
		What: "`capacityReservation.isMLCapacityBlock`", Original: "no longer has the field",
		Here: "requests the market `capacity-block`, unless `instanceMarketOptions` or `spotPrice` is set", Why: "classes for older versions of the original have it, and EC2 uses a capacity block only in that market",
	},
	{
		API: provider.OpenShift, How: recordtest.Omits, Key: `^RunInstances BlockDeviceMapping\.\d+\.Ebs\.VolumeType$`, Has: `"volumeType":""`,
		What: "`blockDevices[].ebs.volumeType: \"\"`", Original: "sends it empty",
		Here: "omits it", Why: "EC2 has no type with an empty name, but has a default type",
	},
	{
		API: provider.Gardener, How: recordtest.Omits, Key: `^RunInstances NetworkInterface\.\d+\.InterfaceType$`, Has: `"interfaceType":""`,
		What: "`networkInterfaces[].interfaceType: \"\"`", Original: "sends it empty",
		Here: "omits it", Why: "EC2 has no type with an empty name",
	},
	{
		API: provider.Gardener, How: recordtest.Omits, Key: `^RunInstances BlockDeviceMapping\.\d+\.Ebs\.Encrypted$`, Has: `"snapshotID":`,
		What: "`blockDevices[].ebs.snapshotID` without `encrypted`", Original: "sends `Encrypted=false`",
		Here: "omits it", Why: "the disk is encrypted if its snapshot is. EC2 refuses `false` with an encrypted snapshot",
	},
	{
		API: provider.Gardener, How: recordtest.Makes, Lacks: `"blockDevices":[{`,
		What: "no `blockDevices`", Original: "refuses it when it creates the instance",
		Here: "creates the instance with the disks of its image", Why: "EC2 accepts it, and so does the validation of the original",
	},
	{
		API: provider.Gardener, How: recordtest.Makes, Has: `"volumeType":"io2"`,
		What: "`blockDevices[].ebs.volumeType: io2`", Original: "refuses it",
		Here: "sends it", Why: "EC2 has this type, with the same fields as `io1`",
	},
	{
		API: provider.Gardener, How: recordtest.Makes, Lacks: `"kubernetes.io/cluster/|"kubernetes.io/role/`,
		What: "no tag `kubernetes.io/cluster/…` or `kubernetes.io/role/…`", Original: "refuses the class",
		Here: "tags the instance with the cluster's name", Why: "Millwright then lists instances by the cluster's name",
	},
}
