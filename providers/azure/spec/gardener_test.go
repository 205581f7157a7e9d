package spec_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/azure/spec"
)

const gardenerSpec = `{"location":"eastus","resourceGroup":"g","subnetInfo":{"vnetName":"v","subnetName":"s"},"tags":{"kubernetes.io-cluster-c1":"1","kubernetes.io-role-node":"1"},
	"properties":{"hardwareProfile":{"vmSize":"s"},"zone":1,"osProfile":{"adminUsername":"core"},
	"storageProfile":{"imageReference":{"urn":"a:b:c:d"},"osDisk":{"diskSizeGB":50,"createOption":"FromImage"}}}}`

// TestGardenerIsReadAsByTheOriginal: as JSON, in which a number is no text, and a text of spaces is not given.
func TestGardenerIsReadAsByTheOriginal(t *testing.T) {
	const group = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/capacityReservationGroups/crg"
	for _, r := range []struct{ reason, old, new, field string }{
		{"nothing is wrong", "", "", ""},
		{"a number is no text", `"resourceGroup":"g"`, `"resourceGroup":-1`, "resourceGroup"},
		{"a boolean is no text", `"vmSize":"s"`, `"vmSize":true`, "properties.hardwareProfile.vmSize"},
		{"spaces are no name", `"vmSize":"s"`, `"vmSize":" "`, "properties.hardwareProfile.vmSize"},
		{"spaces are no ID", `{"urn":"a:b:c:d"}`, `{"id":" "}`, "properties.storageProfile.imageReference"},
		{"spaces are no second name", `{"urn":"a:b:c:d"}`, `{"urn":"a:b:c:d","communityGalleryImageID":" "}`, ""},
		{"spaces are no part", "a:b:c:d", "a: :c:d", "properties.storageProfile.imageReference.urn"},
		{"spaces are no set", `"zone":1`, `"zone":1,"availabilitySet":{"id":" "}`, ""},
		{"spaces are no place", `"zone":1`, `"availabilitySet":{"id":" "}`, "properties.zone"},
		{"spaces are no type", `"zone":1`, `"zone":1,"securityProfile":{"securityType":" "}`, ""},
		{"a group of reservations", `"zone":1`, `"zone":1,"capacityReservation":{"capacityReservationGroupID":"` + group + `"}`, ""},
		{"a reservation in it", `"zone":1`, `"zone":1,"capacityReservation":{"capacityReservationGroupID":"` + group + `/capacityReservations/one"}`, "properties.capacityReservation.capacityReservationGroupID"},
	} {
		t.Run(r.reason, func(t *testing.T) {
			_, err := spec.DecodeGardener([]byte(strings.Replace(gardenerSpec, r.old, r.new, 1)))
			switch {
			case r.field == "" && err != nil:
				t.Errorf("%s: %v", r.reason, err)
			case r.field != "" && (provider.KindOf(err) != provider.Invalid || !strings.HasPrefix(err.Error(), r.field+":")):
				t.Errorf("%s: %v", r.reason, err)
			}
		})
	}
}

// TestOpenShiftIsNoStricterThanTheController: a spec that only the webhook refuses creates a machine.
func TestOpenShiftIsNoStricterThanTheController(t *testing.T) {
	for _, r := range []struct{ reason, patch, field string }{
		{"a resourceID comes before the other names", `{"image":{"resourceID":"/resourceGroups/g/x","type":"MarketplaceNoPlan"}}`, ""},
		{"a capability is one that is known", `{"ultraSSDCapability":"x"}`, ""},
		{"an account of Azure's own has no URI", `{"diagnostics":{"boot":{"storageAccountType":"AzureManaged","customerManaged":{"storageAccountURI":"u"}}}}`, ""},
		{"what is encrypted is not said", `{"securityProfile":` + confidential(vTPM) + `}`, ""},
		{"encryption without a profile", secured("", "VMGuestStateOnly"), ""},
		{"encryption of a trusted machine", secured(launch("TrustedLaunch", secureBoot), "VMGuestStateOnly"), "securityProfile.settings.securityType"},
		{"a name is no ID", `{"capacityReservationGroupID":"crg"}`, "capacityReservationGroupID"},
	} {
		t.Run(r.reason, func(t *testing.T) {
			var base, patch map[string]any
			if err := json.Unmarshal([]byte(`{"vmSize":"s","vnet":"v","subnet":"s","image":{"resourceID":"/resourceGroups/g/x"},"osDisk":{"diskSizeGB":30}}`), &base); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(r.patch), &patch); err != nil {
				t.Fatalf("%s: %v", r.patch, err)
			}
			for key, value := range patch {
				base[key] = value
			}
			raw, _ := json.Marshal(base)
			_, err := spec.DecodeOpenShift(raw)
			if r.field == "" && err != nil || r.field != "" && (err == nil || !strings.HasPrefix(err.Error(), r.field+":")) {
				t.Errorf("%s: %v", r.reason, err)
			}
		})
	}
}
