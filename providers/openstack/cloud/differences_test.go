package cloud_test

import (
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/recordtest"
)

// differences are all intended differences.
var differences = []recordtest.Difference{
	{
		How: recordtest.Adds, Key: `^(server|volume \d+) metadata\.millwright\.dev-|^(server|port \d+ tags|trunk \d+ tags) tags\.(millwright|.*kubernetes\.io-)`, Always: true,
		What: "metadata and tags", Original: "writes those of the spec and of the cluster",
		Here: "writes the machine's UID and namespace and the cluster as well", Why: "Millwright finds a server, its ports and its volumes by the UID of its machine. Another machine may have the same name later",
	},
	{
		How: recordtest.Sets, Key: `^(port|volume|trunk) \d+ description$`, Always: true,
		What: "descriptions of ports, trunks and volumes", Original: "says which program created them, or what `ports[].description` says; Gardener's sends none",
		Here: "says whose port or trunk it is: `ports[].description` stands there once the server is there. That of a volume names the machine", Why: "a port has no tags yet while it is created, and must not be lost",
	},
	{
		How: recordtest.Adds, Key: `^port \d+ mac_address$`, Always: true,
		What: "MAC address of a port", Original: "leaves it to Neutron",
		Here: "chooses it by the machine's UID, where the network's owner allows that", Why: "Neutron refuses a second port of the same MAC address, so that a machine never has two servers",
	},
	{
		API: provider.Gardener, How: recordtest.Omits, Key: `^server (networks\.\d+\.uuid$|security_groups\.)|^port \d+ update( \d+)? allowed_address_pairs\.`, Always: true,
		What: "security groups, and address pairs of pods", Original: "gives the server the security groups, and writes a pair to the port once the server runs, each in the place of the one before: of several ranges of pods only the last one is let through",
		Here: "gives both to the port as it is created: all ranges are let through", Why: "pods are reached as soon as the node is there",
	},
	{
		API: provider.Gardener, How: recordtest.Adds, Key: `^server networks\.\d+\.port$|^port \d+ name$`, Always: true,
		What: "ports without `subnetID` and `subnetIDs`", Original: "lets Nova create a port in each network",
		Here: "creates it, as the original does for subnets", Why: "see MAC address",
	},
	{
		API: provider.OpenShift, How: recordtest.Omits, Key: `^server config_drive$`, Lacks: `"configDrive":true`, Always: true,
		What: "no `configDrive`, or `false`", Original: "sends `false`",
		Here: "sends what the spec says, and nothing where it says nothing", Why: "Nova may be configured to give every server a config drive",
	},
	{
		API: provider.OpenShift, How: recordtest.Omits, Key: `^server block_device_mapping_v2\.0\.(boot_index|delete_on_termination|destination_type|source_type|uuid)$`, Lacks: `"additionalBlockDevices":[{`, Always: true,
		What: "no root volume, and no `additionalBlockDevices`", Original: "sends the image as `imageRef` and as a block device",
		Here: "sends `imageRef`", Why: "Nova creates the same disk for either",
	},
	{
		How: recordtest.Adds, Key: `^port \d+ update description$`, Has: `"description":`,
		What: "`ports[].description`", Original: "writes it as the port is created",
		Here: "writes it once the server is there, with whose port it is behind it", Why: "see descriptions",
	},
	{
		API: provider.OpenShift, How: recordtest.Adds, Key: `^volume 0 imageRef$`, Has: `"diskSize":25`, Lacks: `"sourceUUID":"r`,
		What: "`rootVolume` without `sourceUUID`, and an `image`", Original: "creates an empty volume, of which no server boots",
		Here: "creates it of `image`", Why: "the spec names an image",
	},
	{
		API: provider.OpenShift, How: recordtest.Alters, Key: `^server imageRef$`, Has: `"rootVolume":{`, Lacks: `"sourceUUID":"`,
		What: "`rootVolume` without `sourceUUID` and `diskSize`", Original: "asks Nova for a server of no image",
		Here: "boots the server from `image`", Why: "the spec names an image",
	},
	{
		API: provider.OpenShift, How: recordtest.Refuses, Has: `"image":"","`, Lacks: `"sourceUUID":"r`,
		What: "`rootVolume` without `sourceUUID`, and no `image`", Original: "creates an empty volume, or asks Nova for a server of no image",
		Here: "refuses it, and names the field", Why: "nothing boots of it",
	},
	{
		API: provider.OpenShift, How: recordtest.Makes, Has: `"6d09ede3-9a50-4bc5-a171-bf31d153ddca"`,
		What: "`image` and `rootVolume.sourceUUID`: an ID", Original: "looks for an image of that name only",
		Here: "uses the image of that ID, if none has that name", Why: "several images may have one name",
	},
	{
		API: provider.OpenShift, How: recordtest.Makes, Has: `"e7578716-1efc-453b-807e-ba6735c97f23"`,
		What: "`flavor`: an ID", Original: "looks for a flavor of that name only",
		Here: "uses the flavor of that ID, if none has that name", Why: "flavors that are not public are found by ID",
	},
	{
		API: provider.OpenShift, How: recordtest.Makes, Has: `"name":"root"`,
		What: "`additionalBlockDevices[].name: root` of a local disk", Original: "refuses it",
		Here: "accepts it", Why: "only a volume could be taken for the root volume",
	},
	{
		API: provider.OpenShift, How: recordtest.Makes, Has: `"availabilityZone":"nope"`,
		What: "`availabilityZone` that Nova does not have", Original: "refuses it",
		Here: "asks Nova, which refuses it", Why: "the error of Nova says the same, and costs no further request",
	},
	{
		API: provider.Gardener, How: recordtest.Omits, Key: `^port \d+ (security_groups|fixed_ips)$`,
		What: "no `securityGroups`, and `subnetIDs` without an ID", Original: "sends `null`",
		Here: "leaves it out", Why: "Neutron reads both alike",
	},
	{
		API: provider.Gardener, How: recordtest.Alters, Key: `^server metadata\.millwright\.dev-`, Has: `"millwright\.dev-`,
		What: "`tags` that begin with `millwright.dev-`", Original: "writes them",
		Here: "writes its own value", Why: "Millwright reads from them to which machine a server belongs",
	},
	{
		API: provider.Gardener, How: recordtest.Alters, Key: `^server block_device_mapping_v2\.0\.delete_on_termination$`, Has: `"rootDiskType":"`,
		What: "`rootDiskType`", Original: "deletes the volume once the server is deleted",
		Here: "lets Nova delete it with the server", Why: "nothing is left behind by a process that ends in between",
	},
	{
		API: provider.Gardener, How: recordtest.Omits, Key: `^port \d+ tags tags\.`, Has: `"keyName":"other"|"availabilityZone":"(nope|nova:host1)"|"serverGroupID":"0`,
		What: "a server that Nova refuses", Original: "has tagged the port by then",
		Here: "tags the port once there is a server", Why: "see descriptions",
	},
	{
		API: provider.Gardener, How: recordtest.Refuses, Has: `"(id|networkID)":"(net1|00000000-.*| )"|"imageID":"(00000000-.*|rhcos| )"|"securityGroups":\["(nope| workers|)"\]`,
		What: "networks, images and security groups that are not there", Original: "asks Nova for the server, which refuses it",
		Here: "refuses it, and names the field", Why: "the field helps to find the mistake",
	},
	{
		API: provider.Gardener, How: recordtest.Refuses, Has: `"podNetworkCIDRs":\["(pods|| 100.*)"\]|"podNetworkCidr":"pods"`,
		What: "ranges of pods that cannot be read", Original: "creates a server, and deletes it as Neutron refuses the range",
		Here: "refuses them, and names the field", Why: "no server is created for nothing",
	},
	{
		API: provider.Gardener, How: recordtest.Refuses, Has: `"caCert":"x"`,
		What: "`caCert` without a certificate", Original: "ignores it",
		Here: "refuses the secret, and says why", Why: "no connection that needs the certificate works",
	},
	{
		API: provider.Gardener, How: recordtest.Makes, Has: `"imageName":"6d09|"flavorName":"e757|"securityGroups":\[[^\]]*"(83022f8a|aa3c6a20)`,
		What: "IDs in `imageName`, `flavorName` and `securityGroups`", Original: "looks for one of that name only; security groups without subnets are up to Nova, which takes IDs",
		Here: "uses the one of that ID, if none has that name", Why: "names may change, and flavors that are not public are found by ID",
	},
	{
		API: provider.Gardener, How: recordtest.Makes, Has: `"serverGroupID":"(nope| )"`,
		What: "`serverGroupID` that is no ID", Original: "refuses it",
		Here: "asks Nova, which refuses it", Why: "the error of Nova says the same",
	},
	{
		API: provider.Gardener, How: recordtest.Makes, Lacks: `"kubernetes.io-role-`,
		What: "no `kubernetes.io-cluster-…` or `kubernetes.io-role-…` in `tags`", Original: "refuses the class",
		Here: "takes the class's cluster for the missing one", Why: "servers are found by the cluster's name in that case",
	},
	{
		API: provider.Gardener, How: recordtest.Makes, Has: `"keyName":1|"n":1|"Spec":|"ImageName":`,
		What: "numbers and booleans where text belongs, and names of fields in another case", Original: "refuses the class",
		Here: "reads them, as the originals of OpenShift do", Why: "what they mean is clear",
	},
	{
		API: provider.Gardener, How: recordtest.Makes, Has: `"(tenantName|domainName)":null`,
		What: "secrets without `tenantName` and `tenantID`, or without `domainName` and `domainID`", Original: "refuses them",
		Here: "logs in, if Keystone allows it", Why: "an application credential has a project, and a user may have one by default",
	},
	{
		API: provider.Gardener, How: recordtest.Makes, Has: `"applicationCredentialName":"machines"|"domainID":"default"`,
		What: "`applicationCredentialName` with `username`, and `domainID` with `tenantName`", Original: "accepts the secret, and cannot log in",
		Here: "logs in", Why: "the secret says enough",
	},
	{
		API: provider.Gardener, How: recordtest.Makes, Has: `"insecure":"(true )?"`,
		What: "blanks in `insecure`", Original: "refuses the secret",
		Here: "reads it without them; empty is `false`", Why: "other keys are read without blanks",
	},
}
