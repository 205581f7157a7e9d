package spec_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/admissiontest"
	"github.com/millwright-dev/millwright/providers/nutanix/spec"
)

// minimal is what a person has to write.
const minimal = `{
	"cluster": {"type": "uuid", "uuid": "c"},
	"image": {"type": "name", "name": "rhcos"},
	"subnets": [{"type": "uuid", "uuid": "s"}],
	"vcpuSockets": 1, "vcpusPerSocket": 1, "memorySize": "2Gi", "systemDiskSize": "20Gi"
}`

// whole has the secrets besides.
const whole = `{
	"cluster": {"type": "uuid", "uuid": "c"},
	"image": {"type": "name", "name": "rhcos"},
	"subnets": [{"type": "uuid", "uuid": "s"}],
	"vcpuSockets": 1, "vcpusPerSocket": 1, "memorySize": "2Gi", "systemDiskSize": "20Gi",
	"userDataSecret": {"name": "u"}, "credentialsSecret": {"name": "c"}
}`

// subnetList is a list of n subnets that differ.
func subnetList(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`{"type":"uuid","uuid":"s%d"}`, i)
	}
	return `{"subnets":[` + strings.Join(list, ",") + `]}`
}

// disk is a list of one data disk, with more fields.
func disk(more string) string {
	return `{"dataDisks":[{"diskSize":"1Gi"` + more + `}]}`
}

func attached(device, adapter string) string {
	return disk(fmt.Sprintf(`,"deviceProperties":{"deviceType":%q,"adapterType":%q,"deviceIndex":1}`, device, adapter))
}

// rule is a change to a whole spec, as a merge patch, and what is said of it.
type rule struct {
	name, change string
	faults       []string // type and path
	reason       string
}

var rules = []rule{
	{"whole", `{}`, nil, "all that is asked for is there"},
	{"unknown field", `{"more":1}`, nil, "what is unknown is the envelope's business"},

	{"cluster missing", `{"cluster":null}`, []string{"Invalid cluster.type"}, "it is required"},
	{"cluster type unknown", `{"cluster":{"type":"UUID"}}`, []string{"Invalid cluster.type"}, "types are told apart by case"},
	{"cluster uuid missing", `{"cluster":{"uuid":null}}`, []string{"Required cluster.uuid"}, "the type asks for it"},
	{"cluster uuid empty", `{"cluster":{"uuid":""}}`, []string{"Required cluster.uuid"}, "empty is missing"},
	{"cluster by name", `{"cluster":{"type":"name","uuid":null,"name":"n"}}`, nil, "a name will do"},
	{"cluster name missing", `{"cluster":{"type":"name"}}`, []string{"Required cluster.name"}, "the uuid is of another type"},
	{"image missing", `{"image":null}`, []string{"Invalid image.type"}, "it is required"},
	{"image name empty", `{"image":{"name":""}}`, []string{"Required image.name"}, "empty is missing"},
	{"image by uuid", `{"image":{"type":"uuid","name":null,"uuid":"u"}}`, nil, "a uuid will do"},

	{"no subnet", `{"subnets":null}`, []string{"Invalid subnets"}, "there is one at least"},
	{"empty subnets", `{"subnets":[]}`, []string{"Invalid subnets"}, "there is one at least"},
	{"32 subnets", subnetList(32), nil, "as many as there may be"},
	{"33 subnets", subnetList(33), []string{"Invalid subnets"}, "one more"},
	{"same subnet", `{"subnets":[{"type":"uuid","uuid":"s"},{"type":"name","name":"s"},{"type":"uuid","uuid":"s"}]}`, []string{"Invalid subnets[2]"}, "a name is no uuid"},
	{"same subnet by name", `{"subnets":[{"type":"name","name":"s"},{"type":"name","name":"s"}]}`, []string{"Invalid subnets[1]"}, "names count too"},
	{"subnets not said", `{"subnets":[{"type":"uuid"},{"type":"uuid"}]}`, []string{"Required subnets[0].uuid", "Required subnets[1].uuid"}, "what is missing is not the same"},
	{"subnet type missing", `{"subnets":[{}]}`, []string{"Invalid subnets[0].type"}, "each has a type"},

	{"no userDataSecret", `{"userDataSecret":null}`, []string{"Required userDataSecret"}, "it is required once defaults are filled in"},
	{"userDataSecret unnamed", `{"userDataSecret":{"name":""}}`, []string{"Required userDataSecret.name"}, "no default replaces it"},
	{"no credentialsSecret", `{"credentialsSecret":null}`, []string{"Required credentialsSecret"}, "it is required once defaults are filled in"},
	{"credentialsSecret unnamed", `{"credentialsSecret":{"name":""}}`, []string{"Required credentialsSecret.name"}, "no default replaces it"},

	{"bootType empty", `{"bootType":""}`, nil, "the infrastructure chooses"},
	{"bootType Legacy", `{"bootType":"Legacy"}`, nil, "one of three"},
	{"bootType UEFI", `{"bootType":"UEFI"}`, nil, "one of three"},
	{"bootType SecureBoot", `{"bootType":"SecureBoot"}`, nil, "one of three"},
	{"bootType unknown", `{"bootType":"uefi"}`, []string{"Invalid bootType"}, "told apart by case"},

	{"project without type", `{"project":{"name":""}}`, nil, "a project is optional"},
	{"project by name", `{"project":{"type":"name","name":"p"}}`, nil, "it has what its type asks for"},
	{"project name missing", `{"project":{"type":"name"}}`, []string{"Required project.name"}, "the type asks for it"},
	{"project type unknown", `{"project":{"type":"x"}}`, []string{"Invalid project.type"}, "uuid or name"},

	{"category of 64 bytes", `{"categories":[{"key":"` + strings.Repeat("k", 64) + `","value":"` + strings.Repeat("v", 64) + `"}]}`, nil, "as long as may be"},
	{"category of 65 bytes", `{"categories":[{"key":"` + strings.Repeat("k", 65) + `","value":"` + strings.Repeat("v", 65) + `"}]}`, []string{"Invalid categories[0].key", "Invalid categories[0].value"}, "one more"},
	{"category empty", `{"categories":[{"key":"k","value":"v"},{}]}`, []string{"Invalid categories[1].key", "Invalid categories[1].value"}, "one byte at least"},

	{"gpu by deviceID", `{"gpus":[{"type":"DeviceID","deviceID":0}]}`, nil, "device 0 is one"},
	{"gpu deviceID missing", `{"gpus":[{"type":"DeviceID","name":"n"}]}`, []string{"Required gpus[0].deviceID"}, "the type asks for it"},
	{"gpu by name", `{"gpus":[{"type":"Name","name":"n"}]}`, nil, "it has what its type asks for"},
	{"gpu name missing", `{"gpus":[{"type":"Name","deviceID":1}]}`, []string{"Required gpus[0].name"}, "the type asks for it"},
	{"gpu name empty", `{"gpus":[{"type":"Name","name":""}]}`, []string{"Required gpus[0].name"}, "empty is missing"},
	{"gpu type unknown", `{"gpus":[{"type":"name","name":"n"}]}`, []string{"Invalid gpus[0].type"}, "told apart by case"},

	{"disk of 1Gi", disk(``), nil, "as small as may be, and nothing else is asked for"},
	{"disk of 1Gi less a byte", `{"dataDisks":[{"diskSize":"1073741823"}]}`, []string{"Invalid dataDisks[0].diskSize"}, "one byte less"},
	{"disk of 1Gi less a part of a byte", `{"dataDisks":[{"diskSize":"1073741823500m"}]}`, nil, "bytes are rounded up"},
	{"disk of 1G", `{"dataDisks":[{"diskSize":"1G"}]}`, []string{"Invalid dataDisks[0].diskSize"}, "1Gi is meant, whatever the type says"},
	{"disk without size", `{"dataDisks":[{}]}`, []string{"Invalid dataDisks[0].diskSize"}, "it is required"},
	{"disk of more than an int64", `{"dataDisks":[{"diskSize":"1e30"}]}`, nil, "there is no maximum"},

	{"disk on SCSI", attached("Disk", "SCSI"), nil, "one of five"},
	{"disk on IDE", attached("Disk", "IDE"), nil, "one of five"},
	{"disk on PCI", attached("Disk", "PCI"), nil, "one of five"},
	{"disk on SATA", attached("Disk", "SATA"), nil, "one of five"},
	{"disk on SPAPR", attached("Disk", "SPAPR"), nil, "one of five"},
	{"disk on anything", attached("Disk", "NVMe"), []string{"Invalid dataDisks[0].deviceProperties.adapterType"}, "not one of five"},
	{"disk on nothing", attached("Disk", ""), []string{"Invalid dataDisks[0].deviceProperties.adapterType"}, "not one of five"},
	{"cdrom on IDE", attached("CDRom", "IDE"), nil, "one of two"},
	{"cdrom on SATA", attached("CDRom", "SATA"), nil, "one of two"},
	{"cdrom on SCSI", attached("CDRom", "SCSI"), []string{"Invalid dataDisks[0].deviceProperties.adapterType"}, "only disks are"},
	{"device unknown", attached("Tape", "SCSI"), []string{"Invalid dataDisks[0].deviceProperties.deviceType"}, "of an unknown device no adapter is judged"},
	{"device missing", attached("", "SCSI"), []string{"Invalid dataDisks[0].deviceProperties.deviceType"}, "no default is filled in"},
	{"index 0", disk(`,"deviceProperties":{"deviceType":"Disk","adapterType":"SCSI"}`), nil, "left out is 0"},
	{"index below 0", disk(`,"deviceProperties":{"deviceType":"Disk","adapterType":"SCSI","deviceIndex":-1}`), []string{"Invalid dataDisks[0].deviceProperties.deviceIndex"}, "indices begin at 0"},

	{"mode Standard", disk(`,"storageConfig":{"diskMode":"Standard"}`), nil, "one of two"},
	{"mode Flash", disk(`,"storageConfig":{"diskMode":"Flash"}`), nil, "one of two"},
	{"mode missing", disk(`,"storageConfig":{}`), []string{"Invalid dataDisks[0].storageConfig.diskMode"}, "no default is filled in"},
	{"container by uuid", disk(`,"storageConfig":{"diskMode":"Flash","storageContainer":{"type":"uuid","uuid":"u"}}`), nil, "the only type there is"},
	{"container uuid missing", disk(`,"storageConfig":{"diskMode":"Flash","storageContainer":{"type":"uuid"}}`), []string{"Required dataDisks[0].storageConfig.storageContainer.uuid"}, "the type asks for it"},
	{"container by name", disk(`,"storageConfig":{"diskMode":"Flash","storageContainer":{"type":"name","uuid":"u"}}`), []string{"Invalid dataDisks[0].storageConfig.storageContainer.type"}, "not for containers"},
	{"source by uuid", disk(`,"dataSource":{"type":"uuid","uuid":"u"}`), nil, "it has what its type asks for"},
	{"source by name", disk(`,"dataSource":{"type":"name","name":"n"}`), nil, "it has what its type asks for"},
	{"source name missing", disk(`,"dataSource":{"type":"name"}`), []string{"Required dataDisks[0].dataSource.name"}, "the type asks for it"},
	{"source type missing", disk(`,"dataSource":{}`), []string{"Invalid dataDisks[0].dataSource.type"}, "uuid or name"},

	{"names in another case", `{"cluster":null,"Cluster":{"Type":"uuid","UUID":"c"}}`, nil, "the original reads them"},
	{"long numbers for texts", `{"subnets":[{"type":"name","name":9007199254740992},{"type":"name","name":9007199254740993}]}`, nil, "no digit is lost"},
	{"a number for a text", `{"image":{"name":4}}`, nil, "the original reads it"},
}

func TestFaults(t *testing.T) {
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			raw := admissiontest.Patched(t, whole, r.change)
			warnings, faults := spec.Admitter{}.Admit(admissiontest.Admission(raw))
			if got, want := listed(faults), r.faults; !slices.Equal(got, want) {
				t.Errorf("%q are the faults, want %q: %s", got, want, r.reason)
			}
			if len(warnings) > 0 {
				t.Errorf("warns %q", warnings)
			}
		})
	}
}

// listed is type and path of each fault, without the beginning that they all have.
func listed(faults field.ErrorList) (out []string) {
	kinds := map[field.ErrorType]string{field.ErrorTypeRequired: "Required", field.ErrorTypeInvalid: "Invalid"}
	for _, f := range faults {
		out = append(out, kinds[f.Type]+" "+strings.TrimPrefix(f.Field, "providerSpec."))
	}
	return out
}

func TestWarnings(t *testing.T) {
	for _, r := range []struct{ name, change, warning, reason string }{
		{"vcpuSockets 0", `{"vcpuSockets":0}`, "providerSpec.vcpuSockets: 0 is less than 1", "one at least"},
		{"vcpusPerSocket 0", `{"vcpusPerSocket":null}`, "providerSpec.vcpusPerSocket: 0 is less than 1", "missing is 0"},
		{"vcpuSockets -1", `{"vcpuSockets":-1}`, "providerSpec.vcpuSockets: -1 is less than 1", "the original refuses it no more than 0"},
		{"memory of 2047Mi", `{"memorySize":"2047Mi"}`, "providerSpec.memorySize: 2047Mi is less than 2Gi", "2048Mi at least"},
		{"memory of 2048Mi", `{"memorySize":"2048Mi"}`, "", "as small as may be"},
		{"no memory", `{"memorySize":null}`, "providerSpec.memorySize: 0 is less than 2Gi", "missing is 0"},
		{"system disk of 20G", `{"systemDiskSize":"20G"}`, "providerSpec.systemDiskSize: 20G is less than 20Gi", "20Gi at least"},
		{"system disk of 20Gi", `{"systemDiskSize":"20Gi"}`, "", "as small as may be"},
	} {
		t.Run(r.name, func(t *testing.T) {
			raw := admissiontest.Patched(t, whole, r.change)
			warnings, faults := spec.Admitter{}.Admit(admissiontest.Admission(raw))
			if len(faults) > 0 {
				t.Errorf("is refused: %v", faults)
			}
			said := strings.Join(warnings, "\n")
			if (said == "") != (r.warning == "") || !strings.HasPrefix(said, r.warning) || len(warnings) > 1 {
				t.Errorf("warns %q, want %q: %s", said, r.warning, r.reason)
			}
		})
	}
}

func TestUndecodable(t *testing.T) {
	for _, raw := range []string{
		``, `[]`, `"x"`, `{`, `kind: x`, `{"cluster":1}`, `{"subnets":{}}`, `{"vcpuSockets":"1"}`, `{"memorySize":"big"}`,
		`{"memorySize":"1e999999999"}`, `{"MemorySize":"1e999999999","memorySize":"2Gi"}`, `{"dataDisks":[{},{"diskSize":"1\u0065999999"}]}`, `{"systemDiskSize":"` + strings.Repeat("9", 101) + `"}`,
	} {
		warnings, faults := spec.Admitter{}.Admit(admissiontest.Admission([]byte(raw)))
		if len(faults) != 1 || faults[0].Field != "providerSpec" || faults[0].Type != field.ErrorTypeInvalid || len(warnings) > 0 {
			t.Errorf("%s: faults %v and warnings %q, want one fault of the whole", raw, faults, warnings)
		}
		if _, err := (spec.Admitter{}).Default(admissiontest.Admission([]byte(raw))); provider.KindOf(err) != provider.Invalid {
			t.Errorf("%s: Default says %v, want that it is Invalid", raw, err)
		}
	}
	_, faults := spec.Admitter{}.Admit(admissiontest.Admission([]byte(`{"cluster":"` + strings.Repeat("x", 1<<20) + `"}`)))
	if said := faults.ToAggregate().Error(); len(said) > 1<<10 {
		t.Errorf("%d bytes are said of a long spec", len(said))
	}
}
