package ec2

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// Administered is a cloud with its administration: credentials can be revoked and issued, and instances
// planted.
type Administered struct{ *Cloud }

var (
	_ double.Lender  = Administered{}
	_ double.Planter = Administered{}
)

// revoked are the revoked credentials.
type revoked struct {
	credentials []Credential
	roles       []Role
	// strangers: credentials that are not in the inventory are refused.
	strangers bool
}

// Revoke implements [double.Lender].
func (c Administered) Revoke() {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := &c.options.Inventory
	var others []Credential
	for _, k := range v.Credentials {
		if cmp.Or(k.Account, v.Account) != v.Account {
			others = append(others, k)
		} else {
			c.revoked.credentials = append(c.revoked.credentials, k)
		}
	}
	c.revoked.roles = append(c.revoked.roles, v.Roles...)
	v.Credentials, v.Roles = others, nil
	c.revoked.strangers = true
}

// Restore implements [double.Lender].
func (c Administered) Restore() {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := &c.options.Inventory
	v.Credentials = append(v.Credentials, c.revoked.credentials...)
	v.Roles = append(v.Roles, c.revoked.roles...)
	c.revoked = revoked{}
}

// otherAccount is the account number for names that are not numbers.
const otherAccount = "210987654321"

// Issue implements [double.Lender]. All other accounts are the same account: in this simulator accounts differ only by
// their instances.
func (c Administered) Issue(account string) (map[string]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sample.AccessKeyID == "" {
		return nil, errors.New("the inventory has no credentials that others could stand for")
	}
	id := strings.ToUpper(strings.TrimPrefix(c.newID("key"), "key-"))
	k := Credential{AccessKeyID: "AKIA" + id[:16], SecretAccessKey: c.newID("secret") + c.newID("secret")}
	if account != "" {
		k.Account = otherAccount
	}
	c.options.Inventory.Credentials = append(c.options.Inventory.Credentials, k)
	return map[string]string{c.sample.AccessKeyID: k.AccessKeyID, c.sample.SecretAccessKey: k.SecretAccessKey}, nil
}

// PlantLike implements [double.Planter].
func (c Administered) PlantLike(id string, rename func(string) string) error {
	i, ok := c.instances.Get(id)
	if !ok {
		return fmt.Errorf("there is no instance %q", id)
	}
	parameters := map[string]string{}
	for key, values := range i.Request.values {
		if !strings.HasPrefix(key, "TagSpecification.") && key != "ClientToken" && len(values) > 0 {
			parameters[key] = values[0]
		}
	}
	_, err := c.Plant(parameters, double.Renamed(i.Tags, rename))
	return err
}
