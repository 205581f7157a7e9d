package ec2

import (
	"errors"
	"fmt"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// Administered is a cloud with its administration: credentials can be revoked and issued, and instances
// planted.
type Administered struct{ *Cloud }

var (
	_ double.Lender  = Administered{}
	_ double.Planter = Administered{}
)

// Revoke implements [double.Lender].
func (c Administered) Revoke() {
	c.Credentials.Revoke()
	c.roles.Revoke()
}

// Restore implements [double.Lender].
func (c Administered) Restore() {
	c.Credentials.Restore()
	c.roles.Restore()
}

// otherAccount is the account number for names that are not numbers.
const otherAccount = "210987654321"

// Issue implements [double.Lender]. All other accounts are the same account: in this simulator accounts differ only by
// their instances.
func (c Administered) Issue(account string) (map[string]string, error) {
	if c.sample.AccessKeyID == "" {
		return nil, errors.New("the inventory has no credentials that others could stand for")
	}
	k := newKeys("AKIA")
	if account != "" {
		k.Account = otherAccount
	}
	c.Credentials.Add(k)
	return map[string]string{c.sample.AccessKeyID: k.AccessKeyID, c.sample.SecretAccessKey: k.SecretAccessKey}, nil
}

// PlantLike implements [double.Planter].
func (c Administered) PlantLike(id string, rename func(string) string) error {
	i, ok := c.instances.Get(id)
	if !ok {
		return fmt.Errorf("there is no instance %q", id)
	}
	_, err := c.Plant(i.Request.Without("TagSpecification", "ClientToken"), double.Renamed(i.Tags, rename))
	return err
}
