package cloud

import (
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/recordtest"
)

// differences are the intended differences.
var differences = []recordtest.Difference{
	{
		How: recordtest.Adds, Key: `^instance (disks\.\d+\.initializeParams\.)?labels\.millwright-dev-|^instance disks\.\d+\.initializeParams\.diskName$`, Always: true,
		What: "labels, and names of disks", Original: "writes the labels of the spec and of the cluster, and lets Compute Engine name further disks",
		Here: "also writes the machine's UID and namespace, and names further disks", Why: "Millwright finds an instance and its disks by the UID of their machine. Another machine may have the same name later",
	},
	{
		API: provider.OpenShift, How: recordtest.Adds, Key: `^instance shieldedInstanceConfig\.enable\w+$`, Always: true,
		What: "`shieldedInstanceConfig`", Original: "omits settings that are off, unless the default is on",
		Here: "sends settings that are off", Why: "Compute Engine treats both alike",
	},
	{
		API: provider.OpenShift, How: recordtest.Omits, Key: `^instance params$`, Always: true,
		What: "no `resourceManagerTags`", Original: "sends empty `params`",
		Here: "omits it", Why: "Compute Engine treats both alike",
	},
	{
		API: provider.Gardener, How: recordtest.Adds, Key: `^instance (disks\.\d+\.initializeParams\.)?labels\.kubernetes-io-cluster-c1$`, Always: true,
		What: "labels of the cluster", Original: "writes the labels of the spec",
		Here: "also writes `kubernetes-io-cluster-<cluster>`", Why: "Millwright lists the instances and disks of a cluster by this label, in both APIs",
	},
	{
		How: recordtest.Alters, Key: `^instance (disks\.\d+\.initializeParams\.)?labels\.(millwright-dev-|kubernetes-io-cluster-)`, Has: `"(millwright-dev-|kubernetes-io-cluster-)[^"]*":"x"`,
		What: "labels of the spec that identify the owner of an instance or disk", Original: "writes them",
		Here: "writes its own value", Why: "Millwright finds instances and disks by these labels",
	},
	{
		API: provider.OpenShift, How: recordtest.Alters, Key: `^instance scheduling\.onHostMaintenance$`, Has: `"onHostMaintenance":"(Migrate|Terminate)"`,
		What: "`onHostMaintenance`", Original: "sends the value of the spec",
		Here: "sends it in capitals", Why: "Compute Engine's values are `MIGRATE` and `TERMINATE`",
	},
	{
		API: provider.OpenShift, How: recordtest.Adds, Key: `^instance guestAccelerators\.0\.acceleratorCount$`, Has: `"gpus":`,
		What: "`gpus` without `count`", Original: "sends none",
		Here: "sends 1", Why: "admission fills in 1 for the same spec",
	},
	{
		How: recordtest.Omits, Key: `^instance disks\.\d+\.initializeParams\.diskType$`,
		What: "`disks[].type: \"\"`", Original: "sends a path that lacks the name",
		Here: "omits it", Why: "Compute Engine has a default, and refuses such a path",
	},
	{
		How: recordtest.Alters, Key: `^instance networkInterfaces\.\d+\.(network|subnetwork)$`, Has: `"(network|subnetwork)":"(projects/|global/|regions/|https://)`,
		What: "paths in `networkInterfaces[].network` and `subnetwork`", Original: "appends them to the path of a name",
		Here: "uses them as they are", Why: "no resource has such a path",
	},
	{
		API: provider.OpenShift, How: recordtest.Refuses, Has: `"(zone|region|machineType)":(""|null)|"networkInterfaces":(\[\]|null)`,
		What: "no `zone`, `region`, `machineType` or `networkInterfaces`", Original: "requests an instance in a path that lacks the name, or without a network",
		Here: "refuses it, and names the field", Why: "Compute Engine refuses such a request",
	},
	{
		How: recordtest.Refuses, Has: `"serviceAccounts":\[\{.*\},\{|"sizeGb":-|"gpu":\{"acceleratorType":"[^"]*","count":-`,
		What: "two `serviceAccounts`, or a `sizeGb` or `gpu.count` below 0", Original: "sends the request, which Compute Engine refuses",
		Here: "refuses it, and names the field", Why: "Compute Engine accepts only one account, and no such number",
	},
	{
		API: provider.OpenShift, How: recordtest.Makes, Lacks: `"boot":true`,
		What: "no boot disk", Original: "refuses it if `shieldedInstanceConfig` is not set",
		Here: "sends the request, which Compute Engine refuses", Why: "the error names the disk, and no additional request is needed",
	},
	{
		API: provider.OpenShift, How: recordtest.Makes, Has: `"image":"global/images/new"`,
		What: "paths in `disks[].image` that do not begin with a project", Original: "cannot read them, unless `shieldedInstanceConfig` is set",
		Here: "uses them as they are", Why: "Compute Engine accepts them",
	},
	{
		API: provider.OpenShift, How: recordtest.Makes, Has: `"type":"nope"|"gpus":\[.*"machineType":"(n2|a2)-`,
		What: "`gpus` of a type that the original does not know, or of a machine type without GPUs", Original: "refuses them",
		Here: "sends the request, which Compute Engine refuses", Why: "Compute Engine knows which machine types support GPUs. New types need no new version of Millwright",
	},
	{
		How: recordtest.Makes, Has: `"(gcpMetadata|metadata)":\[null\]`,
		What: "`null` in `gcpMetadata` or `metadata`", Original: "panics",
		Here: "omits it", Why: "`null` has no meaning here",
	},
	{
		API: provider.Gardener, How: recordtest.Adds, Key: `^instance shieldedInstanceConfig(\.\w+)?$`, Has: `"shieldedInstanceConfiguration":\{".*false`,
		What: "`false` in `shieldedInstanceConfiguration`", Original: "does not send it",
		Here: "sends it", Why: "the class switches it off. Compute Engine's default for `vtpm` and `integrityMonitoring` is on",
	},
	{
		API: provider.Gardener, How: recordtest.Adds, Key: `^instance tags(\.items\.\d+)?$`, Lacks: `"kubernetes-io-cluster-`,
		What: "no `kubernetes-io-cluster-…` in `tags`", Original: "sends the tags of the spec, and does not find the instance again",
		Here: "also sends `kubernetes-io-cluster-<cluster>`", Why: "firewall rules and programs of the cluster select instances by this tag",
	},
	{
		API: provider.Gardener, How: recordtest.Omits, Key: `^instance networkInterfaces\.\d+\.aliasIpRanges\.0$`, Has: `"stackType":"IPV4_IPV6"|"useAliasIPs":true`, Lacks: `"ipCidrRange":"/`,
		What: "`stackType: IPV4_IPV6` or `useAliasIPs` without `ipCidrRange` and `subnetworkRangeName`", Original: "sends an empty alias range",
		Here: "omits it", Why: "an empty range requests no address",
	},
	{
		API: provider.Gardener, How: recordtest.Alters, Key: `^instance (machineType|disks\.\d+\.initializeParams\.diskType)$`, Has: `"(zone|machineType)":"[^"]*[, ]`,
		What: "commas and blanks in `zone` and `machineType`", Original: "treats the value as one name",
		Here: "treats it as several [choices](#examples), without blanks", Why: "no name contains commas or blanks",
	},
	{
		API: provider.Gardener, How: recordtest.Alters, Key: `^instance disks\.\d+\.initializeParams\.sourceImage$`, Has: `"image":"[^/"]+"`,
		What: "a name in `disks[].image`", Original: "sends the name",
		Here: "sends the path of the image of that name in the project", Why: "Compute Engine accepts paths, and OpenShift's specs have names",
	},
	{
		API: provider.Gardener, How: recordtest.Refuses, Has: `"key":"startup-script"`,
		What: "`startup-script` in `metadata`, besides user data that does not begin with `#cloud-config`", Original: "sends both",
		Here: "refuses it, and names the field", Why: "the user data has the same key, and Compute Engine accepts each key only once",
	},
	{
		API: provider.Gardener, How: recordtest.Makes, Has: `"machineType":4|"tags":\[1|"labels":\{"a":1|"value":(1|true)`,
		What: "numbers and booleans in string fields", Original: "refuses the class",
		Here: "reads them as strings, as OpenShift's provider does", Why: "their meaning is clear",
	},
	{
		API: provider.Gardener, How: recordtest.Makes, Has: `"projectID":"rehearsal"`,
		What: "a secret whose JSON has no `project_id`, with the key `projectID`", Original: "refuses it",
		Here: "uses the project of `projectID`", Why: "the secret names the project",
	},
	{
		API: provider.Gardener, How: recordtest.Makes, Has: `"serviceAccountJSON":""`,
		What: "a secret with an empty `serviceAccountJSON`, and with `serviceaccount.json`", Original: "refuses it",
		Here: "reads `serviceaccount.json`", Why: "an empty key has no meaning",
	},
	{
		API: provider.Gardener, How: recordtest.Makes, Has: `"quota_project_id"|"credential_source"`,
		What: "unknown fields in the JSON of a service account", Original: "refuses the secret",
		Here: "ignores them", Why: "ignored fields have no effect",
	},
	{
		API: provider.Gardener, How: recordtest.Refuses, Has: `"client_email":null`,
		What: "no `client_email` in the JSON of a service account", Original: "requests a token from Google, which refuses",
		Here: "refuses the secret, and names the field", Why: "the request would fail",
	},
}
