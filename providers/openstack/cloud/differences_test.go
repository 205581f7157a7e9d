package cloud_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/provider"
)

// How a provider may differ from the original.
const (
	adds    = "adds"       // it sends what the original does not
	omits   = "leaves out" // it does not send what the original does
	alters  = "alters"     // it sends another value
	sets    = "sets"       // it sends a value of its own, whether the original sends one or not
	makes   = "makes"      // it makes what the original refuses
	refuses = "refuses"    // it refuses what the original makes
)

// difference is a row of what is different on purpose.
type difference struct {
	api, how string
	// key matches "<operation> <parameter>" as a regular expression; has, one too, matches the case, and lacks is not in it.
	key, has, lacks string
	// what, original, here and why are for people: where, what either does, and the reason.
	what, original, here, why string
}

// always is how many of the first differences every server has.
const always = 7

// differences are all that is different on purpose. A row that no recorded case needs any more is a failure.
var differences = []difference{
	{
		"", adds, `^(server|volume \d+) metadata\.millwright\.dev-|^(server|port \d+ tags|trunk \d+ tags) tags\.(millwright|.*kubernetes\.io-)`, ``, ``,
		"metadata and tags", "writes those of the spec and of the cluster", "writes the machine's UID and namespace and the cluster as well", "Millwright finds a server, its ports and its volumes by the UID of its machine. Another machine may have the same name later",
	},
	{
		"", sets, `^(port|volume|trunk) \d+ description$`, ``, ``,
		"descriptions of ports, trunks and volumes", "says which program created them, or what `ports[].description` says; Gardener's sends none", "says whose port or trunk it is: `ports[].description` stands there once the server is there. That of a volume names the machine",
		"a port has no tags yet while it is created, and must not be lost",
	},
	{
		"", adds, `^port \d+ mac_address$`, ``, ``,
		"MAC address of a port", "leaves it to Neutron", "chooses it by the machine's UID, where the network's owner allows that", "Neutron refuses a second port of the same MAC address, so that a machine never has two servers",
	},
	{
		provider.Gardener, omits, `^server (networks\.\d+\.uuid$|security_groups\.)|^port \d+ update( \d+)? allowed_address_pairs\.`, ``, ``,
		"security groups, and address pairs of pods", "gives the server the security groups, and writes a pair to the port once the server runs, each in the place of the one before: of several ranges of pods only the last one is let through",
		"gives both to the port as it is created: all ranges are let through", "pods are reached as soon as the node is there",
	},
	{
		provider.Gardener, adds, `^server networks\.\d+\.port$|^port \d+ name$`, ``, ``,
		"ports without `subnetID` and `subnetIDs`", "lets Nova create a port in each network", "creates it, as the original does for subnets", "see MAC address",
	},
	{
		provider.OpenShift, omits, `^server config_drive$`, ``, `"configDrive":true`,
		"no `configDrive`, or `false`", "sends `false`", "sends what the spec says, and nothing where it says nothing", "Nova may be configured to give every server a config drive",
	},
	{
		provider.OpenShift, omits, `^server block_device_mapping_v2\.0\.(boot_index|delete_on_termination|destination_type|source_type|uuid)$`, ``, `"additionalBlockDevices":[{`,
		"no root volume, and no `additionalBlockDevices`", "sends the image as `imageRef` and as a block device", "sends `imageRef`", "Nova creates the same disk for either",
	},
	{
		"", adds, `^port \d+ update description$`, `"description":`, ``,
		"`ports[].description`", "writes it as the port is created", "writes it once the server is there, with whose port it is behind it", "see descriptions",
	},
	{
		provider.OpenShift, adds, `^volume 0 imageRef$`, `"diskSize":25`, `"sourceUUID":"r`,
		"`rootVolume` without `sourceUUID`, and an `image`", "creates an empty volume, of which no server boots", "creates it of `image`", "the spec names an image",
	},
	{
		provider.OpenShift, alters, `^server imageRef$`, `"rootVolume":{`, `"sourceUUID":"`,
		"`rootVolume` without `sourceUUID` and `diskSize`", "asks Nova for a server of no image", "boots the server from `image`", "the spec names an image",
	},
	{
		provider.OpenShift, refuses, ``, `"image":"","`, `"sourceUUID":"r`,
		"`rootVolume` without `sourceUUID`, and no `image`", "creates an empty volume, or asks Nova for a server of no image", "refuses it, and names the field", "nothing boots of it",
	},
	{
		provider.OpenShift, makes, ``, `"6d09ede3-9a50-4bc5-a171-bf31d153ddca"`, ``,
		"`image` and `rootVolume.sourceUUID`: an ID", "looks for an image of that name only", "uses the image of that ID, if none has that name", "several images may have one name",
	},
	{
		provider.OpenShift, makes, ``, `"e7578716-1efc-453b-807e-ba6735c97f23"`, ``,
		"`flavor`: an ID", "looks for a flavor of that name only", "uses the flavor of that ID, if none has that name", "flavors that are not public are found by ID",
	},
	{
		provider.OpenShift, makes, ``, `"name":"root"`, ``,
		"`additionalBlockDevices[].name: root` of a local disk", "refuses it", "accepts it", "only a volume could be taken for the root volume",
	},
	{
		provider.OpenShift, makes, ``, `"availabilityZone":"nope"`, ``,
		"`availabilityZone` that Nova does not have", "refuses it", "asks Nova, which refuses it", "the error of Nova says the same, and costs no further request",
	},
	{
		provider.Gardener, omits, `^port \d+ (security_groups|fixed_ips)$`, ``, ``,
		"no `securityGroups`, and `subnetIDs` without an ID", "sends `null`", "leaves it out", "Neutron reads both alike",
	},
	{
		provider.Gardener, alters, `^server metadata\.millwright\.dev-`, `"millwright\.dev-`, ``,
		"`tags` that begin with `millwright.dev-`", "writes them", "writes its own value", "Millwright reads from them to which machine a server belongs",
	},
	{
		provider.Gardener, alters, `^server block_device_mapping_v2\.0\.delete_on_termination$`, `"rootDiskType":"`, ``,
		"`rootDiskType`", "deletes the volume once the server is deleted", "lets Nova delete it with the server", "nothing is left behind by a process that ends in between",
	},
	{
		provider.Gardener, omits, `^port \d+ tags tags\.`, `"keyName":"other"|"availabilityZone":"(nope|nova:host1)"|"serverGroupID":"0`, ``,
		"a server that Nova refuses", "has tagged the port by then", "tags the port once there is a server", "see descriptions",
	},
	{
		provider.Gardener, refuses, ``, `"(id|networkID)":"(net1|00000000-.*| )"|"imageID":"(00000000-.*|rhcos| )"|"securityGroups":\["(nope| workers|)"\]`, ``,
		"networks, images and security groups that are not there", "asks Nova for the server, which refuses it", "refuses it, and names the field", "the field helps to find the mistake",
	},
	{
		provider.Gardener, refuses, ``, `"podNetworkCIDRs":\["(pods|| 100.*)"\]|"podNetworkCidr":"pods"`, ``,
		"ranges of pods that cannot be read", "creates a server, and deletes it as Neutron refuses the range", "refuses them, and names the field", "no server is created for nothing",
	},
	{
		provider.Gardener, refuses, ``, `"caCert":"x"`, ``,
		"`caCert` without a certificate", "ignores it", "refuses the secret, and says why", "no connection that needs the certificate works",
	},
	{
		provider.Gardener, makes, ``, `"imageName":"6d09|"flavorName":"e757|"securityGroups":\[[^\]]*"(83022f8a|aa3c6a20)`, ``,
		"IDs in `imageName`, `flavorName` and `securityGroups`", "looks for one of that name only; security groups without subnets are up to Nova, which takes IDs", "uses the one of that ID, if none has that name", "names may change, and flavors that are not public are found by ID",
	},
	{
		provider.Gardener, makes, ``, `"serverGroupID":"(nope| )"`, ``,
		"`serverGroupID` that is no ID", "refuses it", "asks Nova, which refuses it", "the error of Nova says the same",
	},
	{
		provider.Gardener, makes, ``, ``, `"kubernetes.io-role-`,
		"no `kubernetes.io-cluster-…` or `kubernetes.io-role-…` in `tags`", "refuses the class", "takes the class's cluster for the missing one", "servers are found by the cluster's name in that case",
	},
	{
		provider.Gardener, makes, ``, `"keyName":1|"n":1|"Spec":|"ImageName":`, ``,
		"numbers and booleans where text belongs, and names of fields in another case", "refuses the class", "reads them, as the originals of OpenShift do", "what they mean is clear",
	},
	{
		provider.Gardener, makes, ``, `"(tenantName|domainName)":null`, ``,
		"secrets without `tenantName` and `tenantID`, or without `domainName` and `domainID`", "refuses them", "logs in, if Keystone allows it", "an application credential has a project, and a user may have one by default",
	},
	{
		provider.Gardener, makes, ``, `"applicationCredentialName":"machines"|"domainID":"default"`, ``,
		"`applicationCredentialName` with `username`, and `domainID` with `tenantName`", "accepts the secret, and cannot log in", "logs in", "the secret says enough",
	},
	{
		provider.Gardener, makes, ``, `"insecure":"(true )?"`, ``,
		"blanks in `insecure`", "refuses the secret", "reads it without them; empty is `false`", "other keys are read without blanks",
	},
}

// explains reports whether the row is about a deviation of a case.
func (row difference) explains(r record, text string, d deviation) bool {
	if row.api != "" && row.api != r.api || !regexp.MustCompile(row.has).MatchString(text) {
		return false
	}
	if row.lacks != "" && strings.Contains(text, row.lacks) {
		return false
	}
	switch row.how {
	case adds:
		return d.original == nil && regexp.MustCompile(row.key).MatchString(d.operation+" "+d.key)
	case alters:
		return d.original != nil && d.ours != nil && regexp.MustCompile(row.key).MatchString(d.operation+" "+d.key)
	case sets:
		return d.ours != nil && regexp.MustCompile(row.key).MatchString(d.operation+" "+d.key)
	case omits:
		return d.ours == nil && regexp.MustCompile(row.key).MatchString(d.operation+" "+d.key)
	}
	return d.key == verdict && r.Refused == (row.how == makes)
}

// tally counts what came of the cases of one API.
type tally struct{ specs, refused, equal, different, parameters, deviations int }

// TestRecordedRequests plays what the originals were recorded with, and holds what is sent to what they sent. What differs is a row of
// differences, and they are the table of the page, which is written anew with UPDATE_GOLDEN set.
func TestRecordedRequests(t *testing.T) {
	used := make([]int, len(differences))
	counted := map[string]*tally{provider.OpenShift: {}, provider.Gardener: {}}
	specs, played := 0, 0
	for api, n := range counted {
		all := recorded(t, api)
		for _, r := range all {
			t.Run(api+"/"+r.ID, func(t *testing.T) { n.play(t, r, used) })
		}
		specs, played = specs+len(all), played+n.specs
	}
	if t.Failed() || played < specs { // one case may be run by itself
		return
	}
	for i, row := range differences {
		if used[i] == 0 {
			t.Errorf("no recorded case needs the difference in %s any more", row.what)
		}
	}
	holdPage(t, "../../../docs/providers/openstack.md", differencesTable(counted))
}

// play plays a case, counts it, and counts the rows that it needs.
func (n *tally) play(t *testing.T, r record, used []int) {
	sent, err := r.play(t)
	all, compared := r.compare(sent, err)
	n.specs++
	n.parameters += compared
	n.deviations += len(all)
	mine, text := false, r.text(t)
	for _, d := range all {
		explained := false
		for i, row := range differences {
			if row.explains(r, text, d) {
				used[i]++
				explained, mine = true, mine || i >= always
			}
		}
		if !explained {
			t.Errorf("%s (%v)", d, err)
		}
	}
	switch {
	case mine:
		n.different++
	case r.Refused:
		n.refused++
	default:
		n.equal++
	}
}

// The table is between these lines of the page.
const (
	tableBegins = "<!-- differences: generated by TestRecordedRequests of providers/openstack/cloud. DO NOT EDIT. -->\n"
	tableEnds   = "<!-- end of differences -->\n"
)

func differencesTable(counted map[string]*tally) string {
	var b strings.Builder
	b.WriteString("| recorded specs | | the same is sent, but for what a server of Millwright always has | both refuse | different on purpose | parameters compared | of which different |\n|---|---|---|---|---|---|---|\n")
	for _, api := range []string{provider.OpenShift, provider.Gardener} {
		n := counted[api]
		fmt.Fprintf(&b, "| `%s` | %d | %d | %d | %d | %d | %d |\n", api, n.specs, n.equal, n.refused, n.different, n.parameters, n.deviations)
	}
	b.WriteString("\n| what | API | the original | Millwright | why |\n|---|---|---|---|---|\n")
	for _, d := range differences {
		api := "both"
		if d.api != "" {
			api = "`" + d.api + "`"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", d.what, api, d.original, d.here, d.why)
	}
	return b.String()
}

// holdPage holds a part of a page to a text.
func holdPage(t *testing.T, file, text string) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(raw), tableBegins)
	has, after, ends := strings.Cut(rest, tableEnds)
	if !begins || !ends {
		t.Fatalf("%s has no place for the table", file)
	}
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, []byte(before+tableBegins+"\n"+text+"\n"+tableEnds+after), 0o644); err != nil { //nolint:gosec // a page of the repository
			t.Fatal(err)
		}
		return
	}
	if strings.TrimSpace(has) != strings.TrimSpace(text) {
		t.Errorf("%s is not what was compared: UPDATE_GOLDEN=1 go test -run %s . in this folder", file, t.Name())
	}
}
