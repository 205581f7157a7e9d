package prism

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// authenticate identifies the caller.
func (c *store) authenticate(r *http.Request, in *call) *failure {
	name, password, _ := r.BasicAuth()
	known, ok := c.Credentials.Find(func(k Credential) bool { return k.Username == name && k.Password == password })
	if !ok && !c.AcceptsUnknown() {
		return &failure{status: http.StatusUnauthorized, page: true}
	}
	in.caller, in.account = known, cmp.Or(known.Account, c.options.Inventory.Account)
	if !double.Permitted(in.operation, known.Allow, known.Deny) {
		return refuse(http.StatusForbidden, "ACCESS_DENIED", "The user lacks the permission for %s.", in.operation)
	}
	return nil
}

// Administered is a cloud with its administration: users can be locked and created, and virtual machines planted.
type Administered struct{ *Cloud }

var (
	_ double.Lender  = Administered{}
	_ double.Planter = Administered{}
)

// otherAccount is the UUID of the other Prism Central.
const otherAccount = "0005f1a0-0000-4000-8000-000000000002"

// Issue implements [double.Lender]. All other accounts are the same Prism Central, which has the same resources.
func (c Administered) Issue(account string) (map[string]string, error) {
	if c.sample.Username == "" {
		return nil, errors.New("the inventory has no user whom others could stand for")
	}
	k := Credential{Username: "machines-" + double.Hex(8), Password: double.Hex(20)}
	if account != "" {
		k.Account = otherAccount
	}
	c.Credentials.Add(k)
	return map[string]string{`"username":"` + c.sample.Username: `"username":"` + k.Username, c.sample.Password: k.Password}, nil
}

// PlantLike implements [double.Planter]. The description names the copy wherever that of the original names itself.
func (c Administered) PlantLike(id string, rename func(string) string) error {
	m, ok := c.machines.Get(id)
	if !ok {
		return fmt.Errorf("there is no virtual machine %q", id)
	}
	uuid := double.UUID()
	copied := m
	copied.UUID, copied.Name = uuid, rename(m.Name)
	copied.Description = rename(strings.ReplaceAll(m.Description, m.UUID, uuid))
	copied.Categories = double.Renamed(m.Categories, rename)
	return c.vms.plant(copied.asIntent(), uuid)
}
