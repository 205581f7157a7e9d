package cloud

import (
	"context"
	"fmt"
	"strings"

	"github.com/digitalocean/go-libvirt"
	"libvirt.org/go/libvirtxml"
)

// machines are the machine types of guests, by architecture; for others libvirt chooses.
var machines = map[string]string{"x86_64": "q35", "aarch64": "virt"}

// cpus are the CPU modes of guests, by the type of domain: the host's CPU, or all features that software can
// emulate.
var cpus = map[string]string{"kvm": "host-passthrough", "qemu": "maximum"}

// define defines the domain, under the machine's name. If another domain already has that name, whether of
// another cluster or without an owner, a part of the UUID is appended.
func (cr creator) define(ctx context.Context, b *prepared) (*domain, error) {
	name := b.marks.Name
	made, err := cr.defineAs(ctx, b, name)
	if err != nil && strings.Contains(err.Error(), "already exists with uuid") {
		made, err = cr.defineAs(ctx, b, name+"-"+uuidText(b.uuid)[:8])
	}
	if err != nil {
		return nil, fmt.Errorf("define domain %s: %w", name, err)
	}
	return cr.read(ctx, made)
}

func (cr creator) defineAs(ctx context.Context, b *prepared, name string) (libvirt.Domain, error) {
	described, err := cr.describe(b, name)
	if err != nil {
		return libvirt.Domain{}, err
	}
	text, err := described.Marshal()
	if err != nil {
		return libvirt.Domain{}, fmt.Errorf("encode it: %w", err)
	}
	return ask(ctx, cr.conn, func(l *libvirt.Libvirt) (libvirt.Domain, error) { return l.DomainDefineXMLFlags(text, 0) })
}

// describe is the description of the domain.
func (cr creator) describe(b *prepared, name string) (*libvirtxml.Domain, error) {
	metadata, err := element("machine", nsMachine, b.marks)
	if err != nil {
		return nil, err
	}
	d := &libvirtxml.Domain{
		Type: b.traits.kind, Name: name, UUID: uuidText(b.uuid), Metadata: &libvirtxml.DomainMetadata{XML: metadata},
		Memory: &libvirtxml.DomainMemory{Value: uint(cr.spec.DomainMemory), Unit: "MiB"}, VCPU: &libvirtxml.DomainVCPU{Value: uint(cr.spec.DomainVcpu)}, //nolint:gosec // Both were checked to be more than 0.
		OS: &libvirtxml.DomainOS{
			Type:        &libvirtxml.DomainOSType{Arch: b.traits.arch, Machine: machines[b.traits.arch], Type: b.traits.osType},
			BootDevices: []libvirtxml.DomainBootDevice{{Dev: "hd"}},
		},
		Clock: &libvirtxml.DomainClock{Offset: "utc"}, OnReboot: "restart",
		Devices: cr.devices(b),
	}
	if mode := cpus[b.traits.kind]; mode != "" {
		d.CPU = &libvirtxml.DomainCPU{Mode: mode}
	}
	if strings.HasPrefix(b.traits.arch, "x86") || b.traits.arch == "aarch64" {
		d.Features = &libvirtxml.DomainFeatureList{ACPI: &libvirtxml.DomainFeature{}}
	}
	if b.ignition != "" && hasFirmware(b.traits.arch) {
		d.SysInfo = []libvirtxml.DomainSysInfo{{FWCfg: &libvirtxml.DomainSysInfoFWCfg{
			Entry: []libvirtxml.DomainSysInfoEntry{{Name: "opt/com.coreos/config", File: b.ignition}},
		}}}
	}
	return d, nil
}

func (cr creator) devices(b *prepared) *libvirtxml.DomainDeviceList {
	port := uint(0)
	list := &libvirtxml.DomainDeviceList{
		Disks: []libvirtxml.DomainDisk{{
			Device: "disk", Driver: &libvirtxml.DomainDiskDriver{Name: "qemu", Type: "qcow2"}, Source: inPool(b.disk),
			Target: &libvirtxml.DomainDiskTarget{Dev: "vda", Bus: "virtio"},
		}},
		Interfaces: []libvirtxml.DomainInterface{{
			MAC:    &libvirtxml.DomainInterfaceMAC{Address: b.mac},
			Source: &libvirtxml.DomainInterfaceSource{Network: &libvirtxml.DomainInterfaceSourceNetwork{Network: b.network}},
			Model:  &libvirtxml.DomainInterfaceModel{Type: "virtio"},
		}},
		Serials:  []libvirtxml.DomainSerial{{Source: &libvirtxml.DomainChardevSource{Pty: &libvirtxml.DomainChardevSourcePty{}}, Target: &libvirtxml.DomainSerialTarget{Port: &port}}},
		Consoles: []libvirtxml.DomainConsole{{Source: &libvirtxml.DomainChardevSource{Pty: &libvirtxml.DomainChardevSourcePty{}}, Target: &libvirtxml.DomainConsoleTarget{Type: "serial", Port: &port}}},
		Channels: []libvirtxml.DomainChannel{{
			Source: &libvirtxml.DomainChardevSource{UNIX: &libvirtxml.DomainChardevSourceUNIX{Mode: "bind"}},
			Target: &libvirtxml.DomainChannelTarget{VirtIO: &libvirtxml.DomainChannelTargetVirtIO{Name: agentChannel}},
		}},
		RNGs: []libvirtxml.DomainRNG{{Model: "virtio", Backend: &libvirtxml.DomainRNGBackend{Random: &libvirtxml.DomainRNGBackendRandom{Device: "/dev/urandom"}}}},
	}
	if b.cidata != nil {
		list.Disks = append(list.Disks, readOnly(inPool(*b.cidata), "vdb", ""))
	}
	if b.ignition != "" && !hasFirmware(b.traits.arch) {
		list.Disks = append(list.Disks, readOnly(&libvirtxml.DomainDiskSource{File: &libvirtxml.DomainDiskSourceFile{File: b.ignition}}, "vdb", "ignition"))
	}
	return list
}

func inPool(v libvirt.StorageVol) *libvirtxml.DomainDiskSource {
	return &libvirtxml.DomainDiskSource{Volume: &libvirtxml.DomainDiskSourceVolume{Pool: v.Pool, Volume: v.Name}}
}

func readOnly(source *libvirtxml.DomainDiskSource, device, serial string) libvirtxml.DomainDisk {
	return libvirtxml.DomainDisk{
		Device: "disk", Driver: &libvirtxml.DomainDiskDriver{Name: "qemu", Type: "raw"}, Source: source, Serial: serial,
		Target: &libvirtxml.DomainDiskTarget{Dev: device, Bus: "virtio"}, ReadOnly: &libvirtxml.DomainDiskReadOnly{},
	}
}
