package nova

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// port is a port of Neutron.
type port struct {
	id, name, network, project, mac string
	description                     string
	device, owner, host             string
	fixed                           []fixedIP
	groups                          []string
	tags                            []string
	// order is the request for the port. Fields that are not listed here are shown as in the request.
	order            portOrder
	created, updated time.Time
	revision         int
	auto             bool // Nova created it
	seq              int
}

type fixedIP struct{ subnet, address string }

// portOrder is the body of a request for a port.
type portOrder struct {
	NetworkID      string            `json:"network_id"`
	Name           string            `json:"name"`
	Description    string            `json:"description"`
	AdminStateUp   *bool             `json:"admin_state_up"`
	MACAddress     string            `json:"mac_address"`
	FixedIPs       []askedIP         `json:"fixed_ips"`
	SecurityGroups *[]string         `json:"security_groups"`
	Pairs          []json.RawMessage `json:"allowed_address_pairs"`
	VNICType       string            `json:"binding:vnic_type"`
	Profile        map[string]any    `json:"binding:profile"`
	PortSecurity   *bool             `json:"port_security_enabled"`
	ValueSpecs     map[string]string `json:"value_specs"`
	DeviceID       string            `json:"device_id"`
	project        string
}

type askedIP struct {
	SubnetID  string `json:"subnet_id"`
	IPAddress string `json:"ip_address"`
}

func (p *port) touch(now time.Time) { p.updated, p.revision = now, p.revision+1 }

func (p *port) fixedIPs() []any {
	out := []any{}
	for _, f := range p.fixed {
		out = append(out, map[string]any{"subnet_id": f.subnet, "ip_address": f.address})
	}
	return out
}

// row has the form of testdata/port-*.json.
func (p *port) row() map[string]any {
	vif, details := "unbound", map[string]any{}
	if p.host != "" {
		vif = "ovs"
		details = map[string]any{
			"connectivity": "l2", "port_filter": true, "ovs_hybrid_plug": false, "datapath_type": "system",
			"bound_drivers": map[string]any{"0": "openvswitch"},
		}
	}
	profile := p.order.Profile
	if profile == nil {
		profile = map[string]any{}
	}
	vnic := p.order.VNICType
	if vnic == "" {
		vnic = "normal"
	}
	return map[string]any{
		"id": p.id, "name": p.name, "network_id": p.network, "tenant_id": p.project, "project_id": p.project, "mac_address": p.mac,
		"admin_state_up": p.order.AdminStateUp == nil || *p.order.AdminStateUp, "status": "DOWN", "device_id": p.device, "device_owner": p.owner,
		"fixed_ips": p.fixedIPs(), "port_security_enabled": p.order.PortSecurity == nil || *p.order.PortSecurity, "security_groups": orNone(p.groups),
		"binding:vnic_type": vnic, "binding:profile": profile, "binding:host_id": p.host, "binding:vif_type": vif, "binding:vif_details": details,
		"allowed_address_pairs": p.pairs(), "extra_dhcp_opts": []any{}, "description": p.description, "tags": orNone(p.tags),
		"created_at": stamp(p.created), "updated_at": stamp(p.updated), "revision_number": p.revision,
	}
}

// pairs are the allowed address pairs, which show the port's own MAC address by default.
func (p *port) pairs() []any {
	out := []any{}
	for _, raw := range p.order.Pairs {
		pair := map[string]any{}
		_ = json.Unmarshal(raw, &pair)
		if pair["mac_address"] == nil || pair["mac_address"] == "" {
			pair["mac_address"] = p.mac
		}
		out = append(out, pair)
	}
	return out
}

// portCalls serves ports.
type portCalls struct{ neutron }

func (k portCalls) servePorts() {
	switch {
	case k.method("POST"):
		k.createPort()
	case k.method("DELETE"):
		k.deletePort(k.parts[1])
	case k.method("PUT"):
		k.updatePort(k.parts[1])
	default:
		k.collection("ports", k.portRows())
	}
}

func (k portCalls) portRows() (rows []map[string]any) {
	all := slices.SortedFunc(maps.Values(k.ports), func(a, b *port) int { return a.seq - b.seq })
	for _, p := range all {
		if p.project == k.token.project.ID {
			rows = append(rows, p.row())
		}
	}
	return rows
}

func (k portCalls) createPort() {
	var o portOrder
	if !k.read("port", &o) {
		return
	}
	o.project = k.token.project.ID
	p, why := k.addPort(o)
	if why != nil {
		k.fail(why.status, why.name, why.message)
		return
	}
	k.reply(http.StatusCreated, map[string]any{"port": p.row()})
}

// addPort creates a port, or returns the error.
func (k portCalls) addPort(o portOrder) (*port, *refusal) {
	n, ok := k.network(o.NetworkID)
	if !ok {
		return nil, &refusal{http.StatusNotFound, "NetworkNotFound", "Network " + o.NetworkID + " could not be found."}
	}
	if why := k.mayMake(n, o); why != nil {
		return nil, why
	}
	p := &port{
		name: o.Name, network: o.NetworkID, project: o.project, mac: strings.ToLower(o.MACAddress), description: o.Description, order: o,
		created: k.now, updated: k.now, revision: 1,
	}
	p.id = k.id("port")
	p.seq = k.seq
	if p.mac == "" {
		p.mac = fmt.Sprintf("fa:16:3e:%02x:%02x:%02x", k.seq>>16&255, k.seq>>8&255, k.seq&255)
	}
	for _, other := range k.ports {
		if other.network == p.network && other.mac == p.mac {
			return nil, &refusal{http.StatusConflict, "MacAddressInUse", "Unable to complete operation for network " + p.network + ". The mac address " + p.mac + " is in use."}
		}
	}
	if why := k.groupsOf(p, o); why != nil {
		return nil, why
	}
	if why := k.addressesOf(p, o); why != nil {
		return nil, why
	}
	k.ports[p.id] = p
	return p, nil
}

// mayMake checks policies and quotas.
func (k portCalls) mayMake(n Network, o portOrder) *refusal {
	if o.MACAddress != "" && n.Shared {
		return &refusal{http.StatusForbidden, "PolicyNotAuthorized", "(rule:create_port and rule:create_port:mac_address) is disallowed by policy"}
	}
	if len(o.Pairs) > 0 && n.Shared {
		return &refusal{http.StatusForbidden, "PolicyNotAuthorized", "(rule:create_port and (rule:create_port:allowed_address_pairs and (rule:create_port:allowed_address_pairs:ip_address))) is disallowed by policy"}
	}
	count := 0
	for _, p := range k.ports {
		if p.project == o.project {
			count++
		}
	}
	if most := k.stock.Quota.Ports; most >= 0 && count >= most {
		return &refusal{http.StatusConflict, "OverQuota", "Quota exceeded for resources: ['port']."}
	}
	return nil
}

func (k portCalls) groupsOf(p *port, o portOrder) *refusal {
	secured := o.PortSecurity == nil || *o.PortSecurity
	if !secured {
		if o.SecurityGroups != nil && len(*o.SecurityGroups) > 0 {
			return &refusal{http.StatusConflict, "PortSecurityAndIPRequiredForSecurityGroups", "Port security must be enabled and port must have an IP address in order to use security groups."}
		}
		if len(o.Pairs) > 0 {
			return &refusal{http.StatusConflict, "AddressPairAndPortSecurityRequired", "Port Security must be enabled in order to have allowed address pairs on a port."}
		}
		return nil
	}
	if o.SecurityGroups == nil {
		p.groups = []string{k.stock.SecurityGroups[0].ID}
		return nil
	}
	for _, id := range *o.SecurityGroups {
		if !slices.ContainsFunc(k.stock.SecurityGroups, func(g SecurityGroup) bool { return g.ID == id }) && !k.any {
			return &refusal{http.StatusNotFound, "SecurityGroupNotFound", "Security group " + id + " does not exist"}
		}
	}
	p.groups = *o.SecurityGroups
	return nil
}

// addressesOf assigns addresses to a port: the requested ones, or one of the first subnet.
func (k portCalls) addressesOf(p *port, o portOrder) *refusal {
	asked := o.FixedIPs
	if asked == nil {
		for _, s := range k.stock.Subnets {
			if s.Network == p.network {
				asked = append(asked, askedIP{SubnetID: s.ID})
				break
			}
		}
	}
	for _, a := range asked {
		s, ok := k.subnetFor(p.network, a)
		if !ok {
			return &refusal{http.StatusBadRequest, "InvalidIpForNetwork", "IP address " + a.IPAddress + " is not a valid IP for any of the subnets on the specified network."}
		}
		ip, why := k.addressIn(s, a.IPAddress)
		if why != nil {
			return why
		}
		p.fixed = append(p.fixed, fixedIP{s.ID, ip})
	}
	return nil
}

func (k portCalls) subnetFor(network string, a askedIP) (Subnet, bool) {
	for _, s := range k.stock.Subnets {
		prefix, err := netip.ParsePrefix(s.CIDR)
		if err != nil || s.Network != network || a.SubnetID != "" && s.ID != a.SubnetID {
			continue
		}
		if ip, err := netip.ParseAddr(a.IPAddress); a.IPAddress == "" || err == nil && prefix.Contains(ip) {
			return s, true
		}
	}
	if k.any && a.SubnetID != "" {
		s := Subnet{ID: a.SubnetID, Name: a.SubnetID, Network: network, CIDR: k.freeCIDR()}
		k.stock.Subnets = append(k.stock.Subnets, s)
		return s, true
	}
	return Subnet{}, false
}

func (k portCalls) addressIn(s Subnet, want string) (string, *refusal) {
	taken := map[string]bool{}
	for _, p := range k.ports {
		for _, f := range p.fixed {
			if f.subnet == s.ID {
				taken[f.address] = true
			}
		}
	}
	if want != "" {
		if taken[want] {
			return "", &refusal{http.StatusConflict, "IpAddressAlreadyAllocated", "IP address " + want + " already allocated in subnet " + s.ID}
		}
		return want, nil
	}
	prefix := netip.MustParsePrefix(s.CIDR)
	ip := prefix.Addr().Next().Next()
	for ; prefix.Contains(ip); ip = ip.Next() {
		if !taken[ip.String()] && prefix.Contains(ip.Next()) {
			return ip.String(), nil
		}
	}
	return "", &refusal{http.StatusConflict, "IpAddressGenerationFailure", "No more IP addresses available on network " + s.Network + "."}
}

func (k portCalls) updatePort(id string) {
	p := k.ports[id]
	if p == nil {
		k.one("ports", nil, id)
		return
	}
	var change struct {
		Name        *string            `json:"name"`
		Description *string            `json:"description"`
		Pairs       *[]json.RawMessage `json:"allowed_address_pairs"`
		Groups      *[]string          `json:"security_groups"`
	}
	if !k.read("port", &change) {
		return
	}
	if asked, ok := strings.CutPrefix(k.r.Header.Get("If-Match"), "revision_number="); ok && asked != itoa(p.revision) {
		k.fail(http.StatusPreconditionFailed, "RevisionNumberConstraintFailed", "Constrained to "+asked+", but current revision is "+itoa(p.revision))
		return
	}
	if change.Groups != nil {
		p.groups = *change.Groups
	}
	if change.Name != nil {
		p.name = *change.Name
	}
	if change.Description != nil {
		p.description = *change.Description
	}
	if change.Pairs != nil {
		p.order.Pairs = *change.Pairs
	}
	p.touch(k.now)
	k.reply(http.StatusOK, map[string]any{"port": p.row()})
}

func (k portCalls) deletePort(id string) {
	p := k.ports[id]
	if p == nil || p.project != k.token.project.ID {
		k.fail(http.StatusNotFound, "PortNotFound", "Port "+id+" could not be found.")
		return
	}
	for _, t := range k.trunks {
		if t.port == id {
			k.fail(http.StatusConflict, "PortInUseAsTrunkParent", "Port "+id+" is currently a parent port for trunk "+t.id+".")
			return
		}
	}
	k.dropPort(id)
	k.w.WriteHeader(http.StatusNoContent)
}

// dropPort deletes a port, and detaches its floating address.
func (c *Cloud) dropPort(id string) {
	for _, f := range c.floats {
		if f.port == id {
			f.port = ""
		}
	}
	delete(c.ports, id)
}
