package cloud_test

import (
	"maps"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	machinev1 "github.com/openshift/api/machine/v1"

	"github.com/millwright-dev/millwright/dev/clouds/prism"
	"github.com/millwright-dev/millwright/provider/fieldsdoc"
)

// reached says how a field of a spec reaches Prism Central: the fields of the request to create a virtual machine, or the reason
// why no request has it.
type reached struct {
	// set is merged into the spec, as a JSON merge patch.
	set string
	// want are fields of the request, as a query: without "spec." and "resources.", if they are there.
	want string
	// why is the reason for which no request has it.
	why string
}

const (
	byEngine = "Millwright reads the named secret"
	typeOfIt = "identifies the type of the spec"
	flash    = `{"dataDisks":[{"diskSize":"10Gi","storageConfig":{"diskMode":"Flash","storageContainer":{"type":"uuid","uuid":"0005f1a0-0000-4000-8000-000000000401"}}}]}`
	device   = `{"dataDisks":[{"diskSize":"10Gi","deviceProperties":{"deviceType":"CDRom","adapterType":"SATA","deviceIndex":3}}]}`
	imageA   = "0005f1a0-0000-4000-8000-000000000101"
	imageB   = "0005f1a0-0000-4000-8000-000000000102"
)

var fields = map[string]reached{
	"apiVersion": {why: typeOfIt}, "kind": {why: typeOfIt}, "metadata": {why: "a spec inside an object has no metadata"},
	"userDataSecret.name": {why: byEngine}, "credentialsSecret.name": {why: byEngine},
	"cluster.type":         {set: `{"cluster":{"type":"uuid","uuid":"0005f1a0-0000-4000-8000-00000000000b"}}`, want: "cluster_reference.uuid=0005f1a0-0000-4000-8000-00000000000b&cluster_reference.kind=cluster"},
	"cluster.uuid":         {set: `{"cluster":{"type":"uuid","uuid":"0005f1a0-0000-4000-8000-00000000000b"}}`, want: "cluster_reference.uuid=0005f1a0-0000-4000-8000-00000000000b"},
	"cluster.name":         {set: `{"cluster":{"name":"cluster-b"}}`, want: "cluster_reference.uuid=0005f1a0-0000-4000-8000-00000000000b"},
	"image.type":           {set: `{"image":{"type":"uuid","uuid":"` + imageB + `"}}`, want: "disk_list.0.data_source_reference.uuid=" + imageB},
	"image.uuid":           {set: `{"image":{"type":"uuid","uuid":"` + imageB + `"}}`, want: "disk_list.0.data_source_reference.uuid=" + imageB},
	"image.name":           {set: `{"image":{"name":"data"}}`, want: "disk_list.0.data_source_reference.uuid=" + imageB + "&disk_list.0.data_source_reference.kind=image"},
	"subnets[].type":       {set: `{"subnets":[{"type":"uuid","uuid":"0005f1a0-0000-4000-8000-00000000020b"}]}`, want: "nic_list.0.subnet_reference.uuid=0005f1a0-0000-4000-8000-00000000020b"},
	"subnets[].uuid":       {set: `{"subnets":[{"type":"uuid","uuid":"0005f1a0-0000-4000-8000-00000000020b"}]}`, want: "nic_list.0.subnet_reference.uuid=0005f1a0-0000-4000-8000-00000000020b"},
	"subnets[].name":       {set: `{"subnets":[{"type":"name","name":"machines-b"}]}`, want: "nic_list.0.subnet_reference.uuid=0005f1a0-0000-4000-8000-00000000020b&nic_list.0.subnet_reference.kind=subnet"},
	"vcpusPerSocket":       {set: `{"vcpusPerSocket":3}`, want: "num_vcpus_per_socket=3"},
	"vcpuSockets":          {set: `{"vcpuSockets":7}`, want: "num_sockets=7"},
	"memorySize":           {set: `{"memorySize":"8Gi"}`, want: "memory_size_mib=8192"},
	"systemDiskSize":       {set: `{"systemDiskSize":"50Gi"}`, want: "disk_list.0.disk_size_mib=51200"},
	"bootType":             {set: `{"bootType":"Legacy"}`, want: "boot_config.boot_type=LEGACY&boot_config.boot_device_order_list.0=CDROM"},
	"project.type":         {set: `{"project":{"type":"name","name":"machines"}}`, want: "metadata.project_reference.uuid=0005f1a0-0000-4000-8000-000000000301"},
	"project.uuid":         {set: `{"project":{"type":"uuid","uuid":"0005f1a0-0000-4000-8000-000000000301"}}`, want: "metadata.project_reference.uuid=0005f1a0-0000-4000-8000-000000000301"},
	"project.name":         {set: `{"project":{"type":"name","name":"machines"}}`, want: "metadata.project_reference.uuid=0005f1a0-0000-4000-8000-000000000301&metadata.project_reference.kind=project"},
	"categories[].key":     {set: `{"categories":[{"key":"AppTier","value":"Default"}]}`, want: "metadata.categories.AppTier=Default&metadata.categories.kubernetes-io-cluster-c1=owned"},
	"categories[].value":   {set: `{"categories":[{"key":"AppTier","value":"Default"}]}`, want: "metadata.categories.AppTier=Default"},
	"gpus[].type":          {set: `{"gpus":[{"type":"DeviceID","deviceID":7864}]}`, want: "gpu_list.0.device_id=7864"},
	"gpus[].deviceID":      {set: `{"gpus":[{"type":"DeviceID","deviceID":7864}]}`, want: "gpu_list.0.device_id=7864&gpu_list.0.mode=PASSTHROUGH_COMPUTE&gpu_list.0.vendor=NVIDIA"},
	"gpus[].name":          {set: `{"gpus":[{"type":"Name","name":"Tesla T4 compute"}]}`, want: "gpu_list.0.device_id=7864"},
	"dataDisks[].diskSize": {set: `{"dataDisks":[{"diskSize":"10Gi"}]}`, want: "disk_list.1.disk_size_mib=10240"},
	"failureDomain.name":   {set: `{"failureDomain":{"name":"fd-b"}}`, want: "cluster_reference.uuid=0005f1a0-0000-4000-8000-00000000000b&nic_list.0.subnet_reference.uuid=0005f1a0-0000-4000-8000-00000000020b"},
	"dataDisks[].deviceProperties.deviceType":         {set: device, want: "disk_list.1.device_properties.device_type=CDROM"},
	"dataDisks[].deviceProperties.adapterType":        {set: device, want: "disk_list.1.device_properties.disk_address.adapter_type=SATA"},
	"dataDisks[].deviceProperties.deviceIndex":        {set: device, want: "disk_list.1.device_properties.disk_address.device_index=3"},
	"dataDisks[].storageConfig.diskMode":              {set: flash, want: "disk_list.1.storage_config.flash_mode=ENABLED"},
	"dataDisks[].storageConfig.storageContainer.type": {set: flash, want: "disk_list.1.storage_config.storage_container_reference.kind=storage_container"},
	"dataDisks[].storageConfig.storageContainer.uuid": {set: flash, want: "disk_list.1.storage_config.storage_container_reference.uuid=0005f1a0-0000-4000-8000-000000000401"},
	"dataDisks[].dataSource.type":                     {set: `{"dataDisks":[{"diskSize":"10Gi","dataSource":{"type":"name","name":"data"}}]}`, want: "disk_list.1.data_source_reference.uuid=" + imageB},
	"dataDisks[].dataSource.name":                     {set: `{"dataDisks":[{"diskSize":"10Gi","dataSource":{"type":"name","name":"data"}}]}`, want: "disk_list.1.data_source_reference.uuid=" + imageB},
	"dataDisks[].dataSource.uuid":                     {set: `{"dataDisks":[{"diskSize":"10Gi","dataSource":{"type":"uuid","uuid":"` + imageA + `"}}]}`, want: "disk_list.1.data_source_reference.uuid=" + imageA},
}

func TestEveryFieldReachesPrismCentral(t *testing.T) {
	there := fieldsdoc.Leaves(reflect.TypeFor[machinev1.NutanixMachineProviderConfig]())
	for _, path := range slices.Sorted(maps.Keys(fields)) {
		if _, ok := there[path]; !ok {
			t.Errorf("there is a row for %s, which no spec has", path)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(there)) {
		row, ok := fields[path]
		switch {
		case !ok:
			t.Errorf("%s has neither a row nor a reason", path)
		case row.why == "":
			t.Run(path, row.check)
		}
	}
}

func (r reached) check(t *testing.T) {
	w := newWorld(t, prism.Options{Inventory: prism.Sample()})
	s, err := w.startWith(objects{"Infrastructure": infrastructureOfDomains}).Open(t.Context(), patched(t, classOf("", "c1"), r.set))
	if err == nil {
		_, err = s.Create(t.Context(), refOf("worker-1"), want)
	}
	if err != nil {
		t.Fatal(err)
	}
	expected, err := url.ParseQuery(r.want)
	if err != nil {
		t.Fatal(err)
	}
	sent := parameters(t, w.Received("POST vms")[0].Body, "worker-1")
	for key := range expected {
		if has := sent[whole(key)]; has != expected.Get(key) {
			t.Errorf("%s is %q, want %q", whole(key), has, expected.Get(key))
		}
	}
}

// whole is the whole path of a field.
func whole(key string) string {
	switch {
	case strings.HasPrefix(key, "metadata."):
		return key
	case strings.HasPrefix(key, "cluster_reference."):
		return "spec." + key
	}
	return "spec.resources." + key
}

const fieldsFile = "../../../docs/providers/nutanix-fields.md"

const fieldsHead = `<!-- Code generated by TestFieldsPage of providers/nutanix/cloud from the table of its tests. DO NOT EDIT. -->

# Fields of specs for Nutanix

The table shows which fields of the request ` + "`POST /vms`" + ` have each field of a spec (N stands for a number), or why no request has the field. The tests
that generate this page send each field to a simulator of Prism Central and check what it receives. [How to use the specs](nutanix.md).
`

// TestFieldsPage: the page matches the tests of fields. UPDATE_GOLDEN writes it.
func TestFieldsPage(t *testing.T) {
	of := fieldsdoc.Spec{Title: "machine.openshift.io: NutanixMachineProviderConfig, in providerSpec.value"}
	for path, is := range fieldsdoc.Leaves(reflect.TypeFor[machinev1.NutanixMachineProviderConfig]()) {
		of.Fields = append(of.Fields, fieldsdoc.Field{Path: path, Type: fieldsdoc.TypeName(is), Becomes: fields[path].told()})
	}
	fieldsdoc.Page(t, fieldsFile, fieldsHead, of)
}

var index = regexp.MustCompile(`\.\d+`)

// told describes where the field goes, for the page.
func (r reached) told() string {
	if r.why != "" {
		return "in no request: " + r.why
	}
	var in []string
	for parameter := range strings.SplitSeq(r.want, "&") {
		name, _, _ := strings.Cut(parameter, "=")
		if name = "`" + index.ReplaceAllString(whole(name), ".N") + "`"; !slices.Contains(in, name) {
			in = append(in, name)
		}
	}
	return strings.Join(in, ", ")
}
