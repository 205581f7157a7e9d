package cloud

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/digitalocean/go-libvirt"
	"libvirt.org/go/libvirtxml"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/libvirt/spec"
)

// networking has the calls about networks.
type networking struct{ call }

// network returns the spec's network.
func (nw networking) network(ctx context.Context) (libvirt.Network, error) {
	field, what := "networkInterfaceName", cmp.Or(nw.spec.NetworkInterfaceName, spec.DefaultNetwork)
	look := func(l *libvirt.Libvirt) (libvirt.Network, error) { return l.NetworkLookupByName(what) }
	if nw.spec.NetworkUUID != "" {
		field, what = "networkUUID", nw.spec.NetworkUUID
		look = func(l *libvirt.Libvirt) (libvirt.Network, error) { return l.NetworkLookupByUUID(uuidFrom(what)) }
	}
	n, err := ask(ctx, nw.conn, look)
	if err != nil {
		return n, missing(fmt.Errorf("find network %s: %w", what, err), field, libvirt.ErrNoNetwork)
	}
	return n, nil
}

// uuidFrom parses a UUID, with or without hyphens.
func uuidFrom(text string) libvirt.UUID { return tokenUUID(strings.ReplaceAll(text, "-", "")) }

// described reads the description of a network.
func (nw networking) described(ctx context.Context, n libvirt.Network) (*libvirtxml.Network, error) {
	text, err := ask(ctx, nw.conn, func(l *libvirt.Libvirt) (string, error) { return l.NetworkGetXMLDesc(n, 0) })
	if err != nil {
		return nil, fmt.Errorf("read network %s: %w", n.Name, err)
	}
	out := &libvirtxml.Network{}
	if err := out.Unmarshal(text); err != nil {
		return nil, fmt.Errorf("read network %s: %w", n.Name, err)
	}
	return out, nil
}

// reservation returns the reserved address of a network card, and the index of its range in the network.
func reservation(n *libvirtxml.Network, mac string) (host libvirtxml.NetworkDHCPHost, index int, ok bool) {
	for i, ip := range n.IPs {
		if ip.DHCP == nil {
			continue
		}
		for _, h := range ip.DHCP.Hosts {
			if strings.EqualFold(h.MAC, mac) {
				return h, i, true
			}
		}
	}
	return host, 0, false
}

// reserve reserves an address of the spec's range for a network card, and returns the reservation. If two
// processes choose the same address, libvirt refuses the second. It also refuses a host name that another
// card has: then the reservation has no host name.
func (nw networking) reserve(ctx context.Context, network libvirt.Network, mac, hostname string) (kept libvirtxml.NetworkDHCPHost, err error) {
	nw.conn.reserve.Lock()
	defer nw.conn.reserve.Unlock()
	n, err := nw.described(ctx, network)
	if err != nil {
		return kept, err
	}
	if h, _, ok := reservation(n, mac); ok {
		return h, nil
	}
	taken, err := nw.taken(ctx, network, n)
	if err != nil {
		return kept, err
	}
	wanted, err := netip.ParsePrefix(nw.spec.NetworkInterfaceAddress)
	if err != nil {
		return kept, provider.InvalidField("networkInterfaceAddress", "%w", err)
	}
	index, address, err := free(n, wanted, taken)
	if err != nil {
		return kept, err
	}
	kept = libvirtxml.NetworkDHCPHost{MAC: mac, Name: hostname, IP: address.String()}
	for _, ip := range n.IPs {
		if ip.DHCP != nil && slices.ContainsFunc(ip.DHCP.Hosts, func(h libvirtxml.NetworkDHCPHost) bool { return h.Name == hostname }) {
			kept.Name = ""
		}
	}
	return kept, nw.update(ctx, network, libvirt.NetworkUpdateCommandAddLast, index, kept)
}

// update changes the reservations of a network, both now and after a restart.
func (nw networking) update(ctx context.Context, n libvirt.Network, command libvirt.NetworkUpdateCommand, index int, host libvirtxml.NetworkDHCPHost) error {
	text := fmt.Sprintf("<host mac='%s' ip='%s'/>", host.MAC, host.IP)
	if host.Name != "" {
		text = fmt.Sprintf("<host mac='%s' name='%s' ip='%s'/>", host.MAC, host.Name, host.IP)
	}
	change := func(where libvirt.NetworkUpdateFlags) error {
		return do(ctx, nw.conn, func(l *libvirt.Libvirt) error {
			return l.NetworkUpdateCompat(n, command, libvirt.NetworkSectionIPDhcpHost, int32(index), text, where) //nolint:gosec // A network has few ranges.
		})
	}
	err := change(libvirt.NetworkUpdateAffectLive | libvirt.NetworkUpdateAffectConfig)
	if is(err, libvirt.ErrOperationInvalid) { // the network is not active, or is transient
		err = change(libvirt.NetworkUpdateAffectCurrent)
	}
	if err != nil {
		return fmt.Errorf("change reservations of network %s: %w", n.Name, err)
	}
	return nil
}

// taken returns the addresses that are in use or reserved.
func (nw networking) taken(ctx context.Context, network libvirt.Network, n *libvirtxml.Network) (map[netip.Addr]bool, error) {
	out := map[netip.Addr]bool{}
	add := func(text string) {
		if a, err := netip.ParseAddr(text); err == nil {
			out[a] = true
		}
	}
	for _, ip := range n.IPs {
		add(ip.Address)
		if ip.DHCP != nil {
			for _, h := range ip.DHCP.Hosts {
				add(h.IP)
			}
		}
	}
	leases, err := ask(ctx, nw.conn, func(l *libvirt.Libvirt) ([]libvirt.NetworkDhcpLease, error) {
		leases, _, err := l.NetworkGetDhcpLeases(network, nil, 1, 0)
		return leases, err
	})
	if err != nil && !unsupported(err) && !is(err, libvirt.ErrOperationInvalid) {
		return nil, fmt.Errorf("list leases of network %s: %w", network.Name, err)
	}
	for _, l := range leases {
		add(l.Ipaddr)
	}
	return out, nil
}

// free returns the first free address that is in the wanted range and in a range of the network.
func free(n *libvirtxml.Network, wanted netip.Prefix, taken map[netip.Addr]bool) (index int, free netip.Addr, err error) {
	ranges := 0
	for i, ip := range n.IPs {
		own, ok := prefixOf(ip)
		if !ok || ip.DHCP == nil || !own.Overlaps(wanted) {
			continue
		}
		ranges++
		first := wanted.Masked().Addr()
		if start := own.Masked().Addr(); start.Compare(first) > 0 {
			first = start
		}
		for a := first; wanted.Contains(a) && own.Contains(a); a = a.Next() {
			// The first address is the network's own, the last one is the broadcast address.
			if a != own.Masked().Addr() && own.Contains(a.Next()) && !taken[a] {
				return i, a, nil
			}
		}
	}
	if ranges == 0 {
		return 0, free, provider.InvalidField("networkInterfaceAddress", "network %s assigns no addresses in %s", n.Name, wanted)
	}
	return 0, free, provider.ExhaustedIn(provider.ScopeAccount, "network %s has no free address in %s", n.Name, wanted)
}

// prefixOf is the address range of a network.
func prefixOf(ip libvirtxml.NetworkIP) (netip.Prefix, bool) {
	a, err := netip.ParseAddr(ip.Address)
	if err != nil {
		return netip.Prefix{}, false
	}
	bits := int(ip.Prefix) //nolint:gosec // It is at most 128.
	if m, err := netip.ParseAddr(ip.Netmask); err == nil && m.Is4() {
		bits = 0
		for _, b := range m.As4() {
			for ; b != 0; b <<= 1 {
				bits++
			}
		}
	}
	p, err := a.Prefix(bits)
	return p, err == nil && bits > 0
}

// release deletes the reservation of a network card.
func (nw networking) release(ctx context.Context, c card) error {
	if c.network == "" {
		return nil
	}
	network, err := ask(ctx, nw.conn, func(l *libvirt.Libvirt) (libvirt.Network, error) { return l.NetworkLookupByName(c.network) })
	if is(err, libvirt.ErrNoNetwork) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find network %s: %w", c.network, err)
	}
	n, err := nw.described(ctx, network)
	if err != nil {
		return err
	}
	h, index, ok := reservation(n, c.mac)
	if !ok {
		return nil
	}
	return nw.update(ctx, network, libvirt.NetworkUpdateCommandDelete, index, h)
}
