package arm

import (
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

// Revoke implements [double.Lender]: the applications of the first subscription lose their secrets and their
// federated identities.
func (c Administered) Revoke() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shut = true
	for id, t := range c.tokens {
		if t.stranger {
			delete(c.tokens, id)
		}
	}
	first := first(c.Inventory).Subscription
	for i := range c.Inventory.Accounts {
		a := &c.Inventory.Accounts[i]
		if a.Subscription != first || a.ClientSecret == "" && a.Assertion == "" {
			continue
		}
		c.revoked = append(c.revoked, *a)
		a.ClientSecret, a.Assertion = "", ""
		forget(c.Cloud, a.ClientID)
	}
}

// first is the account in the samples.
func first(v Inventory) Account {
	if len(v.Accounts) == 0 {
		return Account{}
	}
	return v.Accounts[0]
}

// forget revokes the tokens of an application.
func forget(c *Cloud, client string) {
	for id, t := range c.tokens {
		if t.client == client {
			delete(c.tokens, id)
		}
	}
}

// Restore implements [double.Lender].
func (c Administered) Restore() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, was := range c.revoked {
		for i := range c.Inventory.Accounts {
			if a := &c.Inventory.Accounts[i]; a.ClientID == was.ClientID && a.Subscription == was.Subscription {
				a.ClientSecret, a.Assertion = was.ClientSecret, was.Assertion
			}
		}
	}
	c.revoked, c.shut = nil, false
}

// Issue implements [double.Lender]: a secret of the samples' application, or an application of another
// subscription.
func (c Administered) Issue(account string) (map[string]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sample.ClientSecret == "" {
		return nil, errors.New("the inventory has no application with a secret that another could stand for")
	}
	secret := fmt.Sprintf("sesame-%04d", c.number())
	replaced := map[string]string{c.sample.ClientSecret: secret}
	if account == "" {
		c.Inventory.Accounts[0].ClientSecret = secret
		return replaced, nil
	}
	other := Account{Tenant: c.sample.Tenant, ClientSecret: secret, ClientID: guid(c.number()), Subscription: guid(c.number())}
	c.Inventory.Accounts = append(c.Inventory.Accounts, other)
	replaced[c.sample.ClientID], replaced[c.sample.Subscription] = other.ClientID, other.Subscription
	return replaced, nil
}

// guid is a GUID that contains a number.
func guid(n int) string { return fmt.Sprintf("44444444-4444-4444-4444-%012d", n) }

// PlantLike implements [double.Planter].
func (c Administered) PlantLike(id string, rename func(string) string) error {
	c.mu.Lock()
	m, ok := c.vms.Get(strings.ToLower(id))
	c.mu.Unlock()
	if !ok {
		return fmt.Errorf("no virtual machine %s", id)
	}
	tags := map[string]string{}
	for key, value := range m.model.Tags {
		tags[key] = deref(value)
	}
	name := rename(m.name)
	c.Plant(Seed{
		Subscription: m.subscription, Group: m.group, Name: name, Location: deref(m.model.Location), Zone: zoneOf(m.model.Zones), Size: sizeName(&m.model),
		NIC: name + "-nic", Disk: name + "-disk", Tags: double.Renamed(tags, rename), Cascade: true,
	})
	return nil
}
