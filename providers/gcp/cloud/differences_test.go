package cloud

import (
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/recordtest"
)

// differences are the intended differences.
var differences = []recordtest.Difference{
	{
		How: recordtest.Adds, Key: `^instance (disks\.\d+\.initializeParams\.)?labels\.millwright-dev-|^instance disks\.\d+\.initializeParams\.diskName$`, Always: true,
		What: "labels, and names of disks", Original: "writes the labels of the spec and of the cluster, and leaves names of further disks to Compute Engine",
		Here: "writes the machine's UID and namespace as well, and names further disks", Why: "Millwright finds an instance and its disks by the UID of their machine. Another machine may have the same name later",
	},
	{
		API: provider.OpenShift, How: recordtest.Adds, Key: `^instance shieldedInstanceConfig\.enable\w+$`, Always: true,
		What: "`shieldedInstanceConfig`", Original: "leaves out what is off, unless the default is on",
		Here: "sends what is off", Why: "Compute Engine reads both alike",
	},
	{
		API: provider.OpenShift, How: recordtest.Omits, Key: `^instance params$`, Always: true,
		What: "no `resourceManagerTags`", Original: "sends `params` without content",
		Here: "leaves it out", Why: "Compute Engine reads both alike",
	},
	{
		API: provider.Gardener, How: recordtest.Adds, Key: `^instance (disks\.\d+\.initializeParams\.)?labels\.kubernetes-io-cluster-c1$`, Always: true,
		What: "labels of the cluster", Original: "writes the labels of the spec",
		Here: "writes `kubernetes-io-cluster-<cluster>` as well", Why: "Millwright lists the instances and disks of a cluster by it, in both APIs",
	},
	{
		How: recordtest.Alters, Key: `^instance (disks\.\d+\.initializeParams\.)?labels\.(millwright-dev-|kubernetes-io-cluster-)`, Has: `"(millwright-dev-|kubernetes-io-cluster-)[^"]*":"x"`,
		What: "labels of the spec that say whose an instance or a disk is", Original: "writes them",
		Here: "writes its own value", Why: "Millwright finds instances and disks by them",
	},
	{
		API: provider.OpenShift, How: recordtest.Alters, Key: `^instance scheduling\.onHostMaintenance$`, Has: `"onHostMaintenance":"(Migrate|Terminate)"`,
		What: "`onHostMaintenance`", Original: "sends it as the spec writes it",
		Here: "sends it in capitals", Why: "the API of Compute Engine has `MIGRATE` and `TERMINATE`",
	},
	{
		API: provider.OpenShift, How: recordtest.Adds, Key: `^instance guestAccelerators\.0\.acceleratorCount$`, Has: `"gpus":`,
		What: "`gpus` without `count`", Original: "sends none",
		Here: "sends 1", Why: "admission fills in 1 for the same spec",
	},
	{
		How: recordtest.Omits, Key: `^instance disks\.\d+\.initializeParams\.diskType$`,
		What: "`disks[].type: \"\"`", Original: "sends a path without a name",
		Here: "leaves it out", Why: "Compute Engine has a default, and refuses such a path",
	},
	{
		How: recordtest.Alters, Key: `^instance networkInterfaces\.\d+\.(network|subnetwork)$`, Has: `"(network|subnetwork)":"(projects/|global/|regions/|https://)`,
		What: "paths in `networkInterfaces[].network` and `subnetwork`", Original: "puts them behind the path of a name",
		Here: "uses them as they are", Why: "nothing has a path like that of the original",
	},
	{
		API: provider.OpenShift, How: recordtest.Refuses, Has: `"(zone|region|machineType)":(""|null)|"networkInterfaces":(\[\]|null)`,
		What: "no `zone`, `region`, `machineType` or `networkInterfaces`", Original: "asks for an instance in a path without a name, or of no network",
		Here: "refuses it, and names the field", Why: "Compute Engine refuses such a request",
	},
	{
		How: recordtest.Refuses, Has: `"serviceAccounts":\[\{.*\},\{|"sizeGb":-|"gpu":\{"acceleratorType":"[^"]*","count":-`,
		What: "two `serviceAccounts`, or a `sizeGb` or `gpu.count` below 0", Original: "asks Compute Engine, which refuses it",
		Here: "refuses it, and names the field", Why: "Compute Engine takes one account, and no such number",
	},
	{
		API: provider.OpenShift, How: recordtest.Makes, Lacks: `"boot":true`,
		What: "no boot disk", Original: "refuses it where `shieldedInstanceConfig` is not set",
		Here: "asks Compute Engine, which refuses it", Why: "the error names the disk, and costs no further request",
	},
	{
		API: provider.OpenShift, How: recordtest.Makes, Has: `"image":"global/images/new"`,
		What: "paths in `disks[].image` that do not begin with a project", Original: "cannot read them, unless `shieldedInstanceConfig` is set",
		Here: "uses them as they are", Why: "Compute Engine takes them",
	},
	{
		API: provider.OpenShift, How: recordtest.Makes, Has: `"type":"nope"|"gpus":\[.*"machineType":"(n2|a2)-`,
		What: "`gpus` of a type that the original does not know, or of a machine type that takes none", Original: "refuses them",
		Here: "asks Compute Engine, which refuses them", Why: "Compute Engine knows which types take GPUs, and new ones need no new version",
	},
	{
		How: recordtest.Makes, Has: `"(gcpMetadata|metadata)":\[null\]`,
		What: "`null` in `gcpMetadata` or `metadata`", Original: "ends",
		Here: "leaves it out", Why: "it says nothing",
	},
	{
		API: provider.Gardener, How: recordtest.Adds, Key: `^instance shieldedInstanceConfig(\.\w+)?$`, Has: `"shieldedInstanceConfiguration":\{".*false`,
		What: "`false` in `shieldedInstanceConfiguration`", Original: "does not send it",
		Here: "sends it", Why: "the class switches it off, and Compute Engine has `vtpm` and `integrityMonitoring` on where nothing is sent",
	},
	{
		API: provider.Gardener, How: recordtest.Adds, Key: `^instance tags(\.items\.\d+)?$`, Lacks: `"kubernetes-io-cluster-`,
		What: "no `kubernetes-io-cluster-…` in `tags`", Original: "sends the tags of the spec, and does not find the instance again",
		Here: "sends `kubernetes-io-cluster-<cluster>` as well", Why: "rules of firewalls and programs of the cluster select instances by it",
	},
	{
		API: provider.Gardener, How: recordtest.Omits, Key: `^instance networkInterfaces\.\d+\.aliasIpRanges\.0$`, Has: `"stackType":"IPV4_IPV6"|"useAliasIPs":true`, Lacks: `"ipCidrRange":"/`,
		What: "`stackType: IPV4_IPV6` or `useAliasIPs` without `ipCidrRange` and `subnetworkRangeName`", Original: "sends an alias range without content",
		Here: "leaves it out", Why: "it asks for no address",
	},
	{
		API: provider.Gardener, How: recordtest.Alters, Key: `^instance (machineType|disks\.\d+\.initializeParams\.diskType)$`, Has: `"(zone|machineType)":"[^"]*[, ]`,
		What: "commas and blanks in `zone` and `machineType`", Original: "takes the whole for one name",
		Here: "takes it for several [choices](#examples), without blanks", Why: "no name has them",
	},
	{
		API: provider.Gardener, How: recordtest.Alters, Key: `^instance disks\.\d+\.initializeParams\.sourceImage$`, Has: `"image":"[^/"]+"`,
		What: "a name in `disks[].image`", Original: "sends the name",
		Here: "sends the path of the image of that name in the project", Why: "Compute Engine takes paths, and OpenShift's specs have names",
	},
	{
		API: provider.Gardener, How: recordtest.Refuses, Has: `"key":"startup-script"`,
		What: "`startup-script` in `metadata`, besides user data that does not begin with `#cloud-config`", Original: "sends both",
		Here: "refuses it, and names the field", Why: "the user data has that key too, and Compute Engine takes a key once",
	},
	{
		API: provider.Gardener, How: recordtest.Makes, Has: `"machineType":4|"tags":\[1|"labels":\{"a":1|"value":(1|true)`,
		What: "numbers and booleans where text belongs", Original: "refuses the class",
		Here: "reads them as text, as the originals of OpenShift do", Why: "what they mean is clear",
	},
	{
		API: provider.Gardener, How: recordtest.Makes, Has: `"projectID":"rehearsal"`,
		What: "a secret whose JSON has no `project_id`, with the key `projectID`", Original: "refuses it",
		Here: "takes the project of `projectID`", Why: "the secret says which project",
	},
	{
		API: provider.Gardener, How: recordtest.Makes, Has: `"serviceAccountJSON":""`,
		What: "a secret with an empty `serviceAccountJSON`, and with `serviceaccount.json`", Original: "refuses it",
		Here: "reads `serviceaccount.json`", Why: "an empty key says nothing",
	},
	{
		API: provider.Gardener, How: recordtest.Makes, Has: `"quota_project_id"|"credential_source"`,
		What: "further fields in the JSON of a service account", Original: "refuses the secret",
		Here: "does not read them", Why: "what is not read has no effect",
	},
	{
		API: provider.Gardener, How: recordtest.Refuses, Has: `"client_email":null`,
		What: "no `client_email` in the JSON of a service account", Original: "asks Google for a token, which refuses it",
		Here: "refuses the secret, and names the field", Why: "no request is sent for nothing",
	},
}
