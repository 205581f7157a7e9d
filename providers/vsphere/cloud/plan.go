package cloud

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/lenient"
	"github.com/millwright-dev/millwright/providers/vsphere/spec"
)

// plan is a spec of either API: the template, the size and the placement of a machine. It is shared: do not
// change it.
type plan struct {
	// server is the vCenter; empty: the credentials name it.
	server    string
	region    string // of provider IDs
	placement placement
	guest     guest

	template    string
	snapshot    string
	linked      bool
	cpus, cores int32
	memoryMiB   int64
	lockMemory  *bool
	diskGiB     int64
	dataDisks   []machinev1beta1.VSphereDisk
	nics        []machinev1beta1.NetworkDeviceSpec
	switchUUID  string

	// tags are IDs; attributes are custom ones, of which ownership records the owner of a virtual machine.
	tags       []string
	attributes map[string]string
	ownership  map[string]string
	// names are the paths of fields in the API's spec.
	names map[string]string
}

// placement is a placement in the inventory, by names or inventory paths.
type placement struct {
	datacenter, folder              string
	datastore, pod                  string
	pool, computeCluster, host      string
	vmGroup                         string
	hardware                        int // the minimal version of the virtual hardware
	upgrade                         bool
	allDatastoresOfTheCluster, wait bool
}

// guest is the configuration of the operating system.
type guest struct {
	id            string
	extra         map[string]string
	properties    map[string]string // of the vApp; nil: those that pass user data
	sshKeys       []string
	customization string
}

// field is the path of a field, given its name in OpenShift's API.
func (p *plan) field(name string) string { return cmp.Or(p.names[name], name) }

// leastHardware is the original's minimum: older virtual hardware has no driver for volumes.
const leastHardware = 15

// decode reads a spec. It refuses what cannot work; names that are missing from the vCenter are found at
// the lookup.
func decode(api string, raw []byte) (*plan, error) {
	if api == provider.Gardener {
		return decodeGardener(raw)
	}
	return decodeOpenShift(raw)
}

func decodeOpenShift(raw []byte) (*plan, error) {
	s, _, err := lenient.Decode[machinev1beta1.VSphereMachineProviderSpec](raw)
	if err != nil {
		return nil, err
	}
	if s.Workspace == nil {
		return nil, provider.InvalidField("workspace", "it says in which vCenter the machine is, and where")
	}
	w := s.Workspace
	p := &plan{
		server:    w.Server,
		placement: placement{datacenter: w.Datacenter, folder: w.Folder, datastore: w.Datastore, pool: w.ResourcePool, vmGroup: w.VMGroup, hardware: leastHardware},
		template:  s.Template, snapshot: s.Snapshot, linked: s.CloneMode == machinev1beta1.LinkedClone,
		cpus: s.NumCPUs, cores: cmp.Or(s.NumCoresPerSocket, s.NumCPUs), memoryMiB: s.MemoryMiB, diskGiB: int64(s.DiskGiB), dataDisks: s.DataDisks,
		nics: s.Network.Devices, tags: s.TagIDs,
	}
	return p, errors.Join(checkOpenShift(s, p)...)
}

func checkOpenShift(s *machinev1beta1.VSphereMachineProviderSpec, p *plan) (faults []error) {
	refuse := func(when bool, field, format string, args ...any) {
		if when {
			faults = append(faults, provider.InvalidField(field, format, args...))
		}
	}
	refuse(p.server == "", "workspace.server", "is empty: want the name or address of the vCenter")
	refuse(p.template == "", "template", "is empty: a virtual machine is a clone of a template")
	refuse(p.cpus < 0, "numCPUs", "%d is negative", p.cpus)
	refuse(s.NumCoresPerSocket < 0, "numCoresPerSocket", "%d is negative", s.NumCoresPerSocket)
	refuse(s.NumCoresPerSocket > 0 && p.cpus > 0 && p.cpus%s.NumCoresPerSocket != 0, "numCoresPerSocket", "%d CPUs cannot be sockets of %d cores", p.cpus, s.NumCoresPerSocket)
	refuse(p.memoryMiB < 0, "memoryMiB", "%d is negative", p.memoryMiB)
	refuse(p.diskGiB < 0, "diskGiB", "%d is negative", p.diskGiB)
	modes := []machinev1beta1.CloneMode{"", machinev1beta1.FullClone, machinev1beta1.LinkedClone}
	refuse(!slices.Contains(modes, s.CloneMode), "cloneMode", "%q is neither fullClone nor linkedClone", s.CloneMode)
	refuse(len(s.Network.Devices) == 0, "network.devices", "a machine has at least one network device")
	faults = append(faults, checkDisks(s.DataDisks)...)
	for i, tag := range s.TagIDs {
		refuse(!tagID.MatchString(tag), fmt.Sprintf("tagIDs[%d]", i), "%q is not the ID of a tag: urn:vmomi:InventoryServiceTag:<UUID>:GLOBAL", tag)
	}
	for i := range s.Network.Devices {
		faults = append(faults, checkDevice(&s.Network.Devices[i], fmt.Sprintf("network.devices[%d].", i))...)
	}
	return faults
}

var tagID = regexp.MustCompile(`^urn:vmomi:InventoryServiceTag:[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}:[^:]+$`)

// mostDataDisks is the number of a controller's units beside the template's disk.
const mostDataDisks = 29

func checkDisks(disks []machinev1beta1.VSphereDisk) (faults []error) {
	if len(disks) > mostDataDisks {
		faults = append(faults, provider.InvalidField("dataDisks", "%d are more than the %d that there is room for", len(disks), mostDataDisks))
	}
	for i, d := range disks {
		if d.SizeGiB <= 0 {
			faults = append(faults, provider.InvalidField(fmt.Sprintf("dataDisks[%d].sizeGiB", i), "a data disk has a size, in GiB"))
		}
		if _, ok := provisioning[d.ProvisioningMode]; !ok {
			faults = append(faults, provider.InvalidField(fmt.Sprintf("dataDisks[%d].provisioningMode", i), "%q is not one of Thin, Thick, EagerlyZeroed", d.ProvisioningMode))
		}
	}
	return faults
}

func checkDevice(d *machinev1beta1.NetworkDeviceSpec, at string) (faults []error) {
	if d.NetworkName == "" {
		faults = append(faults, provider.InvalidField(at+"networkName", "a device is connected to a network"))
	}
	for i, a := range d.IPAddrs {
		if _, err := netip.ParsePrefix(a); err != nil {
			faults = append(faults, provider.InvalidField(fmt.Sprintf("%sipAddrs[%d]", at, i), "%q is no address with the length of its prefix: 192.168.1.100/24", a))
		}
	}
	if d.Gateway != "" {
		if _, err := netip.ParseAddr(d.Gateway); err != nil {
			faults = append(faults, provider.InvalidField(at+"gateway", "%q is no address", d.Gateway))
		}
	}
	for i, n := range d.Nameservers {
		if _, err := netip.ParseAddr(n); err != nil {
			faults = append(faults, provider.InvalidField(fmt.Sprintf("%snameservers[%d]", at, i), "%q is no address", n))
		}
	}
	return faults
}

// namesOfGardener are the paths of fields there.
var namesOfGardener = map[string]string{
	"workspace.datacenter": "datacenter", "workspace.folder": "folder", "workspace.datastore": "datastore", "workspace.resourcePool": "resourcePool",
	"template": "templateVM", "diskGiB": "systemDisk.size", "network.devices[0].networkName": "network",
}

func decodeGardener(raw []byte) (*plan, error) {
	s, err := spec.DecodeGardener(raw)
	if err != nil {
		return nil, err
	}
	c, at := s.Clone()
	p := &plan{
		region: c.Region, template: c.TemplateVM, cpus: int32(min(c.NumCpus, 1<<20)), memoryMiB: int64(c.Memory), lockMemory: c.MemoryReservationLockedToMax,
		placement: placement{
			datacenter: c.Datacenter, folder: c.Folder, datastore: c.Datastore, pod: c.DatastoreCluster, pool: c.ResourcePool, computeCluster: c.ComputeCluster,
			host: c.HostSystem, hardware: leastHardware, upgrade: true, wait: c.WaitForIP, allDatastoresOfTheCluster: c.Datastore == "" && c.DatastoreCluster == "",
		},
		guest: guest{id: c.GuestID, extra: c.ExtraConfig, sshKeys: trimmed(s.SSHKeys), customization: c.Customization},
		nics:  []machinev1beta1.NetworkDeviceSpec{{NetworkName: c.Network}}, switchUUID: c.SwitchUUID,
		attributes: s.Tags, ownership: s.Ownership(), names: map[string]string{},
	}
	if c.SystemDisk != nil {
		p.diskGiB = int64(c.SystemDisk.Size)
	}
	if c.VApp != nil {
		p.guest.properties = c.VApp.Properties
		if p.guest.properties == nil {
			p.guest.properties = map[string]string{}
		}
	}
	for name, there := range namesOfGardener {
		p.names[name] = at + there
	}
	for _, name := range []string{"datastoreCluster", "computeCluster", "hostSystem", "switchUuid", "vapp.properties", "customization", "guestId"} {
		p.names[name] = at + name
	}
	return p, nil
}

func trimmed(all []string) (out []string) {
	for _, s := range all {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// attributesFor are the custom attributes of a virtual machine of the cluster. If a spec records no owner,
// the attributes that do so are added.
func (p *plan) attributesFor(cluster string) map[string]string {
	all := maps.Clone(p.attributes)
	if all == nil {
		all = map[string]string{}
	}
	if len(p.ownership) == 0 {
		all[spec.TagClusterPrefix+cluster] = "1"
		all[spec.TagRolePrefix+"node"] = "1"
	}
	return all
}

// owns reports whether custom attributes are those of a virtual machine of the cluster.
func owns(ownership map[string]string, cluster string, attributes map[string]string) bool {
	if len(ownership) == 0 {
		ownership = map[string]string{spec.TagClusterPrefix + cluster: ""}
	}
	for key, value := range ownership {
		said, ok := attributes[key]
		if !ok && value != "" { // the original also reads the older key
			_, ok = attributes[olderKey(key, value)]
			said = value
		}
		if !ok || value != "" && said != value {
			return false
		}
	}
	return true
}

func olderKey(key, value string) string {
	if key == spec.TagCluster {
		return spec.TagClusterPrefix + value
	}
	return spec.TagRolePrefix + value
}
