package cloud_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/dev/clouds/arm"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/azure/spec"
)

// field is a field of a spec: its value in the requests to Azure, or why it has none.
type field struct {
	path  string
	patch string // of the valid spec
	in    string // the resource, by its name in this test
	at    string // where in it
	want  string
	// reason is why no request has the field.
	reason string
}

// resources are those created for machine "m-bcdfg", by names of this test.
func resource(api, name string) string {
	const compute, network = "/providers/Microsoft.Compute/", "/providers/Microsoft.Network/"
	m := "m-bcdfg"
	at := map[string]string{
		"vm": compute + "virtualMachines/" + m, "nic": network + "networkInterfaces/" + m + "-nic", "address": network + "publicIPAddresses/c1-" + m,
		"disk": compute + "disks/" + m + "-work-0-data-disk",
	}
	return "/subscriptions/" + arm.SampleSubscription + "/resourceGroups/" + group + at[name]
}

// leaves are the paths of all fields of a type that have no fields of their own.
func leaves(t reflect.Type, path string) (all []string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		if t.Kind() == reflect.Slice {
			path += "[]"
		}
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || strings.HasSuffix(t.String(), "resource.Quantity") {
		return []string{path}
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case !f.IsExported() || name == "-", name == "metadata":
		case name == "" && f.Anonymous:
			all = append(all, leaves(f.Type, path)...)
		default:
			all = append(all, leaves(f.Type, strings.TrimPrefix(path+"."+name, "."))...)
		}
	}
	return all
}

// TestEveryFieldIsUsed: each field of both specs has a row.
func TestEveryFieldIsUsed(t *testing.T) {
	for api, typ := range map[string]reflect.Type{provider.OpenShift: reflect.TypeFor[spec.OpenShift](), provider.Gardener: reflect.TypeFor[spec.Gardener]()} {
		var rows []string
		for _, f := range fieldRows[api] {
			rows = append(rows, f.path)
		}
		has := leaves(typ, "")
		for _, path := range has {
			if !slices.Contains(rows, path) {
				t.Errorf("%s: %s reaches no request, and nothing says why", api, path)
			}
		}
		for _, path := range rows {
			if !slices.Contains(has, path) {
				t.Errorf("%s: there is no field %s", api, path)
			}
		}
	}
}

func TestFieldsReachRequests(t *testing.T) {
	for api, rows := range fieldRows {
		for _, f := range rows {
			if f.reason != "" {
				continue
			}
			t.Run(api+"/"+f.path, func(t *testing.T) { f.test(t, api) })
		}
	}
}

func (f field) test(t *testing.T, api string) {
	w := newWorld(t, func(o *arm.Options) { o.AcceptAny = true })
	s := w.open(patched(t, class(api, "c1"), f.patch))
	ref := provider.Ref{UID: "u-1", Namespace: "ns", Name: "m-bcdfg"}
	if _, err := s.Create(t.Context(), ref, provider.Want{UserData: []byte("#cloud-config\n")}); err != nil {
		t.Fatal(err)
	}
	if got := at(t, w.cloud.Read(resource(api, f.in)), f.at); got != f.want {
		t.Errorf("%s of the %s is %s, want %s", f.at, f.in, got, f.want)
	}
}

// at is the JSON of a part of a value.
func at(t *testing.T, v any, path string) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(raw, &tree); err != nil {
		t.Fatal(err)
	}
	for _, step := range strings.Split(path, ".") {
		step = strings.ReplaceAll(step, "|", ".")
		switch in := tree.(type) {
		case map[string]any:
			tree = in[step]
		case []any:
			n, _ := strconv.Atoi(step)
			if n >= len(in) {
				return "nothing"
			}
			tree = in[n]
		default:
			return "nothing"
		}
	}
	raw, _ = json.Marshal(tree)
	return strings.Trim(string(raw), `"`)
}

// Parts of paths.
const (
	vmProperties = "properties."
	storage      = vmProperties + "storageProfile."
	osDisk       = storage + "osDisk."
	firstDisk    = storage + "dataDisks.0."
	ipConfig     = "properties.ipConfigurations.0.properties."
	sub          = "/subscriptions/" + arm.SampleSubscription
	netIDs       = sub + "/resourceGroups/demo-rg/providers/Microsoft.Network/"
)

var fieldRows = map[string][]field{provider.OpenShift: openshiftRows, provider.Gardener: gardenerRows}

// dataDisk is a patch with one data disk.
func dataDisk(more string) string {
	return fmt.Sprintf(`{"dataDisks":[{"nameSuffix":"logs","diskSizeGB":7,"lun":3,"deletionPolicy":"Detach"%s}]}`, more)
}

const (
	meta = "identifies the type of the spec"
)

var openshiftRows = []field{
	{path: "kind", reason: meta},
	{path: "apiVersion", reason: meta},
	{path: "userDataSecret.name", reason: "Millwright reads the secret; its data is `properties.osProfile.customData` of the machine: see TestUserData"},
	{path: "userDataSecret.namespace", reason: "Millwright reads the secret"},
	{path: "credentialsSecret.name", reason: "Millwright reads the secret"},
	{path: "credentialsSecret.namespace", reason: "Millwright reads the secret"},
	{path: "location", patch: `{"location":"westeurope"}`, in: "vm", at: "location", want: "westeurope"},
	{path: "vmSize", patch: `{"vmSize":"Standard_D8s_v3"}`, in: "vm", at: vmProperties + "hardwareProfile.vmSize", want: "Standard_D8s_v3"},
	{path: "image.publisher", patch: market, in: "vm", at: storage + "imageReference.publisher", want: "p"},
	{path: "image.offer", patch: market, in: "vm", at: storage + "imageReference.offer", want: "o"},
	{path: "image.sku", patch: market, in: "vm", at: storage + "imageReference.sku", want: "s"},
	{path: "image.version", patch: market, in: "vm", at: storage + "imageReference.version", want: "1.0.0"},
	{path: "image.type", patch: market, in: "vm", at: "plan.name", want: "s"},
	{path: "image.resourceID", patch: `{"image":{"resourceID":"/resourceGroups/g/providers/Microsoft.Compute/images/i"}}`, in: "vm", at: storage + "imageReference.id", want: sub + "/resourceGroups/g/providers/Microsoft.Compute/images/i"},
	{path: "osDisk.osType", patch: `{"osDisk":{"osType":"Linux"}}`, in: "vm", at: osDisk + "osType", want: "Linux"},
	{path: "osDisk.diskSizeGB", patch: `{"osDisk":{"diskSizeGB":77}}`, in: "vm", at: osDisk + "diskSizeGB", want: "77"},
	{path: "osDisk.cachingType", patch: `{"osDisk":{"cachingType":"ReadOnly"}}`, in: "vm", at: osDisk + "caching", want: "ReadOnly"},
	{path: "osDisk.diskSettings.ephemeralStorageLocation", patch: `{"osDisk":{"cachingType":"ReadOnly","diskSettings":{"ephemeralStorageLocation":"Local"}}}`, in: "vm", at: osDisk + "diffDiskSettings.option", want: "Local"},
	{path: "osDisk.managedDisk.storageAccountType", patch: `{"osDisk":{"managedDisk":{"storageAccountType":"StandardSSD_LRS"}}}`, in: "vm", at: osDisk + "managedDisk.storageAccountType", want: "StandardSSD_LRS"},
	{path: "osDisk.managedDisk.diskEncryptionSet.id", patch: `{"osDisk":{"managedDisk":{"diskEncryptionSet":{"id":"/e"}}}}`, in: "vm", at: osDisk + "managedDisk.diskEncryptionSet.id", want: "/e"},
	{path: "osDisk.managedDisk.securityProfile.diskEncryptionSet.id", patch: confidential, in: "vm", at: osDisk + "managedDisk.securityProfile.diskEncryptionSet.id", want: "/cvm"},
	{path: "osDisk.managedDisk.securityProfile.securityEncryptionType", patch: confidential, in: "vm", at: osDisk + "managedDisk.securityProfile.securityEncryptionType", want: "DiskWithVMGuestState"},
	{path: "dataDisks[].nameSuffix", patch: dataDisk(""), in: "vm", at: firstDisk + "name", want: "m-bcdfg_logs"},
	{path: "dataDisks[].diskSizeGB", patch: dataDisk(""), in: "vm", at: firstDisk + "diskSizeGB", want: "7"},
	{path: "dataDisks[].lun", patch: dataDisk(""), in: "vm", at: firstDisk + "lun", want: "3"},
	{path: "dataDisks[].deletionPolicy", patch: dataDisk(""), in: "vm", at: firstDisk + "deleteOption", want: "Detach"},
	{path: "dataDisks[].cachingType", patch: dataDisk(`,"cachingType":"ReadWrite"`), in: "vm", at: firstDisk + "caching", want: "ReadWrite"},
	{path: "dataDisks[].managedDisk.storageAccountType", patch: dataDisk(`,"managedDisk":{"storageAccountType":"Premium_LRS"}`), in: "vm", at: firstDisk + "managedDisk.storageAccountType", want: "Premium_LRS"},
	{path: "dataDisks[].managedDisk.diskEncryptionSet.id", patch: dataDisk(`,"managedDisk":{"diskEncryptionSet":{"id":"/d"}}`), in: "vm", at: firstDisk + "managedDisk.diskEncryptionSet.id", want: "/d"},
	{path: "sshPublicKey", patch: `{"sshPublicKey":"c3NoLXJzYSBBQUFB"}`, in: "vm", at: vmProperties + "osProfile.linuxConfiguration.ssh.publicKeys.0.keyData", want: "ssh-rsa AAAA"},
	{path: "publicIP", patch: `{"publicIP":true}`, in: "address", at: "properties.publicIPAllocationMethod", want: "Static"},
	{path: "tags", patch: `{"tags":{"team":"blue"}}`, in: "nic", at: "tags.team", want: "blue"},
	{path: "securityGroup", patch: `{"securityGroup":"nsg"}`, in: "nic", at: "properties.networkSecurityGroup.id", want: netIDs + "networkSecurityGroups/nsg"},
	{path: "applicationSecurityGroups[]", patch: `{"applicationSecurityGroups":["a","b"]}`, in: "nic", at: ipConfig + "applicationSecurityGroups.1.id", want: netIDs + "applicationSecurityGroups/b"},
	{path: "subnet", patch: `{"subnet":"other"}`, in: "nic", at: ipConfig + "subnet.id", want: netIDs + "virtualNetworks/demo-vnet/subnets/other"},
	{path: "publicLoadBalancer", patch: `{"publicLoadBalancer":"demo"}`, in: "nic", at: ipConfig + "loadBalancerBackendAddressPools.0.id", want: netIDs + "loadBalancers/demo/backendAddressPools/demo"},
	{path: "internalLoadBalancer", patch: `{"publicLoadBalancer":"demo","internalLoadBalancer":"demo-internal"}`, in: "nic", at: ipConfig + "loadBalancerBackendAddressPools.1.id", want: netIDs + "loadBalancers/demo-internal/backendAddressPools/demo-internal"},
	{path: "natRule", patch: `{"publicLoadBalancer":"demo","natRule":1}`, in: "nic", at: ipConfig + "loadBalancerInboundNatRules.0.id", want: netIDs + "loadBalancers/demo/inboundNatRules/ssh-1"},
	{path: "managedIdentity", patch: `{"managedIdentity":"who"}`, in: "vm", at: "identity.userAssignedIdentities." + sub + "/resourceGroups/demo-rg/providers/Microsoft|ManagedIdentity/userAssignedIdentities/who", want: "{}"},
	{path: "vnet", patch: `{"vnet":"other"}`, in: "nic", at: ipConfig + "subnet.id", want: netIDs + "virtualNetworks/other/subnets/demo-worker-subnet"},
	{path: "zone", patch: `{"zone":"3"}`, in: "vm", at: "zones.0", want: "3"},
	{path: "networkResourceGroup", patch: `{"networkResourceGroup":"nets"}`, in: "nic", at: ipConfig + "subnet.id", want: sub + "/resourceGroups/nets/providers/Microsoft.Network/virtualNetworks/demo-vnet/subnets/demo-worker-subnet"},
	{path: "resourceGroup", patch: `{"resourceGroup":"demo-rg"}`, in: "vm", at: "id", want: sub + "/resourceGroups/demo-rg/providers/Microsoft.Compute/virtualMachines/m-bcdfg"},
	{path: "spotVMOptions.maxPrice", patch: `{"spotVMOptions":{"maxPrice":"0.25"}}`, in: "vm", at: vmProperties + "billingProfile.maxPrice", want: "0.25"},
	{path: "securityProfile.encryptionAtHost", patch: `{"securityProfile":{"encryptionAtHost":true}}`, in: "vm", at: vmProperties + "securityProfile.encryptionAtHost", want: "true"},
	{path: "securityProfile.settings.securityType", patch: trusted, in: "vm", at: vmProperties + "securityProfile.securityType", want: "TrustedLaunch"},
	{path: "securityProfile.settings.confidentialVM.uefiSettings.secureBoot", patch: confidential, in: "vm", at: vmProperties + "securityProfile.uefiSettings.secureBootEnabled", want: "true"},
	{path: "securityProfile.settings.confidentialVM.uefiSettings.virtualizedTrustedPlatformModule", patch: confidential, in: "vm", at: vmProperties + "securityProfile.uefiSettings.vTpmEnabled", want: "true"},
	{path: "securityProfile.settings.trustedLaunch.uefiSettings.secureBoot", patch: trusted, in: "vm", at: vmProperties + "securityProfile.uefiSettings.secureBootEnabled", want: "true"},
	{path: "securityProfile.settings.trustedLaunch.uefiSettings.virtualizedTrustedPlatformModule", patch: trusted, in: "vm", at: vmProperties + "securityProfile.uefiSettings.vTpmEnabled", want: "false"},
	{path: "ultraSSDCapability", patch: `{"ultraSSDCapability":"Enabled"}`, in: "vm", at: vmProperties + "additionalCapabilities.ultraSSDEnabled", want: "true"},
	{path: "acceleratedNetworking", patch: `{"acceleratedNetworking":true}`, in: "nic", at: "properties.enableAcceleratedNetworking", want: "true"},
	{path: "availabilitySet", patch: `{"zone":null,"availabilitySet":"set"}`, in: "vm", at: vmProperties + "availabilitySet.id", want: sub + "/resourceGroups/demo-rg/providers/Microsoft.Compute/availabilitySets/set"},
	{path: "diagnostics.boot.storageAccountType", patch: `{"diagnostics":{"boot":{"storageAccountType":"AzureManaged"}}}`, in: "vm", at: vmProperties + "diagnosticsProfile.bootDiagnostics.enabled", want: "true"},
	{path: "diagnostics.boot.customerManaged.storageAccountURI", patch: `{"diagnostics":{"boot":{"storageAccountType":"CustomerManaged","customerManaged":{"storageAccountURI":"https://x"}}}}`, in: "vm", at: vmProperties + "diagnosticsProfile.bootDiagnostics.storageUri", want: "https://x"},
	{path: "capacityReservationGroupID", patch: `{"capacityReservationGroupID":"azure:///subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/capacityReservationGroups/r"}`, in: "vm", at: vmProperties + "capacityReservation.capacityReservationGroup.id", want: "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/capacityReservationGroups/r"},
	{path: "choices[].zone", patch: `{"choices":[{"zone":"2"}]}`, in: "vm", at: "zones.0", want: "2"},
	{path: "choices[].vmSize", patch: `{"choices":[{"vmSize":"Standard_D2s_v3"}]}`, in: "vm", at: vmProperties + "hardwareProfile.vmSize", want: "Standard_D2s_v3"},
}

const (
	market       = `{"image":{"resourceID":"","publisher":"p","offer":"o","sku":"s","version":"1.0.0","type":"MarketplaceWithPlan"}}`
	confidential = `{"osDisk":{"managedDisk":{"securityProfile":{"securityEncryptionType":"DiskWithVMGuestState","diskEncryptionSet":{"id":"/cvm"}}}},
		"securityProfile":{"settings":{"securityType":"ConfidentialVM","confidentialVM":{"uefiSettings":{"secureBoot":"Enabled","virtualizedTrustedPlatformModule":"Enabled"}}}}}`
	trusted = `{"securityProfile":{"settings":{"securityType":"TrustedLaunch","trustedLaunch":{"uefiSettings":{"secureBoot":"Enabled"}}}}}`
)

// Patches of the spec of Gardener.
func properties(more string) string { return `{"properties":` + more + `}` }

func ofStorage(more string) string { return properties(`{"storageProfile":` + more + `}`) }

func ofDisk(more string) string {
	return ofStorage(`{"dataDisks":[{"name":"work","lun":0,"diskSizeGB":9,"storageAccountType":"Premium_LRS"` + more + `}]}`)
}

const (
	ignored  = "ignored, as in the original: Millwright sets names and passwords"
	ofImage  = `,"imageRef":`
	setsOnly = `{"zone":null,`
)

var gardenerRows = []field{
	{path: "location", patch: `{"location":"westeurope"}`, in: "vm", at: "location", want: "westeurope"},
	{path: "tags", patch: `{"tags":{"team":"blue"}}`, in: "nic", at: "tags.team", want: "blue"},
	{path: "resourceGroup", patch: `{"resourceGroup":"demo-rg"}`, in: "vm", at: "id", want: sub + "/resourceGroups/demo-rg/providers/Microsoft.Compute/virtualMachines/m-bcdfg"},
	{path: "subnetInfo.vnetName", patch: `{"subnetInfo":{"vnetName":"v"}}`, in: "nic", at: ipConfig + "subnet.id", want: netIDs + "virtualNetworks/v/subnets/demo-worker-subnet"},
	{path: "subnetInfo.subnetName", patch: `{"subnetInfo":{"subnetName":"s"}}`, in: "nic", at: ipConfig + "subnet.id", want: netIDs + "virtualNetworks/demo-vnet/subnets/s"},
	{path: "subnetInfo.vnetResourceGroup", patch: `{"subnetInfo":{"vnetResourceGroup":"nets"}}`, in: "nic", at: ipConfig + "subnet.id", want: sub + "/resourceGroups/nets/providers/Microsoft.Network/virtualNetworks/demo-vnet/subnets/demo-worker-subnet"},
	{path: "cloudConfiguration.name", reason: "selects the endpoints: see TestEndpoints"},
	{path: "choices[].zone", patch: `{"choices":[{"zone":"2"}]}`, in: "vm", at: "zones.0", want: "2"},
	{path: "choices[].vmSize", patch: `{"choices":[{"vmSize":"Standard_D2s_v3"}]}`, in: "vm", at: vmProperties + "hardwareProfile.vmSize", want: "Standard_D2s_v3"},
	{path: "properties.hardwareProfile.vmSize", patch: properties(`{"hardwareProfile":{"vmSize":"Standard_D8s_v3"}}`), in: "vm", at: vmProperties + "hardwareProfile.vmSize", want: "Standard_D8s_v3"},
	{path: "properties.storageProfile.imageReference.id", patch: ofStorage(`{"imageReference":{"urn":null,"id":"/i"}}`), in: "vm", at: storage + "imageReference.id", want: "/i"},
	{path: "properties.storageProfile.imageReference.urn", patch: ofStorage(`{"imageReference":{"urn":"a:b:c:d"}}`), in: "vm", at: storage + "imageReference.sku", want: "c"},
	{path: "properties.storageProfile.imageReference.communityGalleryImageID", patch: ofStorage(`{"imageReference":{"urn":null,"communityGalleryImageID":"/c"}}`), in: "vm", at: storage + "imageReference.communityGalleryImageId", want: "/c"},
	{path: "properties.storageProfile.imageReference.sharedGalleryImageID", patch: ofStorage(`{"imageReference":{"urn":null,"sharedGalleryImageID":"/s"}}`), in: "vm", at: storage + "imageReference.sharedGalleryImageId", want: "/s"},
	{path: "properties.storageProfile.imageReference.skipMarketplaceAgreement", reason: "skips the call that accepts the terms of an image: see TestTermsAreSkipped"},
	{path: "properties.storageProfile.osDisk.name", reason: ignored},
	{path: "properties.storageProfile.osDisk.caching", patch: ofStorage(`{"osDisk":{"caching":"ReadOnly"}}`), in: "vm", at: osDisk + "caching", want: "ReadOnly"},
	{path: "properties.storageProfile.osDisk.diskSizeGB", patch: ofStorage(`{"osDisk":{"diskSizeGB":66}}`), in: "vm", at: osDisk + "diskSizeGB", want: "66"},
	{path: "properties.storageProfile.osDisk.createOption", patch: ofStorage(`{"osDisk":{"createOption":"Copy"}}`), in: "vm", at: osDisk + "createOption", want: "Copy"},
	{path: "properties.storageProfile.osDisk.managedDisk.id", reason: "ignored, as in the original: each machine gets a new disk"},
	{path: "properties.storageProfile.osDisk.managedDisk.storageAccountType", patch: ofStorage(`{"osDisk":{"managedDisk":{"storageAccountType":"Premium_LRS"}}}`), in: "vm", at: osDisk + "managedDisk.storageAccountType", want: "Premium_LRS"},
	{path: "properties.storageProfile.osDisk.managedDisk.securityProfile.securityEncryptionType", patch: ofStorage(`{"osDisk":{"managedDisk":{"securityProfile":{"securityEncryptionType":"VMGuestStateOnly"}}}}`), in: "vm", at: osDisk + "managedDisk.securityProfile.securityEncryptionType", want: "VMGuestStateOnly"},
	{path: "properties.storageProfile.dataDisks[].name", patch: ofDisk(""), in: "vm", at: firstDisk + "name", want: "m-bcdfg-work-0-data-disk"},
	{path: "properties.storageProfile.dataDisks[].lun", patch: ofDisk(`,"lun":4`), in: "vm", at: firstDisk + "lun", want: "4"},
	{path: "properties.storageProfile.dataDisks[].caching", patch: ofDisk(`,"caching":"ReadWrite"`), in: "vm", at: firstDisk + "caching", want: "ReadWrite"},
	{path: "properties.storageProfile.dataDisks[].storageAccountType", patch: ofDisk(""), in: "vm", at: firstDisk + "managedDisk.storageAccountType", want: "Premium_LRS"},
	{path: "properties.storageProfile.dataDisks[].diskSizeGB", patch: ofDisk(""), in: "vm", at: firstDisk + "diskSizeGB", want: "9"},
	{path: "properties.storageProfile.dataDisks[].imageRef.id", patch: ofDisk(ofImage + `{"id":"/i"}`), in: "disk", at: "properties.creationData.imageReference.id", want: "/i"},
	{path: "properties.storageProfile.dataDisks[].imageRef.urn", patch: ofDisk(ofImage + `{"urn":"a:b:c:d"}`), in: "disk", at: "properties.creationData.imageReference.id", want: sub + "/providers/Microsoft.Compute/locations/eastus/publishers/a/artifacttypes/vmimage/offers/b/skus/c/versions/d"},
	{path: "properties.storageProfile.dataDisks[].imageRef.communityGalleryImageID", patch: ofDisk(ofImage + `{"communityGalleryImageID":"/c"}`), in: "disk", at: "properties.creationData.galleryImageReference.communityGalleryImageId", want: "/c"},
	{path: "properties.storageProfile.dataDisks[].imageRef.sharedGalleryImageID", patch: ofDisk(ofImage + `{"sharedGalleryImageID":"/s"}`), in: "disk", at: "properties.creationData.galleryImageReference.sharedGalleryImageId", want: "/s"},
	{path: "properties.storageProfile.dataDisks[].imageRef.skipMarketplaceAgreement", reason: "no effect, as in the original: the terms of data disk images are not checked"},
	{path: "properties.storageProfile.diskControllerType", patch: ofStorage(`{"diskControllerType":"NVMe"}`), in: "vm", at: storage + "diskControllerType", want: "NVMe"},
	{path: "properties.osProfile.computerName", reason: ignored},
	{path: "properties.osProfile.adminUsername", patch: properties(`{"osProfile":{"adminUsername":"me"}}`), in: "vm", at: vmProperties + "osProfile.adminUsername", want: "me"},
	{path: "properties.osProfile.adminPassword", reason: ignored},
	{path: "properties.osProfile.customData", reason: "ignored, as in the original: user data is in the secret"},
	{path: "properties.osProfile.linuxConfiguration.disablePasswordAuthentication", patch: properties(`{}`), in: "vm", at: vmProperties + "osProfile.linuxConfiguration.disablePasswordAuthentication", want: "true"},
	{path: "properties.osProfile.linuxConfiguration.ssh.publicKeys.path", patch: properties(`{"osProfile":{"linuxConfiguration":{"ssh":{"publicKeys":{"path":"/p"}}}}}`), in: "vm", at: vmProperties + "osProfile.linuxConfiguration.ssh.publicKeys.0.path", want: "/p"},
	{path: "properties.osProfile.linuxConfiguration.ssh.publicKeys.keyData", patch: properties(`{"osProfile":{"linuxConfiguration":{"ssh":{"publicKeys":{"keyData":"ssh-rsa AAAA"}}}}}`), in: "vm", at: vmProperties + "osProfile.linuxConfiguration.ssh.publicKeys.0.keyData", want: "ssh-rsa AAAA"},
	{path: "properties.networkProfile.networkInterfaces.id", reason: "ignored, as in the original: each machine gets a new interface"},
	{path: "properties.networkProfile.networkInterfaces.properties.primary", reason: "ignored, as in the original: there is one interface"},
	{path: "properties.networkProfile.acceleratedNetworking", patch: properties(`{"networkProfile":{"acceleratedNetworking":true}}`), in: "nic", at: "properties.enableAcceleratedNetworking", want: "true"},
	{path: "properties.availabilitySet.id", patch: properties(setsOnly + `"availabilitySet":{"id":"/set"}}`), in: "vm", at: vmProperties + "availabilitySet.id", want: "/set"},
	{path: "properties.identityID", patch: properties(`{"identityID":"/who"}`), in: "vm", at: "identity.userAssignedIdentities./who", want: "{}"},
	{path: "properties.zone", patch: properties(`{"zone":2}`), in: "vm", at: "zones.0", want: "2"},
	{path: "properties.virtualMachineScaleSet.id", patch: properties(setsOnly + `"virtualMachineScaleSet":{"id":"/vmss"}}`), in: "vm", at: vmProperties + "virtualMachineScaleSet.id", want: "/vmss"},
	{path: "properties.diagnosticsProfile.enabled", patch: properties(`{"diagnosticsProfile":{"enabled":true}}`), in: "vm", at: vmProperties + "diagnosticsProfile.bootDiagnostics.enabled", want: "true"},
	{path: "properties.diagnosticsProfile.storageURI", patch: properties(`{"diagnosticsProfile":{"enabled":true,"storageURI":"https://x"}}`), in: "vm", at: vmProperties + "diagnosticsProfile.bootDiagnostics.storageUri", want: "https://x"},
	{path: "properties.machineSet.id", patch: properties(setsOnly + `"machineSet":{"kind":"vmo","id":"/old"}}`), in: "vm", at: vmProperties + "virtualMachineScaleSet.id", want: "/old"},
	{path: "properties.machineSet.kind", patch: properties(setsOnly + `"machineSet":{"kind":"availabilityset","id":"/old"}}`), in: "vm", at: vmProperties + "availabilitySet.id", want: "/old"},
	{path: "properties.securityProfile.securityType", patch: properties(`{"securityProfile":{"securityType":"TrustedLaunch"}}`), in: "vm", at: vmProperties + "securityProfile.securityType", want: "TrustedLaunch"},
	{path: "properties.securityProfile.uefiSettings.vtpmEnabled", patch: properties(`{"securityProfile":{"uefiSettings":{"vtpmEnabled":true}}}`), in: "vm", at: vmProperties + "securityProfile.uefiSettings.vTpmEnabled", want: "true"},
	{path: "properties.securityProfile.uefiSettings.secureBootEnabled", patch: properties(`{"securityProfile":{"uefiSettings":{"secureBootEnabled":true}}}`), in: "vm", at: vmProperties + "securityProfile.uefiSettings.secureBootEnabled", want: "true"},
	{path: "properties.capacityReservation.capacityReservationGroupID", patch: properties(`{"capacityReservation":{"capacityReservationGroupID":"/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/capacityReservationGroups/r"}}`), in: "vm", at: vmProperties + "capacityReservation.capacityReservationGroup.id", want: "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/capacityReservationGroups/r"},
}
