package vcenter

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// guestUp makes the tools in a guest report its name and addresses, if the guest still runs.
func guestUp(ctx *simulator.Context, vm *simulator.VirtualMachine) {
	if ctx.Map.Get(vm.Self) == nil {
		return
	}
	ctx.AutoUpdate(vm, func() {
		if vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn {
			return
		}
		extra := extraConfig(vm)
		static := staticAddresses(extra["guestinfo.afterburn.initrd.network-kargs"])
		guest := *vm.Guest
		guest.HostName = hostName(vm)
		guest.ToolsRunningStatus = string(types.VirtualMachineToolsRunningStatusGuestToolsRunning)
		guest.Net = slices.Clone(guest.Net)
		for i := range guest.Net {
			address := leased(guest.Net[i].MacAddress)
			if i < len(static) {
				address = static[i]
			}
			guest.Net[i].IpAddress = []string{address, "fe80::250:56ff:fe00:1"}
			guest.Net[i].Connected = true
		}
		if len(guest.Net) > 0 {
			guest.IpAddress = guest.Net[0].IpAddress[0]
		}
		vm.Guest = &guest
	})
}

// guestDown makes the tools stop reporting.
func guestDown(ctx *simulator.Context, vm *simulator.VirtualMachine) {
	ctx.AutoUpdate(vm, func() {
		guest := *vm.Guest
		guest.HostName, guest.IpAddress = "", ""
		guest.ToolsRunningStatus = string(types.VirtualMachineToolsRunningStatusGuestToolsNotRunning)
		guest.Net = slices.Clone(guest.Net)
		for i := range guest.Net {
			guest.Net[i].IpAddress = nil
		}
		vm.Guest = &guest
	})
}

// leased is the address that DHCP assigns to a network card. A card always gets the same address.
func leased(mac string) string {
	var b [6]byte
	_, _ = fmt.Sscanf(mac, "%02x:%02x:%02x:%02x:%02x:%02x", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5])
	return netip.AddrFrom4([4]byte{10, b[3]&0x7f | b[4]&0x80, b[4], b[5] | 1}).String()
}

var kernelIP = regexp.MustCompile(`(?:^|\s)ip=(\[[^]]+\]|[^:\s]+):`)

// staticAddresses are the addresses in kernel arguments.
func staticAddresses(arguments string) (all []string) {
	for _, m := range kernelIP.FindAllStringSubmatch(arguments, -1) {
		all = append(all, strings.Trim(m[1], "[]"))
	}
	return all
}

func hostName(vm *simulator.VirtualMachine) string {
	for _, name := range []string{extraConfig(vm)["guestinfo.hostname"], vAppProperty(vm, "hostname")} {
		if name != "" {
			return name
		}
	}
	return vm.Name
}

func extraConfig(vm *simulator.VirtualMachine) map[string]string {
	all := map[string]string{}
	for _, o := range vm.Config.ExtraConfig {
		if v := o.GetOptionValue(); v != nil {
			all[v.Key] = fmt.Sprint(v.Value)
		}
	}
	return all
}

func vAppProperty(vm *simulator.VirtualMachine, id string) string {
	if vm.Config.VAppConfig == nil {
		return ""
	}
	for _, p := range vm.Config.VAppConfig.GetVmConfigInfo().Property {
		if p.Id == id {
			return p.Value
		}
	}
	return ""
}

// userData is the guest's user data, from guestinfo variables for Ignition or cloud-init, or from the properties of its
// vApp.
func userData(vm *simulator.VirtualMachine) []byte {
	extra := extraConfig(vm)
	for _, key := range []string{"guestinfo.ignition.config.data", "guestinfo.userdata"} {
		if said := extra[key]; said != "" {
			return decoded(said, extra[key+".encoding"])
		}
	}
	if said := vAppProperty(vm, "user-data"); said != "" {
		return decoded(said, "base64")
	}
	return []byte(vAppProperty(vm, "guestinfo.coreos.config.data"))
}

func decoded(said, encoding string) []byte {
	if encoding == "" {
		return []byte(said)
	}
	raw, err := base64.StdEncoding.DecodeString(said)
	if err != nil {
		return nil
	}
	if strings.HasPrefix(encoding, "gz") {
		if z, err := gzip.NewReader(bytes.NewReader(raw)); err == nil {
			raw, _ = io.ReadAll(io.LimitReader(z, 16<<20))
		}
	}
	return raw
}

// Guests implements [double.Host]. Node names and provider IDs are those of kubelets with vSphere's cloud provider: the host
// name, and the BIOS UUID.
func (c *Cloud) Guests() (all []double.Guest) {
	c.world.settle()
	ctx := c.world.own()
	for _, e := range ctx.Map.All("VirtualMachine") {
		vm := e.(*simulator.VirtualMachine)
		ctx.WithLock(vm, func() {
			if vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn && vm.Guest.IpAddress != "" {
				all = append(all, c.world.guest(vm))
			}
		})
	}
	slices.SortFunc(all, func(a, b double.Guest) int { return strings.Compare(a.ID, b.ID) })
	return all
}

func (w *world) guest(vm *simulator.VirtualMachine) double.Guest {
	g := double.Guest{
		ID: vm.Config.Uuid, NodeName: hostName(vm), ProviderID: "vsphere://" + strings.ToLower(vm.Config.Uuid), UserData: userData(vm),
		VCPUs: int64(vm.Config.Hardware.NumCPU), MemoryMiB: int64(vm.Config.Hardware.MemoryMB),
	}
	for _, n := range vm.Guest.Net {
		for _, a := range n.IpAddress {
			if ip, err := netip.ParseAddr(a); err == nil && !ip.IsLinkLocalUnicast() {
				g.Addresses = append(g.Addresses, a)
			}
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	g.Boots = w.boots[vm.Self]
	return g
}
