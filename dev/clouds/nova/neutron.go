package nova

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// epoch is the time at which the inventory was created.
var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// neutron serves networks and the resources in them.
type neutron struct{ *call }

func serveNetwork(all *call) {
	k := neutron{all}
	kind := k.parts[0]
	if len(k.parts) >= 3 && k.parts[2] == "tags" {
		k.retag(kind, k.parts[1])
		return
	}
	serve, ok := map[string]func(){
		"ports": portCalls{k}.servePorts, "trunks": k.serveTrunks, "floatingips": k.serveFloats,
		"networks":        func() { k.collection("networks", k.networkRows()) },
		"subnets":         func() { k.collection("subnets", k.subnetRows()) },
		"security-groups": func() { k.collection("security_groups", k.groupRows()) },
	}[kind]
	if !ok {
		k.fail(http.StatusNotFound, "HTTPNotFound", "The resource could not be found.")
		return
	}
	serve()
}

// collection answers reads of a kind: of one object by ID, or of the objects that a query selects.
func (k neutron) collection(kind string, rows []map[string]any) {
	if !k.method("GET") {
		k.fail(http.StatusForbidden, "PolicyNotAuthorized", "rule:"+k.rule()+" is disallowed by policy")
		return
	}
	if len(k.parts) == 2 {
		k.one(kind, rows, k.parts[1])
		return
	}
	q := k.r.URL.Query()
	found := slices.DeleteFunc(rows, func(row map[string]any) bool { return !selected(q, row) })
	if len(found) == 0 && k.any {
		found = k.invent(kind, q)
	}
	page, next, ok := paged(found, q.Get("marker"), k.limit(q.Get("limit")), func(row map[string]any) string { return row["id"].(string) })
	if !ok {
		// neutron.db: get_marker_obj reads the last object of the previous page like any other.
		k.one(kind, nil, q.Get("marker"))
		return
	}
	answer := map[string]any{kind: orNone(page)}
	if next != "" {
		answer[kind+"_links"] = k.next(next)
	}
	k.reply(http.StatusOK, answer)
}

func (k neutron) one(kind string, rows []map[string]any, id string) {
	for _, row := range rows {
		if row["id"] == id {
			k.reply(http.StatusOK, map[string]any{trimS(kind): row})
			return
		}
	}
	if k.any {
		if rows := k.invent(kind, url.Values{"id": {id}}); len(rows) > 0 {
			k.reply(http.StatusOK, map[string]any{trimS(kind): rows[0]})
			return
		}
	}
	what := map[string]string{"networks": "Network", "subnets": "Subnet", "security_groups": "SecurityGroup", "ports": "Port", "trunks": "Trunk", "floatingips": "FloatingIP"}[kind]
	k.fail(http.StatusNotFound, what+"NotFound", what+" "+id+" could not be found.")
}

// invent generates the requested object if anything is accepted.
func (k neutron) invent(kind string, q url.Values) []map[string]any {
	name, id := q.Get("name"), q.Get("id")
	if id == "" {
		id = uuid(kind + " " + q.Encode())
	}
	if name == "" {
		name = "any-" + id[:min(8, len(id))]
	}
	tags := strings.FieldsFunc(q.Get("tags"), func(r rune) bool { return r == ',' })
	switch kind {
	case "networks":
		k.stock.Networks = append(k.stock.Networks, Network{ID: id, Name: name, Tags: tags})
		k.stock.Subnets = append(k.stock.Subnets, Subnet{ID: uuid("subnet of " + id), Name: name, Network: id, CIDR: k.freeCIDR()})
		return k.networkRows()[len(k.stock.Networks)-1:]
	case "subnets":
		network := q.Get("network_id")
		if network == "" {
			network = k.stock.Networks[0].ID
		}
		k.stock.Subnets = append(k.stock.Subnets, Subnet{ID: id, Name: name, Network: network, CIDR: k.freeCIDR(), Tags: tags})
		return k.subnetRows()[len(k.stock.Subnets)-1:]
	case "security_groups":
		k.stock.SecurityGroups = append(k.stock.SecurityGroups, SecurityGroup{ID: id, Name: name, Tags: tags})
		return k.groupRows()[len(k.stock.SecurityGroups)-1:]
	}
	return nil
}

func (k *stock) freeCIDR() string { return "10." + itoa(100+len(k.Subnets)%100) + ".0.0/16" }

func (k *stock) owner(name string) string {
	if id := k.projectID(name); id != "" {
		return id
	}
	return k.Projects[0].ID
}

// networkRows have the form of testdata/networks.json.
func (k neutron) networkRows() (rows []map[string]any) {
	for _, n := range k.stock.Networks {
		subnets := []string{}
		for _, s := range k.stock.Subnets {
			if s.Network == n.ID {
				subnets = append(subnets, s.ID)
			}
		}
		rows = append(rows, map[string]any{
			"id": n.ID, "name": n.Name, "tenant_id": k.owner(n.Project), "project_id": k.owner(n.Project), "admin_state_up": true, "mtu": 1500,
			"status": "ACTIVE", "subnets": subnets, "shared": n.Shared, "availability_zone_hints": []any{}, "availability_zones": []any{},
			"ipv4_address_scope": nil, "ipv6_address_scope": nil, "router:external": n.External, "description": n.Description,
			"port_security_enabled": true, "tags": orNone(n.Tags), "created_at": stamp(epoch), "updated_at": stamp(epoch), "revision_number": 2,
			"provider:network_type": "flat", "provider:physical_network": "physnet1", "provider:segmentation_id": nil,
		})
	}
	return rows
}

// subnetRows have the form of testdata/subnets.json.
func (k neutron) subnetRows() (rows []map[string]any) {
	for _, s := range k.stock.Subnets {
		prefix, err := netip.ParsePrefix(s.CIDR)
		if err != nil {
			continue
		}
		gateway := s.Gateway
		if gateway == "" {
			gateway = prefix.Addr().Next().String()
		}
		version := 6
		if prefix.Addr().Is4() {
			version = 4
		}
		owner := k.owner("")
		if n, ok := k.network(s.Network); ok {
			owner = k.owner(n.Project)
		}
		rows = append(rows, map[string]any{
			"id": s.ID, "name": s.Name, "tenant_id": owner, "project_id": owner, "network_id": s.Network, "ip_version": version,
			"subnetpool_id": nil, "enable_dhcp": true, "ipv6_ra_mode": orNull(s.IPv6RAMode), "ipv6_address_mode": orNull(s.IPv6AddressMode),
			"gateway_ip": gateway, "cidr": s.CIDR, "allocation_pools": []any{map[string]any{"start": gateway, "end": gateway}},
			"host_routes": []any{}, "dns_nameservers": []any{}, "description": s.Description, "service_types": []any{}, "tags": orNone(s.Tags),
			"created_at": stamp(epoch), "updated_at": stamp(epoch), "revision_number": 0,
		})
	}
	return rows
}

// groupRows have the form of testdata/security-groups.json, with one rule.
func (k neutron) groupRows() (rows []map[string]any) {
	for _, g := range k.stock.SecurityGroups {
		owner := k.token.project.ID
		if g.Project != "" {
			owner = k.owner(g.Project)
		}
		rows = append(rows, map[string]any{
			"id": g.ID, "name": g.Name, "stateful": true, "tenant_id": owner, "project_id": owner, "description": g.Description, "shared": false,
			"security_group_rules": []any{map[string]any{
				"id": uuid("rule " + g.ID), "tenant_id": owner, "security_group_id": g.ID, "ethertype": "IPv4", "direction": "egress", "protocol": nil,
				"port_range_min": nil, "port_range_max": nil, "remote_ip_prefix": nil, "remote_address_group_id": nil, "normalized_cidr": nil,
				"remote_group_id": nil, "standard_attr_id": 3, "description": nil, "tags": []any{}, "created_at": stamp(epoch),
				"updated_at": stamp(epoch), "revision_number": 0, "project_id": owner,
			}},
			"tags": orNone(g.Tags), "created_at": stamp(epoch), "updated_at": stamp(epoch), "revision_number": 1,
		})
	}
	return rows
}

// network is the network with the ID if the project may create ports in it.
func (k *stock) network(id string) (Network, bool) {
	for _, n := range k.Networks {
		if n.ID == id {
			return n, true
		}
	}
	if k.any && id != "" {
		n := Network{ID: id, Name: id}
		k.Networks = append(k.Networks, n)
		k.Subnets = append(k.Subnets, Subnet{ID: uuid("subnet of " + id), Name: id, Network: id, CIDR: k.freeCIDR()})
		return n, true
	}
	return Network{}, false
}

func (k *stock) networkName(id string) string {
	for _, n := range k.Networks {
		if n.ID == id {
			return n.Name
		}
	}
	return id
}

// retag serves PUT, GET and DELETE of the tags of an object.
func (k neutron) retag(kind, id string) {
	tags := k.tagsOf(kind, id)
	if tags == nil {
		k.fail(http.StatusNotFound, "TagResourceNotFound", "Resource "+kind+" "+id+" could not be found.")
		return
	}
	if p := k.ports[id]; p != nil && !k.method("GET") {
		defer p.touch(k.now)
	}
	switch {
	case k.method("PUT") && len(k.parts) == 4:
		if !slices.Contains(*tags, k.parts[3]) {
			*tags = append(*tags, k.parts[3])
		}
		k.w.WriteHeader(http.StatusCreated)
		return
	case k.method("DELETE") && len(k.parts) == 4:
		*tags = slices.DeleteFunc(*tags, func(t string) bool { return t == k.parts[3] })
		k.w.WriteHeader(http.StatusNoContent)
		return
	case k.method("PUT"):
		var asked []string
		if !k.read("tags", &asked) {
			return
		}
		for _, t := range asked {
			if len(t) > 60 || t == "" {
				k.fail(http.StatusBadRequest, "InvalidInput", "Invalid input for operation: '"+t+"' exceeds maximum length of 60.")
				return
			}
		}
		slices.Sort(asked)
		*tags = slices.Compact(asked)
	}
	k.reply(http.StatusOK, map[string]any{"tags": *tags})
}

func (k neutron) tagsOf(kind, id string) *[]string {
	switch kind {
	case "ports":
		if p := k.ports[id]; p != nil {
			return &p.tags
		}
	case "trunks":
		if t := k.trunks[id]; t != nil {
			return &t.tags
		}
	}
	return nil
}
