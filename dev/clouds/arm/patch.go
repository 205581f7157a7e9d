package arm

import (
	"net/http"
	"slices"
	"strings"

	compute "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
)

// patchMachine changes tags, and the delete options of interfaces and disks. A list in the request replaces the whole list, as
// in all bodies of the Resource Manager: a data disk that the list omits is detached. An interface cannot be removed from a
// running machine.
func (c machineCalls) patchMachine(u compute.VirtualMachineUpdate) (vm compute.VirtualMachine, err *apiError) {
	m, ok := c.vms.Get(c.key())
	switch {
	case !ok:
		return vm, c.missing()
	case !m.deleted.IsZero():
		return vm, refuse(http.StatusConflict, "OperationNotAllowed", "Operation 'update' is not allowed on VM '%s' since the VM is marked for deletion.", m.name)
	case m.fault != nil:
		return vm, refuse(http.StatusConflict, "OperationNotAllowed", "Operation 'update' is not allowed on VM '%s' whose provisioning has failed.", m.name)
	}
	next := *m
	next.model = clone(m.model)
	if u.Tags != nil {
		next.model.Tags = u.Tags
	}
	if p := u.Properties; p != nil {
		if p.NetworkProfile != nil {
			if err := patchNICs(next.nics(), p.NetworkProfile.NetworkInterfaces); err != nil {
				return vm, err
			}
		}
		if p.StorageProfile != nil && next.model.Properties.StorageProfile != nil {
			c.patchDisks(&next, p.StorageProfile)
		}
	}
	c.vms.Put(m.key(), &next)
	return next.view(c.clock.Now(), false), nil
}

func patchNICs(has, asked []*compute.NetworkInterfaceReference) *apiError {
	for _, h := range has {
		k := slices.IndexFunc(asked, func(a *compute.NetworkInterfaceReference) bool { return strings.EqualFold(deref(h.ID), deref(a.ID)) })
		if k < 0 {
			return refuse(http.StatusConflict, "OperationNotAllowed", "Network interface %s cannot be removed from a virtual machine that is running.", deref(h.ID))
		}
		if asked[k].Properties != nil {
			h.Properties = asked[k].Properties
		}
	}
	return nil
}

func (c machineCalls) patchDisks(m *machine, asked *compute.StorageProfile) {
	has := m.model.Properties.StorageProfile
	if asked.OSDisk != nil && has.OSDisk != nil && asked.OSDisk.DeleteOption != nil {
		has.OSDisk.DeleteOption = asked.OSDisk.DeleteOption
	}
	if asked.DataDisks == nil {
		return
	}
	var kept []*compute.DataDisk
	for _, h := range has.DataDisks {
		k := slices.IndexFunc(asked.DataDisks, func(a *compute.DataDisk) bool { return deref(h.Lun) == deref(a.Lun) })
		if k >= 0 {
			h.DeleteOption = asked.DataDisks[k].DeleteOption
			kept = append(kept, h)
			continue
		}
		if d, ok := c.disks.Get(m.diskKey(deref(h.Name))); ok {
			free := *d
			free.vm = ""
			c.disks.Put(d.key(), &free)
		}
	}
	has.DataDisks = kept
}
