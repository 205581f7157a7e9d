package kubevirt

import (
	"fmt"
	"slices"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// Administered is a cluster with those who administer it: they take back and issue tokens, and others make virtual machines in it.
type Administered struct{ *Cloud }

var (
	_ double.Lender  = Administered{}
	_ double.Planter = Administered{}
)

// Revoke implements [double.Lender]. The first account is the first namespace.
func (c Administered) Revoke() {
	c.mu.Lock()
	defer c.mu.Unlock()
	var others []User
	for _, u := range c.users {
		if u.Namespace == c.Inventory.Namespaces[0].Name {
			c.revoked = append(c.revoked, u)
		} else {
			others = append(others, u)
		}
	}
	c.users = others
}

// Restore implements [double.Lender].
func (c Administered) Restore() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.users, c.revoked = slices.Concat(c.users, c.revoked), nil
}

// Issue implements [double.Lender]: a user of the first namespace, or of the one of the account's name.
func (c Administered) Issue(account string) (map[string]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	first, sample := c.Inventory.Namespaces[0].Name, c.Inventory.Users[0]
	replaced := map[string]string{}
	if account != "" {
		if _, ok := c.Inventory.namespaceUID(account); !ok {
			return nil, fmt.Errorf("there is no namespace %q", account)
		}
		replaced["namespace: "+first], first = "namespace: "+account, account
	}
	u := User{Name: "system:serviceaccount:" + first + ":machines", Token: c.newUID("token"), Namespace: first}
	c.users = append(slices.Clone(c.users), u)
	replaced[sample.Token] = u.Token
	return replaced, nil
}

// PlantLike implements [double.Planter].
func (c Administered) PlantLike(id string, rename func(string) string) error {
	c.mu.Lock()
	machines := c.machines()
	c.mu.Unlock()
	for _, o := range machines {
		if o.name() == id {
			c.Plant(Planted{
				Name: rename(o.name()), Namespace: o.text("metadata", "namespace"), Zone: zoneOf(o),
				Labels: double.Renamed(o.texts("metadata", "labels"), rename), Annotations: double.Renamed(o.texts("metadata", "annotations"), rename),
			})
			return nil
		}
	}
	return errNoMachine
}
