package spec_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider/admissiontest"
	"github.com/millwright-dev/millwright/providers/vsphere/spec"
)

// whole is a spec without faults and warnings.
const whole = `{"apiVersion":"machine.openshift.io/v1beta1","kind":"VSphereMachineProviderSpec","template":"rhcos",
	"workspace":{"server":"vc.example","datacenter":"DC0","folder":"/DC0/vm/c1"},"network":{"devices":[{"networkName":"DC0_DVPG0"}]},
	"numCPUs":2,"numCoresPerSocket":1,"memoryMiB":2048,"diskGiB":120,
	"userDataSecret":{"name":"worker-user-data"},"credentialsSecret":{"name":"vsphere-cloud-credentials"}}`

const urn = "urn:vmomi:InventoryServiceTag:5736bf56-49f5-4667-b38c-b97e09dc9578:GLOBAL"

type row struct {
	reason, patch string
	faults        []string
}

// judge runs rows, each on the whole spec with its patch.
func judge(t *testing.T, rows []row) {
	t.Helper()
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			_, faults := spec.Admitter{}.Admit(admissiontest.Admission(admissiontest.Patched(t, whole, r.patch)))
			admissiontest.Same(t, r.patch, admissiontest.Words(t, faults), r.faults)
		})
	}
}

// The rows are those of section 6.6 of the notes on the original.
func TestAdmitRequired(t *testing.T) {
	judge(t, []row{
		{"the whole spec is admitted", `{}`, nil},
		{"template: empty", `{"template":""}`, []string{"template Required"}},
		{"userDataSecret: left out", `{"userDataSecret":null}`, []string{"userDataSecret Required"}},
		{"userDataSecret.name: empty", `{"userDataSecret":{"name":""}}`, []string{"userDataSecret.name Required"}},
		{"credentialsSecret: left out", `{"credentialsSecret":null}`, []string{"credentialsSecret Required"}},
		{"credentialsSecret.name: empty", `{"credentialsSecret":{"name":""}}`, []string{"credentialsSecret.name Required"}},
	})
}

func TestAdmitWorkspace(t *testing.T) {
	folder := []string{"workspace.folder Invalid"}
	judge(t, []row{
		{"workspace: nil", `{"workspace":null}`, []string{"workspace Required"}},
		{"workspace.server: empty", `{"workspace":{"server":""}}`, []string{"workspace.server Required"}},
		{"workspace.folder: left out", `{"workspace":{"folder":null}}`, nil},
		{"workspace.folder: of the datacenter", `{"workspace":{"folder":"/DC0/vm/"}}`, nil},
		{"workspace.folder: of another datacenter", `{"workspace":{"folder":"/DC1/vm/c1"}}`, folder},
		{"workspace.folder: relative", `{"workspace":{"folder":"c1"}}`, folder},
		{"workspace.folder: all of the datacenter", `{"workspace":{"folder":"/DC0/vm"}}`, folder},
		{"workspace.folder: no folder of machines", `{"workspace":{"folder":"/DC0/host/c1"}}`, folder},
		{"workspace.folder: without a datacenter", `{"workspace":{"datacenter":null}}`, folder},
	})
}

func TestAdmitVMGroup(t *testing.T) {
	for _, r := range []struct {
		reason, group string
		gates         map[string]bool
		faults        []string
	}{
		{"80 characters", strings.Repeat("x", 80), map[string]bool{spec.GateVMGroup: true}, nil},
		{"80 characters of more bytes", strings.Repeat("ü", 80), map[string]bool{spec.GateVMGroup: true}, nil},
		{"81 characters", strings.Repeat("x", 81), map[string]bool{spec.GateVMGroup: true}, []string{"workspace.vmGroup Invalid"}},
		{"set while the gate is off", "group", map[string]bool{}, []string{"workspace.vmGroup Forbidden"}},
		{"set while the gate is off by name", "group", map[string]bool{spec.GateVMGroup: false}, []string{"workspace.vmGroup Forbidden"}},
		{"set while gates are not known: the gate is on unless it is put off", "group", nil, nil},
		{"left out while the gate is off", "", map[string]bool{}, nil},
	} {
		t.Run(r.reason, func(t *testing.T) {
			a := admissiontest.Admission(admissiontest.Patched(t, whole, `{"workspace":{"vmGroup":"`+r.group+`"}}`))
			a.Platform.Gates = r.gates
			_, faults := spec.Admitter{}.Admit(a)
			admissiontest.Same(t, r.reason, admissiontest.Words(t, faults), r.faults)
		})
	}
}

func TestAdmitLists(t *testing.T) {
	devices := func(n int) string {
		return `{"network":{"devices":` + admissiontest.List(n, `{"networkName":"n"}`) + `}}`
	}
	tags := func(n int, urn string) string { return `{"tagIDs":` + admissiontest.List(n, `"`+urn+`"`) + `}` }
	refused := []string{"tagIDs[0] Invalid"}
	judge(t, []row{
		{"network.devices: 0", devices(0), []string{"network.devices Required"}},
		{"network: left out", `{"network":null}`, []string{"network.devices Required"}},
		{"network.devices: 10", devices(10), nil},
		{"network.devices: 11", devices(11), []string{"network.devices TooMany"}},
		{"network.devices: networkName empty", `{"network":{"devices":[{"networkName":"n"},{},{"networkName":""}]}}`, []string{
			"network.devices[1].networkName Required", "network.devices[2].networkName Required",
		}},
		{"tagIDs: 10", tags(10, urn), nil},
		{"tagIDs: 11", tags(11, urn), []string{"tagIDs TooMany"}},
		{"tagIDs: a category of another name", tags(1, strings.TrimSuffix(urn, "GLOBAL")+"mine"), nil},
		{"tagIDs: capital digits", tags(1, strings.Replace(urn, "bf56", "BF56", 1)), nil},
		{"tagIDs: a display name", tags(1, "mine"), refused},
		{"tagIDs: no UUID", tags(1, "urn:vmomi:InventoryServiceTag:5736bf56:GLOBAL"), refused},
		{"tagIDs: nothing after the UUID", tags(1, strings.TrimSuffix(urn, "GLOBAL")), refused},
		{"tagIDs: a colon after the UUID", tags(1, urn+":x"), refused},
		{"tagIDs: something before it", tags(1, "x"+urn), refused},
		{"tagIDs: of categories", tags(1, strings.Replace(urn, "Tag", "Category", 1)), refused},
	})
}

func TestAdmitDataDisks(t *testing.T) {
	disks := func(n int, name string, size int, mode string) string {
		return `{"dataDisks":` + admissiontest.List(n, fmt.Sprintf(`{"name":%q,"sizeGiB":%d,"provisioningMode":%q}`, name, size, mode)) + `}`
	}
	name, size := []string{"dataDisks[0].name Invalid"}, []string{"dataDisks[0].sizeGiB Invalid"}
	judge(t, []row{
		{"dataDisks: 29", disks(29, "a", 1, ""), nil},
		{"dataDisks: 30", disks(30, "a", 1, ""), []string{"dataDisks TooMany"}},
		{"name: empty", disks(1, "", 1, ""), []string{"dataDisks[0].name Required"}},
		{"name: one character", disks(1, "a", 1, ""), nil},
		{"name: 80 characters", disks(1, strings.Repeat("a", 80), 1, ""), nil},
		{"name: 81 characters", disks(1, strings.Repeat("a", 81), 1, ""), name},
		{"name: hyphens and underscores within", disks(1, "a_-B", 1, ""), nil},
		{"name: begins with a hyphen", disks(1, "-a", 1, ""), name},
		{"name: ends with an underscore", disks(1, "a_", 1, ""), name},
		{"name: a dot", disks(1, "a.b", 1, ""), name},
		{"sizeGiB: 0", disks(1, "a", 0, ""), []string{"dataDisks[0].sizeGiB Required"}},
		{"sizeGiB: 1", disks(1, "a", 1, ""), nil},
		{"sizeGiB: 16384", disks(1, "a", 16384, ""), nil},
		{"sizeGiB: 16385", disks(1, "a", 16385, ""), size},
		{"sizeGiB: a negative one is for vSphere to refuse", disks(1, "a", -1, ""), nil},
		{"provisioningMode: left out", `{"dataDisks":[{"name":"a","sizeGiB":1}]}`, nil},
		{"provisioningMode: Thin", disks(1, "a", 1, "Thin"), nil},
		{"provisioningMode: Thick", disks(1, "a", 1, "Thick"), nil},
		{"provisioningMode: EagerlyZeroed", disks(1, "a", 1, "EagerlyZeroed"), nil},
		{"provisioningMode: not one of them", disks(1, "a", 1, "thin"), []string{"dataDisks[0].provisioningMode NotSupported"}},
		{"each fault of each disk", `{"dataDisks":[{"name":"a","sizeGiB":1},{"provisioningMode":"x"}]}`, []string{
			"dataDisks[1].name Required", "dataDisks[1].sizeGiB Required", "dataDisks[1].provisioningMode NotSupported",
		}},
	})
}

func TestAdmitWarnings(t *testing.T) {
	for _, r := range []struct {
		reason, patch string
		fields        []string
	}{
		{"the whole spec has none", `{}`, nil},
		{"numCPUs: 1", `{"numCPUs":1}`, []string{"numCPUs"}},
		{"numCPUs: left out", `{"numCPUs":null}`, []string{"numCPUs"}},
		{"memoryMiB: 2047", `{"memoryMiB":2047}`, []string{"memoryMiB"}},
		{"memoryMiB: left out", `{"memoryMiB":null}`, []string{"memoryMiB"}},
		{"diskGiB: 119", `{"diskGiB":119}`, []string{"diskGiB"}},
		{"diskGiB: left out", `{"diskGiB":null}`, []string{"diskGiB"}},
		{"linkedClone with diskGiB", `{"cloneMode":"linkedClone"}`, []string{"diskGiB"}},
		{"linkedClone without diskGiB: only that it is small", `{"cloneMode":"linkedClone","diskGiB":0}`, []string{"diskGiB"}},
		{"linkedClone with a small diskGiB: both", `{"cloneMode":"linkedClone","diskGiB":1}`, []string{"diskGiB", "diskGiB"}},
		{"fullClone with diskGiB", `{"cloneMode":"fullClone"}`, nil},
		{"datacenter: empty", `{"workspace":{"datacenter":"","folder":null}}`, []string{"workspace.datacenter"}},
		{"dataDisks: a negative size", `{"dataDisks":[{"name":"a","sizeGiB":-1}]}`, []string{"dataDisks[0].sizeGiB"}},
	} {
		t.Run(r.reason, func(t *testing.T) {
			warnings, faults := spec.Admitter{}.Admit(admissiontest.Admission(admissiontest.Patched(t, whole, r.patch)))
			admissiontest.Same(t, r.patch, admissiontest.Warned(t, warnings), r.fields)
			admissiontest.Same(t, "a warning refuses nothing", admissiontest.Words(t, faults), nil)
		})
	}
}

func TestNoWorkspaceIsOneFault(t *testing.T) {
	warnings, _ := spec.Admitter{}.Admit(admissiontest.Admission(admissiontest.Patched(t, whole, `{"workspace":null}`)))
	admissiontest.Same(t, "warnings about the datacenter of no workspace", warnings, nil)
}

func TestAdmitWhatCannotBeDecoded(t *testing.T) {
	for _, raw := range []string{`[]`, `"x"`, `{`, `{"workspace":[]}`, `{"network":{"devices":{}}}`, `{"numCPUs":"two"}`, `{"template":` + strings.Repeat("[", 20000)} {
		t.Run(raw, func(t *testing.T) {
			warnings, faults := spec.Admitter{}.Admit(admissiontest.Admission([]byte(raw)))
			if len(warnings) != 0 || len(faults) != 1 || faults[0].Field != "providerSpec" || faults[0].Type != field.ErrorTypeInvalid {
				t.Errorf("%.50s: %q, %v", raw, warnings, faults)
			}
		})
	}
}

// The original reads specs as YAML, and providers have created machines from them.
func TestAdmitReadsTolerantly(t *testing.T) {
	judge(t, []row{
		{"numbers and booleans for texts", `{"template":7,"network":{"devices":[{"networkName":100}]},"snapshot":true}`, nil},
		{"a name in another case", `{"template":null,"Template":"rhcos","numcpus":4}`, nil},
		{"a whole number with a point", `{"numCPUs":4.0,"memoryMiB":1e4}`, nil},
		{"unknown fields", `{"shape":[{}],"workspace":{"rack":1}}`, nil},
	})
}

// A list of a million wrong entries gets a limited number of faults.
func TestFaultsAreBounded(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	warnings, faults := spec.Admitter{}.Admit(admissiontest.Admission(admissiontest.Patched(t, whole, `{"workspace":{"folder":"`+long+`","vmGroup":"`+long+`"},
		"network":{"devices":`+admissiontest.List(10000, `{}`)+`},"tagIDs":`+admissiontest.List(10000, `"a"`)+`,"dataDisks":`+admissiontest.List(10000, `{"name":"-","sizeGiB":-1,"provisioningMode":"x"}`)+`}`)))
	if text := faults.ToAggregate().Error() + strings.Join(warnings, ""); len(text) > 20000 {
		t.Errorf("%d bytes in %d faults and %d warnings", len(text), len(faults), len(warnings))
	}
}
