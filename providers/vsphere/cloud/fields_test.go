package cloud

import (
	"encoding/base64"
	"fmt"
	"reflect"
	"strings"
	"testing"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/millwright-dev/millwright/dev/clouds/vcenter"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/vsphere/spec"
)

// row is what a field of a spec becomes in the request for the clone, as the vCenter has received it, or why it is in
// none. Where neither is said, the test fails.
type row struct {
	field string
	set   func(m)
	want  string // of show
	show  func(*stage, types.CloneVM_Task) string
	why   string
}

// leaves are the paths of all fields of a type that have no fields themselves.
func leaves(t reflect.Type, at string) (all []string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t.PkgPath() == "k8s.io/apimachinery/pkg/apis/meta/v1" && at != "" {
		return []string{at}
	}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case name == "" && f.Anonymous:
			all = append(all, leaves(f.Type, at)...)
		case at == "":
			all = append(all, leaves(f.Type, name)...)
		default:
			all = append(all, leaves(f.Type, at+"."+name)...)
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

func option(key string) func(*stage, types.CloneVM_Task) string {
	return func(_ *stage, r types.CloneVM_Task) string { return options(r)[key] }
}

// named is the name of an object of the vCenter.
func named(pick func(types.CloneVM_Task) *types.ManagedObjectReference) func(*stage, types.CloneVM_Task) string {
	return func(s *stage, r types.CloneVM_Task) string {
		ref := pick(r)
		if ref == nil {
			return ""
		}
		return s.cloud.Probe().NameOf(*ref)
	}
}

var (
	folderOfClone    = named(func(r types.CloneVM_Task) *types.ManagedObjectReference { return &r.Folder })
	templateOfClone  = named(func(r types.CloneVM_Task) *types.ManagedObjectReference { return &r.This })
	datastoreOfClone = named(func(r types.CloneVM_Task) *types.ManagedObjectReference { return r.Spec.Location.Datastore })
	poolOfClone      = named(func(r types.CloneVM_Task) *types.ManagedObjectReference { return r.Spec.Location.Pool })
	hostOfClone      = named(func(r types.CloneVM_Task) *types.ManagedObjectReference { return r.Spec.Location.Host })
)

// changes are the changes to devices of one kind and operation.
func changes[T types.BaseVirtualDevice](r types.CloneVM_Task, operation types.VirtualDeviceConfigSpecOperation) (all []T) {
	for _, change := range r.Spec.Config.DeviceChange {
		spec := change.GetVirtualDeviceConfigSpec()
		if d, ok := spec.Device.(T); ok && spec.Operation == operation {
			all = append(all, d)
		}
	}
	return all
}

const (
	added  = types.VirtualDeviceConfigSpecOperationAdd
	edited = types.VirtualDeviceConfigSpecOperationEdit
)

func networksOfClone(s *stage, r types.CloneVM_Task) string {
	var names []string
	for _, card := range changes[*types.VirtualVmxnet3](r, added) {
		port := card.Backing.(*types.VirtualEthernetCardDistributedVirtualPortBackingInfo).Port
		names = append(names, s.cloud.Probe().NameOf(types.ManagedObjectReference{Type: "DistributedVirtualPortgroup", Value: port.PortgroupKey}))
	}
	return strings.Join(names, " ")
}

func dataDisksOfClone(show func(*types.VirtualDisk) string) func(*stage, types.CloneVM_Task) string {
	return func(_ *stage, r types.CloneVM_Task) string {
		var all []string
		for _, d := range changes[*types.VirtualDisk](r, added) {
			all = append(all, show(d))
		}
		return strings.Join(all, " ")
	}
}

func sizeOfDisk(_ *stage, r types.CloneVM_Task) string {
	for _, d := range changes[*types.VirtualDisk](r, edited) {
		return fmt.Sprint(d.CapacityInKB >> 20)
	}
	return ""
}

func provisioned(d *types.VirtualDisk) string {
	b := d.Backing.(*types.VirtualDiskFlatVer2BackingInfo)
	word := func(v *bool) string {
		if v == nil {
			return "-"
		}
		return fmt.Sprint(*v)
	}
	return word(b.ThinProvisioned) + "/" + word(b.EagerlyScrub)
}

func workspace(key string, value any) func(m) { return func(s m) { s["workspace"].(m)[key] = value } }

func device(fields m) func(m) {
	return func(s m) {
		fields["networkName"] = "vm-network"
		s["network"] = m{"devices": []m{fields}}
	}
}

func set(key string, value any) func(m) { return func(s m) { s[key] = value } }

const (
	thePool  = "the claim for its address is read: TestAddressesOfPools"
	ofEngine = "the engine reads the secret that it names"
)

func openShiftRows(s *stage) []row {
	disks := []m{{"name": "a", "sizeGiB": 5, "provisioningMode": "Thin"}, {"name": "b", "sizeGiB": 6, "provisioningMode": "Thick"}, {"name": "c", "sizeGiB": 7, "provisioningMode": "EagerlyZeroed"}, {"name": "d", "sizeGiB": 8}}
	kargs := option(optionKargs)
	return []row{
		{field: "kind", why: "every kind is read the same way"},
		{field: "apiVersion", why: "every group and version is read the same way"},
		{field: "metadata", why: "the original reads nothing of it"},
		{field: "userDataSecret.name", why: ofEngine},
		{field: "credentialsSecret.name", why: ofEngine},
		{field: "template", set: set("template", "/dc1/vm/flatcar"), want: "flatcar", show: templateOfClone},
		{field: "workspace.server", why: "the request is sent to it: TestServers"},
		{field: "workspace.datacenter", set: workspace("datacenter", "/dc1"), want: "machines", show: folderOfClone},
		{field: "workspace.folder", set: workspace("folder", "/dc1/vm"), want: "vm", show: folderOfClone},
		{field: "workspace.datastore", set: workspace("datastore", "/dc1/datastore/ds2"), want: "ds2", show: datastoreOfClone},
		{field: "workspace.resourcePool", set: workspace("resourcePool", "/dc1/host/cluster1/Resources/machines"), want: "machines", show: poolOfClone},
		{field: "workspace.vmGroup", why: "the virtual machine is put into it before it starts: TestVMGroup"},
		{field: "network.devices.networkName", set: func(s m) {
			s["network"] = m{"devices": []m{{"networkName": "storage-network"}, {"networkName": "vm-network"}}}
		}, want: "storage-network vm-network", show: networksOfClone},
		{field: "network.devices.gateway", set: device(m{"gateway": "10.0.0.1", "ipAddrs": []string{"10.0.0.7/24"}}), want: "ip=10.0.0.7::10.0.0.1:255.255.255.0:::none", show: kargs},
		{field: "network.devices.ipAddrs", set: device(m{"ipAddrs": []string{"10.0.0.7/20", "2001:db8::7/64"}}), want: "ip=10.0.0.7:::255.255.240.0:::none ip=[2001:db8::7]:::64:::none", show: kargs},
		{field: "network.devices.nameservers", set: device(m{"ipAddrs": []string{"10.0.0.7/24"}, "nameservers": []string{"8.8.8.8", "2001:db8::1"}}), want: "ip=10.0.0.7:::255.255.255.0:::none nameserver=8.8.8.8 nameserver=[2001:db8::1]", show: kargs},
		{field: "network.devices.addressesFromPools.group", why: thePool},
		{field: "network.devices.addressesFromPools.resource", why: thePool},
		{field: "network.devices.addressesFromPools.name", why: thePool},
		{field: "numCPUs", set: set("numCPUs", 6), want: "6", show: func(_ *stage, r types.CloneVM_Task) string { return fmt.Sprint(r.Spec.Config.NumCPUs) }},
		{field: "numCoresPerSocket", set: set("numCoresPerSocket", 1), want: "1", show: func(_ *stage, r types.CloneVM_Task) string {
			return fmt.Sprint(*r.Spec.Config.NumCoresPerSocket)
		}},
		{field: "memoryMiB", set: set("memoryMiB", 9000), want: "9000", show: func(_ *stage, r types.CloneVM_Task) string { return fmt.Sprint(r.Spec.Config.MemoryMB) }},
		{field: "diskGiB", set: set("diskGiB", 33), want: "33", show: sizeOfDisk},
		{field: "tagIDs", why: "tags are attached to what runs: TestTags"},
		{field: "snapshot", set: func(s m) { s["snapshot"], s["cloneMode"] = "clean", "linkedClone" }, want: "true createNewChildDiskBacking", show: linkedOf},
		{field: "cloneMode", set: set("cloneMode", "linkedClone"), want: "true createNewChildDiskBacking", show: linkedOf},
		{field: "dataDisks.name", set: set("dataDisks", disks), want: "a b c d", show: dataDisksOfClone(func(d *types.VirtualDisk) string { return d.DeviceInfo.GetDescription().Label })},
		{field: "dataDisks.sizeGiB", set: set("dataDisks", disks), want: "5 6 7 8", show: dataDisksOfClone(func(d *types.VirtualDisk) string { return fmt.Sprint(d.CapacityInKB >> 20) })},
		{field: "dataDisks.provisioningMode", set: set("dataDisks", disks), want: "true/- false/- false/true -/-", show: dataDisksOfClone(provisioned)},
	}
}

func linkedOf(_ *stage, r types.CloneVM_Task) string {
	return fmt.Sprint(r.Spec.Snapshot != nil, " ", r.Spec.Location.DiskMoveType)
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
		{field: "apiVersion", why: "every version is read the same way"},
		{field: "kind", why: "every kind is read the same way"},
		{field: "v2", why: "it is refused: a Supervisor has another API"},
		{field: "region", why: "it is part of provider IDs: TestConformance"},
		{field: "datacenter", set: set("datacenter", "/dc1"), want: "machines", show: folderOfClone},
		{field: "datastoreCluster", set: without(set("datastoreCluster", "pod1"), "datastore"), want: "ds3", show: datastoreOfClone},
		{field: "datastore", set: set("datastore", "ds2"), want: "ds2", show: datastoreOfClone},
		{field: "computeCluster", set: without(set("computeCluster", "cluster1"), "resourcePool"), want: "Resources", show: poolOfClone},
		{field: "resourcePool", set: set("resourcePool", "cluster1/Resources/machines"), want: "machines", show: poolOfClone},
		{field: "hostSystem", set: without(set("hostSystem", "esx1.example.org"), "resourcePool"), want: "esx1.example.org", show: hostOfClone},
		{field: "folder", set: set("folder", ""), want: "vm", show: folderOfClone},
		{field: "numCpus", set: set("numCpus", 6), want: "6", show: func(_ *stage, r types.CloneVM_Task) string { return fmt.Sprint(r.Spec.Config.NumCPUs) }},
		{field: "memory", set: set("memory", 9000), want: "9000", show: func(_ *stage, r types.CloneVM_Task) string { return fmt.Sprint(r.Spec.Config.MemoryMB) }},
		{field: "memoryReservationLockedToMax", set: set("memoryReservationLockedToMax", yes), want: "true", show: func(_ *stage, r types.CloneVM_Task) string {
			return fmt.Sprint(*r.Spec.Config.MemoryReservationLockedToMax)
		}},
		{field: "systemDisk.size", set: set("systemDisk", m{"size": 33}), want: "33", show: sizeOfDisk},
		{field: "extraConfig", set: set("extraConfig", m{"sched.swap.vmxSwapEnabled": "false"}), want: "false", show: option("sched.swap.vmxSwapEnabled")},
		{field: "network", set: set("network", "storage-network"), want: "storage-network", show: networksOfClone},
		{field: "switchUuid", set: set("switchUuid", strings.ToUpper(s.cloud.Probe().SwitchUUID("dc1"))), want: "vm-network", show: networksOfClone},
		{field: "templateVM", set: set("templateVM", "flatcar"), want: "flatcar", show: templateOfClone},
		{field: "guestId", set: set("guestId", "ubuntu64Guest"), want: "ubuntu64Guest", show: func(_ *stage, r types.CloneVM_Task) string { return r.Spec.Config.GuestId }},
		{field: "vapp.properties", set: set("vapp", m{"properties": m{"hostname": "mine"}}), want: "mine", show: vAppProperty("hostname")},
		{field: "force", why: "a vCenter makes another folder for the files if there is one, so that none are in the way; the original looks for them by a task, and waits"},
		{field: "waitForIP", why: "it decides when an instance counts as running: TestWaitForIP"},
		{field: "customization", set: set("customization", "linux"), want: "true", show: func(_ *stage, r types.CloneVM_Task) string { return fmt.Sprint(r.Spec.Customization != nil) }},
		{field: "sshKeys", set: set("sshKeys", []string{"ssh-ed25519 AAAA me"}), want: "#cloud-config\nssh_authorized_keys:\n- \"ssh-ed25519 AAAA me\"\n", show: func(s *stage, r types.CloneVM_Task) string {
			text, err := base64.StdEncoding.DecodeString(vAppProperty("user-data")(s, r))
			return string(text) + strings.Repeat("?", len(fmt.Sprint(err))-len("<nil>"))
		}},
		{field: "tags", why: "custom attributes are given to what runs: TestAttributes"},
	}
}

func TestEveryFieldReachesTheRequest(t *testing.T) {
	for api, of := range map[string]struct {
		shape any
		rows  func(*stage) []row
		spec  func(*stage) m
		twice string // what is in two places
	}{
		provider.OpenShift: {machinev1beta1.VSphereMachineProviderSpec{}, openShiftRows, (*stage).openShift, "-"},
		provider.Gardener:  {spec.Gardener{}, gardenerRows, func(s *stage) m { return s.gardener("c") }, "v1."},
	} {
		t.Run(api, func(t *testing.T) {
			s := newStage(t, vcenter.Options{})
			left := map[string]bool{}
			for _, path := range leaves(reflect.TypeOf(of.shape), "") {
				left[strings.TrimPrefix(path, of.twice)] = true
			}
			p := s.provider()
			for n, r := range of.rows(s) {
				if !left[r.field] {
					t.Errorf("%s is no field, or has two rows", r.field)
				}
				delete(left, r.field)
				if (r.why == "") == (r.set == nil) {
					t.Errorf("%s has neither a request nor a reason", r.field)
				}
				if r.set != nil {
					t.Run(r.field, func(t *testing.T) { s.reaches(t, p, api, of.spec(s), r, n) })
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
	if got := r.show(s, all[len(all)-1]); got != r.want {
		t.Errorf("the request has %q, want %q", got, r.want)
	}
}
