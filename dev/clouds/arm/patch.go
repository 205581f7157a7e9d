package arm

import (
	"net/http"
	"strings"

	compute "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
)

// patchMachine changes tags, and what becomes of interfaces and disks when the machine is deleted.
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
			patchNICs(next.nics(), p.NetworkProfile.NetworkInterfaces)
		}
		if p.StorageProfile != nil && next.model.Properties.StorageProfile != nil {
			patchDisks(next.model.Properties.StorageProfile, p.StorageProfile)
		}
	}
	c.vms.Put(m.key(), &next)
	return next.view(c.clock.Now(), false), nil
}

func patchNICs(has, asked []*compute.NetworkInterfaceReference) {
	for _, a := range asked {
		for _, h := range has {
			if !strings.EqualFold(deref(h.ID), deref(a.ID)) || a.Properties == nil {
				continue
			}
			if h.Properties == nil {
				h.Properties = &compute.NetworkInterfaceReferenceProperties{}
			}
			h.Properties.DeleteOption = a.Properties.DeleteOption
		}
	}
}

func patchDisks(has, asked *compute.StorageProfile) {
	if asked.OSDisk != nil && has.OSDisk != nil && asked.OSDisk.DeleteOption != nil {
		has.OSDisk.DeleteOption = asked.OSDisk.DeleteOption
	}
	for _, a := range asked.DataDisks {
		for _, h := range has.DataDisks {
			if deref(h.Lun) == deref(a.Lun) && a.DeleteOption != nil {
				h.DeleteOption = a.DeleteOption
			}
		}
	}
}
