package cloud

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"strings"
	"testing"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/millwright-dev/millwright/dev/clouds/vcenter"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/vsphere/spec"
)

// row is the value of a field in the request for the clone, as the vCenter receives it, or the reason why
// it is in none. A row with neither fails the test.
type row struct {
	field string
	set   func(m)
	at    string // where, as [parameter] reads it; several are separated by spaces
	want  string // the values there, in the same order
	why   string
	note  string // a note for users
}

// leaves are the paths of all fields of a type that have no fields themselves, with their types.
func leaves(t reflect.Type, at string) map[string]reflect.Type {
	all := map[string]reflect.Type{}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() == reflect.Slice {
		return leaves(t.Elem(), at+"[]")
	}
	if t.Kind() != reflect.Struct || t.PkgPath() == "k8s.io/apimachinery/pkg/apis/meta/v1" && at != "" {
		return map[string]reflect.Type{at: t}
	}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case name == "" && f.Anonymous:
			maps.Copy(all, leaves(f.Type, at))
		default:
			maps.Copy(all, leaves(f.Type, strings.TrimPrefix(at+"."+name, ".")))
		}
	}
	return all
}

func options(r types.CloneVM_Task) map[string]string {
	all := map[string]string{}
	for _, o := range r.Spec.Config.ExtraConfig {
		all[o.GetOptionValue().Key] = fmt.Sprint(o.GetOptionValue().Value)
	}
	return all
}

// step is a step of a path: a name, and in brackets the selected elements of a list.
var step = regexp.MustCompile(`([^.\[]+)(?:\[([^]]*)])?`)

// parameter is the value in a request at a path of names as the API has them, joined by spaces. Options and
// properties are selected by name, changes to devices by operation and type.
func parameter(s *stage, r types.CloneVM_Task, at string) string {
	found := []reflect.Value{reflect.ValueOf(r)}
	for _, step := range step.FindAllStringSubmatch(at, -1) {
		name, which := step[1], step[2]
		var next []reflect.Value
		for _, v := range found {
			if v = member(bare(v), name); v.IsValid() {
				next = append(next, chosen(v, which)...)
			}
		}
		found = next
	}
	var all []string
	for _, v := range found {
		if v = bare(v); v.IsValid() {
			all = append(all, s.told(v, at))
		}
	}
	return strings.Join(all, " ")
}

// bare is the value behind pointers and interfaces.
func bare(v reflect.Value) reflect.Value {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	return v
}

func member(v reflect.Value, name string) reflect.Value {
	if v.Kind() != reflect.Struct {
		return reflect.Value{}
	}
	for _, f := range reflect.VisibleFields(v.Type()) {
		said, _, _ := strings.Cut(f.Tag.Get("xml"), ",")
		if said == name || said == "" && strings.EqualFold(f.Name, name) {
			return v.FieldByIndex(f.Index)
		}
	}
	return reflect.Value{}
}

// chosen are the selected elements of a list, or a value that is no list.
func chosen(v reflect.Value, which string) (all []reflect.Value) {
	if v.Kind() != reflect.Slice {
		return []reflect.Value{v}
	}
	for _, element := range v.Seq2() {
		switch e := element.Interface().(type) {
		case types.BaseOptionValue:
			if e.GetOptionValue().Key == which {
				all = append(all, element)
			}
		case types.VAppPropertySpec:
			if e.Info.Id == which {
				all = append(all, element)
			}
		case types.BaseVirtualDeviceConfigSpec:
			spec := e.GetVirtualDeviceConfigSpec()
			if string(spec.Operation)+":"+reflect.TypeOf(spec.Device).Elem().Name() == which {
				all = append(all, element)
			}
		}
	}
	return all
}

// told formats a value: a reference by its name.
func (s *stage) told(v reflect.Value, at string) string {
	switch value := v.Interface().(type) {
	case types.ManagedObjectReference:
		return cmp.Or(s.cloud.Probe().NameOf(value), value.Type)
	case string:
		if strings.HasSuffix(at, ".portgroupKey") {
			return s.cloud.Probe().NameOf(types.ManagedObjectReference{Type: "DistributedVirtualPortgroup", Value: value})
		}
	}
	return fmt.Sprint(v.Interface())
}

func workspace(key string, value any) func(m) { return func(s m) { s["workspace"].(m)[key] = value } }

func device(fields m) func(m) {
	return func(s m) {
		fields["networkName"] = "vm-network"
		s["network"] = m{"devices": []m{fields}}
	}
}

// kib are the sizes in KiB of disks with these sizes in GiB.
func kib(sizes ...int64) string {
	var all []string
	for _, gib := range sizes {
		all = append(all, fmt.Sprint(gib<<20))
	}
	return strings.Join(all, " ")
}

func set(key string, value any) func(m) { return func(s m) { s[key] = value } }

const (
	thePool  = "Millwright creates a claim for an address and reads the address: TestAddressesOfPools"
	ofEngine = "Millwright reads the named secret"
	inIt     = "all other named objects are looked up in this datacenter"
)

func openShiftRows(s *stage) []row {
	disks := []m{{"name": "a", "sizeGiB": 5, "provisioningMode": "Thin"}, {"name": "b", "sizeGiB": 6, "provisioningMode": "Thick"}, {"name": "c", "sizeGiB": 7, "provisioningMode": "EagerlyZeroed"}, {"name": "d", "sizeGiB": 8}}
	const (
		kargs   = "spec.config.extraConfig[guestinfo.afterburn.initrd.network-kargs].value"
		backing = "spec.config.deviceChange[add:VirtualDisk].device.backing."
	)
	return []row{
		{field: "kind", why: "has no effect: all values mean the same"},
		{field: "apiVersion", why: "has no effect: all values mean the same"},
		{field: "metadata", why: "has no effect, as in OpenShift's provider"},
		{field: "userDataSecret.name", why: ofEngine},
		{field: "credentialsSecret.name", why: ofEngine},
		{field: "template", set: set("template", "/dc1/vm/flatcar"), want: "flatcar", at: "_this"},
		{field: "workspace.server", why: "the address of the vCenter: TestServers"},
		{field: "workspace.datacenter", set: workspace("datacenter", "/dc1"), want: "machines", at: "folder", note: inIt},
		{field: "workspace.folder", set: workspace("folder", "/dc1/vm"), want: "vm", at: "folder"},
		{field: "workspace.datastore", set: workspace("datastore", "/dc1/datastore/ds2"), want: "ds2", at: "spec.location.datastore"},
		{field: "workspace.resourcePool", set: workspace("resourcePool", "/dc1/host/cluster1/Resources/machines"), want: "machines", at: "spec.location.pool"},
		{field: "workspace.vmGroup", why: "the controller adds the virtual machine to the group before its start, and restores the membership: TestVMGroup"},
		{field: "network.devices[].networkName", set: func(s m) {
			s["network"] = m{"devices": []m{{"networkName": "storage-network"}, {"networkName": "vm-network"}}}
		}, want: "storage-network vm-network", at: "spec.config.deviceChange[add:VirtualVmxnet3].device.backing.port.portgroupKey"},
		{field: "network.devices[].gateway", set: device(m{"gateway": "10.0.0.1", "ipAddrs": []string{"10.0.0.7/24"}}), want: "ip=10.0.0.7::10.0.0.1:255.255.255.0:::none", at: kargs},
		{field: "network.devices[].ipAddrs[]", set: device(m{"ipAddrs": []string{"10.0.0.7/20", "2001:db8::7/64"}}), want: "ip=10.0.0.7:::255.255.240.0:::none ip=[2001:db8::7]:::64:::none", at: kargs},
		{field: "network.devices[].nameservers[]", set: device(m{"ipAddrs": []string{"10.0.0.7/24"}, "nameservers": []string{"8.8.8.8", "2001:db8::1"}}), want: "ip=10.0.0.7:::255.255.255.0:::none nameserver=8.8.8.8 nameserver=[2001:db8::1]", at: kargs},
		{field: "network.devices[].addressesFromPools[].group", why: thePool},
		{field: "network.devices[].addressesFromPools[].resource", why: thePool},
		{field: "network.devices[].addressesFromPools[].name", why: thePool},
		{field: "numCPUs", set: set("numCPUs", 6), want: "6", at: "spec.config.numCPUs"},
		{field: "numCoresPerSocket", set: set("numCoresPerSocket", 1), want: "1", at: "spec.config.numCoresPerSocket"},
		{field: "memoryMiB", set: set("memoryMiB", 9000), want: "9000", at: "spec.config.memoryMB"},
		{field: "diskGiB", set: set("diskGiB", 33), want: kib(33), at: "spec.config.deviceChange[edit:VirtualDisk].device.capacityInKB"},
		{field: "tagIDs[]", why: "attached to running virtual machines, and restored: TestTags"},
		{field: "snapshot", set: func(s m) { s["snapshot"], s["cloneMode"] = "clean", "linkedClone" }, want: "VirtualMachineSnapshot createNewChildDiskBacking", at: "spec.snapshot spec.location.diskMoveType"},
		{field: "cloneMode", set: set("cloneMode", "linkedClone"), want: "VirtualMachineSnapshot createNewChildDiskBacking", at: "spec.snapshot spec.location.diskMoveType"},
		{field: "dataDisks[].name", set: set("dataDisks", disks), want: "a b c d", at: "spec.config.deviceChange[add:VirtualDisk].device.deviceInfo.label"},
		{field: "dataDisks[].sizeGiB", set: set("dataDisks", disks), want: kib(5, 6, 7, 8), at: "spec.config.deviceChange[add:VirtualDisk].device.capacityInKB"},
		{field: "dataDisks[].provisioningMode", set: set("dataDisks", disks), want: "true false false true", at: backing + "thinProvisioned " + backing + "eagerlyScrub"},
	}
}

func vAppProperty(id string) func(*stage, types.CloneVM_Task) string {
	return func(_ *stage, r types.CloneVM_Task) string {
		if r.Spec.Config.VAppConfig == nil {
			return ""
		}
		for _, p := range r.Spec.Config.VAppConfig.GetVmConfigSpec().Property {
			if p.Info.Id == id {
				return p.Info.Value
			}
		}
		return ""
	}
}

func gardenerRows(s *stage) []row {
	without := func(change func(m), keys ...string) func(m) {
		return func(s m) {
			for _, k := range keys {
				delete(s, k)
			}
			change(s)
		}
	}
	yes := true
	return []row{
		{field: "apiVersion", why: "has no effect: all values mean the same"},
		{field: "kind", why: "has no effect: all values mean the same"},
		{field: "v2", why: "is refused: a Supervisor has another API"},
		{field: "region", why: "part of provider IDs: TestConformance"},
		{field: "datacenter", set: set("datacenter", "/dc1"), want: "machines", at: "folder", note: inIt},
		{field: "datastoreCluster", set: without(set("datastoreCluster", "pod1"), "datastore"), want: "ds3", at: "spec.location.datastore"},
		{field: "datastore", set: set("datastore", "ds2"), want: "ds2", at: "spec.location.datastore"},
		{field: "computeCluster", set: without(set("computeCluster", "cluster1"), "resourcePool"), want: "Resources", at: "spec.location.pool"},
		{field: "resourcePool", set: set("resourcePool", "cluster1/Resources/machines"), want: "machines", at: "spec.location.pool"},
		{field: "hostSystem", set: without(set("hostSystem", "esx1.example.org"), "resourcePool"), want: "esx1.example.org", at: "spec.location.host"},
		{field: "folder", set: set("folder", ""), want: "vm", at: "folder"},
		{field: "numCpus", set: set("numCpus", 6), want: "6", at: "spec.config.numCPUs"},
		{field: "memory", set: set("memory", 9000), want: "9000", at: "spec.config.memoryMB"},
		{field: "memoryReservationLockedToMax", set: set("memoryReservationLockedToMax", yes), want: "true", at: "spec.config.memoryReservationLockedToMax"},
		{field: "systemDisk.size", set: set("systemDisk", m{"size": 33}), want: kib(33), at: "spec.config.deviceChange[edit:VirtualDisk].device.capacityInKB"},
		{field: "extraConfig", set: set("extraConfig", m{"sched.swap.vmxSwapEnabled": "false"}), want: "false", at: "spec.config.extraConfig[sched.swap.vmxSwapEnabled].value"},
		{field: "network", set: set("network", "storage-network"), want: "storage-network", at: "spec.config.deviceChange[add:VirtualVmxnet3].device.backing.port.portgroupKey"},
		{field: "switchUuid", set: set("switchUuid", strings.ToUpper(s.cloud.Probe().SwitchUUID("dc1"))), want: "vm-network", at: "spec.config.deviceChange[add:VirtualVmxnet3].device.backing.port.portgroupKey"},
		{field: "templateVM", set: set("templateVM", "flatcar"), want: "flatcar", at: "_this"},
		{field: "guestId", set: set("guestId", "ubuntu64Guest"), want: "ubuntu64Guest", at: "spec.config.guestId"},
		{field: "vapp.properties", set: set("vapp", m{"properties": m{"hostname": "mine"}}), want: "mine", at: "spec.config.vAppConfig.property[hostname].info.value"},
		{field: "force", why: "has no effect: the vCenter creates another folder if one with existing files has the name. The original searches for such files by a task, and waits"},
		{field: "waitForIP", why: "defines when an instance counts as running: TestWaitForIP"},
		{field: "customization", set: set("customization", "linux"), want: "example.org", at: "spec.customization.identity.domain", note: "and all other fields of the specification of that name"},
		{field: "sshKeys[]", set: set("sshKeys", []string{"ssh-ed25519 AAAA me"}), want: base64.StdEncoding.EncodeToString([]byte("#cloud-config\nssh_authorized_keys:\n- \"ssh-ed25519 AAAA me\"\n")), at: "spec.config.vAppConfig.property[user-data].info.value"},
		{field: "tags", why: "custom attributes, set on running virtual machines and restored: TestAttributes"},
	}
}

// specs are those of each API.
var specs = []struct {
	api, kind string
	shape     any
	rows      func(*stage) []row
	spec      func(*stage) m
	twice     string // prefix of the fields that are in two places
}{
	{provider.OpenShift, "VSphereMachineProviderSpec", machinev1beta1.VSphereMachineProviderSpec{}, openShiftRows, (*stage).openShift, "-"},
	{provider.Gardener, "providerSpec of a MachineClass", spec.Gardener{}, gardenerRows, func(s *stage) m { return s.gardener("c") }, "v1."},
}

func TestEveryFieldReachesTheRequest(t *testing.T) {
	for _, of := range specs {
		t.Run(of.api, func(t *testing.T) {
			s := newStage(t, vcenter.Options{})
			left := map[string]bool{}
			for path := range leaves(reflect.TypeOf(of.shape), "") {
				left[strings.TrimPrefix(path, of.twice)] = true
			}
			p := s.provider()
			for n, r := range of.rows(s) {
				if !left[r.field] {
					t.Errorf("%s is no field, or has two rows", r.field)
				}
				delete(left, r.field)
				if (r.why == "") == (r.set == nil) || (r.at == "") != (r.set == nil) || r.set != nil && r.want == "" {
					t.Errorf("%s has neither a request nor a reason", r.field)
				}
				if r.set != nil {
					t.Run(r.field, func(t *testing.T) { s.reaches(t, p, of.api, of.spec(s), r, n) })
				}
			}
			for path := range left {
				t.Errorf("%s: nobody says where it goes", path)
			}
		})
	}
}

func (s *stage) reaches(t *testing.T, p provider.Provider, api string, of m, r row, n int) {
	t.Helper()
	r.set(of)
	opened, err := p.Open(t.Context(), s.classOf(api, "c", of))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := opened.Create(t.Context(), machineRef(fmt.Sprintf("m-%d", n)), provider.Want{UserData: []byte("#cloud-config\n")}); err != nil {
		t.Fatal(err)
	}
	all := s.cloud.Probe().Clones()
	var got []string
	for at := range strings.SplitSeq(r.at, " ") {
		if said := parameter(s, all[len(all)-1], at); said != "" {
			got = append(got, said)
		}
	}
	if said := strings.Join(got, " "); said != r.want {
		t.Errorf("the request has %q at %s, want %q", said, r.at, r.want)
	}
}
