package cloud

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/pagination"

	"github.com/millwright-dev/millwright/provider"
)

// portOrder is the body of a request for a port; the SDK spreads its fields over several extensions.
type portOrder map[string]any

// ToPortCreateMap implements [ports.CreateOptsBuilder].
func (o portOrder) ToPortCreateMap() (map[string]any, error) {
	return map[string]any{"port": map[string]any(o)}, nil
}

// portQuery is a listing of ports by parameters that may be empty or repeated.
type portQuery url.Values

// ToPortListQuery implements [ports.ListOptsBuilder].
func (q portQuery) ToPortListQuery() (string, error) { return "?" + url.Values(q).Encode(), nil }

// listPorts returns the ports that a query selects, and the cloud's time of the answer.
func (c *client) listPorts(ctx context.Context, q portQuery) (all []ports.Port, at time.Time, err error) {
	// An administrator sees the ports of all projects.
	q["project_id"] = []string{c.project}
	err = ports.List(c.network, q).EachPage(ctx, func(_ context.Context, page pagination.Page) (bool, error) {
		found, err := ports.ExtractPorts(page)
		if p, ok := page.(ports.PortPage); ok {
			at, _ = http.ParseTime(p.Header.Get("Date"))
		}
		all = append(all, found...)
		return true, err
	})
	if at.IsZero() {
		at = c.clock.Now()
	}
	if err != nil {
		return nil, at, fmt.Errorf("list ports: %w", classify(err))
	}
	return all, at, nil
}

// order returns the order of a machine's port.
func (h holder) order(ctx context.Context, n int, groups []string) (portOrder, error) {
	p := h.ports()[n]
	o := portOrder{"name": p.portName(h.ref.Name), "description": h.of(h.ref).mark()}
	var err error
	if p.path == "" {
		o["network_id"], err = h.client.soleNetwork(ctx, h.plan.paths["networks"])
	} else {
		o["network_id"], err = h.client.networkOf(ctx, p)
	}
	if err != nil {
		return nil, err
	}
	if len(p.fixed) > 0 {
		if o["fixed_ips"], err = h.client.fixedIPs(ctx, p, o.network()); err != nil {
			return nil, err
		}
	}
	if p.mac != "" {
		o["mac_address"] = p.mac
	} else if _, denied := h.client.chosen.Load(o.network()); !denied {
		o["mac_address"] = macOf(h.ref.Token(h.class.Cluster), n)
	}
	if p.up != nil {
		o["admin_state_up"] = *p.up
	}
	if p.vnic != "" {
		o["binding:vnic_type"] = p.vnic
	}
	if set := profile(p.profile); len(set) > 0 {
		o["binding:profile"] = set
	}
	h.secure(o, p, groups)
	return o, nil
}

func (o portOrder) network() string { return text(o["network_id"]) }
func (o portOrder) mac() string     { return text(o["mac_address"]) }

func (o portOrder) groups() []string {
	groups, _ := o["security_groups"].([]string)
	return groups
}

func (o portOrder) pairs() []ports.AddressPair {
	pairs, _ := o["allowed_address_pairs"].([]ports.AddressPair)
	return pairs
}

// print identifies orders, regardless of the MAC address.
func (o portOrder) print() string {
	o = maps.Clone(o)
	delete(o, "mac_address")
	raw, err := json.Marshal(map[string]any(o))
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256(raw))
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

// secure sets which traffic a port accepts, and which addresses it may use.
func (s scope) secure(o portOrder, p portPlan, groups []string) {
	if p.secured != nil {
		o["port_security_enabled"] = *p.secured
	}
	if p.insecure() {
		return
	}
	if p.groups != nil && len(*p.groups) > 0 {
		groups = *p.groups
	}
	if len(groups) > 0 {
		o["security_groups"] = groups
	}
	var pairs []ports.AddressPair
	for _, pair := range p.pairs {
		pairs = append(pairs, ports.AddressPair{IPAddress: pair.IPAddress, MACAddress: pair.MACAddress})
	}
	if p.vips {
		for _, ip := range s.vips {
			pairs = append(pairs, ports.AddressPair{IPAddress: ip})
		}
	}
	if len(pairs) > 0 {
		o["allowed_address_pairs"] = pairs
	}
}

// profile is the binding profile that the original creates: whether hardware switches packets, and whether
// the guest is trusted. Neutron lets only administrators set a profile, so that a further key could be
// refused.
func profile(p map[string]string) map[string]any {
	out := map[string]any{}
	if strings.Contains(p["capabilities"], "switchdev") {
		out["capabilities"] = []string{"switchdev"}
	}
	if p["trusted"] == "true" {
		out["trusted"] = true
	}
	return out
}

func (c *client) fixedIPs(ctx context.Context, p portPlan, network string) (out []map[string]string, err error) {
	for _, a := range p.fixed {
		one := map[string]string{}
		if !a.subnet.empty() || a.ip == "" {
			s, err := c.subnetOf(ctx, a, network)
			if err != nil {
				return nil, err
			}
			one["subnet_id"] = s.ID
		}
		if a.ip != "" {
			one["ip_address"] = a.ip
		}
		out = append(out, one)
	}
	return out, nil
}

// ports are those of the plan, or one in the project's only network.
func (s scope) ports() []portPlan {
	if len(s.plan.ports) > 0 {
		return s.plan.ports
	}
	return []portPlan{{suffix: "-0", vips: true}}
}

// createPort creates a port. If MAC addresses may not be chosen, Neutron chooses one.
func (h holder) createPort(ctx context.Context, n int, o portOrder) (ports.Port, error) {
	p, err := ports.Create(ctx, h.client.network, o).Extract()
	if err == nil {
		return *p, nil
	}
	plan := h.ports()[n]
	if r, _ := answerOf(err); r != nil && r.status == http.StatusForbidden && plan.mac == "" && o.mac() != "" && strings.Contains(r.message, "mac_address") {
		h.client.chosen.Store(o.network(), true)
		return ports.Port{}, errChosen
	}
	return ports.Port{}, h.plan.blamePort(plan, err)
}

// blamePort names the field that Neutron refused.
func (p plan) blamePort(port portPlan, err error) error {
	r, _ := answerOf(err)
	path := port.path
	if path == "" {
		path = p.paths["networks"]
	}
	if r.own() && r.status == http.StatusNotFound {
		if r.kind == "SecurityGroupNotFound" {
			path = p.paths["groups"]
		}
		return &provider.Error{Kind: provider.Invalid, Field: path, Err: r}
	}
	if e, ok := classify(err).(*provider.Error); ok && e.Kind == provider.Invalid { //nolint:errorlint // Of classify.
		return &provider.Error{Kind: provider.Invalid, Field: path, Err: e.Err}
	}
	return fmt.Errorf("make port %s: %w", path, classify(err))
}

// portOfMAC is the port that has the MAC address in the network; nil if none has.
func (c *client) portOfMAC(ctx context.Context, o portOrder) (*ports.Port, time.Time, error) {
	all, at, err := c.listPorts(ctx, portQuery{"network_id": {o.network()}, "mac_address": {o.mac()}})
	if err != nil || len(all) == 0 {
		return nil, at, err
	}
	return &all[0], at, nil
}

// portsOf are those of ref, in any state.
func (h holder) portsOf(ctx context.Context, uid string) (out []ports.Port, at time.Time, err error) {
	finished, at, err := h.client.listPorts(ctx, portQuery{"tags": {tagUID + uid}})
	if err != nil {
		return nil, at, err
	}
	// A port without a server may have no tags yet.
	loose, at, err := h.client.listPorts(ctx, portQuery{"device_id": {""}})
	if err != nil {
		return nil, at, err
	}
	for _, p := range append(finished, loose...) {
		known := slices.ContainsFunc(out, func(o ports.Port) bool { return o.ID == p.ID })
		if !known && h.portIs(p, uid) {
			out = append(out, p)
		}
	}
	return out, at, nil
}

// portIs reports whether a port was created for the machine in the class's cluster.
func (s scope) portIs(p ports.Port, uid string) bool {
	o := ownedByMark(p.Description, p.Tags)
	return o.uid == uid && uid != "" && (o.cluster == "" || o.cluster == s.class.Cluster)
}

// deletePort removes a port, and the trunk that it carries.
func (c *client) deletePort(ctx context.Context, id string) error {
	err := orGone(ports.Delete(ctx, c.network, id).ExtractErr())
	if r, _ := answerOf(err); r != nil && r.status == http.StatusConflict {
		if err := c.removeTrunkOf(ctx, id); err != nil {
			return err
		}
		err = orGone(ports.Delete(ctx, c.network, id).ExtractErr())
	}
	if err != nil {
		return fmt.Errorf("remove port %s: %w", id, classify(err))
	}
	return nil
}

// orGone treats a "not found" as success.
func orGone(err error) error {
	if isGone(err) {
		return nil
	}
	return err
}
