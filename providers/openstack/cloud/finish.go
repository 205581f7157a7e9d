package cloud

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/attributestags"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/trunks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/millwright-dev/millwright/provider"
)

// dress adds to ports what they need before the server: trunks, and the floating address.
func (m maker) dress(ctx context.Context, all []ports.Port) error {
	for n, plan := range m.ports() {
		if !plan.trunk {
			continue
		}
		if err := m.makeTrunk(ctx, all[n], plan.tags); err != nil {
			return err
		}
	}
	if m.plan.floating != "" {
		return m.giveFloating(ctx, all[0])
	}
	return nil
}

// makeTrunk makes the port the parent of a trunk of the same name, unless it is one. The trunk has the tags
// of the server and of the port.
func (m maker) makeTrunk(ctx context.Context, p ports.Port, tags []string) error {
	there, err := m.c.trunksOf(ctx, p.ID)
	if err != nil || len(there) > 0 {
		return err
	}
	t, err := trunks.Create(ctx, m.c.network, trunks.CreateOpts{Name: p.Name, PortID: p.ID, Description: m.of(m.ref).mark()}).Extract()
	switch {
	case portWent(err):
		return provider.Errorf(provider.Conflict, "port %s went: %w", p.ID, refusalOf(err))
	case isGone(err):
		return provider.InvalidField("trunk", "the cloud has no trunks: %w", classify(err))
	case err != nil:
		return fmt.Errorf("make a trunk of port %s: %w", p.ID, classify(err))
	}
	tags = slices.Concat(m.serverTags(m.ref), tags)
	slices.Sort(tags)
	return m.c.retag(ctx, "trunks", t.ID, slices.Compact(tags))
}

func (c *client) trunksOf(ctx context.Context, port string) ([]trunks.Trunk, error) {
	pages, err := trunks.List(c.network, trunks.ListOpts{PortID: port}).AllPages(ctx)
	if isGone(err) { // the extension does not exist
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for trunks: %w", classify(err))
	}
	return trunks.ExtractTrunks(pages)
}

func (c *client) removeTrunkOf(ctx context.Context, port string) error {
	all, err := c.trunksOf(ctx, port)
	if err != nil {
		return err
	}
	for _, t := range all {
		if err := orGone(trunks.Delete(ctx, c.network, t.ID).ExtractErr()); err != nil {
			return fmt.Errorf("remove trunk %s: %w", t.ID, classify(err))
		}
	}
	return nil
}

// giveFloating assigns the address to the port. It does not take the address from another machine, which
// would be cut off.
func (m maker) giveFloating(ctx context.Context, p ports.Port) error {
	path := m.plan.paths["floating"]
	pages, err := floatingips.List(m.c.network, floatingips.ListOpts{FloatingIP: m.plan.floating}).AllPages(ctx)
	if err != nil {
		return fmt.Errorf("look for floating address %s: %w", m.plan.floating, classify(err))
	}
	all, err := floatingips.ExtractFloatingIPs(pages)
	if err != nil {
		return fmt.Errorf("look for floating address %s: %w", m.plan.floating, classify(err))
	}
	switch {
	case len(all) == 0:
		return provider.InvalidField(path, "the project has no floating address %s", m.plan.floating)
	case all[0].PortID == p.ID:
		return nil
	case all[0].PortID != "":
		return provider.Errorf(provider.Conflict, "%s: floating address %s is that of port %s", path, m.plan.floating, all[0].PortID)
	}
	if _, err := floatingips.Update(ctx, m.c.network, all[0].ID, floatingips.UpdateOpts{PortID: &p.ID}).Extract(); err != nil {
		switch r := refusalOf(err); {
		case portWent(err):
			return provider.Errorf(provider.Conflict, "port %s went: %w", p.ID, r)
		case isGone(err) || r.own() && r.status == http.StatusBadRequest:
			return &provider.Error{Kind: provider.Invalid, Field: path, Err: r}
		}
		return fmt.Errorf("give floating address %s: %w", m.plan.floating, classify(err))
	}
	return nil
}

// finish tags ports after the creation of their server, and sets the description from the spec.
func (m maker) finish(ctx context.Context, all []ports.Port, server string) error {
	plans := m.ports()
	for _, p := range all {
		var plan portPlan
		if n := slices.IndexFunc(plans, func(plan portPlan) bool { return plan.portName(m.ref.Name) == p.Name }); n >= 0 {
			plan = plans[n]
		}
		if err := m.c.retag(ctx, "ports", p.ID, m.portTags(m.ref, plan, server)); err != nil {
			return err
		}
		if plan.description == "" {
			continue
		}
		text := m.of(m.ref).described(plan.description)
		if _, err := ports.Update(ctx, m.c.network, p.ID, ports.UpdateOpts{Description: &text}).Extract(); err != nil {
			return fmt.Errorf("describe port %s: %w", p.ID, classify(err))
		}
	}
	return nil
}

func (c *client) retag(ctx context.Context, kind, id string, tags []string) error {
	_, err := attributestags.ReplaceAll(ctx, c.network, kind, id, attributestags.ReplaceAllOpts{Tags: tags}).Extract()
	if err != nil {
		return fmt.Errorf("tag %s %s: %w", kind, id, classify(err))
	}
	return nil
}
