package gce

import (
	"net/http"
	"net/url"
	"path"
	"strings"
)

const tagValuesPath = "/v3/tagValues/namespaced"

func typeOf(q request, m MachineType) resource {
	r := resource{
		"kind": "compute#machineType", "id": "3004", "name": m.Name, "guestCpus": m.VCPUs, "memoryMb": m.MemoryMiB, "zone": q.scope,
		"maximumPersistentDisks": 128, "maximumPersistentDisksSizeGb": "263168", "isSharedCpu": false, "architecture": intel,
		"selfLink": link("projects", q.project, "zones", q.scope, "machineTypes", m.Name),
	}
	if m.Architecture != "" {
		r["architecture"] = m.Architecture
	}
	if m.GPU != "" {
		r["accelerators"] = []resource{{"guestAcceleratorType": m.GPU, "guestAcceleratorCount": m.GPUs}}
	}
	return r
}

func getMachineType(c *Cloud, q request) (any, *failure) {
	m, ok := c.options.Inventory.machineType(q.scope, q.name)
	if !ok && !c.options.AcceptAny {
		return nil, notFound("projects/" + q.project + "/zones/" + q.scope + "/machineTypes/" + q.name)
	}
	if !ok {
		m = MachineType{Name: q.name, VCPUs: 4, MemoryMiB: 16384}
	}
	return typeOf(q, m), nil
}

func listMachineTypes(c *Cloud, q request) (any, *failure) {
	var all []placed
	for _, m := range c.options.Inventory.MachineTypes {
		if _, ok := c.options.Inventory.machineType(q.scope, m.Name); ok {
			all = append(all, placed{"zones/" + q.scope, typeOf(q, m)})
		}
	}
	return pageOf(c, q, "machineTypes", all)
}

func getAccelerator(c *Cloud, q request) (any, *failure) {
	a, ok := c.options.Inventory.accelerator(q.scope, q.name)
	if !ok && c.options.AcceptAny {
		a.Name, ok = q.name, true
	}
	if !ok {
		return nil, notFound("projects/" + q.project + "/zones/" + q.scope + "/acceleratorTypes/" + q.name)
	}
	return resource{"kind": "compute#acceleratorType", "name": a.Name, "maximumCardsPerInstance": 8, "zone": link("projects", q.project, "zones", q.scope)}, nil
}

func getImage(c *Cloud, q request) (any, *failure) {
	name, family := strings.CutPrefix(q.name, "family/")
	i, ok := c.options.Inventory.image(q.project, name, family)
	if !ok && !c.options.AcceptAny {
		return nil, notFound("projects/" + q.project + "/global/images/" + q.name)
	}
	if !ok {
		i = Image{Name: name}
	}
	r := resource{
		"kind": "compute#image", "id": "5210", "name": i.Name, "status": "READY", "diskSizeGb": "16", "architecture": intel,
		"selfLink": link("projects", q.project, "global", "images", i.Name),
	}
	if i.Family != "" {
		r["family"] = i.Family
	}
	if i.Architecture != "" {
		r["architecture"] = i.Architecture
	}
	features := []resource{{"type": "VIRTIO_SCSI_MULTIQUEUE"}}
	if !i.BIOS {
		features = append(features, resource{"type": "UEFI_COMPATIBLE"}, resource{"type": "GVNIC"})
	}
	r["guestOsFeatures"] = features
	return r, nil
}

func getFamilyView(c *Cloud, q request) (any, *failure) {
	q.name = "family/" + q.name
	image, err := getImage(c, q)
	return resource{"image": image}, err
}

func regionShown(c *Cloud, r Region, project string) resource {
	var quotas []resource
	used := usage(c, r.Name)
	for metric, limit := range r.Quotas {
		quotas = append(quotas, resource{"metric": metric, "limit": limit, "usage": used[metric]})
	}
	zones := make([]string, len(r.Zones))
	for i, z := range r.Zones {
		zones[i] = link("projects", project, "zones", z)
	}
	return resource{"kind": "compute#region", "name": r.Name, "status": "UP", "quotas": quotas, "zones": zones, "selfLink": link("projects", project, "regions", r.Name)}
}

func getRegion(c *Cloud, q request) (any, *failure) {
	q.name = or(q.name, q.scope)
	r, ok := c.options.Inventory.region(q.name)
	if !ok && c.options.AcceptAny {
		r, ok = Region{Name: q.name, Zones: []string{q.name + "-a", q.name + "-b", q.name + "-c"}}, true
	}
	if !ok {
		return nil, notFound("projects/" + q.project + "/regions/" + q.name)
	}
	return regionShown(c, r, q.project), nil
}

func listRegions(c *Cloud, q request) (any, *failure) {
	var all []placed
	for _, r := range c.options.Inventory.Regions {
		all = append(all, placed{"global", regionShown(c, r, q.project)})
	}
	return pageOf(c, q, "regions", all)
}

func zoneShown(project, zone string) resource {
	return resource{
		"kind": "compute#zone", "name": zone, "status": "UP", "region": link("projects", project, "regions", regionOf(zone)),
		"selfLink": link("projects", project, "zones", zone),
	}
}

func getZone(c *Cloud, q request) (any, *failure) {
	if !isZone(c, q.name) {
		return nil, notFound("projects/" + q.project + "/zones/" + q.name)
	}
	return zoneShown(q.project, q.name), nil
}

func listZones(c *Cloud, q request) (any, *failure) {
	var all []placed
	for _, zone := range c.options.Inventory.zones() {
		all = append(all, placed{"global", zoneShown(q.project, zone)})
	}
	return pageOf(c, q, "zones", all)
}

func getProject(c *Cloud, _ request) (any, *failure) { //nolint:unparam // It is one of the methods.
	v := c.options.Inventory
	return resource{"kind": "compute#project", "id": v.Number, "name": v.Project, "selfLink": link("projects", v.Project)}, nil
}

func getNetwork(c *Cloud, q request) (any, *failure) {
	if _, ok := c.options.Inventory.network(q.project, q.name); !ok && !c.options.AcceptAny {
		return nil, notFound("projects/" + q.project + "/global/networks/" + q.name)
	}
	return resource{"kind": "compute#network", "name": q.name, "selfLink": link("projects", q.project, "global", "networks", q.name)}, nil
}

func getSubnetwork(c *Cloud, q request) (any, *failure) {
	s, ok := c.options.Inventory.subnetwork(q.project, q.scope, q.name)
	if !ok && c.options.AcceptAny {
		s.Name, s.Prefix, s.Network, ok = q.name, "10.128", "default", true
	}
	if !ok {
		return nil, notFound("projects/" + q.project + "/regions/" + q.scope + "/subnetworks/" + q.name)
	}
	return resource{
		"kind": "compute#subnetwork", "name": s.Name, "ipCidrRange": s.Prefix + ".0/19", "network": link("projects", q.project, "global", "networks", s.Network),
		"selfLink": link("projects", q.project, "regions", q.scope, "subnetworks", s.Name),
	}, nil
}

// serveTagValue answers Resource Manager's lookup of a tag value by its name, "parent/key/value".
func serveTagValue(c *Cloud, w http.ResponseWriter, r *http.Request) {
	who, err := c.access.bearer(r, c.clock.Now())
	if err == nil && !who.may("resourcemanager.tagValues.get") {
		err = failed(http.StatusForbidden, "forbidden", "The caller does not have permission")
	}
	if err != nil {
		err.write(w)
		return
	}
	name, _ := url.QueryUnescape(r.URL.Query().Get("name"))
	v, ok := find(c.options.Inventory.TagValues, func(v TagValue) bool { return v.Parent+"/"+v.Key+"/"+v.Value == name })
	if !ok && c.options.AcceptAny {
		v = TagValue{ID: "tagValues/" + newID(c), Value: tail(name)}
		v.Parent, v.Key = path.Dir(path.Dir(name)), path.Base(path.Dir(name))
		c.options.Inventory.TagValues, ok = append(c.options.Inventory.TagValues, v), true
	}
	if !ok {
		failed(http.StatusForbidden, "forbidden", "Permission denied on resource '%s' (or it may not exist).", name).write(w)
		return
	}
	writeJSON(w, http.StatusOK, resource{"name": v.ID, "shortName": v.Value, "namespacedName": name, "parent": "tagKeys/281480012345"})
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
