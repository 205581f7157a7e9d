// Command cloud-vsphere simulates two vCenters; the second is vcenter2.example.com.
package main

import (
	"net/http"
	"strings"

	"github.com/millwright-dev/millwright/dev/clouds/command"
	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/vcenter"
)

func main() {
	command.Main("cloud-vsphere", func(clock *double.Clock, o command.Options) (double.Cloud, error) {
		inventory, err := command.Inventory(o, vcenter.Sample())
		if err != nil {
			return nil, err
		}
		cloud := func(id string) vcenter.Administered {
			return vcenter.Administered{Cloud: vcenter.New(clock, vcenter.Options{Inventory: inventory, AcceptAny: o.AcceptAny, Boot: o.Boot, ID: id})}
		}
		return newCenters(cloud(""), cloud("5d2b8c1e-7f04-4e6a-9a3d-0c6b1f2e8d47")), nil
	})
}

// The addresses of the two vCenters. The first, that of the samples, also answers for any other host.
const (
	host      = "vcenter.example.com"
	otherHost = "vcenter2.example.com"
)

// centers are two vCenters, each an account.
type centers struct{ *double.Accounts }

func newCenters(first, second vcenter.Administered) centers {
	return centers{double.NewAccounts(func(r *http.Request, _ []byte) string {
		if name, _, _ := strings.Cut(r.Host, ":"); name == otherHost {
			return other
		}
		return host
	}, double.Account{Name: host, Cloud: first}, double.Account{Name: other, Cloud: second})}
}

// other is the name of the second account.
const other = "other"

// Issue implements [double.Lender].
func (c centers) Issue(account string) (map[string]string, error) {
	replaced, err := c.Accounts.Issue(account)
	if account == other && err == nil {
		replaced[host] = otherHost
	}
	return replaced, err
}
