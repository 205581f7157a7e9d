package vcenter

import (
	"net/http"
	"slices"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// need is a required privilege on an object. The requirements come from VMware's public reference ("Required privileges"): those
// of methods and their parameters, and, for changes of a configuration, those of VirtualMachine.ReconfigVM_Task. The reference
// requires no privileges for a clone's configuration. Here they are required on its folder, because the lists of privileges in use
// contain them. Every user may read everything.
type need struct {
	privilege string
	on        types.ManagedObjectReference
}

// onVCenter is the root folder of the vCenter.
var onVCenter = types.ManagedObjectReference{Type: "vCenter", Value: "group-d1"}

// kindOf is the kind by which roles name an object.
func kindOf(r types.ManagedObjectReference) string {
	switch r.Type {
	case "VirtualMachine", "Folder", "Datacenter":
		return "folder"
	case "ResourcePool", "VirtualApp", "ClusterComputeResource", "ComputeResource", "HostSystem":
		return "cluster"
	case "Datastore", "StoragePod":
		return "datastore"
	case "Network", "OpaqueNetwork", "DistributedVirtualPortgroup":
		return "network"
	}
	return "vCenter"
}

// lacks is the first requirement of a request that the user's roles do not meet.
func (c *Cloud) lacks(r *http.Request, body []byte) (need, bool) {
	roles := c.users.rolesOf(r)
	if roles == nil {
		return need{}, false
	}
	needs := c.needsREST(r)
	if !isREST(r) {
		m, err := simulator.UnmarshalBody(types.TypeFunc(), body)
		if err != nil {
			return need{}, false
		}
		needs = needsOf(c.world.own(), m)
	}
	i := slices.IndexFunc(needs, func(n need) bool { return !slices.Contains(roles[kindOf(n.on)], n.privilege) })
	if i < 0 {
		return need{}, false
	}
	return needs[i], true
}

// deny answers with the error, in the form of the called API.
func deny(w http.ResponseWriter, r *http.Request, lacks need) {
	if isREST(r) {
		failREST(w, double.Failure{Kind: "Denied"})
		return
	}
	on := lacks.on
	if on == onVCenter {
		on.Type = "Folder"
	}
	noPermission(on, lacks.privilege).write(w, textDenied)
}

func (c *Cloud) needsREST(r *http.Request) []need {
	operation, writes := operationREST(r)
	if !writes || !strings.HasPrefix(operation, "tag-association ") {
		return nil
	}
	return []need{
		{"InventoryService.Tagging.AttachTag", onVCenter},
		{"InventoryService.Tagging.ObjectAttachable", types.ManagedObjectReference{Type: "VirtualMachine"}},
	}
}

// plain are methods that need one privilege, on the object of the call.
var plain = map[string]string{
	"PowerOnVM_Task":                  "VirtualMachine.Interact.PowerOn",
	"PowerOffVM_Task":                 "VirtualMachine.Interact.PowerOff",
	"ResetVM_Task":                    "VirtualMachine.Interact.Reset",
	"UpgradeVM_Task":                  "VirtualMachine.Config.UpgradeVirtualHardware",
	"Destroy_Task":                    "VirtualMachine.Inventory.Delete",
	"ReconfigureComputeResource_Task": "Host.Inventory.EditCluster",
	"AddCustomFieldDef":               "Global.ManageCustomFields",
	"DoesCustomizationSpecExist":      "VirtualMachine.Provisioning.ReadCustSpecs",
	"GetCustomizationSpec":            "VirtualMachine.Provisioning.ReadCustSpecs",
	"CancelTask":                      "Global.CancelTask",
}

func needsOf(ctx *simulator.Context, m *simulator.Method) []need {
	if privilege, ok := plain[m.Name]; ok {
		return []need{{privilege, m.This}}
	}
	switch req := m.Body.(type) {
	case *types.CloneVM_Task:
		return needsOfClone(ctx, req)
	case *types.ReconfigVM_Task:
		return needsOfConfig(req.Spec, req.This)
	case *types.SetField:
		return []need{{"Global.SetCustomField", req.Entity}}
	case *types.PowerOnMultiVM_Task:
		var all []need
		for _, vm := range req.Vm {
			all = append(all, need{"VirtualMachine.Interact.PowerOn", vm})
		}
		return all
	}
	return nil
}

func needsOfClone(ctx *simulator.Context, req *types.CloneVM_Task) []need {
	all := []need{{"VirtualMachine.Inventory.CreateFromExisting", req.Folder}}
	from, ok := ctx.Map.Get(req.This).(*simulator.VirtualMachine)
	if !ok {
		return nil // the simulator reports the error
	}
	verb := "Clone"
	if from.Config.Template {
		verb = "DeployTemplate"
	}
	all = append(all, need{"VirtualMachine.Provisioning." + verb, req.This})
	if req.Spec.Customization != nil {
		all = append(all, need{"VirtualMachine.Provisioning.Customize", req.This})
	}
	if pool := req.Spec.Location.Pool; pool != nil {
		all = append(all, need{"Resource.AssignVMToPool", *pool})
	}
	on := from.Datastore
	if ds := req.Spec.Location.Datastore; ds != nil {
		on = []types.ManagedObjectReference{*ds}
	}
	for _, ds := range on {
		all = append(all, need{"Datastore.AllocateSpace", ds})
	}
	if req.Spec.Config != nil {
		all = append(all, needsOfConfig(*req.Spec.Config, req.Folder)...)
	}
	return all
}

// needsOfConfig are the requirements of the changes.
func needsOfConfig(s types.VirtualMachineConfigSpec, on types.ManagedObjectReference) (all []need) {
	add := func(when bool, privilege string) {
		if when {
			all = append(all, need{privilege, on})
		}
	}
	add(s.Annotation != "", "VirtualMachine.Config.Annotation")
	add(s.NumCPUs != 0 || s.NumCoresPerSocket != nil, "VirtualMachine.Config.CPUCount")
	add(s.MemoryMB != 0, "VirtualMachine.Config.Memory")
	add(s.MemoryReservationLockedToMax != nil, "VirtualMachine.Config.Resource")
	add(s.Flags != nil || s.GuestId != "" || s.InstanceUuid != "" || s.Uuid != "", "VirtualMachine.Config.Settings")
	add(len(s.ExtraConfig) > 0, "VirtualMachine.Config.AdvancedConfig")
	add(s.VAppConfig != nil && len(s.VAppConfig.GetVmConfigSpec().Property) > 0, "VApp.InstanceConfig")
	for _, change := range s.DeviceChange {
		all = append(all, needsOfDevice(change.GetVirtualDeviceConfigSpec(), on)...)
	}
	return all
}

func needsOfDevice(s *types.VirtualDeviceConfigSpec, on types.ManagedObjectReference) []need {
	disk, isDisk := s.Device.(*types.VirtualDisk)
	switch {
	case s.Operation == types.VirtualDeviceConfigSpecOperationEdit && isDisk && disk.CapacityInKB > 0:
		return []need{{"VirtualMachine.Config.EditDevice", on}, {"VirtualMachine.Config.DiskExtend", on}}
	case s.Operation == types.VirtualDeviceConfigSpecOperationEdit:
		return []need{{"VirtualMachine.Config.EditDevice", on}}
	case isDisk && s.Operation == types.VirtualDeviceConfigSpecOperationRemove:
		return []need{{"VirtualMachine.Config.RemoveDisk", on}}
	case isDisk && s.FileOperation == "":
		return []need{{"VirtualMachine.Config.AddExistingDisk", on}}
	case isDisk:
		return []need{{"VirtualMachine.Config.AddNewDisk", on}}
	}
	all := []need{{"VirtualMachine.Config.AddRemoveDevice", on}}
	if network, ok := networkOf(s); ok {
		all = append(all, need{"Network.Assign", network})
	}
	return all
}

// networkOf is the network of an added card.
func networkOf(s *types.VirtualDeviceConfigSpec) (types.ManagedObjectReference, bool) {
	if s.Operation != types.VirtualDeviceConfigSpecOperationAdd {
		return types.ManagedObjectReference{}, false
	}
	switch b := s.Device.GetVirtualDevice().Backing.(type) {
	case *types.VirtualEthernetCardDistributedVirtualPortBackingInfo:
		return types.ManagedObjectReference{Type: "DistributedVirtualPortgroup", Value: b.Port.PortgroupKey}, true
	case *types.VirtualEthernetCardNetworkBackingInfo:
		if b.Network != nil {
			return *b.Network, true
		}
	}
	return types.ManagedObjectReference{}, false
}
