package cloud

import (
	"fmt"
	"slices"
	"strings"

	"github.com/millwright-dev/millwright/provider"
)

// Place is the place of instances. A session sees only the instances in its own place.
type Place struct{ Account, Region, Cluster string }

// AccountKey is the key of the account that credentials open; credentials without it open
// [MainAccount].
const AccountKey = "account"

// MainAccount is the account of the cluster.
const MainAccount = "main"

func placeOf(c provider.Class) Place {
	at := Place{Account: string(c.Credentials[AccountKey]), Region: c.Region, Cluster: c.Cluster}
	if at.Account == "" {
		at.Account = MainAccount
	}
	return at
}

func (c *Cloud) hides(m *Machine) bool { return c.Hides != nil && c.Hides(m) }

// user is the instance that uses the part; nil if it is free.
func (c *Cloud) user(p *Part) *Machine {
	for _, m := range c.Existing("") {
		if m.UID == p.UID && m.Place == p.Place {
			return m
		}
	}
	return nil
}

// AddPart creates a part without a request.
func (c *Cloud) AddPart(p Part) { c.part(p) }

// host is the node name of the nth instance.
func (t Traits) host(name string, n int, ip string) string {
	switch {
	case t.Addressed:
		return "ip-" + strings.ReplaceAll(ip, ".", "-")
	case t.Hosts:
		return fmt.Sprintf("host-%d", n)
	}
	return name
}

// address is the address of the nth instance.
func (c *Cloud) address(n int) string {
	ip := func(n int) string { return fmt.Sprintf("10.0.%d.%d", n/250, n%250+1) }
	for i := 1; c.Scarce && i < n; i++ {
		if !slices.ContainsFunc(c.Existing(""), func(m *Machine) bool { return m.IP == ip(i) }) {
			return ip(i)
		}
	}
	return ip(n)
}

// Remove removes a part without a request.
func (c *Cloud) Remove(p *Part) { p.gone = c.Now() }
