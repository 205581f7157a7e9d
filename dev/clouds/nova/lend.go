package nova

import (
	"fmt"
	"slices"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// Administered is a cloud with its administration: credentials can be revoked and issued, and instances
// planted.
type Administered struct{ *Cloud }

var (
	_ double.Lender  = Administered{}
	_ double.Planter = Administered{}
)

// Revoke implements [double.Lender]. The first account is the first project.
func (c Administered) Revoke() {
	c.Credentials.Revoke()
	c.mu.Lock()
	defer c.mu.Unlock()
	for secret, t := range c.tokens {
		if t.stranger || slices.Contains(t.user.Projects, c.stock.Projects[0].Name) {
			delete(c.tokens, secret)
		}
	}
}

// Issue implements [double.Lender]: a user for the first project, or for the project of the account's name.
func (c Administered) Issue(account string) (map[string]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	project := c.stock.Projects[0].Name
	replaced := map[string]string{}
	if account != "" {
		if c.projectID(account) == "" {
			return nil, fmt.Errorf("there is no project %q", account)
		}
		replaced[project], project = account, account
	}
	u := User{ID: c.id("user"), Password: c.id("password"), Projects: []string{project}}
	u.Name = "machines-" + u.ID[:8]
	c.Credentials.Add(u)
	sample := c.Options.Inventory.Users[0]
	replaced[sample.Name], replaced[sample.Password] = u.Name, u.Password
	return replaced, nil
}

// PlantLike implements [double.Planter].
func (c Administered) PlantLike(id string, rename func(string) string) error {
	c.mu.Lock()
	s, ok := c.all.Get(id)
	c.mu.Unlock()
	if !ok {
		return errNoServer
	}
	p := Planted{Name: rename(s.name), Project: s.project.Name, Flavor: s.flavor.Name, Zone: s.zone, Metadata: double.Renamed(s.metadata, rename)}
	for _, t := range s.tags {
		p.Tags = append(p.Tags, rename(t))
	}
	c.Plant(p)
	return nil
}
