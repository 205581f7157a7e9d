package spec_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider/admissiontest"
	"github.com/millwright-dev/millwright/provider/admit"
	"github.com/millwright-dev/millwright/providers/azure/spec"
)

// whole is a spec without faults.
const whole = `{"apiVersion": "machine.openshift.io/v1beta1", "kind": "AzureMachineProviderSpec", "location": "eastus", "vmSize": "Standard_D4s_V3",
	"image": {"resourceID": "/resourceGroups/c1-rg/providers/Microsoft.Compute/galleries/gallery_c1/images/c1-gen2/versions/latest"},
	"osDisk": {"osType": "Linux", "diskSizeGB": 128, "managedDisk": {"storageAccountType": "Premium_LRS"}},
	"subnet": "c1-worker-subnet", "vnet": "c1-vnet", "zone": "1", "publicIP": false, "userDataSecret": {"name": "worker-user-data"},
	"credentialsSecret": {"name": "azure-cloud-credentials", "namespace": "openshift-machine-api"}}`

// row is a row of the table of rules, or one of its bounds.
type row struct {
	name   string
	reason string
	patch  string   // merged into whole
	faults []string // type and path below providerSpec
}

const (
	required  = "FieldValueRequired "
	invalid   = "FieldValueInvalid "
	forbidden = "FieldValueForbidden "
)

func TestAdmit(t *testing.T) {
	for _, r := range slices.Concat(
		[]row{{"whole", "nothing is wrong with it", `{}`, nil}},
		plainRows, imageRows, diskRows, reservationRows, securityRows, dataDiskRows, diagnosticsRows,
	) {
		t.Run(r.name, func(t *testing.T) {
			a := admit.Request{Spec: admissiontest.Patched(t, whole, r.patch), Path: field.NewPath("providerSpec"), Machine: "m"}
			warnings, faults := spec.Admitter{}.Admit(a)
			if got := told(faults); !slices.Equal(got, r.faults) {
				t.Errorf("got %q, want %q: %s", got, r.faults, r.reason)
			}
			if len(warnings) > 0 {
				t.Errorf("warnings %q", warnings)
			}
		})
	}
}

var plainRows = []row{
	{"vmSize/empty", "there is no machine without a size", `{"vmSize": ""}`, []string{required + "vmSize"}},
	{"publicIP/with a public zone", "the cluster can be reached from outside", `{"publicIP": true}`, nil},
	{"vnet without subnet", "they go together", `{"subnet": null}`, []string{required + "subnet"}},
	{"subnet without vnet", "they go together", `{"vnet": ""}`, []string{required + "vnet"}},
	{"neither vnet nor subnet", "the original lets it through", `{"vnet": null, "subnet": null}`, nil},
	{"userDataSecret/missing", "a machine without it cannot join", `{"userDataSecret": null}`, []string{required + "userDataSecret"}},
	{"userDataSecret.name/missing", "a machine without it cannot join", `{"userDataSecret": {"name": null}}`, []string{required + "userDataSecret.name"}},
	{"credentialsSecret/missing", "Azure has to be asked as somebody", `{"credentialsSecret": null}`, []string{required + "credentialsSecret"}},
	{"credentialsSecret.name/empty", "Azure has to be asked as somebody", `{"credentialsSecret": {"name": ""}}`, []string{required + "credentialsSecret.name"}},
	{
		"credentialsSecret/empty", "both parts are needed", `{"credentialsSecret": {"name": "", "namespace": ""}}`,
		[]string{required + "credentialsSecret.namespace", required + "credentialsSecret.name"},
	},
	{"ultraSSDCapability/Enabled", "a value that is there", `{"ultraSSDCapability": "Enabled"}`, nil},
	{"ultraSSDCapability/Disabled", "a value that is there", `{"ultraSSDCapability": "Disabled"}`, nil},
	{"ultraSSDCapability/other", "no value that is there", `{"ultraSSDCapability": "enabled"}`, []string{invalid + "ultraSSDCapability"}},
	{"unknown field", "the webhook warns of it, and the original accepts it", `{"zones": ["1"]}`, nil},
	{"zone/number", "the original reads numbers as text", `{"zone": 1, "tags": {"a": true}}`, nil},
	{"names in another case", "the original reads them", `{"vmSize": null, "VMSIZE": "x"}`, nil},
	{"diskSizeGB/1.28e2", "the original reads it as 128", `{"osDisk": {"diskSizeGB": 1.28e2}}`, nil},
	{"spotVMOptions.maxPrice/no quantity", "it cannot be decoded", `{"spotVMOptions": {"maxPrice": "cheap"}}`, []string{invalid}},
	{"tags/list", "it cannot be decoded", `{"tags": ["a"]}`, []string{invalid}},
}

var imageRows = []row{
	{"image/empty", "there is no machine without an image", `{"image": null}`, []string{required + "image"}},
	{"image/all four", "an image of the Marketplace", `{"image": {"resourceID": "", "offer": "o", "publisher": "p", "sku": "s", "version": "v", "type": "MarketplaceNoPlan"}}`, nil},
	{"image/resourceID with offer", "one of them is not meant", `{"image": {"offer": "o"}}`, []string{required + "image.resourceID"}},
	{"image/resourceID with type", "the original refuses it", `{"image": {"type": "ID"}}`, []string{required + "image.resourceID"}},
	{
		"image/type alone", "it names no image", `{"image": {"resourceID": null, "type": "ID"}}`,
		[]string{required + "image.offer", required + "image.publisher", required + "image.sku", required + "image.version"},
	},
	{"image/no offer", "all four are needed", `{"image": {"resourceID": "", "publisher": "p", "sku": "s", "version": "v"}}`, []string{required + "image.offer"}},
	{"image/no publisher", "all four are needed", `{"image": {"resourceID": "", "offer": "o", "sku": "s", "version": "v"}}`, []string{required + "image.publisher"}},
	{"image/no sku", "all four are needed", `{"image": {"resourceID": "", "offer": "o", "publisher": "p", "version": "v"}}`, []string{required + "image.sku"}},
	{"image/no version", "all four are needed", `{"image": {"resourceID": "", "offer": "o", "publisher": "p", "sku": "s"}}`, []string{required + "image.version"}},
}

var diskRows = []row{
	{"osDisk.diskSizeGB/-1", "below the least", `{"osDisk": {"diskSizeGB": -1}}`, []string{invalid + "osDisk.diskSizeGB"}},
	{"osDisk.diskSizeGB/0", "below the least, or left out", `{"osDisk": {"diskSizeGB": 0}}`, []string{invalid + "osDisk.diskSizeGB"}},
	{"osDisk.diskSizeGB/1", "the least", `{"osDisk": {"diskSizeGB": 1}}`, nil},
	{"osDisk.diskSizeGB/32767", "the most", `{"osDisk": {"diskSizeGB": 32767}}`, nil},
	{"osDisk.diskSizeGB/32768", "above the most", `{"osDisk": {"diskSizeGB": 32768}}`, []string{invalid + "osDisk.diskSizeGB"}},
	{"osDisk.cachingType/None", "a value that is there", `{"osDisk": {"cachingType": "None"}}`, nil},
	{"osDisk.cachingType/ReadOnly", "a value that is there", `{"osDisk": {"cachingType": "ReadOnly"}}`, nil},
	{"osDisk.cachingType/ReadWrite", "a value that is there", `{"osDisk": {"cachingType": "ReadWrite"}}`, nil},
	{"osDisk.cachingType/other", "no value that is there", `{"osDisk": {"cachingType": "Some"}}`, []string{invalid + "osDisk.cachingType"}},
	{"ephemeralStorageLocation/Local", "cached for reading", `{"osDisk": {"cachingType": "ReadOnly", "diskSettings": {"ephemeralStorageLocation": "Local"}}}`, nil},
	{
		"ephemeralStorageLocation/other", "no value that is there", `{"osDisk": {"diskSettings": {"ephemeralStorageLocation": "local"}}}`,
		[]string{invalid + "osDisk.diskSettings.ephemeralStorageLocation"},
	},
	{"ephemeralStorageLocation/Local without caching", "it has to be ReadOnly", `{"osDisk": {"diskSettings": {"ephemeralStorageLocation": "Local"}}}`, []string{invalid + "osDisk.cachingType"}},
	{
		"ephemeralStorageLocation/Local with ReadWrite", "it has to be ReadOnly",
		`{"osDisk": {"cachingType": "ReadWrite", "diskSettings": {"ephemeralStorageLocation": "Local"}}}`,
		[]string{invalid + "osDisk.cachingType"},
	},
	{
		"ephemeralStorageLocation/Local with other", "two things are wrong", `{"osDisk": {"cachingType": "Some", "diskSettings": {"ephemeralStorageLocation": "Local"}}}`,
		[]string{invalid + "osDisk.cachingType", invalid + "osDisk.cachingType"},
	},
}

// reservation is a patch with a capacityReservationGroupID.
func reservation(id string) string { return fmt.Sprintf(`{"capacityReservationGroupID": %q}`, id) }

var noReservation = []string{invalid + "capacityReservationGroupID"}

const ofCompute = "/providers/Microsoft.Compute/capacityReservationGroups/g"

var reservationRows = []row{
	{"capacityReservationGroupID/empty", "left out", reservation(""), nil},
	{"capacityReservationGroupID/of a group", "a resource ID", reservation("/subscriptions/s/resourceGroups/r" + ofCompute), nil},
	{"capacityReservationGroupID/azure prefix", "a provider ID", reservation("azure:///subscriptions/s/resourceGroups/r" + ofCompute), nil},
	{"capacityReservationGroupID/of a provider", "a resource ID of no subscription", reservation(ofCompute), nil},
	{"capacityReservationGroupID/capitals", "types are of either case", reservation("/SUBSCRIPTIONS/s/RESOURCEGROUPS/r/PROVIDERS/p/t/n"), nil},
	{"capacityReservationGroupID/empty segments", "they do not count", reservation("//subscriptions//s/"), nil},
	{"capacityReservationGroupID/last type without name", "the original takes it", reservation("/subscriptions/s/locations"), nil},
	{"capacityReservationGroupID/provider of a provider", "two of them after each other", reservation("/providers/a/providers/b"), nil},
	{"capacityReservationGroupID/only prefix", "there is no ID", reservation("azure://"), noReservation},
	{"capacityReservationGroupID/no slash", "a path begins with one", reservation("subscriptions/s"), noReservation},
	{"capacityReservationGroupID/one segment", "a subscription has an ID", reservation("/subscriptions"), noReservation},
	{"capacityReservationGroupID/of something else", "neither subscription nor provider", reservation("/subscri/s/resourceGroups/r" + ofCompute), noReservation},
	{"capacityReservationGroupID/no name of the group", "a resource group has a name", reservation("/subscriptions/s/resourceGroups"), noReservation},
	{"capacityReservationGroupID/no second subscription", "a subscription has an ID", reservation("/providers/p/t/n/subscriptions"), noReservation},
	{"capacityReservationGroupID/no name of the resource", "a provider has type and name", reservation("/subscriptions/s/providers/p/t"), noReservation},
}

var diagnosticsRows = []row{
	{"diagnostics.boot/AzureManaged", "a value that is there", `{"diagnostics": {"boot": {"storageAccountType": "AzureManaged"}}}`, nil},
	{
		"diagnostics.boot/AzureManaged with customerManaged", "one of them is not meant",
		`{"diagnostics": {"boot": {"storageAccountType": "AzureManaged", "customerManaged": {"storageAccountURI": ""}}}}`,
		[]string{invalid + "diagnostics.boot.customerManaged"},
	},
	{
		"diagnostics.boot/CustomerManaged", "with its account",
		`{"diagnostics": {"boot": {"storageAccountType": "CustomerManaged", "customerManaged": {"storageAccountURI": "https://a"}}}}`, nil,
	},
	{
		"diagnostics.boot/CustomerManaged without customerManaged", "the account is missing",
		`{"diagnostics": {"boot": {"storageAccountType": "CustomerManaged"}}}`,
		[]string{required + "diagnostics.boot.customerManaged"},
	},
	{
		"diagnostics.boot/CustomerManaged without storageAccountURI", "the account is missing",
		`{"diagnostics": {"boot": {"storageAccountType": "CustomerManaged", "customerManaged": {}}}}`,
		[]string{required + "diagnostics.boot.customerManaged.storageAccountURI"},
	},
	{"diagnostics.boot/empty", "it is one of two", `{"diagnostics": {"boot": {}}}`, []string{invalid + "diagnostics.boot.storageAccountType"}},
	{"diagnostics/empty", "nothing is diagnosed", `{"diagnostics": {}}`, nil},
}

// TestAdmitKnowsTheCluster: faults that depend on the cluster.
func TestAdmitKnowsTheCluster(t *testing.T) {
	for _, r := range []struct {
		name     string
		reason   string
		patch    string
		platform admit.Platform
		faults   []string
		warnings int
	}{
		{"publicIP without a public zone", "nobody reaches it", `{"publicIP": true}`, admit.Platform{NoPublicZone: true}, []string{forbidden + "publicIP"}, 0},
		{"no publicIP without a public zone", "it asks for none", `{}`, admit.Platform{NoPublicZone: true}, nil, 0},
		{"spotVMOptions, AzurePublicCloud", "spot instances are there", `{"spotVMOptions": {}}`, admit.Platform{Cloud: "AzurePublicCloud"}, nil, 0},
		{"spotVMOptions, AzureUSGovernmentCloud", "they may not be there", `{"spotVMOptions": {}}`, admit.Platform{Cloud: "AzureUSGovernmentCloud"}, nil, 1},
		{"spotVMOptions, unknown cloud", "nothing is known", `{"spotVMOptions": {"maxPrice": "0.5"}}`, admit.Platform{}, nil, 0},
		{"no spotVMOptions, AzureChinaCloud", "none are asked for", `{}`, admit.Platform{Cloud: "AzureChinaCloud"}, nil, 0},
	} {
		t.Run(r.name, func(t *testing.T) {
			warnings, faults := spec.Admitter{}.Admit(admit.Request{Spec: admissiontest.Patched(t, whole, r.patch), Path: field.NewPath("providerSpec"), Platform: r.platform})
			if got := told(faults); !slices.Equal(got, r.faults) || len(warnings) != r.warnings {
				t.Errorf("got %q and %q, want %q and %d warnings: %s", got, warnings, r.faults, r.warnings, r.reason)
			}
			for _, w := range warnings {
				if !strings.HasPrefix(w, "providerSpec.spotVMOptions: ") {
					t.Errorf("%q does not name its field", w)
				}
			}
		})
	}
}

func TestKinds(t *testing.T) {
	var got []string
	for _, k := range (spec.Admitter{}).Kinds() {
		if k.Kind != "AzureMachineProviderSpec" {
			t.Errorf("kind %s", k.Kind)
		}
		got = append(got, k.GroupVersion().String())
	}
	want := []string{
		"machine.openshift.io/v1beta1", "machine.openshift.io/v1", "azureproviderconfig.openshift.io/v1beta1", "azureproviderconfig.openshift.io/v1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// told are the types and paths of faults.
func told(faults field.ErrorList) (out []string) {
	for _, f := range faults {
		out = append(out, string(f.Type)+" "+strings.TrimPrefix(strings.TrimPrefix(f.Field, "providerSpec"), "."))
	}
	return out
}
