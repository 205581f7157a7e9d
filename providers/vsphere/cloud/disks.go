package cloud

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/millwright-dev/millwright/provider"
)

// volumes are the attached disks of a virtual machine that are not its own: they belong to volumes of pods,
// and would be destroyed with it.
func (c *conn) volumes(ctx context.Context, v *vm) (all object.VirtualDeviceList, err error) {
	var m mo.VirtualMachine
	err = property.DefaultCollector(c.vim).RetrieveOne(ctx, v.ref, []string{"config.hardware.device", "config.files.vmPathName"}, &m)
	if gone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the disks of %s: %w", v.name, err)
	}
	if m.Config == nil || m.Config.Files.VmPathName == "" {
		return nil, provider.Errorf(provider.Conflict, "the vCenter cannot read which disks %s has", v.name)
	}
	own := ownDisksOf(v.name, m.Config.Files.VmPathName)
	for _, d := range m.Config.Hardware.Device {
		if disk, ok := d.(*types.VirtualDisk); ok && !own.has(disk) {
			all = append(all, disk)
		}
	}
	return all, nil
}

// ownDisks distinguishes the disks of a virtual machine from attached volumes. Folders are not enough: a
// volume's driver chooses its folder, and on vSAN folders are UUIDs.
type ownDisks struct {
	home  string         // "[datastore] folder"
	files *regexp.Regexp // names of disks that were moved to other folders
}

// ownDisksOf are those of a virtual machine whose configuration is in a file. A migration of storage may
// move each of its disks to another datastore, and gives it the virtual machine's name, or keeps its name:
// "m.vmdk", "m_1.vmdk", and "m_1-000001.vmdk" after a snapshot.
func ownDisksOf(name, config string) ownDisks {
	base := strings.TrimSuffix(path.Base(config), path.Ext(config))
	names := regexp.QuoteMeta(name) + "|" + regexp.QuoteMeta(base)
	return ownDisks{home: folderOf(config), files: regexp.MustCompile(`^(?:` + names + `)(?:_\d+)?(?:-\d{6})?\.vmdk$`)}
}

// has reports whether a disk is the virtual machine's own. If it is uncertain, the answer is no: a file
// that is left costs space, and a destroyed one may be a user's data.
func (h ownDisks) has(disk *types.VirtualDisk) bool {
	if disk.VDiskId != nil && disk.VDiskId.Id != "" { // a first class disk, which exists independently
		return false
	}
	backing, ok := disk.Backing.(types.BaseVirtualDeviceFileBackingInfo)
	if !ok { // no file that could be destroyed
		return true
	}
	file := backing.GetVirtualDeviceFileBackingInfo().FileName
	return folderOf(file) == h.home || !inFolders(file) && h.files.MatchString(path.Base(file))
}

// volumeFolders are the folders in which drivers of volumes keep their files, on datastores with folder
// names: every disk there is a volume, whatever its name.
var volumeFolders = []string{"fcd", "kubevols", "catalog"}

func inFolders(file string) bool {
	_, folder, _ := strings.Cut(folderOf(file), "] ")
	return slices.Contains(volumeFolders, strings.SplitN(folder, "/", 2)[0])
}

// folderOf is "[datastore] folder" of "[datastore] folder/file".
func folderOf(file string) string { return path.Dir(file) }
