package cloud_test

import (
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/recordtest"
)

// differences are all intended differences.
var differences = []recordtest.Difference{
	{
		How: recordtest.Adds, Key: `tags\.millwright\.dev_`, Always: true,
		What: "tags", Original: "writes the tags of the spec and of the cluster",
		Here: "also writes the machine's UID and namespace, the cluster, and which disks outlive the machine", Why: "Millwright finds a virtual machine and its resources by the UID of its machine. Another machine may have the same name later",
	},
	{
		How: recordtest.Empties, Always: true,
		What: "empty values", Original: "sends empty strings, lists and objects",
		Here: "omits them", Why: "Azure treats empty and missing values alike, or refuses empty values",
	},
	{
		API: provider.OpenShift, How: recordtest.Adds, Key: `deleteOption$`, Always: true,
		What: "interface, OS disk and public address", Original: "deletes each of them with a separate request after the virtual machine",
		Here: "has Azure delete them with the virtual machine", Why: "no resource remains if Millwright does not run",
	},
	{
		API: provider.OpenShift, How: recordtest.Differs, Key: `^virtual machine properties\.osProfile\.(adminPassword|linuxConfiguration\.disablePasswordAuthentication)$`, Always: true,
		What: "passwords of Linux machines", Original: "sends a random password, which allows logins, and does not store it",
		Here: "sends no password, and forbids logins by password", Why: "users log in with a key",
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
		What: "`image.resourceID` that begins with `/subscriptions/`", Original: "appends it to the path of its own subscription",
		Here: "uses it as it is", Why: "no resource has such an ID",
	},
	{
		API: provider.OpenShift, How: recordtest.Differs, Key: `^virtual machine identity\.userAssignedIdentities\.`, Has: `"managedIdentity":"/Subscriptions/`,
		What: "`managedIdentity` that begins with `/subscriptions/` in another case", Original: "treats it as a name",
		Here: "uses it as it is", Why: "Azure's IDs are case-insensitive",
	},
	{
		API: provider.OpenShift, How: recordtest.Alters, Key: `^virtual machine properties\.capacityReservation\.`, Has: `"azure://`,
		What: "`capacityReservationGroupID` that begins with `azure://`", Original: "sends it as it is",
		Here: "omits `azure://`", Why: "Azure has no such ID. The validation of the original accepts it",
	},
	{
		API: provider.OpenShift, How: recordtest.Differs, Key: `^virtual machine properties\.osProfile\.(windows|linux)Configuration\.`, Has: `"osType":"windows"`,
		What: "`osDisk.osType: windows`", Original: "configures Linux on a Windows disk, which Azure refuses",
		Here: "configures Windows", Why: "Azure's values are case-insensitive",
	},
	{
		API: provider.OpenShift, How: recordtest.Omits, Key: `^virtual machine properties\.storageProfile\.osDisk\.diskSizeGB$`,
		What: "`osDisk.diskSizeGB` of 0 or less", Original: "sends it",
		Here: "omits it", Why: "the disk gets the size of its image",
	},
	{
		API: provider.OpenShift, How: recordtest.Omits, Key: `^network interface properties\.ipConfigurations\.0\.properties\.loadBalancerInboundNatRules\.1\.id$`, Has: `"natRule":1`,
		What: "`natRule`, and a load balancer with several frontends of one IP version", Original: "sends the rule once for each frontend",
		Here: "sends it once", Why: "a rule belongs to one frontend",
	},
	{
		API: provider.OpenShift, How: recordtest.Omits, Key: `^(network interface|virtual machine) tags\.(Kubernetes\.io_cluster\.c1|owner)$`, Has: `"(Kubernetes.io_cluster.c1|Owner)"`,
		What: "tags of the spec and of the cluster whose keys differ in case", Original: "sends both, and Azure refuses them",
		Here: "sends the cluster's own tag, or that of the spec before that of the Infrastructure", Why: "Azure's tag keys are case-insensitive",
	},
	{
		API: provider.OpenShift, How: recordtest.Omits, Key: `^availability set |^virtual machine properties\.availabilitySet\.id$`, Has: `"location":"westus".*"zone":"1"`,
		What: "`zone`, and a size that is in no zone", Original: "also requests an availability set, which Azure refuses",
		Here: "does not", Why: "a virtual machine is in a zone or in an availability set",
	},
	{
		API: provider.Gardener, How: recordtest.Alters, Key: `^virtual machine properties\.osProfile\.linuxConfiguration\.ssh\.publicKeys\.0\.path$`, Lacks: `"path":"{home}`,
		What: "no `ssh.publicKeys.path`", Original: "sends an empty one, which Azure refuses",
		Here: "sends that of `adminUsername`", Why: "Azure accepts no other path",
	},
	{
		API: provider.Gardener, How: recordtest.Omits, Key: `^virtual machine identity\.`, Has: `"identityID":""`,
		What: "`identityID: \"\"`", Original: "sends an identity without ID, which Azure refuses",
		Here: "sends none", Why: "the spec names no identity",
	},
	{
		API: provider.OpenShift, How: recordtest.Refuses, Has: `"image":(\{\}|null|\{[^}]*"(publisher|sku|version|resourceID)":(""|null)[^}]*\})`, Lacks: `"resourceID":"/`,
		What: "no `image`, or an `image` without `resourceID` that lacks one of `publisher`, `offer`, `sku` and `version`", Original: "sends the request, which Azure refuses",
		Here: "refuses it, and names the field", Why: "there is no such image",
	},
	{
		API: provider.OpenShift, How: recordtest.Refuses, Has: `"machine":"c1-windows-worker-bcdfg"`,
		What: "Windows machines with names of more than 15 characters", Original: "sends the request, which Azure refuses",
		Here: "refuses it", Why: "Azure's limit",
	},
	{
		API: provider.Gardener, How: recordtest.Refuses, Has: `"machine":"a-rather-long`,
		What: "names of more than 64 characters", Original: "sends the request, which Azure refuses",
		Here: "refuses it", Why: "Azure's limit",
	},
	{
		How: recordtest.Refuses, Has: `"(a/b|kubernetes.io/role)":|"x{257}"|"A":"1"`,
		What: "`tags` with characters, lengths, or keys that differ only in case, which Azure does not accept", Original: "sends the request, which Azure refuses",
		Here: "refuses them, and names the field", Why: "the interface and other resources that are created first would remain",
	},
	{
		API: provider.Gardener, How: recordtest.Refuses, Has: `"k43":`,
		What: "more than 45 `tags`", Original: "sends the request; Azure accepts 50",
		Here: "refuses them, and names the field", Why: "Millwright adds five tags",
	},
	{
		API: provider.OpenShift, How: recordtest.Makes, Has: `"vmSize":"Standard_(A2_v2|Nope)"`,
		What: "`vmSize` that does not exist, or has no accelerated networking", Original: "reads all sizes, and refuses it",
		Here: "sends the request, which Azure refuses", Why: "machines need no permission on the subscription, and no listing",
	},
	{
		API: provider.OpenShift, How: recordtest.Makes, Has: `"azure_region":null`,
		What: "no `azure_region` in the secret", Original: "refuses it even if the spec has a `location`",
		Here: "uses the `location` of the spec", Why: "the request is complete",
	},
	{
		API: provider.Gardener, How: recordtest.Makes, Has: `"urn":""`,
		What: "`urn: \"\"` together with another name of the image", Original: "panics",
		Here: "uses the other name", Why: "the request is complete",
	},
	{
		API: provider.Gardener, How: recordtest.Makes, Has: `"NonPersistedTPM"`,
		What: "`securityEncryptionType: NonPersistedTPM`", Original: "refuses it",
		Here: "sends it", Why: "Azure accepts it",
	},
}
