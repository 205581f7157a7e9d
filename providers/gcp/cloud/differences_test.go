package cloud

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

// always is how many of the first differences every instance has.
const always = 4

// differences are all that is different on purpose. A row that no recorded case needs any more is a failure.
var differences = []difference{
	{
		"", adds, `^instance (disks\.\d+\.initializeParams\.)?labels\.millwright-dev-|^instance disks\.\d+\.initializeParams\.diskName$`, ``, ``,
		"labels, and names of disks", "writes the labels of the spec and of the cluster, and leaves names of further disks to Compute Engine", "writes the machine's UID and namespace as well, and names further disks", "Millwright finds an instance and its disks by the UID of their machine. Another machine may have the same name later",
	},
	{
		provider.OpenShift, adds, `^instance shieldedInstanceConfig\.enable\w+$`, ``, ``,
		"`shieldedInstanceConfig`", "leaves out what is off, unless the default is on", "sends what is off", "Compute Engine reads both alike",
	},
	{
		provider.OpenShift, omits, `^instance params$`, ``, ``,
		"no `resourceManagerTags`", "sends `params` without content", "leaves it out", "Compute Engine reads both alike",
	},
	{
		provider.Gardener, adds, `^instance (disks\.\d+\.initializeParams\.)?labels\.kubernetes-io-cluster-c1$`, ``, ``,
		"labels of the cluster", "writes the labels of the spec", "writes `kubernetes-io-cluster-<cluster>` as well", "Millwright lists the instances and disks of a cluster by it, in both APIs",
	},
	{
		"", alters, `^instance (disks\.\d+\.initializeParams\.)?labels\.(millwright-dev-|kubernetes-io-cluster-)`, `"(millwright-dev-|kubernetes-io-cluster-)[^"]*":"x"`, ``,
		"labels of the spec that say whose an instance or a disk is", "writes them", "writes its own value", "Millwright finds instances and disks by them",
	},
	{
		provider.OpenShift, alters, `^instance scheduling\.onHostMaintenance$`, `"onHostMaintenance":"(Migrate|Terminate)"`, ``,
		"`onHostMaintenance`", "sends it as the spec writes it", "sends it in capitals", "the API of Compute Engine has `MIGRATE` and `TERMINATE`",
	},
	{
		provider.OpenShift, adds, `^instance guestAccelerators\.0\.acceleratorCount$`, `"gpus":`, ``,
		"`gpus` without `count`", "sends none", "sends 1", "admission fills in 1 for the same spec",
	},
	{
		"", omits, `^instance disks\.\d+\.initializeParams\.diskType$`, ``, ``,
		"`disks[].type: \"\"`", "sends a path without a name", "leaves it out", "Compute Engine has a default, and refuses such a path",
	},
	{
		"", alters, `^instance networkInterfaces\.\d+\.(network|subnetwork)$`, `"(network|subnetwork)":"(projects/|global/|regions/|https://)`, ``,
		"paths in `networkInterfaces[].network` and `subnetwork`", "puts them behind the path of a name", "uses them as they are", "nothing has a path like that of the original",
	},
	{
		provider.OpenShift, refuses, ``, `"(zone|region|machineType)":(""|null)|"networkInterfaces":(\[\]|null)`, ``,
		"no `zone`, `region`, `machineType` or `networkInterfaces`", "asks for an instance in a path without a name, or of no network", "refuses it, and names the field", "Compute Engine refuses such a request",
	},
	{
		"", refuses, ``, `"serviceAccounts":\[\{.*\},\{|"sizeGb":-|"gpu":\{"acceleratorType":"[^"]*","count":-`, ``,
		"two `serviceAccounts`, or a `sizeGb` or `gpu.count` below 0", "asks Compute Engine, which refuses it", "refuses it, and names the field", "Compute Engine takes one account, and no such number",
	},
	{
		provider.OpenShift, makes, ``, ``, `"boot":true`,
		"no boot disk", "refuses it where `shieldedInstanceConfig` is not set", "asks Compute Engine, which refuses it", "the error names the disk, and costs no further request",
	},
	{
		provider.OpenShift, makes, ``, `"image":"global/images/new"`, ``,
		"paths in `disks[].image` that do not begin with a project", "cannot read them, unless `shieldedInstanceConfig` is set", "uses them as they are", "Compute Engine takes them",
	},
	{
		provider.OpenShift, makes, ``, `"type":"nope"|"gpus":\[.*"machineType":"(n2|a2)-`, ``,
		"`gpus` of a type that the original does not know, or of a machine type that takes none", "refuses them", "asks Compute Engine, which refuses them", "Compute Engine knows which types take GPUs, and new ones need no new version",
	},
	{
		"", makes, ``, `"(gcpMetadata|metadata)":\[null\]`, ``, "`null` in `gcpMetadata` or `metadata`", "ends", "leaves it out", "it says nothing",
	},
	{
		provider.Gardener, adds, `^instance shieldedInstanceConfig(\.\w+)?$`, `"shieldedInstanceConfiguration":\{".*false`, ``,
		"`false` in `shieldedInstanceConfiguration`", "does not send it", "sends it", "the class switches it off, and Compute Engine has `vtpm` and `integrityMonitoring` on where nothing is sent",
	},
	{
		provider.Gardener, adds, `^instance tags(\.items\.\d+)?$`, ``, `"kubernetes-io-cluster-`,
		"no `kubernetes-io-cluster-…` in `tags`", "sends the tags of the spec, and does not find the instance again", "sends `kubernetes-io-cluster-<cluster>` as well", "rules of firewalls and programs of the cluster select instances by it",
	},
	{
		provider.Gardener, omits, `^instance networkInterfaces\.\d+\.aliasIpRanges\.0$`, `"stackType":"IPV4_IPV6"|"useAliasIPs":true`, `"ipCidrRange":"/`,
		"`stackType: IPV4_IPV6` or `useAliasIPs` without `ipCidrRange` and `subnetworkRangeName`", "sends an alias range without content", "leaves it out", "it asks for no address",
	},
	{
		provider.Gardener, alters, `^instance (machineType|disks\.\d+\.initializeParams\.diskType)$`, `"(zone|machineType)":"[^"]*[, ]`, ``,
		"commas and blanks in `zone` and `machineType`", "takes the whole for one name", "takes it for several [choices](#examples), without blanks", "no name has them",
	},
	{
		provider.Gardener, alters, `^instance disks\.\d+\.initializeParams\.sourceImage$`, `"image":"[^/"]+"`, ``,
		"a name in `disks[].image`", "sends the name", "sends the path of the image of that name in the project", "Compute Engine takes paths, and OpenShift's specs have names",
	},
	{
		provider.Gardener, refuses, ``, `"key":"startup-script"`, ``,
		"`startup-script` in `metadata`, besides user data that does not begin with `#cloud-config`", "sends both", "refuses it, and names the field", "the user data has that key too, and Compute Engine takes a key once",
	},
	{
		provider.Gardener, makes, ``, `"machineType":4|"tags":\[1|"labels":\{"a":1|"value":(1|true)`, ``,
		"numbers and booleans where text belongs", "refuses the class", "reads them as text, as the originals of OpenShift do", "what they mean is clear",
	},
	{
		provider.Gardener, makes, ``, `"projectID":"rehearsal"`, ``,
		"a secret whose JSON has no `project_id`, with the key `projectID`", "refuses it", "takes the project of `projectID`", "the secret says which project",
	},
	{
		provider.Gardener, makes, ``, `"serviceAccountJSON":""`, ``,
		"a secret with an empty `serviceAccountJSON`, and with `serviceaccount.json`", "refuses it", "reads `serviceaccount.json`", "an empty key says nothing",
	},
	{
		provider.Gardener, makes, ``, `"quota_project_id"|"credential_source"`, ``,
		"further fields in the JSON of a service account", "refuses the secret", "does not read them", "what is not read has no effect",
	},
	{
		provider.Gardener, refuses, ``, `"client_email":null`, ``,
		"no `client_email` in the JSON of a service account", "asks Google for a token, which refuses it", "refuses the secret, and names the field", "no request is sent for nothing",
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
		empty := d.original == nil || *d.original == "{}" // in the place of which something is sent
		return empty && regexp.MustCompile(row.key).MatchString(d.operation+" "+d.key)
	case alters:
		return d.original != nil && d.ours != nil && regexp.MustCompile(row.key).MatchString(d.operation+" "+d.key)
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
		all, on := recorded(t, api), newStage(t) // the two APIs have machines of the same names
		for _, r := range all {
			t.Run(api+"/"+r.ID, func(t *testing.T) { n.play(t, r, used, on) })
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
	holdPage(t, "../../../docs/providers/gcp.md", differencesTable(counted))
}

// play plays a case, counts it, and counts the rows that it needs.
func (n *tally) play(t *testing.T, r record, used []int, on *stage) {
	sent, err := r.play(t, on)
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
	tableBegins = "<!-- differences: generated by TestRecordedRequests of providers/gcp/cloud. DO NOT EDIT. -->\n"
	tableEnds   = "<!-- end of differences -->\n"
)

func differencesTable(counted map[string]*tally) string {
	var b strings.Builder
	b.WriteString("| recorded specs | | the same is sent, but for Millwright's labels and names of disks | both refuse | different on purpose | parameters compared | of which different |\n|---|---|---|---|---|---|---|\n")
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
