package vcenter

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

// Volume is a disk that another client, such as a storage driver, has created.
type Volume struct {
	// File is its path: "[ds1] fcd/a.vmdk". A missing folder is created.
	File string
	// ID is the ID of a first class disk; empty: it is not a first class disk.
	ID string
}

// volumeOf is a volume in the drivers' folder, on the datastore of a virtual machine.
func volumeOf(vm *simulator.VirtualMachine) Volume {
	return Volume{File: strings.SplitN(vm.Config.Files.VmPathName, "]", 2)[0] + "] fcd/volume-" + vm.Config.InstanceUuid + ".vmdk"}
}

// storage creates disks and their files.
type storage struct{ *builder }

// attach adds a disk to a virtual machine.
func (b storage) attach(ctx *simulator.Context, vm *simulator.VirtualMachine, v Volume) error {
	all := object.VirtualDeviceList(vm.Config.Hardware.Device)
	controller, err := all.FindDiskController("")
	if err != nil {
		return err
	}
	disk := all.CreateDisk(controller, types.ManagedObjectReference{}, v.File)
	disk.CapacityInKB = gib
	if v.ID != "" {
		disk.VDiskId = &types.ID{Id: v.ID}
	}
	b.makeFolder(ctx, path.Dir(v.File))
	spec := types.VirtualMachineConfigSpec{DeviceChange: []types.BaseVirtualDeviceConfigSpec{&types.VirtualDeviceConfigSpec{
		Operation: types.VirtualDeviceConfigSpecOperationAdd, FileOperation: types.VirtualDeviceConfigSpecFileOperationCreate, Device: disk,
	}}}
	body := vm.ReconfigVMTask(ctx, &types.ReconfigVM_Task{This: vm.Self, Spec: spec})
	if _, fault := inner(ctx, body, func() types.ManagedObjectReference { return body.(*methods.ReconfigVM_TaskBody).Res.Returnval }); fault != nil {
		return fmt.Errorf("attach: %T", fault)
	}
	return nil
}

// makeFolder creates a folder of a datastore, unless it exists.
func (b storage) makeFolder(ctx *simulator.Context, at string) {
	dc := ctx.Map.Any("Datacenter").Reference()
	_, _ = methods.MakeDirectory(context.Background(), b.vim, &types.MakeDirectory{
		This: ctx.Map.FileManager().Self, Name: at, Datacenter: &dc, CreateParentDirectories: types.NewBool(true),
	})
}

// moveDisk moves the file of a disk, as a storage migration does.
func (b storage) moveDisk(ctx *simulator.Context, vm *simulator.VirtualMachine, from, to string) error {
	b.makeFolder(ctx, path.Dir(to))
	dc := object.NewDatacenter(b.vim, ctx.Map.Any("Datacenter").Reference())
	t, err := object.NewVirtualDiskManager(b.vim).MoveVirtualDisk(context.Background(), from, dc, to, dc, true)
	if err != nil {
		return err
	}
	if err := t.Wait(context.Background()); err != nil {
		return err
	}
	err = fmt.Errorf("%s has no disk %s", vm.Name, from)
	ctx.WithLock(vm, func() {
		for _, f := range filesOf(vm) {
			if f.FileName == from {
				f.FileName, err = to, nil
			}
		}
	})
	return err
}
