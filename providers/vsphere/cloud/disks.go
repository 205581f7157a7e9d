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

// volumes are the disks of a virtual machine that are not its own: they belong to volumes of pods, and would be destroyed with
// it.
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
	own := belongings(v.name, m.Config.Files.VmPathName)
	for _, d := range m.Config.Hardware.Device {
		if disk, ok := d.(*types.VirtualDisk); ok && !own.has(disk) {
			all = append(all, disk)
		}
	}
	return all, nil
}

// household tells the disks of a virtual machine from those of others that are attached to it. No folder does: where a volume
// lies is for its driver to choose, and on vSAN folders are UUIDs.
type household struct {
	home  string         // "[datastore] folder"
	files *regexp.Regexp // names of disks that have been moved elsewhere
}

// belongings are those of a virtual machine whose configuration is in a file. A migration of storage may take each of its disks
// to another datastore, and names it for the virtual machine, or keeps the name: "m.vmdk", "m_1.vmdk", and "m_1-000001.vmdk" after
// a snapshot.
func belongings(name, config string) household {
	base := strings.TrimSuffix(path.Base(config), path.Ext(config))
	names := regexp.QuoteMeta(name) + "|" + regexp.QuoteMeta(base)
	return household{home: folderOf(config), files: regexp.MustCompile(`^(?:` + names + `)(?:_\d+)?(?:-\d{6})?\.vmdk$`)}
}

// has reports whether a disk is the virtual machine's own. In doubt it is not: a file that is left costs space, and one that is
// destroyed is somebody's data.
func (h household) has(disk *types.VirtualDisk) bool {
	if disk.VDiskId != nil && disk.VDiskId.Id != "" { // a first class disk, which has a life of its own
		return false
	}
	backing, ok := disk.Backing.(types.BaseVirtualDeviceFileBackingInfo)
	if !ok { // no file that could be destroyed
		return true
	}
	file := backing.GetVirtualDeviceFileBackingInfo().FileName
	return folderOf(file) == h.home || !inFolders(file) && h.files.MatchString(path.Base(file))
}

// volumeFolders are where drivers of volumes keep their files on datastores that have names for folders: what is there is a
// volume, whatever it is called.
var volumeFolders = []string{"fcd", "kubevols", "catalog"}

func inFolders(file string) bool {
	_, folder, _ := strings.Cut(folderOf(file), "] ")
	return slices.Contains(volumeFolders, strings.SplitN(folder, "/", 2)[0])
}

// folderOf is "[datastore] folder" of "[datastore] folder/file".
func folderOf(file string) string { return path.Dir(file) }
