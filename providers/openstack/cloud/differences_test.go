package cloud_test

import (
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/recordtest"
)

// differences are all intended differences.
var differences = []recordtest.Difference{
	{
		How: recordtest.Adds, Key: `^(server|volume \d+) metadata\.millwright\.dev-|^(server|port \d+ tags|trunk \d+ tags) tags\.(millwright|.*kubernetes\.io-)`, Always: true,
		What: "metadata and tags", Original: "writes the metadata and tags of the spec and of the cluster",
		Here: "also writes the machine's UID and namespace, and the cluster", Why: "Millwright finds a server, its ports and its volumes by the UID of its machine. Another machine may have the same name later",
	},
	{
		How: recordtest.Sets, Key: `^(port|volume|trunk) \d+ description$`, Always: true,
		What: "descriptions of ports, trunks and volumes", Original: "writes the program that created them, or `ports[].description`. Gardener's sends none",
		Here: "writes the owner of the port or trunk until the server exists, then `ports[].description`. The description of a volume names the machine", Why: "a port has no tags while it is created, and must be found even then",
	},
	{
		How: recordtest.Adds, Key: `^port \d+ mac_address$`, Always: true,
		What: "MAC address of a port", Original: "lets Neutron choose it",
		Here: "derives it from the machine's UID, if the network's owner allows this", Why: "Neutron refuses a second port with the same MAC address, so a machine never has two servers",
	},
	{
		API: provider.Gardener, How: recordtest.Omits, Key: `^server (networks\.\d+\.uuid$|security_groups\.)|^port \d+ update( \d+)? allowed_address_pairs\.`, Always: true,
		What: "security groups, and address pairs of pods", Original: "gives the security groups to the server. After the server runs, it writes the pairs to the port one by one, and each pair replaces the previous one: only the last pod range is allowed",
		Here: "gives both to the port when it creates the port: all pod ranges are allowed", Why: "pods can be reached as soon as the node exists",
	},
	{
		API: provider.Gardener, How: recordtest.Adds, Key: `^server networks\.\d+\.port$|^port \d+ name$`, Always: true,
		What: "ports without `subnetID` and `subnetIDs`", Original: "lets Nova create a port in each network",
		Here: "creates the port, as the original does for subnets", Why: "see the row about MAC addresses",
	},
	{
		API: provider.OpenShift, How: recordtest.Omits, Key: `^server config_drive$`, Lacks: `"configDrive":true`, Always: true,
		What: "no `configDrive`, or `false`", Original: "sends `false`",
		Here: "sends the value of the spec, or omits it", Why: "Nova may be configured to give every server a config drive by default",
	},
	{
		API: provider.OpenShift, How: recordtest.Omits, Key: `^server block_device_mapping_v2\.0\.(boot_index|delete_on_termination|destination_type|source_type|uuid)$`, Lacks: `"additionalBlockDevices":[{`, Always: true,
		What: "no root volume, and no `additionalBlockDevices`", Original: "sends the image as `imageRef` and as a block device",
		Here: "sends `imageRef`", Why: "Nova creates the same disk for both",
	},
	{
		How: recordtest.Adds, Key: `^port \d+ update description$`, Has: `"description":`,
		What: "`ports[].description`", Original: "writes it when it creates the port",
		Here: "writes it after the server exists, followed by the owner of the port", Why: "see the row about descriptions",
	},
	{
		API: provider.OpenShift, How: recordtest.Adds, Key: `^volume 0 imageRef$`, Has: `"diskSize":25`, Lacks: `"sourceUUID":"r`,
		What: "`rootVolume` without `sourceUUID`, and an `image`", Original: "creates an empty volume, from which no server boots",
		Here: "creates the volume from `image`", Why: "the spec names an image",
	},
	{
		API: provider.OpenShift, How: recordtest.Alters, Key: `^server imageRef$`, Has: `"rootVolume":{`, Lacks: `"sourceUUID":"`,
		What: "`rootVolume` without `sourceUUID` and `diskSize`", Original: "requests a server without an image",
		Here: "boots the server from `image`", Why: "the spec names an image",
	},
	{
		API: provider.OpenShift, How: recordtest.Refuses, Has: `"image":"","`, Lacks: `"sourceUUID":"r`,
		What: "`rootVolume` without `sourceUUID`, and no `image`", Original: "creates an empty volume, or requests a server without an image",
		Here: "refuses it, and names the field", Why: "no server can boot",
	},
	{
		API: provider.OpenShift, How: recordtest.Makes, Has: `"6d09ede3-9a50-4bc5-a171-bf31d153ddca"`,
		What: "`image` and `rootVolume.sourceUUID`: an ID", Original: "looks for an image with that name only",
		Here: "uses the image with that ID, if no image has that name", Why: "several images may have the same name",
	},
	{
		API: provider.OpenShift, How: recordtest.Makes, Has: `"e7578716-1efc-453b-807e-ba6735c97f23"`,
		What: "`flavor`: an ID", Original: "looks for a flavor with that name only",
		Here: "uses the flavor with that ID, if no flavor has that name", Why: "flavors that are not public can be found by ID only",
	},
	{
		API: provider.OpenShift, How: recordtest.Makes, Has: `"name":"root"`,
		What: "`additionalBlockDevices[].name: root` for a local disk", Original: "refuses it",
		Here: "accepts it", Why: "only a volume could be confused with the root volume",
	},
	{
		API: provider.OpenShift, How: recordtest.Makes, Has: `"availabilityZone":"nope"`,
		What: "`availabilityZone` that Nova does not have", Original: "refuses it",
		Here: "sends the request, which Nova refuses", Why: "Nova's error says the same, without an additional request",
	},
	{
		API: provider.Gardener, How: recordtest.Omits, Key: `^port \d+ (security_groups|fixed_ips)$`,
		What: "no `securityGroups`, and `subnetIDs` without an ID", Original: "sends `null`",
		Here: "omits it", Why: "Neutron treats both alike",
	},
	{
		API: provider.Gardener, How: recordtest.Alters, Key: `^server metadata\.millwright\.dev-`, Has: `"millwright\.dev-`,
		What: "`tags` that begin with `millwright.dev-`", Original: "writes them",
		Here: "writes its own value", Why: "these tags say to which machine a server belongs",
	},
	{
		API: provider.Gardener, How: recordtest.Alters, Key: `^server block_device_mapping_v2\.0\.delete_on_termination$`, Has: `"rootDiskType":"`,
		What: "`rootDiskType`", Original: "deletes the volume after the server is deleted",
		Here: "lets Nova delete it with the server", Why: "no volume remains if the process ends in between",
	},
	{
		API: provider.Gardener, How: recordtest.Omits, Key: `^port \d+ tags tags\.`, Has: `"keyName":"other"|"availabilityZone":"(nope|nova:host1)"|"serverGroupID":"0`,
		What: "a server that Nova refuses", Original: "has tagged the port before",
		Here: "tags the port after the server exists", Why: "see the row about descriptions",
	},
	{
		API: provider.Gardener, How: recordtest.Refuses, Has: `"(id|networkID)":"(net1|00000000-.*| )"|"imageID":"(00000000-.*|rhcos| )"|"securityGroups":\["(nope| workers|)"\]`,
		What: "networks, images and security groups that do not exist", Original: "requests the server, which Nova refuses",
		Here: "refuses it, and names the field", Why: "the name of the field helps to find the mistake",
	},
	{
		API: provider.Gardener, How: recordtest.Refuses, Has: `"podNetworkCIDRs":\["(pods|| 100.*)"\]|"podNetworkCidr":"pods"`,
		What: "pod ranges that cannot be parsed", Original: "creates a server, and deletes it when Neutron refuses the range",
		Here: "refuses them, and names the field", Why: "no server is created in vain",
	},
	{
		API: provider.Gardener, How: recordtest.Refuses, Has: `"caCert":"x"`,
		What: "`caCert` without a certificate", Original: "ignores it",
		Here: "refuses the secret, and says why", Why: "connections that need the certificate would fail",
	},
	{
		API: provider.Gardener, How: recordtest.Makes, Has: `"imageName":"6d09|"flavorName":"e757|"securityGroups":\[[^\]]*"(83022f8a|aa3c6a20)`,
		What: "IDs in `imageName`, `flavorName` and `securityGroups`", Original: "looks for the name only. Without subnets it passes security groups to Nova, which accepts IDs",
		Here: "uses the resource with that ID, if none has that name", Why: "names may change, and flavors that are not public can be found by ID only",
	},
	{
		API: provider.Gardener, How: recordtest.Makes, Has: `"serverGroupID":"(nope| )"`,
		What: "`serverGroupID` that is not an ID", Original: "refuses it",
		Here: "sends the request, which Nova refuses", Why: "Nova's error says the same",
	},
	{
		API: provider.Gardener, How: recordtest.Makes, Lacks: `"kubernetes.io-role-`,
		What: "no `kubernetes.io-cluster-…` or `kubernetes.io-role-…` in `tags`", Original: "refuses the class",
		Here: "uses the class's cluster for the missing tag", Why: "Millwright then finds servers by the cluster's name",
	},
	{
		API: provider.Gardener, How: recordtest.Makes, Has: `"keyName":1|"n":1|"Spec":|"ImageName":`,
		What: "numbers and booleans in string fields, and field names in another case", Original: "refuses the class",
		Here: "reads them, as OpenShift's provider does", Why: "their meaning is clear",
	},
	{
		API: provider.Gardener, How: recordtest.Makes, Has: `"(tenantName|domainName)":null`,
		What: "secrets without `tenantName` and `tenantID`, or without `domainName` and `domainID`", Original: "refuses them",
		Here: "logs in, if Keystone allows it", Why: "an application credential has a project, and a user may have one by default",
	},
	{
		API: provider.Gardener, How: recordtest.Makes, Has: `"applicationCredentialName":"machines"|"domainID":"default"`,
		What: "`applicationCredentialName` with `username`, and `domainID` with `tenantName`", Original: "accepts the secret, and cannot log in",
		Here: "logs in", Why: "the secret is sufficient",
	},
	{
		API: provider.Gardener, How: recordtest.Makes, Has: `"insecure":"(true )?"`,
		What: "blanks in `insecure`", Original: "refuses the secret",
		Here: "ignores the blanks; an empty value is `false`", Why: "blanks in other keys are ignored as well",
	},
}
