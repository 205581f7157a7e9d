package arm

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	azfake "github.com/Azure/azure-sdk-for-go/sdk/azcore/fake"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	compute "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	cfake "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7/fake"
)

// machine is a virtual machine. A stored machine is never changed; a change stores a new one.
type machine struct {
	target
	// model is the request, with the fields that Azure sets.
	model compute.VirtualMachine
	// ready is the time at which its creation succeeds, or fails with fault.
	created, ready time.Time
	fault          *apiError
	// deleted is the time of the deletion request, evicted the time of the eviction notice.
	deleted, evicted time.Time
	// power is "running", "stopped" or "deallocated" after the creation.
	power string
	boots int
}

// codeLate is the error code of running machines whose agent did not report in time.
const codeLate = "OSProvisioningTimedOut"

// clone is a deep copy of a model.
func clone[T any](v T) (out T) {
	raw, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		panic(err) // models of the SDK are JSON
	}
	return out
}

// shallow is a copy of p's target. Deeper targets are shared: stored models do not change.
func shallow[T any](p *T) *T {
	v := deref(p)
	return &v
}

func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// drop deletes a machine and the attached resources that are deleted with it. It detaches other attached resources.
func drop(c *Cloud, m *machine) {
	c.vms.Delete(m.key())
	for _, ref := range m.nics() {
		n, ok := c.nics.Get(strings.ToLower(deref(ref.ID)))
		if !ok {
			continue
		}
		if ref.Properties != nil && deref(ref.Properties.DeleteOption) == compute.DeleteOptionsDelete {
			dropNIC(c, n)
			continue
		}
		free := *n
		free.vm = ""
		c.nics.Put(n.key(), &free)
	}
	for _, a := range m.attached() {
		d, ok := c.disks.Get(m.diskKey(a.name))
		if !ok {
			continue
		}
		if a.goes {
			c.disks.Delete(d.key())
			continue
		}
		free := *d
		free.vm = ""
		c.disks.Put(d.key(), &free)
	}
}

func (m *machine) nics() []*compute.NetworkInterfaceReference {
	if m.model.Properties.NetworkProfile == nil {
		return nil
	}
	return m.model.Properties.NetworkProfile.NetworkInterfaces
}

// attachment is a disk of a machine.
type attachment struct {
	name, id string
	sizeGB   int32
	existing bool // it existed before
	goes     bool // it is deleted with the machine
	os       bool
	sku      string
}

func (m *machine) attached() (all []attachment) {
	s := m.model.Properties.StorageProfile
	if s == nil {
		return nil
	}
	if d := s.OSDisk; d != nil && d.DiffDiskSettings == nil {
		all = append(all, attachment{
			name: deref(d.Name), sizeGB: deref(d.DiskSizeGB), goes: deref(d.DeleteOption) == compute.DiskDeleteOptionTypesDelete, os: true, sku: skuOf(d.ManagedDisk),
			existing: deref(d.CreateOption) == compute.DiskCreateOptionTypesAttach,
		})
	}
	for _, d := range s.DataDisks {
		a := attachment{
			name: deref(d.Name), sizeGB: deref(d.DiskSizeGB), goes: deref(d.DeleteOption) == compute.DiskDeleteOptionTypesDelete, sku: skuOf(d.ManagedDisk),
			existing: deref(d.CreateOption) == compute.DiskCreateOptionTypesAttach,
		}
		if d.ManagedDisk != nil && d.ManagedDisk.ID != nil {
			a.id = *d.ManagedDisk.ID
			a.name = a.id[strings.LastIndexByte(a.id, '/')+1:]
		}
		all = append(all, a)
	}
	return all
}

func skuOf(p *compute.ManagedDiskParameters) string {
	if p == nil {
		return ""
	}
	return string(deref(p.StorageAccountType))
}

func (m *machine) diskKey(name string) string {
	return strings.ToLower("/subscriptions/" + m.subscription + "/resourceGroups/" + m.group + "/providers/Microsoft.Compute/disks/" + name)
}

// state has Azure's words for the state of the machine.
func (m *machine) state(now time.Time) (provisioning, power string) {
	switch {
	case !m.deleted.IsZero() && !now.Before(m.deleted):
		return "Deleting", m.power
	case now.Before(m.ready):
		return "Creating", ""
	case m.fault != nil && m.fault.code == codeLate:
		return "Failed", m.power
	case m.fault != nil:
		return "Failed", ""
	}
	return "Succeeded", m.power
}

// view is the machine as reads show it: without write-only fields.
func (m *machine) view(now time.Time, instanceView bool) compute.VirtualMachine {
	out := m.model
	out.Properties = shallow(out.Properties)
	provisioning, power := m.state(now)
	out.Properties.ProvisioningState = to.Ptr(provisioning)
	out.Properties.TimeCreated = to.Ptr(m.created.UTC())
	if os := out.Properties.OSProfile; os != nil {
		os = shallow(os)
		os.AdminPassword, os.CustomData = nil, nil
		out.Properties.OSProfile = os
	}
	out.Properties.StorageProfile = m.shownDisks()
	if instanceView {
		out.Properties.InstanceView = &compute.VirtualMachineInstanceView{Statuses: m.statuses(provisioning, power)}
	}
	return out
}

// shownDisks are the machine's disks with their IDs.
func (m *machine) shownDisks() *compute.StorageProfile {
	if m.model.Properties.StorageProfile == nil {
		return nil
	}
	s := shallow(m.model.Properties.StorageProfile)
	managed := func(p *compute.ManagedDiskParameters, name *string) *compute.ManagedDiskParameters {
		if p = shallow(p); p.ID == nil {
			t := m.target
			t.kind, t.name = "disks", deref(name)
			p.ID = to.Ptr(t.id())
		}
		return p
	}
	if s.OSDisk != nil && s.OSDisk.DiffDiskSettings == nil {
		s.OSDisk = shallow(s.OSDisk)
		s.OSDisk.ManagedDisk = managed(s.OSDisk.ManagedDisk, s.OSDisk.Name)
	}
	s.DataDisks = slices.Clone(s.DataDisks)
	for k, d := range s.DataDisks {
		s.DataDisks[k] = shallow(d)
		s.DataDisks[k].ManagedDisk = managed(d.ManagedDisk, d.Name)
	}
	return s
}

// statuses have the form of https://learn.microsoft.com/azure/virtual-machines/states-billing and of failed
// machines.
func (m *machine) statuses(provisioning, power string) []*compute.InstanceViewStatus {
	status := &compute.InstanceViewStatus{
		Code: to.Ptr("ProvisioningState/" + strings.ToLower(provisioning)), Level: to.Ptr(compute.StatusLevelTypesInfo), Time: to.Ptr(m.ready.UTC()),
		DisplayStatus: to.Ptr("Provisioning " + strings.ToLower(provisioning)),
	}
	if provisioning == "Failed" {
		status.Code, status.Level, status.Message = to.Ptr("ProvisioningState/failed/"+m.fault.code), to.Ptr(compute.StatusLevelTypesError), to.Ptr(m.fault.message)
	}
	all := []*compute.InstanceViewStatus{status}
	if power != "" {
		all = append(all, &compute.InstanceViewStatus{Code: to.Ptr("PowerState/" + power), Level: to.Ptr(compute.StatusLevelTypesInfo), DisplayStatus: to.Ptr("VM " + power)})
	}
	return all
}

// machineCalls are the calls about virtual machines.
type machineCalls struct{ *call }

func (c machineCalls) server() *cfake.VirtualMachinesServer {
	return &cfake.VirtualMachinesServer{
		BeginCreateOrUpdate: func(_ context.Context, _, _ string, vm compute.VirtualMachine, o *compute.VirtualMachinesClientBeginCreateOrUpdateOptions) (azfake.PollerResponder[compute.VirtualMachinesClientCreateOrUpdateResponse], azfake.ErrorResponder) {
			view, status, err := c.putMachine(vm, o != nil && deref(o.IfNoneMatch) == "*")
			if err != nil {
				return begun(0, compute.VirtualMachinesClientCreateOrUpdateResponse{}, err)
			}
			return begun(status, compute.VirtualMachinesClientCreateOrUpdateResponse{VirtualMachine: view}, nil)
		},
		BeginUpdate: func(_ context.Context, _, _ string, u compute.VirtualMachineUpdate, _ *compute.VirtualMachinesClientBeginUpdateOptions) (azfake.PollerResponder[compute.VirtualMachinesClientUpdateResponse], azfake.ErrorResponder) {
			view, err := c.patchMachine(u)
			if err != nil {
				return begun(0, compute.VirtualMachinesClientUpdateResponse{}, err)
			}
			return begun(http.StatusOK, compute.VirtualMachinesClientUpdateResponse{VirtualMachine: view}, nil)
		},
		BeginDelete: func(context.Context, string, string, *compute.VirtualMachinesClientBeginDeleteOptions) (azfake.PollerResponder[compute.VirtualMachinesClientDeleteResponse], azfake.ErrorResponder) {
			return begun(c.deleteMachine(), compute.VirtualMachinesClientDeleteResponse{}, nil)
		},
		Get: func(_ context.Context, _, _ string, o *compute.VirtualMachinesClientGetOptions) (azfake.Responder[compute.VirtualMachinesClientGetResponse], azfake.ErrorResponder) {
			m, ok := c.vms.Get(c.key())
			if !ok {
				return done(compute.VirtualMachinesClientGetResponse{}, c.missing())
			}
			expand := o != nil && deref(o.Expand) == compute.InstanceViewTypesInstanceView
			return done(compute.VirtualMachinesClientGetResponse{VirtualMachine: m.view(c.clock.Now(), expand)}, nil)
		},
		NewListPager: func(string, *compute.VirtualMachinesClientListOptions) azfake.PagerResponder[compute.VirtualMachinesClientListResponse] {
			page, next := paged(c.call, c.listMachines())
			return onePage(compute.VirtualMachinesClientListResponse{VirtualMachineListResult: compute.VirtualMachineListResult{Value: page, NextLink: next}})
		},
		NewListAllPager: func(*compute.VirtualMachinesClientListAllOptions) azfake.PagerResponder[compute.VirtualMachinesClientListAllResponse] {
			page, next := paged(c.call, c.listMachines())
			return onePage(compute.VirtualMachinesClientListAllResponse{VirtualMachineListResult: compute.VirtualMachineListResult{Value: page, NextLink: next}})
		},
		BeginStart: func(context.Context, string, string, *compute.VirtualMachinesClientBeginStartOptions) (azfake.PollerResponder[compute.VirtualMachinesClientStartResponse], azfake.ErrorResponder) {
			if err := c.switchMachine("running", false); err != nil {
				return begun(0, compute.VirtualMachinesClientStartResponse{}, err)
			}
			return begun(http.StatusAccepted, compute.VirtualMachinesClientStartResponse{}, nil)
		},
		BeginPowerOff: func(context.Context, string, string, *compute.VirtualMachinesClientBeginPowerOffOptions) (azfake.PollerResponder[compute.VirtualMachinesClientPowerOffResponse], azfake.ErrorResponder) {
			if err := c.switchMachine("stopped", false); err != nil {
				return begun(0, compute.VirtualMachinesClientPowerOffResponse{}, err)
			}
			return begun(http.StatusAccepted, compute.VirtualMachinesClientPowerOffResponse{}, nil)
		},
		BeginRestart: func(context.Context, string, string, *compute.VirtualMachinesClientBeginRestartOptions) (azfake.PollerResponder[compute.VirtualMachinesClientRestartResponse], azfake.ErrorResponder) {
			if err := c.switchMachine("running", true); err != nil {
				return begun(0, compute.VirtualMachinesClientRestartResponse{}, err)
			}
			return begun(http.StatusAccepted, compute.VirtualMachinesClientRestartResponse{}, nil)
		},
		RetrieveBootDiagnosticsData: func(context.Context, string, string, *compute.VirtualMachinesClientRetrieveBootDiagnosticsDataOptions) (azfake.Responder[compute.VirtualMachinesClientRetrieveBootDiagnosticsDataResponse], azfake.ErrorResponder) {
			link, err := c.bootDiagnostics()
			if err != nil {
				return done(compute.VirtualMachinesClientRetrieveBootDiagnosticsDataResponse{}, err)
			}
			return done(compute.VirtualMachinesClientRetrieveBootDiagnosticsDataResponse{RetrieveBootDiagnosticsDataResult: compute.RetrieveBootDiagnosticsDataResult{SerialConsoleLogBlobURI: &link}}, nil)
		},
	}
}

func (c machineCalls) listMachines() (all []*compute.VirtualMachine) {
	then := c.clock.Now().Add(-c.Lag())
	for _, m := range c.vms.AllBehind(c.Lag()) {
		if c.here(m.target) {
			all = append(all, to.Ptr(m.view(then, false)))
		}
	}
	return all
}

// putMachine creates a machine, or updates the existing one of the name.
func (c machineCalls) putMachine(vm compute.VirtualMachine, onlyNew bool) (compute.VirtualMachine, int, *apiError) {
	now := c.clock.Now()
	if m, ok := c.vms.Get(c.key()); ok {
		if onlyNew {
			return vm, 0, refuse(http.StatusPreconditionFailed, "PreconditionFailed", "The precondition given in one of the request headers evaluated to false: the resource '%s' exists already.", c.id())
		}
		return c.putAgain(m, vm)
	}
	m := &machine{target: c.target, model: clone(vm), created: now, ready: now.Add(c.Boot), power: "running", boots: 1}
	c.complete(m)
	if err := c.judge().all(m, &vm); err != nil {
		return vm, 0, err
	}
	m.fault = c.judge().soldOut(m)
	c.attach(m)
	c.vms.Put(m.key(), m)
	c.begin("create", c.Boot)
	return m.view(now, false), http.StatusCreated, nil
}

// putAgain is a PUT of an existing machine. It must not change immutable fields.
func (c machineCalls) putAgain(m *machine, vm compute.VirtualMachine) (compute.VirtualMachine, int, *apiError) {
	if !m.deleted.IsZero() {
		return vm, 0, refuse(http.StatusConflict, "OperationNotAllowed", "Operation 'createOrUpdate' is not allowed on VM '%s' since the VM is marked for deletion. You can only retry the Delete operation (or wait for an ongoing one to complete).", m.name)
	}
	if was, is := m.model.Properties.OSProfile, vm.Properties.OSProfile; was != nil && is != nil {
		for name, pair := range map[string][2]*string{
			"customData": {was.CustomData, is.CustomData}, "adminPassword": {was.AdminPassword, is.AdminPassword}, "computerName": {was.ComputerName, is.ComputerName},
		} {
			if pair[1] != nil && deref(pair[0]) != deref(pair[1]) {
				return vm, 0, refuse(http.StatusConflict, "PropertyChangeNotAllowed", "Changing property 'osProfile.%s' is not allowed.", name).about("osProfile." + name)
			}
		}
	}
	again := *m
	again.model = clone(m.model)
	again.model.Tags = vm.Tags
	c.vms.Put(m.key(), &again)
	return again.view(c.clock.Now(), false), http.StatusOK, nil
}

// complete sets the fields that Azure sets.
func (c machineCalls) complete(m *machine) {
	vm := &m.model
	vm.ID, vm.Name, vm.Type, vm.Etag = to.Ptr(c.id()), to.Ptr(c.name), to.Ptr("Microsoft.Compute/virtualMachines"), to.Ptr("1")
	if vm.Properties == nil {
		vm.Properties = &compute.VirtualMachineProperties{}
	}
	vm.Properties.VMID = to.Ptr(fmt.Sprintf("00000000-0000-4000-9000-%012d", c.number()))
	s := vm.Properties.StorageProfile
	if s == nil || s.OSDisk == nil {
		return
	}
	if s.OSDisk.Name == nil {
		s.OSDisk.Name = to.Ptr(fmt.Sprintf("%s_OsDisk_1_%032d", c.name, c.number()))
	}
	if s.OSDisk.DeleteOption == nil {
		s.OSDisk.DeleteOption = to.Ptr(compute.DiskDeleteOptionTypesDetach)
	}
	if s.OSDisk.OSType == nil {
		s.OSDisk.OSType = to.Ptr(compute.OperatingSystemTypesLinux)
	}
}

// attach creates the machine's disks, which get its tags, and marks the machine's resources.
func (c machineCalls) attach(m *machine) {
	for _, ref := range m.nics() {
		if n, ok := c.nics.Get(strings.ToLower(deref(ref.ID))); ok {
			taken := *n
			taken.vm = m.id()
			c.nics.Put(n.key(), &taken)
		}
	}
	for _, a := range m.attached() {
		if a.existing {
			if d, ok := c.disks.Get(m.diskKey(a.name)); ok {
				taken := *d
				taken.vm = m.id()
				c.disks.Put(d.key(), &taken)
			}
			continue
		}
		t := m.target
		t.kind, t.name = "disks", a.name
		model := compute.Disk{Location: m.model.Location, Tags: m.model.Tags, Zones: m.model.Zones, Properties: &compute.DiskProperties{DiskSizeGB: to.Ptr(a.sizeGB)}}
		if a.sku != "" {
			model.SKU = &compute.DiskSKU{Name: to.Ptr(compute.DiskStorageAccountTypes(a.sku))}
		}
		c.disks.Put(t.key(), &disk{target: t, model: clone(model), vm: m.id(), created: c.clock.Now()})
	}
}

// deleteMachine begins to delete a machine.
func (c machineCalls) deleteMachine() (status int) {
	m, ok := c.vms.Get(c.key())
	if !ok {
		return http.StatusNoContent
	}
	if m.deleted.IsZero() {
		going := *m
		going.deleted = c.clock.Now()
		c.vms.Put(m.key(), &going)
	}
	c.begin("delete", c.Delete)
	return http.StatusAccepted
}

// switchMachine starts or stops a machine. A machine that does not run cannot be restarted.
func (c machineCalls) switchMachine(power string, restart bool) *apiError {
	m, ok := c.vms.Get(c.key())
	if !ok {
		return c.missing()
	}
	if provisioning, is := m.state(c.clock.Now()); provisioning != "Succeeded" || restart && is != "running" {
		return refuse(http.StatusConflict, "OperationNotAllowed", "Cannot perform the operation on VM '%s' in its present state. Please check its instance view.", m.name)
	}
	next := *m
	if power == "running" && (restart || m.power != "running") {
		next.boots++
	}
	next.power = power
	c.vms.Put(m.key(), &next)
	c.begin("power", 0)
	return nil
}
