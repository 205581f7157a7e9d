package vcenter

import (
	"context"
	"errors"
	"fmt"

	"github.com/vmware/govmomi/vapi/tags"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// Administered is a cloud with its administration: credentials can be revoked and issued, and instances
// planted.
type Administered struct{ *Cloud }

var (
	_ double.Lender  = Administered{}
	_ double.Planter = Administered{}
)

// Revoke implements [double.Lender]: no user may log in, and sessions have ended.
func (c Administered) Revoke() {
	c.users.mu.Lock()
	c.users.locked = true
	c.users.mu.Unlock()
	c.users.endSessions()
}

// Restore implements [double.Lender].
func (c Administered) Restore() {
	c.users.mu.Lock()
	defer c.users.mu.Unlock()
	c.users.locked = false
}

// Issue implements [double.Lender], only for the vCenter itself: another account is another vCenter. The new user may log in
// even if other users are revoked.
func (c Administered) Issue(account string) (map[string]string, error) {
	if account != "" {
		return nil, fmt.Errorf("there is no account %q", account)
	}
	if len(c.options.Inventory.Users) == 0 {
		return nil, errors.New("the inventory has no user for whom another could stand")
	}
	sample := c.options.Inventory.Users[0]
	c.users.mu.Lock()
	defer c.users.mu.Unlock()
	n := len(c.users.issued) + 1
	u := login{name: fmt.Sprintf("machines-%d@vsphere.local", n), password: fmt.Sprintf("Issued!%d", n)}
	c.users.issued, c.users.roles[u.name] = append(c.users.issued, u), sample.Roles
	return map[string]string{sample.Name: u.name, sample.Password: u.password}, nil
}

// PlantLike implements [double.Planter].
func (c Administered) PlantLike(id string, rename func(string) string) error {
	for _, m := range c.Machines() {
		if m.InstanceID != id {
			continue
		}
		if len(c.options.Inventory.Datacenters) == 0 || len(c.options.Inventory.Datacenters[0].Templates) == 0 {
			return errors.New("the inventory has no template to make a virtual machine of")
		}
		dc := c.options.Inventory.Datacenters[0]
		p := Plant{
			Name: rename(m.Name), Folder: "/" + dc.Name + "/vm/" + m.Folder, Template: "/" + dc.Name + "/vm/" + dc.Templates[0].Name,
			Extra: double.Renamed(m.Extra, rename), Attributes: double.Renamed(m.Attributes, rename), Tags: c.builder.tagIDs(m.Tags, rename),
		}
		if p.InstanceID = rename(id); p.InstanceID == id {
			p.InstanceID = "" // a new ID
		}
		_, err := c.Plant(p)
		return err
	}
	return fmt.Errorf("there is no virtual machine with the instance UUID %s", id)
}

// tagIDs are the IDs of existing tags by their renamed names.
func (b *builder) tagIDs(names []string, rename func(string) string) (all []string) {
	list, err := tags.NewManager(b.rest).GetTags(context.Background())
	if err != nil {
		return nil
	}
	for _, name := range names {
		for _, t := range list {
			if t.Name == rename(name) {
				all = append(all, t.ID)
			}
		}
	}
	return all
}
