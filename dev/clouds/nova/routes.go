package nova

import (
	"maps"
	"net/http"
	"slices"
	"time"
)

// trunk is a trunk of Neutron.
type trunk struct {
	id, name, description, port, project string
	tags                                 []string
	created                              time.Time
}

func (t *trunk) row() map[string]any {
	return map[string]any{
		"id": t.id, "name": t.name, "description": t.description, "port_id": t.port, "status": "DOWN", "admin_state_up": true, "sub_ports": []any{},
		"tenant_id": t.project, "project_id": t.project, "tags": orNone(t.tags), "revision_number": 1, "created_at": stamp(t.created), "updated_at": stamp(t.created),
	}
}

func (k neutron) serveTrunks() {
	switch {
	case k.method("POST"):
		var o struct {
			Name        string `json:"name"`
			Description string `json:"description"`
			PortID      string `json:"port_id"`
		}
		if !k.read("trunk", &o) {
			return
		}
		for _, t := range k.trunks {
			if t.port == o.PortID {
				k.fail(http.StatusConflict, "ParentPortInUse", "Port "+o.PortID+" is currently in use and is not eligible for use as a parent port.")
				return
			}
		}
		if k.ports[o.PortID] == nil {
			k.fail(http.StatusNotFound, "PortNotFound", "Port "+o.PortID+" could not be found.")
			return
		}
		t := &trunk{id: k.id("trunk"), name: o.Name, description: o.Description, port: o.PortID, project: k.token.project.ID, created: k.now}
		k.trunks[t.id] = t
		k.reply(http.StatusCreated, map[string]any{"trunk": t.row()})
	case k.method("DELETE"):
		t := k.trunks[k.parts[1]]
		if t == nil {
			k.one("trunks", nil, k.parts[1])
			return
		}
		if p := k.ports[t.port]; p != nil && p.device != "" {
			k.fail(http.StatusConflict, "TrunkInUse", "Trunk "+t.id+" is currently in use.")
			return
		}
		delete(k.trunks, t.id)
		k.w.WriteHeader(http.StatusNoContent)
	default:
		var rows []map[string]any
		for _, id := range slices.Sorted(maps.Keys(k.trunks)) {
			if t := k.trunks[id]; t.project == k.token.project.ID {
				rows = append(rows, t.row())
			}
		}
		k.collection("trunks", rows)
	}
}

// float is a floating address.
type float struct {
	FloatingIP
	port string
}

func (k neutron) floatRow(f *float) map[string]any {
	row := map[string]any{
		"id": f.ID, "floating_ip_address": f.Address, "fixed_ip_address": nil, "floating_network_id": uuid("public"), "port_id": nil, "router_id": nil,
		"status": "DOWN", "tenant_id": k.token.project.ID, "project_id": k.token.project.ID, "description": "", "dns_domain": "", "dns_name": "",
		"tags": []any{}, "revision_number": 1, "created_at": stamp(epoch), "updated_at": stamp(epoch), "port_details": nil,
	}
	if p := k.ports[f.port]; p != nil {
		row["port_id"], row["status"], row["router_id"] = f.port, "ACTIVE", uuid("router")
		if len(p.fixed) > 0 {
			row["fixed_ip_address"] = p.fixed[0].address
		}
	}
	return row
}

func (k neutron) serveFloats() {
	if k.method("PUT") {
		f := k.floats[k.parts[1]]
		var o struct {
			PortID *string `json:"port_id"`
		}
		if f == nil {
			k.one("floatingips", nil, k.parts[1])
			return
		}
		if !k.read("floatingip", &o) {
			return
		}
		to := ""
		if o.PortID != nil {
			to = *o.PortID
		}
		if to != "" && k.ports[to] == nil {
			k.one("ports", nil, to)
			return
		}
		f.port = to
		k.reply(http.StatusOK, map[string]any{"floatingip": k.floatRow(f)})
		return
	}
	var rows []map[string]any
	for _, id := range slices.Sorted(maps.Keys(k.floats)) {
		rows = append(rows, k.floatRow(k.floats[id]))
	}
	k.collection("floatingips", rows)
}
