package daemon

import (
	"encoding/xml"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/digitalocean/go-libvirt"
)

// networks has the networks of a host.
type networks struct{ all map[string]*network }

type network struct {
	libvirt.Network
	// prefix is the prefix of the network's addresses.
	prefix string
	hosts  []reservation
	leases []libvirt.NetworkDhcpLease
}

type reservation struct {
	MAC  string `xml:"mac,attr"`
	Name string `xml:"name,attr"`
	IP   string `xml:"ip,attr"`
}

// Reserved returns the reserved addresses of a network, by MAC address.
func (h *Host) Reserved(name string) map[string]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := map[string]string{}
	for _, r := range h.networks.all[name].hosts {
		all[r.MAC] = r.IP
	}
	return all
}

// Lease assigns an address to a network card.
func (h *Host) Lease(name, mac, address, hostname string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := h.networks.all[name]
	n.leases = append(n.leases, libvirt.NetworkDhcpLease{Iface: "virbr0", Mac: libvirt.OptString{mac}, Ipaddr: address, Prefix: 24, Hostname: libvirt.OptString{hostname}})
}

func (h *networks) listNetworks(libvirt.ConnectListAllNetworksArgs) (r libvirt.ConnectListAllNetworksRet, _ *libvirt.Error) {
	for _, name := range slices.Sorted(maps.Keys(h.all)) {
		r.Nets = append(r.Nets, h.all[name].Network)
	}
	r.Ret = uint32(len(r.Nets)) //nolint:gosec // They are few.
	return r, nil
}

func (h *networks) network(name string) (*network, *libvirt.Error) {
	if n := h.all[name]; n != nil {
		return n, nil
	}
	return nil, failed(libvirt.ErrNoNetwork, "Network not found: no network with matching name '%s'", name)
}

func (h *networks) networkByName(a libvirt.NetworkLookupByNameArgs) (r libvirt.NetworkLookupByNameRet, _ *libvirt.Error) {
	n, err := h.network(a.Name)
	if err == nil {
		r.Net = n.Network
	}
	return r, err
}

func (h *networks) networkByUUID(a libvirt.NetworkLookupByUUIDArgs) (r libvirt.NetworkLookupByUUIDRet, _ *libvirt.Error) {
	for _, n := range h.all {
		if n.UUID == a.UUID {
			r.Net = n.Network
			return r, nil
		}
	}
	return r, failed(libvirt.ErrNoNetwork, "Network not found: no network with matching uuid '%x'", a.UUID)
}

func (h *networks) networkXML(a libvirt.NetworkGetXMLDescArgs) (r libvirt.NetworkGetXMLDescRet, _ *libvirt.Error) {
	n, err := h.network(a.Net.Name)
	if err != nil {
		return r, err
	}
	var hosts strings.Builder
	for _, e := range n.hosts {
		fmt.Fprintf(&hosts, "<host mac='%s' name='%s' ip='%s'/>", e.MAC, e.Name, e.IP)
	}
	r.XML = fmt.Sprintf("<network><name>%s</name><ip address='%s1' netmask='255.255.255.0'><dhcp><range start='%s100' end='%s200'/>%s</dhcp></ip></network>",
		n.Name, n.prefix, n.prefix, n.prefix, hosts.String())
	return r, nil
}

func (h *networks) leases(a libvirt.NetworkGetDhcpLeasesArgs) (r libvirt.NetworkGetDhcpLeasesRet, _ *libvirt.Error) {
	n, err := h.network(a.Net.Name)
	if err != nil {
		return r, err
	}
	for _, l := range n.leases {
		if len(a.Mac) == 0 || a.Mac[0] == l.Mac[0] {
			r.Leases = append(r.Leases, l)
		}
	}
	r.Ret = uint32(len(r.Leases)) //nolint:gosec // They are few.
	return r, nil
}

func (h *networks) updateNetwork(a libvirt.NetworkUpdateArgs) (none, *libvirt.Error) {
	n, missing := h.network(a.Net.Name)
	if missing != nil {
		return none{}, missing
	}
	var e reservation
	if err := xml.Unmarshal([]byte(a.XML), &e); err != nil || a.Section != uint32(libvirt.NetworkSectionIPDhcpHost) {
		return none{}, failed(libvirt.ErrXMLError, "XML error: %v", err)
	}
	at := slices.IndexFunc(n.hosts, func(o reservation) bool { return o.MAC == e.MAC || o.IP == e.IP || o.Name != "" && o.Name == e.Name })
	switch libvirt.NetworkUpdateCommand(a.Command) { //nolint:gosec // Commands are small numbers.
	case libvirt.NetworkUpdateCommandDelete:
		if at < 0 {
			return none{}, failed(libvirt.ErrOperationInvalid, "Requested operation is not valid: couldn't locate a matching dhcp host entry in network '%s'", n.Name)
		}
		n.hosts = slices.Delete(n.hosts, at, at+1)
	case libvirt.NetworkUpdateCommandAddLast:
		if at >= 0 {
			return none{}, failed(libvirt.ErrOperationInvalid, "Requested operation is not valid: there is an existing dhcp host entry in network '%s' that matches", n.Name)
		}
		n.hosts = append(n.hosts, e)
	default:
		return none{}, failed(libvirt.ErrArgumentUnsupported, "unsupported command %d", a.Command)
	}
	return none{}, nil
}
