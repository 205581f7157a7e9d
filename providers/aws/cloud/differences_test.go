package cloud_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/provider"
)

// How a provider may differ from the original.
const (
	adds  = "adds"       // it sends what the original does not
	omits = "leaves out" // it does not send what the original does
	makes = "makes"      // it makes what the original refuses
)

// difference is a row of what is different on purpose.
type difference struct {
	api, how string
	// key matches "<operation> <parameter>" as a regular expression; has is in the spec, and one of lacks, which | separates, is not.
	key, has, lacks string
	// what, original, here and why are for people: where, what either does, and the reason.
	what, original, here, why string
}

// differences are all that is different on purpose. A row that no recorded case needs any more is a failure.
var differences = []difference{
	{
		"", adds, `^(RunInstances|AllocateHosts) Tag\.[a-z-]+\.millwright\.dev/(machine-uid|machine-namespace|machine-role|dedicated-host)$`, ``, ``,
		"tags", "writes those of the spec, of the cluster, and `Name`", "writes the machine's UID and namespace, its role, and the host that was allocated for it as well",
		"Millwright finds an instance by the UID of its machine. Another machine may have the same name later",
	},
	{
		"", omits, `^RunInstances Tag\.[a-z-]+\.millwright\.dev/`, `"millwright.dev/`, ``,
		"tags of the spec that begin with `millwright.dev/`", "writes them", "does not", "Millwright reads from them to which machine an instance belongs",
	},
	{
		provider.Gardener, adds, `^RunInstances Tag\.[a-z-]+\.kubernetes\.io/cluster/c1$`, `"xkubernetes.io/cluster/`, ``,
		"a tag in whose key `kubernetes.io/cluster/` is not at the beginning", "accepts it in the place of the cluster's tag", "accepts it, and tags the instance with the cluster's name as well", "other programs find instances by the tag of their cluster",
	},
	{
		provider.OpenShift, adds, `^RunInstances Placement\.(AvailabilityZone|GroupName|PartitionNumber)$`, `"host":`, ``,
		"`placement.host`", "leaves out zone, placement group and partition", "sends them", "the spec has them. EC2 refuses an instance that cannot be there, instead of creating it elsewhere",
	},
	{
		provider.Gardener, adds, `^RunInstances BlockDeviceMapping\.\d+\.Ebs\.KmsKeyId$`, `"kmsKeyID":`, ``,
		"`blockDevices[].ebs.kmsKeyID`", "does not send it: the disk is encrypted with the account's default key", "sends it where `encrypted` is set",
		"the class names the key. The machine fails where that key may not be used ([rights](aws-policy.json))",
	},
	{provider.Gardener, adds, `^RunInstances Monitoring\.Enabled$`, `"monitoring":true`, ``, "`monitoring`", "does not send it", "sends it", "the class asks for it. AWS has a price for it"},
	{provider.Gardener, adds, `^RunInstances EbsOptimized$`, `"ebsOptimized":true`, ``, "`ebsOptimized`", "does not send it", "sends it", "the class asks for it. Only older types leave the choice"},
	{
		provider.Gardener, adds, `^RunInstances InstanceMarketOptions\.MarketType$`, `"isMLCapacityBlock":true`, ``,
		"`capacityReservation.isMLCapacityBlock`", "does not know it any more", "asks for the market `capacity-block`, unless `instanceMarketOptions` or `spotPrice` say otherwise",
		"classes for an older version of the original have it, and EC2 launches into a capacity block only in that market",
	},
	{
		provider.OpenShift, omits, `^RunInstances BlockDeviceMapping\.\d+\.Ebs\.VolumeType$`, `"volumeType":""`, ``,
		"`blockDevices[].ebs.volumeType: \"\"`", "sends it empty", "leaves it out", "EC2 has no type of that name, and has a default",
	},
	{
		provider.Gardener, omits, `^RunInstances NetworkInterface\.\d+\.InterfaceType$`, `"interfaceType":""`, ``,
		"`networkInterfaces[].interfaceType: \"\"`", "sends it empty", "leaves it out", "the API of EC2 has no type of that name",
	},
	{
		provider.Gardener, omits, `^RunInstances BlockDeviceMapping\.\d+\.Ebs\.Encrypted$`, `"snapshotID":`, ``,
		"`blockDevices[].ebs.snapshotID` without `encrypted`", "sends `Encrypted=false`", "leaves it out", "the disk is encrypted if its snapshot is. EC2 refuses `false` with an encrypted snapshot",
	},
	{
		provider.Gardener, makes, ``, ``, `"blockDevices":[{`,
		"no `blockDevices`", "refuses it as it creates the instance", "creates the instance with the disks of its image", "EC2 accepts it, and so does the validation of the original",
	},
	{provider.Gardener, makes, ``, `"volumeType":"io2"`, ``, "`blockDevices[].ebs.volumeType: io2`", "refuses it", "sends it", "EC2 has volumes of that type, with the same fields as `io1`"},
	{
		provider.Gardener, makes, ``, ``, `"kubernetes.io/cluster/|"kubernetes.io/role/`,
		"no tag `kubernetes.io/cluster/…` or `kubernetes.io/role/…`", "refuses the class", "tags the instance with the cluster's name", "instances are listed by the cluster's name in that case",
	},
}

// explains reports whether the row is about a deviation of a case.
func (row difference) explains(r record, d deviation) bool {
	if row.api != "" && row.api != r.api || !strings.Contains(string(r.Spec), row.has) {
		return false
	}
	missing := func(text string) bool { return text != "" && !strings.Contains(string(r.Spec), text) }
	if row.lacks != "" && !slices.ContainsFunc(strings.Split(row.lacks, "|"), missing) {
		return false
	}
	switch row.how {
	case adds:
		return d.original == nil && regexp.MustCompile(row.key).MatchString(d.operation+" "+d.key)
	case omits:
		return d.ours == nil && regexp.MustCompile(row.key).MatchString(d.operation+" "+d.key)
	}
	return d.key == verdict && r.Refused
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
	holdPage(t, "../../../docs/providers/aws.md", differencesTable(counted))
}

// play plays a case, counts it, and counts the rows that it needs.
func (n *tally) play(t *testing.T, r record, used []int) {
	sent, err := r.play(t)
	all, compared := r.compare(sent, err)
	n.specs++
	n.parameters += compared
	n.deviations += len(all)
	mine := false
	for _, d := range all {
		explained := false
		for i, row := range differences {
			if row.explains(r, d) {
				used[i]++
				explained, mine = true, mine || i > 0
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
	tableBegins = "<!-- differences: generated by TestRecordedRequests of providers/aws/cloud. DO NOT EDIT. -->\n"
	tableEnds   = "<!-- end of differences -->\n"
)

func differencesTable(counted map[string]*tally) string {
	var b strings.Builder
	b.WriteString("| recorded specs | | the same is sent, but for Millwright's tags | both refuse | different on purpose | parameters compared | of which different |\n|---|---|---|---|---|---|---|\n")
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
