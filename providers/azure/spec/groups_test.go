package spec_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/provider/admissiontest"
	"github.com/millwright-dev/millwright/providers/azure/spec"
)

// secured is a patch with a security profile and an encryption type of the OS disk; either may be empty.
func secured(profile, encryption string) string {
	if profile == "" {
		profile = "null"
	}
	return fmt.Sprintf(`{"securityProfile": %s, "osDisk": {"managedDisk": {"securityProfile": {"securityEncryptionType": %q}}}}`, profile, encryption)
}

// confidential is a profile of the type ConfidentialVM, launch one with settings of trustedLaunch.
func confidential(uefi string) string {
	return fmt.Sprintf(`{"settings": {"securityType": "ConfidentialVM", "confidentialVM": {"uefiSettings": {%s}}}}`, uefi)
}

func launch(securityType, uefi string) string {
	return fmt.Sprintf(`{"settings": {"securityType": %q, "trustedLaunch": {"uefiSettings": {%s}}}}`, securityType, uefi)
}

const (
	settings   = "securityProfile.settings."
	vTPM       = `"virtualizedTrustedPlatformModule": "Enabled"`
	secureBoot = `"secureBoot": "Enabled"`
)

var securityRows = []row{
	{"securityProfile/none", "there is nothing to judge", secured("", ""), nil},
	{"securityProfile/encryption type without profile", "only confidential machines have one", secured("", "VMGuestStateOnly"), []string{required + "securityProfile"}},
	{"securityProfile/empty", "there is nothing to judge", secured("{}", ""), nil},
	{"securityProfile/encryptionAtHost", "any machine may have it", secured(`{"encryptionAtHost": true}`, ""), nil},
	{"ConfidentialVM/VMGuestStateOnly", "vTPM is enough", secured(confidential(vTPM), "VMGuestStateOnly"), nil},
	{"ConfidentialVM/DiskWithVMGuestState", "vTPM and secure boot", secured(confidential(vTPM+","+secureBoot), "DiskWithVMGuestState"), nil},
	{
		"ConfidentialVM/no securityEncryptionType", "what is encrypted is not said", secured(confidential(vTPM), ""),
		[]string{required + "osDisk.managedDisk.securityProfile.securityEncryptionType"},
	},
	{
		"ConfidentialVM/no confidentialVM", "what is enabled is not said", secured(`{"settings": {"securityType": "ConfidentialVM"}}`, "VMGuestStateOnly"),
		[]string{required + settings + "confidentialVM"},
	},
	{
		"ConfidentialVM/no vTPM", "the state is kept there", secured(confidential(secureBoot), "VMGuestStateOnly"),
		[]string{invalid + settings + "confidentialVM.uefiSettings.virtualizedTrustedPlatformModule"},
	},
	{
		"ConfidentialVM/vTPM Disabled", "the state is kept there", secured(confidential(`"virtualizedTrustedPlatformModule": "Disabled"`), "VMGuestStateOnly"),
		[]string{invalid + settings + "confidentialVM.uefiSettings.virtualizedTrustedPlatformModule"},
	},
	{
		"DiskWithVMGuestState/no secureBoot", "it needs both", secured(confidential(vTPM), "DiskWithVMGuestState"),
		[]string{invalid + settings + "confidentialVM.uefiSettings.secureBoot"},
	},
	{
		"DiskWithVMGuestState/encryptionAtHost", "it would be encrypted twice",
		secured(`{"encryptionAtHost": true,`+confidential(vTPM + "," + secureBoot)[1:], "DiskWithVMGuestState"),
		[]string{invalid + "securityProfile.encryptionAtHost"},
	},
	{"DiskWithVMGuestState/encryptionAtHost false", "it is encrypted once", secured(`{"encryptionAtHost": false,`+confidential(vTPM + "," + secureBoot)[1:], "DiskWithVMGuestState"), nil},
	{"VMGuestStateOnly/encryptionAtHost", "the disk is encrypted by the host", secured(`{"encryptionAtHost": true,`+confidential(vTPM)[1:], "VMGuestStateOnly"), nil},
	{"TrustedLaunch/with trustedLaunch", "nothing has to be enabled", secured(launch("TrustedLaunch", ""), ""), nil},
	{"TrustedLaunch/no trustedLaunch", "what is enabled is not said", secured(`{"settings": {"securityType": "TrustedLaunch"}}`, ""), []string{required + settings + "trustedLaunch"}},
	{"TrustedLaunch/with encryption type", "the original lets it through", secured(launch("TrustedLaunch", vTPM), "VMGuestStateOnly"), nil},
	{"encryption type without ConfidentialVM", "only confidential machines have one", secured("{}", "VMGuestStateOnly"), []string{invalid + settings + "securityType"}},
	{"encryption type with another type", "only confidential machines have one", secured(`{"settings": {"securityType": "X"}}`, "VMGuestStateOnly"), []string{invalid + settings + "securityType"}},
	{"another type", "the original lets it through", secured(`{"settings": {"securityType": "X"}}`, ""), nil},
	{"trustedLaunch/secureBoot without TrustedLaunch", "it would have no effect", secured(launch("", secureBoot), ""), []string{invalid + settings + "securityType"}},
	{"trustedLaunch/vTPM without TrustedLaunch", "it would have no effect", secured(launch("", vTPM), ""), []string{invalid + settings + "securityType"}},
	{"trustedLaunch/nothing enabled without TrustedLaunch", "there is no effect to miss", secured(launch("", `"secureBoot": "Disabled"`), ""), nil},
}

// disks is a patch with valid data disks, each with the given changes.
func disks(given ...string) string {
	for i := range given {
		given[i] = fmt.Sprintf(`{"nameSuffix": "s%d", "diskSizeGB": 4, "lun": %d, "deletionPolicy": "Delete"`, i, i) + given[i] + "}"
	}
	return `{"dataDisks": [` + strings.Join(given, ",") + `]}`
}

// Of a machine named m, 78 characters give a name of 80.
var longest = strings.Repeat("s", 78)

var dataDiskRows = []row{
	{"dataDisks/two", "nothing is wrong with them", disks("", ""), nil},
	{"dataDisks/name of 80", "the most", disks(`, "nameSuffix": "` + longest + `"`), nil},
	{"dataDisks/name of 81", "above the most", disks(`, "nameSuffix": "s` + longest + `"`), []string{invalid + "dataDisks[0].nameSuffix"}},
	{"dataDisks/nameSuffix missing", "a disk has a name", disks(`, "nameSuffix": ""`), []string{invalid + "dataDisks[0].nameSuffix"}},
	{"dataDisks/nameSuffix of one letter", "the least", disks(`, "nameSuffix": "a"`), nil},
	{"dataDisks/nameSuffix a.b_c-1", "all signs that there are", disks(`, "nameSuffix": "a.b_c-1"`), nil},
	{"dataDisks/nameSuffix begins with _", "a letter or digit is at either end", disks(`, "nameSuffix": "_a"`), []string{invalid + "dataDisks[0].nameSuffix"}},
	{"dataDisks/nameSuffix ends with -", "a letter or digit is at either end", disks(`, "nameSuffix": "a-"`), []string{invalid + "dataDisks[0].nameSuffix"}},
	{"dataDisks/nameSuffix with $", "no sign that there is", disks(`, "nameSuffix": "a$b"`), []string{invalid + "dataDisks[0].nameSuffix"}},
	{"dataDisks/nameSuffix ends a line", "no sign that there is", disks(`, "nameSuffix": "a\n"`), []string{invalid + "dataDisks[0].nameSuffix"}},
	{"dataDisks/nameSuffix twice", "disks have names of their own", disks("", `, "nameSuffix": "s0"`), []string{invalid + "dataDisks[1].nameSuffix"}},
	{"dataDisks/diskSizeGB 3", "below the least", disks("", `, "diskSizeGB": 3`), []string{invalid + "dataDisks[1].diskSizeGB"}},
	{"dataDisks/lun -1", "below the least", disks(`, "lun": -1`), []string{invalid + "dataDisks[0].lun"}},
	{"dataDisks/lun 63", "the most", disks(`, "lun": 63`), nil},
	{"dataDisks/lun 64", "above the most", disks(`, "lun": 64`), []string{invalid + "dataDisks[0].lun"}},
	{"dataDisks/lun twice", "disks have units of their own", disks("", `, "lun": 0`), []string{invalid + "dataDisks[1].lun"}},
	{"dataDisks/deletionPolicy Detach", "a value that is there", disks(`, "deletionPolicy": "Detach"`), nil},
	{"dataDisks/deletionPolicy missing", "nobody guesses what becomes of data", disks(`, "deletionPolicy": ""`), []string{required + "dataDisks[0].deletionPolicy"}},
	{"dataDisks/deletionPolicy other", "no value that is there", disks(`, "deletionPolicy": "Keep"`), []string{invalid + "dataDisks[0].deletionPolicy"}},
	{"dataDisks/UltraSSD_LRS", "it has no cache", disks(`, "managedDisk": {"storageAccountType": "UltraSSD_LRS"}`), nil},
	{"dataDisks/UltraSSD_LRS with None", "it has no cache", disks(`, "managedDisk": {"storageAccountType": "UltraSSD_LRS"}, "cachingType": "None"`), nil},
	{
		"dataDisks/UltraSSD_LRS with ReadOnly", "it has no cache", disks(`, "managedDisk": {"storageAccountType": "UltraSSD_LRS"}, "cachingType": "ReadOnly"`),
		[]string{invalid + "dataDisks[0].cachingType"},
	},
	{"dataDisks/Premium_LRS with ReadOnly", "it has a cache", disks(`, "managedDisk": {"storageAccountType": "Premium_LRS"}, "cachingType": "ReadOnly"`), nil},
	{
		"dataDisks/null", "all that a disk needs is missing", `{"dataDisks": [null]}`,
		[]string{invalid + "dataDisks[0].nameSuffix", invalid + "dataDisks[0].diskSizeGB", required + "dataDisks[0].deletionPolicy"},
	},
}

// TestTemplateDiskNames: a template's machines have no names yet, so that a suffix may be longer.
func TestTemplateDiskNames(t *testing.T) {
	a := admissiontest.Admission(admissiontest.Patched(t, whole, disks(`, "nameSuffix": "s`+longest+`"`)))
	if _, faults := (spec.Admitter{}).Admit(a); len(faults) > 0 {
		t.Errorf("a suffix of 79 characters in a template: %v", faults)
	}
	a.Machine = "a-longer-name"
	if _, faults := (spec.Admitter{}).Admit(a); !slices.Equal(told(faults), []string{invalid + "dataDisks[0].nameSuffix"}) {
		t.Errorf("a suffix of 79 characters of a machine with a name: %v", faults)
	}
}

// TestFaultsAreBounded: the size of the faults does not grow with the spec.
func TestFaultsAreBounded(t *testing.T) {
	list := `{"dataDisks": [{}` + strings.Repeat(`,{}`, 10000) + `], "ultraSSDCapability": "` + strings.Repeat("x", 100000) + `"}`
	_, faults := spec.Admitter{}.Admit(admissiontest.Admission(admissiontest.Patched(t, whole, list)))
	if n := len(faults.ToAggregate().Error()); len(faults) < 50 || len(faults) > 60 || n > 20000 {
		t.Errorf("%d faults in %d bytes", len(faults), n)
	}
}
