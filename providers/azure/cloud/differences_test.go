package cloud_test

import (
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/recordtest"
)

// differences are all intended differences.
var differences = []recordtest.Difference{
	{
		How: recordtest.Adds, Key: `tags\.millwright\.dev_`, Always: true,
		What: "tags", Original: "writes those of the spec and of the cluster",
		Here: "writes the machine's UID and namespace, the cluster, and which disks outlive the machine as well", Why: "Millwright finds a virtual machine and what belongs to it by the UID of its machine. Another machine may have the same name later",
	},
	{
		How: recordtest.Empties, Always: true,
		What: "what is empty", Original: "sends texts, lists and objects without content",
		Here: "leaves them out", Why: "Azure reads both alike, or refuses the empty one",
	},
	{
		API: provider.OpenShift, How: recordtest.Adds, Key: `deleteOption$`, Always: true,
		What: "interface, OS disk and public address", Original: "deletes each of them by itself after the virtual machine",
		Here: "has Azure delete them with the virtual machine", Why: "nothing is left when Millwright is not there to delete it",
	},
	{
		API: provider.OpenShift, How: recordtest.Differs, Key: `^virtual machine properties\.osProfile\.(adminPassword|linuxConfiguration\.disablePasswordAuthentication)$`, Always: true,
		What: "passwords of Linux machines", Original: "sends one that is forgotten, with which a login is possible",
		Here: "sends none, and forbids logins by password", Why: "the login is by key",
	},
	{
		API: provider.OpenShift, How: recordtest.Omits, Key: `^network interface properties\.ipConfigurations\.\d+\.properties\.publicIPAddress\.(location|tags\.|sku\.|properties\.)`, Always: true,
		What: "`publicIP`", Original: "sends the whole address again with the interface",
		Here: "sends its ID", Why: "Azure reads the ID only",
	},
	{
		API: provider.Gardener, How: recordtest.Omits, Key: `^network interface properties\.ipConfigurations\.0\.properties\.subnet\.(name|properties\.)`, Always: true,
		What: "subnet of the interface", Original: "sends the whole subnet again, as Azure showed it",
		Here: "sends its ID, and does not read the subnet", Why: "Azure reads the ID only",
	},
	{
		API: provider.OpenShift, How: recordtest.Alters, Key: `^virtual machine properties\.storageProfile\.imageReference\.id$`, Has: `(?i)"resourceID":"/subscriptions/`,
		What: "`image.resourceID` that begins with `/subscriptions/`", Original: "puts it behind its own subscription",
		Here: "uses it as it is", Why: "nothing has an ID like that of the original",
	},
	{
		API: provider.OpenShift, How: recordtest.Differs, Key: `^virtual machine identity\.userAssignedIdentities\.`, Has: `"managedIdentity":"/Subscriptions/`,
		What: "`managedIdentity` that begins with `/subscriptions/` in other letters", Original: "takes it for a name",
		Here: "uses it as it is", Why: "Azure does not tell cases of IDs apart",
	},
	{
		API: provider.OpenShift, How: recordtest.Alters, Key: `^virtual machine properties\.capacityReservation\.`, Has: `"azure://`,
		What: "`capacityReservationGroupID` that begins with `azure://`", Original: "sends it as it is",
		Here: "leaves out `azure://`", Why: "Azure knows no such ID. The validation of the original accepts it",
	},
	{
		API: provider.OpenShift, How: recordtest.Differs, Key: `^virtual machine properties\.osProfile\.(windows|linux)Configuration\.`, Has: `"osType":"windows"`,
		What: "`osDisk.osType: windows`", Original: "configures Linux on a disk of Windows, which Azure refuses",
		Here: "configures Windows", Why: "Azure does not tell cases apart",
	},
	{
		API: provider.OpenShift, How: recordtest.Omits, Key: `^virtual machine properties\.storageProfile\.osDisk\.diskSizeGB$`,
		What: "`osDisk.diskSizeGB` of 0 or less", Original: "sends it",
		Here: "leaves it out", Why: "the disk gets the size of its image",
	},
	{
		API: provider.OpenShift, How: recordtest.Omits, Key: `^network interface properties\.ipConfigurations\.0\.properties\.loadBalancerInboundNatRules\.1\.id$`, Has: `"natRule":1`,
		What: "`natRule`, and a load balancer with several frontends of one version", Original: "sends the rule once for each frontend",
		Here: "sends it once", Why: "a rule belongs to one frontend",
	},
	{
		API: provider.OpenShift, How: recordtest.Omits, Key: `^(network interface|virtual machine) tags\.(Kubernetes\.io_cluster\.c1|owner)$`, Has: `"(Kubernetes.io_cluster.c1|Owner)"`,
		What: "tags of the spec and of the cluster whose keys differ in case", Original: "sends both, and Azure refuses them",
		Here: "sends the cluster's own tag, or that of the spec before that of the Infrastructure", Why: "Azure does not tell cases of keys apart",
	},
	{
		API: provider.OpenShift, How: recordtest.Omits, Key: `^availability set |^virtual machine properties\.availabilitySet\.id$`, Has: `"location":"westus".*"zone":"1"`,
		What: "`zone`, and a size that is in no zone", Original: "asks for an availability set as well, which Azure refuses",
		Here: "does not", Why: "a virtual machine is in one of both",
	},
	{
		API: provider.Gardener, How: recordtest.Alters, Key: `^virtual machine properties\.osProfile\.linuxConfiguration\.ssh\.publicKeys\.0\.path$`, Lacks: `"path":"{home}`,
		What: "no `ssh.publicKeys.path`", Original: "sends an empty one, which Azure refuses",
		Here: "sends that of `adminUsername`", Why: "Azure accepts no other path",
	},
	{
		API: provider.Gardener, How: recordtest.Omits, Key: `^virtual machine identity\.`, Has: `"identityID":""`,
		What: "`identityID: \"\"`", Original: "sends an identity without ID, which Azure refuses",
		Here: "sends none", Why: "nothing is named",
	},
	{
		API: provider.OpenShift, How: recordtest.Refuses, Has: `"image":(\{\}|null|\{[^}]*"(publisher|sku|version|resourceID)":(""|null)[^}]*\})`, Lacks: `"resourceID":"/`,
		What: "no `image`, or one without `resourceID` and a part of `publisher`, `offer`, `sku` and `version`", Original: "asks Azure, which refuses it",
		Here: "refuses it, and names the field", Why: "there is no such image",
	},
	{
		API: provider.OpenShift, How: recordtest.Refuses, Has: `"machine":"c1-windows-worker-bcdfg"`,
		What: "Windows machines with names of more than 15 characters", Original: "asks Azure, which refuses it",
		Here: "refuses it", Why: "Azure's bound",
	},
	{
		API: provider.Gardener, How: recordtest.Refuses, Has: `"machine":"a-rather-long`,
		What: "names of more than 64 characters", Original: "asks Azure, which refuses it",
		Here: "refuses it", Why: "Azure's bound",
	},
	{
		How: recordtest.Refuses, Has: `"(a/b|kubernetes.io/role)":|"x{257}"|"A":"1"`,
		What: "`tags` with characters, lengths or keys of two cases that Azure does not accept", Original: "asks Azure, which refuses them",
		Here: "refuses them, and names the field", Why: "the interface, and what else is made first, would be left",
	},
	{
		API: provider.Gardener, How: recordtest.Refuses, Has: `"k43":`,
		What: "more than 45 `tags`", Original: "asks Azure, which accepts 50",
		Here: "refuses them, and names the field", Why: "Millwright has five tags of its own",
	},
	{
		API: provider.OpenShift, How: recordtest.Makes, Has: `"vmSize":"Standard_(A2_v2|Nope)"`,
		What: "`vmSize` that is not there, or that has no accelerated networking", Original: "reads all sizes, and refuses it",
		Here: "asks Azure, which refuses it", Why: "a machine needs no right at the subscription, and no listing",
	},
	{
		API: provider.OpenShift, How: recordtest.Makes, Has: `"azure_region":null`,
		What: "no `azure_region` in the secret", Original: "refuses it also where the spec has a `location`",
		Here: "uses the `location` of the spec", Why: "nothing is missing",
	},
	{
		API: provider.Gardener, How: recordtest.Makes, Has: `"urn":""`,
		What: "`urn: \"\"` beside another name of the image", Original: "ends",
		Here: "uses the other name", Why: "nothing is missing",
	},
	{
		API: provider.Gardener, How: recordtest.Makes, Has: `"NonPersistedTPM"`,
		What: "`securityEncryptionType: NonPersistedTPM`", Original: "refuses it",
		Here: "sends it", Why: "Azure knows it",
	},
}
