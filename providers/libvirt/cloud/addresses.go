package cloud

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/digitalocean/go-libvirt"
	corev1 "k8s.io/api/core/v1"
)

// known is an address of a guest, and the host name of the guest's DHCP request.
type known struct{ address, name string }

// addresses are those of DHCP leases, or else those that the guest agent reports, and the reserved one.
func (c call) addresses(ctx context.Context, d *domain, running bool) (out []corev1.NodeAddress, err error) {
	var all []known
	if d.Address != "" {
		all = append(all, known{address: d.Address})
	}
	if running {
		more, err := c.reported(ctx, d)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	there := map[corev1.NodeAddress]bool{}
	add := func(kind corev1.NodeAddressType, value string) {
		a := corev1.NodeAddress{Type: kind, Address: value}
		if value != "" && !there[a] {
			there[a] = true
			out = append(out, a)
		}
	}
	for _, a := range all {
		add(corev1.NodeInternalIP, a.address)
	}
	names := []string{d.Hostname}
	for _, a := range all {
		names = append(names, a.name)
	}
	for _, kind := range []corev1.NodeAddressType{corev1.NodeHostName, corev1.NodeInternalDNS} {
		for _, n := range names {
			add(kind, n)
		}
	}
	return out, nil
}

// reported are the addresses that a guest has now.
func (c call) reported(ctx context.Context, d *domain) (all []known, err error) {
	for _, nic := range d.cards {
		if nic.network == "" {
			continue
		}
		leases, err := networking{c}.leases(ctx, nic)
		if err != nil {
			return nil, err
		}
		all = append(all, leases...)
	}
	if len(all) > 0 {
		return all, nil
	}
	sources := []libvirt.DomainInterfaceAddressesSource{libvirt.DomainInterfaceAddressesSrcLease}
	if d.agent {
		sources = append(sources, libvirt.DomainInterfaceAddressesSrcAgent)
	}
	for _, source := range sources {
		if all, err = c.interfaces(ctx, d, source); err != nil || len(all) > 0 {
			return all, err
		}
	}
	return nil, nil
}

// leases are the DHCP leases of a network card.
func (nw networking) leases(ctx context.Context, c card) (all []known, err error) {
	found, err := ask(ctx, nw.conn, func(l *libvirt.Libvirt) ([]libvirt.NetworkDhcpLease, error) {
		n, err := l.NetworkLookupByName(c.network)
		if err != nil {
			return nil, err
		}
		leases, _, err := l.NetworkGetDhcpLeases(n, libvirt.OptString{c.mac}, 1, 0)
		return leases, err
	})
	switch {
	case unsupported(err), is(err, libvirt.ErrNoNetwork, libvirt.ErrOperationInvalid):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("list leases of network %s: %w", c.network, err)
	}
	for _, l := range found {
		a := known{address: l.Ipaddr}
		if len(l.Hostname) > 0 {
			a.name = l.Hostname[0]
		}
		all = append(all, a)
	}
	return all, nil
}

// interfaces are the addresses that a source reports. A driver without the source, or an agent that does not
// answer, reports none.
func (c call) interfaces(ctx context.Context, d *domain, source libvirt.DomainInterfaceAddressesSource) (all []known, err error) {
	cards, err := ask(ctx, c.conn, func(l *libvirt.Libvirt) ([]libvirt.DomainInterface, error) {
		return l.DomainInterfaceAddresses(d.Domain, uint32(source), 0)
	})
	switch {
	case unsupported(err), is(err, libvirt.ErrOperationInvalid, libvirt.ErrNoNetwork, libvirt.ErrAgentUnresponsive, libvirt.ErrAgentUnsynced, libvirt.ErrAgentCommandTimeout):
		return nil, nil
	case is(err, libvirt.ErrNoDomain):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the addresses of domain %s: %w", d.Domain.Name, err)
	}
	for _, nic := range cards {
		if !slices.ContainsFunc(d.cards, func(own card) bool { return slices.Contains(nic.Hwaddr, own.mac) }) {
			continue // the agent also reports the guest's own virtual interfaces
		}
		for _, a := range nic.Addrs {
			if ip, err := netip.ParseAddr(a.Addr); err == nil && !ip.IsLoopback() && !ip.IsLinkLocalUnicast() {
				all = append(all, known{address: a.Addr})
			}
		}
	}
	return all, nil
}
