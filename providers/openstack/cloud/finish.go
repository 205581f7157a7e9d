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
func (cr creator) dress(ctx context.Context, all []ports.Port) error {
	for n, plan := range cr.ports() {
		if !plan.trunk {
			continue
		}
		if err := cr.makeTrunk(ctx, all[n], plan.tags); err != nil {
			return err
		}
	}
	if cr.plan.floating != "" {
		return cr.giveFloating(ctx, all[0])
	}
	return nil
}

// makeTrunk makes the port the parent of a trunk of the same name, unless it is one. The trunk has the tags
// of the server and of the port.
func (cr creator) makeTrunk(ctx context.Context, p ports.Port, tags []string) error {
	there, err := cr.client.trunksOf(ctx, p.ID)
	if err != nil || len(there) > 0 {
		return err
	}
	t, err := trunks.Create(ctx, cr.client.network, trunks.CreateOpts{Name: p.Name, PortID: p.ID, Description: cr.of(cr.ref).mark()}).Extract()
	switch {
	case portWent(err):
		return provider.Errorf(provider.Conflict, "port %s went: %w", p.ID, refusalOf(err))
	case isGone(err):
		return provider.InvalidField("trunk", "the cloud has no trunks: %w", classify(err))
	case err != nil:
		return fmt.Errorf("make a trunk of port %s: %w", p.ID, classify(err))
	}
	tags = slices.Concat(cr.serverTags(cr.ref), tags)
	slices.Sort(tags)
	return cr.client.retag(ctx, "trunks", t.ID, slices.Compact(tags))
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
func (cr creator) giveFloating(ctx context.Context, p ports.Port) error {
	path := cr.plan.paths["floating"]
	pages, err := floatingips.List(cr.client.network, floatingips.ListOpts{FloatingIP: cr.plan.floating}).AllPages(ctx)
	if err != nil {
		return fmt.Errorf("look for floating address %s: %w", cr.plan.floating, classify(err))
	}
	all, err := floatingips.ExtractFloatingIPs(pages)
	if err != nil {
		return fmt.Errorf("look for floating address %s: %w", cr.plan.floating, classify(err))
	}
	switch {
	case len(all) == 0:
		return provider.InvalidField(path, "the project has no floating address %s", cr.plan.floating)
	case all[0].PortID == p.ID:
		return nil
	case all[0].PortID != "":
		return provider.Errorf(provider.Conflict, "%s: floating address %s is that of port %s", path, cr.plan.floating, all[0].PortID)
	}
	if _, err := floatingips.Update(ctx, cr.client.network, all[0].ID, floatingips.UpdateOpts{PortID: &p.ID}).Extract(); err != nil {
		switch r := refusalOf(err); {
		case portWent(err):
			return provider.Errorf(provider.Conflict, "port %s went: %w", p.ID, r)
		case isGone(err) || r.own() && r.status == http.StatusBadRequest:
			return &provider.Error{Kind: provider.Invalid, Field: path, Err: r}
		}
		return fmt.Errorf("give floating address %s: %w", cr.plan.floating, classify(err))
	}
	return nil
}

// finish tags ports after the creation of their server, and sets the description from the spec.
func (cr creator) finish(ctx context.Context, all []ports.Port, server string) error {
	plans := cr.ports()
	for _, p := range all {
		var plan portPlan
		if n := slices.IndexFunc(plans, func(plan portPlan) bool { return plan.portName(cr.ref.Name) == p.Name }); n >= 0 {
			plan = plans[n]
		}
		if err := cr.client.retag(ctx, "ports", p.ID, cr.portTags(cr.ref, plan, server)); err != nil {
			return err
		}
		if plan.description == "" {
			continue
		}
		text := cr.of(cr.ref).described(plan.description)
		if _, err := ports.Update(ctx, cr.client.network, p.ID, ports.UpdateOpts{Description: &text}).Extract(); err != nil {
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
