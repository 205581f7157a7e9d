package ec2

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/form"
)

// volume is a disk.
type volume struct {
	ID, Account, Zone string
	Device, Instance  string
	Ebs               form.Form // of the request
	Size              int64
	Kind              string
	Tags              map[string]string
	Goes              bool // deleted with its instance
	Made              time.Time
}

// networkInterface is a network interface, with or without an instance.
type networkInterface struct {
	ID, Account string
	Subnet      Subnet
	Instance    string
	Device      int64
	Card        int64
	Kind        string
	Description string
	Groups      []string
	Address     string
	IPv6        []string
	Prefixes    []string
	PrimaryIPv6 bool
	Public      string
	Tags        map[string]string
	Checks      bool // source and destination
	Goes        bool // deleted with its instance
}

// dnsName is AWS's name for an address in a region.
func dnsName(address, region string) string {
	a, err := netip.ParseAddr(address)
	if err != nil || !a.Is4() {
		return ""
	}
	b := a.As4()
	return fmt.Sprintf("ip-%d-%d-%d-%d.%s", b[0], b[1], b[2], b[3], domainOf(region))
}

// domainOf is the domain of private names in a region.
func domainOf(region string) string {
	if region == "us-east-1" {
		return "ec2.internal"
	}
	return region + ".compute.internal"
}

func publicName(address string) string {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return ""
	}
	b := a.As4()
	return fmt.Sprintf("ec2-%d-%d-%d-%d.compute-1.amazonaws.com", b[0], b[1], b[2], b[3])
}

// reserved is the number of addresses at the beginning of a subnet that AWS reserves.
const reserved = 4

// freeAddress is the first unused address of a subnet in its network; the caller holds the lock.
func (c launcher) freeAddress(s Subnet) (string, bool) {
	taken := map[string]bool{}
	for _, n := range c.interfaces.All() {
		if n.Subnet.Network == s.Network {
			taken[n.Address] = true
		}
	}
	return double.FreeAddress(s.CIDR, reserved, taken)
}

// freeIPv6 returns free addresses, or prefixes, of a subnet; the caller holds the lock.
func (c launcher) freeIPv6(s Subnet, count int64, prefixes bool) (all []string) {
	p, err := netip.ParsePrefix(s.IPv6)
	if err != nil {
		return nil
	}
	for range count {
		b := p.Masked().Addr().As16()
		n := c.next()
		if prefixes {
			b[8], b[9] = byte(n>>8), byte(n)
			all = append(all, netip.AddrFrom16(b).String()+"/80")
			continue
		}
		b[14], b[15] = byte(n>>8), byte(n)
		all = append(all, netip.AddrFrom16(b).String())
	}
	return all
}

func (c launcher) publicAddress() string {
	n := c.next()
	return fmt.Sprintf("54.%d.%d.%d", 128|n>>16&127, n>>8&255, n&255)
}
