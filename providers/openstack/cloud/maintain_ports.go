package cloud

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/attributestags"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/millwright-dev/millwright/provider"
)

// restorePorts repairs the machine's ports of the server: missing tags of them and of their trunks, missing
// security groups and address pairs, and the floating address. It keeps the additions of others.
func (m maintainer) restorePorts(ctx context.Context) error {
	all, _, err := m.client.listPorts(ctx, portQuery{"device_id": {m.server.ID}})
	if err != nil {
		return err
	}
	var errs []error
	for _, p := range all {
		n, ours := m.planOf(p)
		if p.DeviceID != m.server.ID || !ours {
			continue
		}
		var plan portPlan
		if n >= 0 {
			plan = m.ports()[n]
			errs = append(errs, m.restoreSecurity(ctx, p, plan))
		}
		errs = append(errs, m.addTags(ctx, "ports", p.ID, lacking(m.portTags(m.ref, plan, m.server.ID), p.Tags)))
		if plan.trunk {
			errs = append(errs, m.restoreTrunk(ctx, p))
		}
		if f := m.plan.floating; n == 0 && f != "" && !hasAddress(m.toInstance(m.client, m.server), f) {
			errs = append(errs, m.giveFloating(ctx, p))
		}
	}
	return errors.Join(errs...)
}

// planOf is the number of the plan that a port of the server was created from; -1: a former plan. A port is
// ours if it has the machine's UID, or the MAC address that is computed from it, or the original's name and
// tags. Another client has plugged any other port.
func (m maintainer) planOf(p ports.Port) (n int, ours bool) {
	says := m.portIs(p, m.ref.UID)
	if !says && ownedByMark(p.Description, p.Tags).uid != "" {
		return -1, false
	}
	token := m.ref.Token(m.class.Cluster)
	for n, plan := range m.ports() {
		named := p.Name == plan.portName(m.ref.Name)
		if p.MACAddress == macOf(token, n) || named && (says || m.tagsOriginal(p.Tags)) {
			return n, true
		}
	}
	return -1, says
}

// addTags adds tags to a port or a trunk, one by one, since others may tag it at the same time.
func (m maintainer) addTags(ctx context.Context, kind, id string, tags []string) error {
	for _, t := range tags {
		if err := attributestags.Add(ctx, m.client.network, kind, id, url.PathEscape(t)).ExtractErr(); err != nil {
			return fmt.Errorf("tag %s %s of %s with %q: %w", strings.TrimSuffix(kind, "s"), id, m.ref.Name, t, classify(err))
		}
	}
	return nil
}

func (m maintainer) restoreTrunk(ctx context.Context, p ports.Port) error {
	all, err := m.client.trunksOf(ctx, p.ID)
	if err != nil {
		return err
	}
	for _, t := range all {
		if err := m.addTags(ctx, "trunks", t.ID, lacking(m.serverTags(m.ref), t.Tags)); err != nil {
			return err
		}
	}
	return nil
}

// restoreSecurity adds the security groups and the address pairs of the spec that a port lacks, unless it was
// changed meanwhile.
func (m maintainer) restoreSecurity(ctx context.Context, p ports.Port, plan portPlan) error {
	groups, err := m.client.groupsOf(ctx, m.plan.groups)
	if err != nil {
		return err
	}
	want := portOrder{}
	m.secure(want, plan, groups)
	change := ports.UpdateOpts{RevisionNumber: &p.RevisionNumber}
	if missing := lacking(want.groups(), p.SecurityGroups); len(missing) > 0 {
		all := append(slices.Clone(p.SecurityGroups), missing...)
		change.SecurityGroups = &all
	}
	if missing := missingPairs(want.pairs(), p); len(missing) > 0 {
		all := append(slices.Clone(p.AllowedAddressPairs), missing...)
		change.AllowedAddressPairs = &all
	}
	if change.SecurityGroups == nil && change.AllowedAddressPairs == nil {
		return nil
	}
	if _, err := ports.Update(ctx, m.client.network, p.ID, change).Extract(); err != nil {
		return fmt.Errorf("give port %s of %s its security groups and address pairs back: %w", p.ID, m.ref.Name, atPort(plan, err))
	}
	return nil
}

// atPort is classify for a change of a port: if another client was faster, it is a Conflict, which is tried
// again.
func atPort(plan portPlan, err error) error {
	if r, _ := answerOf(err); r != nil && r.status == http.StatusPreconditionFailed {
		return provider.Errorf(provider.Conflict, "%s: the port was changed at the same time: %w", plan.path, r)
	}
	return classify(err)
}

// missingPairs are those of want that a port does not have. Neutron shows the port's own MAC address in a
// pair without one.
func missingPairs(want []ports.AddressPair, p ports.Port) []ports.AddressPair {
	return slices.DeleteFunc(slices.Clone(want), func(w ports.AddressPair) bool {
		return slices.ContainsFunc(p.AllowedAddressPairs, func(h ports.AddressPair) bool {
			mac := w.MACAddress
			if mac == "" {
				mac = p.MACAddress
			}
			return sameRange(w.IPAddress, h.IPAddress) && (h.MACAddress == "" || strings.EqualFold(mac, h.MACAddress))
		})
	})
}

// sameRange compares addresses and ranges as such, not as text.
func sameRange(a, b string) bool { return a == b || rangeOf(a).IsValid() && rangeOf(a) == rangeOf(b) }

func rangeOf(s string) netip.Prefix {
	if ip, err := netip.ParseAddr(s); err == nil {
		return netip.PrefixFrom(ip, ip.BitLen())
	}
	p, err := netip.ParsePrefix(s)
	if err != nil {
		return netip.Prefix{}
	}
	return p.Masked()
}
