package cloud

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/dev/clouds/gce"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/admissiontest"
	"github.com/millwright-dev/millwright/providers/gcp/spec"
)

// reaches is the effect of a field of a spec: with the patch, the request has the value at the path; or why
// it does not, and what the effect is instead.
type reaches struct {
	patch, at, value string
	why              string
}

func TestFieldsReachTheRequest(t *testing.T) {
	for _, of := range specFields {
		api := of.api
		t.Run(api, func(t *testing.T) {
			fields := slices.Sorted(maps.Keys(leaves(reflect.TypeOf(of.spec), "")))
			if rows := slices.Sorted(maps.Keys(of.rows)); !slices.Equal(fields, rows) {
				t.Errorf("fields and rows differ:\n%q\n%q", fields, rows)
			}
			b := newBench(t, func(o *gce.Options) { o.AcceptAny = true })
			for n, field := range slices.Sorted(maps.Keys(of.rows)) {
				if r := of.rows[field]; r.why == "" {
					t.Run(field, func(t *testing.T) { r.check(t, b, api, n) })
				}
			}
		})
	}
}

// specFields are the specs of both APIs, with the rows of their fields.
var specFields = []struct {
	api, kind string
	spec      any
	rows      map[string]reaches
}{
	{provider.OpenShift, "GCPMachineProviderSpec", machinev1beta1.GCPMachineProviderSpec{}, openshiftFields},
	{provider.Gardener, "GCPProviderSpec", spec.Gardener{}, gardenerFields},
}

func (r reaches) check(t *testing.T, b *bench, api string, n int) {
	class := b.class(api, "fields")
	class.Spec = admissiontest.Patched(t, string(class.Spec), r.patch)
	s, err := b.start().Open(t.Context(), class)
	if err != nil {
		t.Fatal(err)
	}
	i, err := s.Create(t.Context(), ref("m-"+strconv.Itoa(n)), provider.Want{UserData: []byte("#cloud-config\n")})
	if err != nil {
		t.Fatal(err)
	}
	if got := valueAt(b.cloud.Asked(i.ID), r.at); got != r.value {
		raw, _ := json.MarshalIndent(b.cloud.Asked(i.ID), "", " ")
		t.Errorf("at %s there is %q, want %q, in\n%s", r.at, got, r.value, raw)
	}
}

// TestShieldedFieldsAlone: the request has only the shielding settings of the spec; further ones would switch
// off a default.
func TestShieldedFieldsAlone(t *testing.T) {
	b := newBench(t)
	for says, want := range map[string]string{
		`{"secureBoot": true}`:               `{"enableSecureBoot":true}`,
		`{"secureBoot": false}`:              `{"enableSecureBoot":false}`,
		`{"vtpm": true}`:                     `{"enableVtpm":true}`,
		`{"vtpm": false}`:                    `{"enableVtpm":false}`,
		`{"integrityMonitoring": false}`:     `{"enableIntegrityMonitoring":false}`,
		`{"vtpm": true, "secureBoot": true}`: `{"enableSecureBoot":true,"enableVtpm":true}`,
		`{}`:                                 `{}`,
	} {
		s := b.open(with(b.class(provider.Gardener, "fields"), `"tags"`, `"shieldedInstanceConfiguration": `+says+`, "tags"`))
		i := b.create(s, ref("m-"+strconv.Itoa(len(b.cloud.Instances()))), provider.Want{})
		if got := valueAt(b.cloud.Asked(i.ID), "shieldedInstanceConfig"); got != want {
			t.Errorf("of %s the request has %s", says, got)
		}
	}
}

// valueAt is the text of a value at a path such as "disks/0/boot"; for a list or an object, its JSON.
func valueAt(v any, path string) string {
	for step := range strings.SplitSeq(path, "/") {
		switch is := v.(type) {
		case map[string]any:
			v = is[strings.ReplaceAll(step, "|", "/")]
		case []any:
			n, err := strconv.Atoi(step)
			if err != nil || n >= len(is) {
				return ""
			}
			v = is[n]
		default:
			return ""
		}
	}
	switch v.(type) {
	case nil:
		return ""
	case map[string]any, []any:
		raw, _ := json.Marshal(v)
		return string(raw)
	}
	return fmt.Sprint(v)
}

// leaves are the types of leaf fields, by their paths.
func leaves(t reflect.Type, path string) map[string]reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		if t.Kind() == reflect.Slice {
			path += "[]"
		}
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t == reflect.TypeFor[metav1.ObjectMeta]() {
		return map[string]reflect.Type{path: t}
	}
	all := map[string]reflect.Type{}
	for n := range t.NumField() {
		f := t.Field(n)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" {
			name = strings.TrimPrefix(path+"."+name, ".")
		}
		maps.Copy(all, leaves(f.Type, name))
	}
	return all
}

const (
	typed     = "in no request: identifies the type of the spec"
	elsewhere = "in no request: Millwright reads the named secret"
)

var openshiftFields = map[string]reaches{
	"apiVersion":             {why: typed},
	"kind":                   {why: typed},
	"metadata":               {why: "in no request: has no effect. The guest's metadata is `gcpMetadata`"},
	"userDataSecret.name":    {why: elsewhere},
	"credentialsSecret.name": {why: elsewhere},
	"targetPools[]":          {why: "`targetPools.addInstance`: `instances[].instance`, after the instance runs, and again if the pool no longer has it"},

	"canIPForward":        {`{"canIPForward": true}`, "canIpForward", "true", ""},
	"deletionProtection":  {`{"deletionProtection": true}`, "deletionProtection", "true", ""},
	"machineType":         {`{"machineType": "c3-standard-8"}`, "machineType", "zones/us-east1-b/machineTypes/c3-standard-8", ""},
	"region":              {`{"region": "us-east1"}`, "networkInterfaces/0/subnetwork", "projects/rehearsal/regions/us-east1/subnetworks/prod-worker-subnet", ""},
	"zone":                {`{"zone": "us-east1-d"}`, "machineType", "zones/us-east1-d/machineTypes/n1-standard-4", ""},
	"projectID":           {`{"projectID": "another"}`, "networkInterfaces/0/network", "projects/another/global/networks/prod-network", ""},
	"labels":              {`{"labels": {"team": "blue"}}`, "labels/team", "blue", ""},
	"gcpMetadata[].key":   {`{"gcpMetadata": [{"key": "k", "value": "v"}]}`, "metadata/items/1/key", "k", ""},
	"gcpMetadata[].value": {`{"gcpMetadata": [{"key": "user-data", "value": "v"}]}`, "metadata/items/0/value", "v", ""},
	"tags[]":              {`{"tags": ["a", "b"]}`, "tags/items/1", "b", ""},
	"gpus[].type":         {`{"gpus": [{"type": "nvidia-tesla-t4", "count": 2}], "onHostMaintenance": "Terminate"}`, "guestAccelerators/0/acceleratorType", "zones/us-east1-b/acceleratorTypes/nvidia-tesla-t4", ""},
	"gpus[].count":        {`{"gpus": [{"type": "nvidia-tesla-t4", "count": 2}], "onHostMaintenance": "Terminate"}`, "guestAccelerators/0/acceleratorCount", "2", ""},
	"preemptible":         {`{"preemptible": true}`, "scheduling/preemptible", "true", ""},
	"provisioningModel":   {`{"provisioningModel": "Spot"}`, "scheduling/provisioningModel", "SPOT", ""},
	"onHostMaintenance":   {`{"onHostMaintenance": "Terminate"}`, "scheduling/onHostMaintenance", "TERMINATE", ""},
	"restartPolicy":       {`{"restartPolicy": "Never"}`, "scheduling/automaticRestart", "false", ""},
	"confidentialCompute": {`{"confidentialCompute": "AMDEncryptedVirtualizationNestedPaging", "onHostMaintenance": "Terminate"}`, "confidentialInstanceConfig/confidentialInstanceType", "SEV_SNP", ""},

	"shieldedInstanceConfig.secureBoot":                       {`{"shieldedInstanceConfig": {"secureBoot": "Enabled"}}`, "shieldedInstanceConfig/enableSecureBoot", "true", ""},
	"shieldedInstanceConfig.virtualizedTrustedPlatformModule": {`{"shieldedInstanceConfig": {"virtualizedTrustedPlatformModule": "Disabled"}}`, "shieldedInstanceConfig/enableVtpm", "false", ""},
	"shieldedInstanceConfig.integrityMonitoring":              {`{"shieldedInstanceConfig": {"integrityMonitoring": "Disabled"}}`, "shieldedInstanceConfig/enableIntegrityMonitoring", "false", ""},

	"resourceManagerTags[].parentID": {teamTag, "params/resourceManagerTags", teamValue, ""},
	"resourceManagerTags[].key":      {teamTag, "params/resourceManagerTags", teamValue, ""},
	"resourceManagerTags[].value":    {teamTag, "disks/0/initializeParams/resourceManagerTags", teamValue, ""},

	"serviceAccounts[].email":    {`{"serviceAccounts": [{"email": "a@b", "scopes": ["s"]}]}`, "serviceAccounts/0/email", "a@b", ""},
	"serviceAccounts[].scopes[]": {`{"serviceAccounts": [{"email": "a@b", "scopes": ["s"]}]}`, "serviceAccounts/0/scopes/0", "s", ""},

	"networkInterfaces[].network":    {`{"networkInterfaces": [{"network": "n", "subnetwork": "s"}]}`, "networkInterfaces/0/network", "projects/rehearsal/global/networks/n", ""},
	"networkInterfaces[].subnetwork": {`{"networkInterfaces": [{"network": "n", "subnetwork": "s"}]}`, "networkInterfaces/0/subnetwork", "projects/rehearsal/regions/us-east1/subnetworks/s", ""},
	"networkInterfaces[].projectID":  {`{"networkInterfaces": [{"network": "n", "subnetwork": "s", "projectID": "host"}]}`, "networkInterfaces/0/subnetwork", "projects/host/regions/us-east1/subnetworks/s", ""},
	"networkInterfaces[].publicIP":   {`{"networkInterfaces": [{"network": "n", "subnetwork": "s", "publicIP": true}]}`, "networkInterfaces/0/accessConfigs", "[{}]", ""},

	"disks[].autoDelete": {`{"disks": [{"image": "i", "boot": true, "autoDelete": true}]}`, "disks/0/autoDelete", "true", ""},
	"disks[].boot":       {`{"disks": [{"image": "i", "boot": true}]}`, "disks/0/boot", "true", ""},
	"disks[].sizeGb":     {`{"disks": [{"image": "i", "boot": true, "sizeGb": 77}]}`, "disks/0/initializeParams/diskSizeGb", "77", ""},
	"disks[].type":       {`{"disks": [{"image": "i", "boot": true, "type": "pd-ssd"}]}`, "disks/0/initializeParams/diskType", "zones/us-east1-b/diskTypes/pd-ssd", ""},
	"disks[].image":      {`{"disks": [{"image": "i", "boot": true}]}`, "disks/0/initializeParams/sourceImage", "projects/rehearsal/global/images/i", ""},
	"disks[].labels":     {`{"disks": [{"image": "i", "boot": true, "labels": {"a": "b"}}]}`, "disks/0/initializeParams/labels/a", "b", ""},

	"disks[].encryptionKey.kmsKey.name":          {encrypted, "disks/0/diskEncryptionKey/kmsKeyName", kmsKey, ""},
	"disks[].encryptionKey.kmsKey.keyRing":       {encrypted, "disks/0/diskEncryptionKey/kmsKeyName", kmsKey, ""},
	"disks[].encryptionKey.kmsKey.projectID":     {encrypted, "disks/0/diskEncryptionKey/kmsKeyName", kmsKey, ""},
	"disks[].encryptionKey.kmsKey.location":      {encrypted, "disks/0/diskEncryptionKey/kmsKeyName", kmsKey, ""},
	"disks[].encryptionKey.kmsKeyServiceAccount": {encrypted, "disks/0/diskEncryptionKey/kmsKeyServiceAccount", "k@p", ""},
}

const (
	teamTag   = `{"resourceManagerTags": [{"parentID": "rehearsal", "key": "team", "value": "blue"}]}`
	teamValue = `{"tagKeys/281480012345":"tagValues/281479440962"}`
	encrypted = `{"disks": [{"image": "i", "boot": true, "encryptionKey": {"kmsKey": {"name": "k", "keyRing": "r", "projectID": "p", "location": "l"}, "kmsKeyServiceAccount": "k@p"}}]}`
	kmsKey    = "projects/p/locations/l/keyRings/r/cryptoKeys/k"
	dual      = `{"networkInterfaces": [{"subnetwork": "s", "stackType": "IPV4_IPV6", "ipv6accessType": "INTERNAL", "useAliasIPs": true, "ipCidrRange": "/24", "subnetworkRangeName": "pods"}]}`
)

var gardenerFields = map[string]reaches{
	"apiVersion": {why: typed},

	"canIpForward":       {`{"canIpForward": true}`, "canIpForward", "true", ""},
	"deletionProtection": {`{"deletionProtection": true}`, "deletionProtection", "true", ""},
	"description":        {`{"description": "a node"}`, "description", "a node", ""},
	"machineType":        {`{"machineType": "n2-standard-8"}`, "machineType", "zones/us-east1-b/machineTypes/n2-standard-8", ""},
	"minCpuPlatform":     {`{"minCpuPlatform": "Intel Ice Lake"}`, "minCpuPlatform", "Intel Ice Lake", ""},
	"region":             {`{"region": "us-east1"}`, "networkInterfaces/0/subnetwork", "regions/us-east1/subnetworks/prod-worker-subnet", ""},
	"zone":               {`{"zone": "us-east1-c"}`, "machineType", "zones/us-east1-c/machineTypes/n1-standard-4", ""},
	"labels":             {`{"labels": {"team": "blue"}}`, "labels/team", "blue", ""},
	"metadata[].key":     {`{"metadata": [{"key": "k", "value": "v"}]}`, "metadata/items/1/key", "k", ""},
	"metadata[].value":   {`{"metadata": [{"key": "k", "value": "v"}]}`, "metadata/items/1/value", "v", ""},
	"tags[]":             {`{"tags": ["kubernetes-io-cluster-fields", "kubernetes-io-role-node", "c"]}`, "tags/items/2", "c", ""},

	"gpu.acceleratorType": {`{"gpu": {"acceleratorType": "nvidia-tesla-t4", "count": 2}, "scheduling": {"onHostMaintenance": "TERMINATE"}}`, "guestAccelerators/0/acceleratorType", "projects/rehearsal/zones/us-east1-b/acceleratorTypes/nvidia-tesla-t4", ""},
	"gpu.count":           {`{"gpu": {"acceleratorType": "nvidia-tesla-t4", "count": 2}, "scheduling": {"onHostMaintenance": "TERMINATE"}}`, "guestAccelerators/0/acceleratorCount", "2", ""},

	"scheduling.automaticRestart":  {`{"scheduling": {"onHostMaintenance": "MIGRATE", "automaticRestart": false}}`, "scheduling/automaticRestart", "false", ""},
	"scheduling.onHostMaintenance": {`{"scheduling": {"onHostMaintenance": "TERMINATE"}}`, "scheduling/onHostMaintenance", "TERMINATE", ""},
	"scheduling.preemptible":       {`{"scheduling": {"onHostMaintenance": "TERMINATE", "automaticRestart": false, "preemptible": true}}`, "scheduling/preemptible", "true", ""},

	"serviceAccounts[].email":    {`{"serviceAccounts": [{"email": "a@b", "scopes": ["s"]}]}`, "serviceAccounts/0/email", "a@b", ""},
	"serviceAccounts[].scopes[]": {`{"serviceAccounts": [{"email": "a@b", "scopes": ["s"]}]}`, "serviceAccounts/0/scopes/0", "s", ""},

	"shieldedInstanceConfiguration.secureBoot":          {`{"shieldedInstanceConfiguration": {"secureBoot": true}}`, "shieldedInstanceConfig/enableSecureBoot", "true", ""},
	"shieldedInstanceConfiguration.vtpm":                {`{"shieldedInstanceConfiguration": {"vtpm": false}}`, "shieldedInstanceConfig/enableVtpm", "false", ""},
	"shieldedInstanceConfiguration.integrityMonitoring": {`{"shieldedInstanceConfiguration": {"integrityMonitoring": true}}`, "shieldedInstanceConfig/enableIntegrityMonitoring", "true", ""},

	"advancedMachineFeatures.enableNestedVirtualization": {`{"advancedMachineFeatures": {"enableNestedVirtualization": true}}`, "advancedMachineFeatures/enableNestedVirtualization", "true", ""},

	"networkInterfaces[].disableExternalIP":   {`{"networkInterfaces": [{"network": "n", "disableExternalIP": false}]}`, "networkInterfaces/0/accessConfigs", "[{}]", ""},
	"networkInterfaces[].network":             {`{"networkInterfaces": [{"network": "n"}]}`, "networkInterfaces/0/network", "projects/rehearsal/global/networks/n", ""},
	"networkInterfaces[].subnetwork":          {`{"networkInterfaces": [{"subnetwork": "s"}]}`, "networkInterfaces/0/subnetwork", "regions/us-east1/subnetworks/s", ""},
	"networkInterfaces[].stackType":           {dual, "networkInterfaces/0/stackType", "IPV4_IPV6", ""},
	"networkInterfaces[].ipv6accessType":      {dual, "networkInterfaces/0/ipv6AccessType", "INTERNAL", ""},
	"networkInterfaces[].useAliasIPs":         {`{"networkInterfaces": [{"subnetwork": "s", "useAliasIPs": true, "ipCidrRange": "/24", "subnetworkRangeName": "pods"}]}`, "networkInterfaces/0/aliasIpRanges/0/ipCidrRange", "/24", ""},
	"networkInterfaces[].ipCidrRange":         {dual, "networkInterfaces/0/aliasIpRanges/0/ipCidrRange", "/24", ""},
	"networkInterfaces[].subnetworkRangeName": {dual, "networkInterfaces/0/aliasIpRanges/0/subnetworkRangeName", "pods", ""},

	"disks[].autoDelete":            {`{"disks": [{"image": "i", "boot": true, "autoDelete": false}]}`, "disks/0/autoDelete", "", ""},
	"disks[].boot":                  {`{"disks": [{"image": "i", "boot": true}]}`, "disks/0/boot", "true", ""},
	"disks[].sizeGb":                {`{"disks": [{"image": "i", "boot": true, "sizeGb": 77}]}`, "disks/0/initializeParams/diskSizeGb", "77", ""},
	"disks[].type":                  {`{"disks": [{"image": "i", "boot": true}, {"type": "SCRATCH", "interface": "NVME"}]}`, "disks/1/initializeParams/diskType", "zones/us-east1-b/diskTypes/local-ssd", ""},
	"disks[].interface":             {`{"disks": [{"image": "i", "boot": true}, {"type": "SCRATCH", "interface": "NVME"}]}`, "disks/1/interface", "NVME", ""},
	"disks[].image":                 {`{"disks": [{"image": "global/images/i", "boot": true}]}`, "disks/0/initializeParams/sourceImage", "global/images/i", ""},
	"disks[].labels":                {`{"disks": [{"image": "i", "boot": true, "labels": {"a": "b"}}]}`, "disks/0/initializeParams/labels/a", "b", ""},
	"disks[].provisionedIops":       {`{"disks": [{"image": "i", "boot": true, "provisionedIops": 5000}]}`, "disks/0/initializeParams/provisionedIops", "5000", ""},
	"disks[].provisionedThroughput": {`{"disks": [{"image": "i", "boot": true, "provisionedThroughput": 200}]}`, "disks/0/initializeParams/provisionedThroughput", "200", ""},
	"disks[].storagePool":           {`{"disks": [{"image": "i", "boot": true, "storagePool": "pool"}]}`, "disks/0/initializeParams/storagePool", "pool", ""},

	"disks[].encryption.kmsKeyName":           {`{"disks": [{"image": "i", "boot": true, "encryption": {"kmsKeyName": " k ", "kmsKeyServiceAccount": "a"}}]}`, "disks/0/diskEncryptionKey/kmsKeyName", "k", ""},
	"disks[].encryption.kmsKeyServiceAccount": {`{"disks": [{"image": "i", "boot": true, "encryption": {"kmsKeyName": "k", "kmsKeyServiceAccount": " a "}}]}`, "disks/0/diskEncryptionKey/kmsKeyServiceAccount", "a", ""},
}
