package ibmcloud

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// page answers with a page of a collection. A token is the number of entries before its page.
func (c lister) page(in *call, key string, all []object) (any, *failure) {
	limit, err := strconv.Atoi(in.query.Get("limit"))
	if in.query.Get("limit") == "" {
		limit, err = 50, nil
	}
	from := 0
	if start := in.query.Get("start"); start != "" && err == nil {
		from, err = strconv.Atoi(start)
	}
	if err != nil || limit < 1 || limit > 100 || from > len(all) {
		return nil, refuse(http.StatusBadRequest, "bad_field", "The limit or the start of a page is not valid.")
	}
	to := min(from+min(limit, c.options.PageSize), len(all))
	answer := object{key: all[from:to], "limit": limit, "total_count": len(all), "first": object{"href": c.link(in, "")}}
	if to < len(all) {
		answer["next"] = object{"href": c.link(in, strconv.Itoa(to))}
	}
	return answer, nil
}

func (c lister) link(in *call, start string) string {
	query := url.Values{"limit": {in.query.Get("limit")}}
	if start != "" {
		query.Set("start", start)
	}
	return "https://" + in.Host + in.URL.Path + "?" + query.Encode()
}

// crn is the cloud resource name of a resource.
func (c lister) crn(account, place, kind, id string) string {
	return "crn:v1:bluemix:public:is:" + place + ":a/" + account + "::" + kind + ":" + id
}

// ref is a reference to a resource.
func (c lister) ref(account, kind string, r Resource) object {
	region := c.options.Inventory.Region
	return object{
		"id": r.ID, "name": r.Name, "crn": c.crn(account, region, kind, r.ID), "href": fmt.Sprintf("https://%s.iaas.cloud.ibm.com/v1/%ss/%s", region, kind, r.ID), "resource_type": kind,
	}
}

// resources answers with the resources that have the values of the filters.
func (c lister) resources(in *call, key, kind string, all []Resource) (any, *failure) {
	list := []object{}
	for _, r := range all {
		if !passes(in, "resource_group.id", r.Group) || !passes(in, "vpc.id", r.VPC) || !passes(in, "name", r.Name) || !passes(in, "zone.name", r.Zone) {
			continue
		}
		shown := c.ref(in.account, kind, r)
		shown["resource_group"] = object{"id": r.Group}
		list = append(list, shown)
	}
	return c.page(in, key, list)
}

// passes reports whether a value passes a filter of a request.
func passes(in *call, filter, value string) bool {
	return !in.query.Has(filter) || in.query.Get(filter) == value
}

func listResourceGroups(c *Cloud, in *call) (any, *failure) {
	if !passes(in, "account_id", in.account) {
		return nil, refuse(http.StatusForbidden, "not_authorized", "The request is not authorized.")
	}
	list := []object{}
	for _, g := range c.options.Inventory.ResourceGroups {
		if passes(in, "name", g.Name) {
			list = append(list, object{"id": g.ID, "name": g.Name, "account_id": in.account, "state": "ACTIVE"})
		}
	}
	return object{"resources": list}, nil
}

func getRegion(c *Cloud, in *call) (any, *failure) {
	v := c.options.Inventory
	if in.id != v.Region {
		return nil, missing("region", in.id)
	}
	return object{"name": v.Region, "endpoint": "https://" + v.Region + ".iaas.cloud.ibm.com", "href": "https://" + in.Host + "/v1/regions/" + v.Region, "status": "available"}, nil
}

func listImages(c *Cloud, in *call) (any, *failure) {
	all := c.options.Inventory.Images
	if name := in.query.Get("name"); c.options.AcceptAny && name != "" {
		all = []Resource{{ID: "r006-generated-image", Name: name, Group: in.query.Get("resource_group.id")}}
	}
	return c.resources(in, "images", "image", all)
}

func listVPCs(c *Cloud, in *call) (any, *failure) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.resources(in, "vpcs", "vpc", c.options.Inventory.VPCs)
}

func listSubnets(c *Cloud, in *call) (any, *failure) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := []Resource{}
	for _, s := range c.options.Inventory.Subnets {
		all = append(all, s.Resource)
	}
	return c.resources(in, "subnets", "subnet", all)
}

func listSecurityGroups(c *Cloud, in *call) (any, *failure) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.resources(in, "security_groups", "security_group", c.options.Inventory.SecurityGroups)
}

func listDedicatedHosts(c *Cloud, in *call) (any, *failure) {
	return c.resources(in, "dedicated_hosts", "dedicated_host", c.options.Inventory.DedicatedHosts)
}

func listProfiles(c *Cloud, in *call) (any, *failure) {
	list := []object{}
	for _, p := range c.options.Inventory.Profiles {
		list = append(list, shownProfile(p))
	}
	return c.page(in, "profiles", list)
}

func getProfile(c *Cloud, in *call) (any, *failure) {
	p, ok := c.profile(in.id)
	if !ok {
		return nil, missing("profile", in.id)
	}
	return shownProfile(p), nil
}

func shownProfile(p Profile) object {
	fixed := func(n int64) object { return object{"type": "fixed", "value": n} }
	o := object{
		"name": p.Name, "href": "https://us-south.iaas.cloud.ibm.com/v1/instance/profiles/" + p.Name, "vcpu_count": fixed(p.VCPUs), "memory": fixed(p.MemoryGiB),
		"vcpu_architecture": object{"type": "fixed", "value": p.Arch},
	}
	if p.GPUs > 0 {
		o["gpu_count"], o["gpu_manufacturer"] = fixed(p.GPUs), object{"type": "enum", "values": []string{p.GPU}}
	}
	return o
}

func listInstances(c *Cloud, in *call) (any, *failure) {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := []object{}
	for _, i := range c.instances.AllBehind(c.Lag()) {
		vpc := c.named(c.options.Inventory.VPCs, i.Prototype.VPC.ID)
		if i.Account != in.account || c.status(i) == deleted || !passes(in, "name", i.Name) || !passes(in, "vpc.name", vpc.Name) || !passes(in, "vpc.id", vpc.ID) ||
			!passes(in, "resource_group.id", i.Prototype.ResourceGroup.ID) {
			continue
		}
		list = append(list, c.shown(i))
	}
	return c.page(in, "instances", list)
}

func getInstance(c *Cloud, in *call) (any, *failure) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, no := c.theirs(in)
	if no != nil {
		return nil, no
	}
	return c.shown(i), nil
}

// named is the resource with an ID.
func (c lister) named(all []Resource, id string) Resource {
	for _, r := range all {
		if r.ID == id {
			return r
		}
	}
	return Resource{ID: id}
}

// partID is the ID of a part of an instance.
func partID(i instance, part string) string { return i.ID[:4] + "-" + part + "-" + i.ID[5:] }

// shown is an instance in the form of an answer.
func (c lister) shown(i instance) object {
	v, p, status := c.options.Inventory, i.Prototype, c.status(i)
	profile, _ := c.profile(p.Profile.Name)
	address := i.Address
	if status == pending {
		address = "0.0.0.0"
	}
	nic := object{"id": partID(i, "interface"), "name": i.Interface, "primary_ip": object{"address": address, "name": "words-address"}, "subnet": object{"id": p.Primary.Subnet.ID}}
	boot := object{"id": partID(i, "attachment"), "name": i.Attachment, "volume": object{"id": i.Volume.ID, "name": i.Volume.Name, "crn": c.crn(i.Account, p.Zone.Name, "volume", i.Volume.ID)}}
	why := []object{}
	if status == failed {
		why = append(why, object{"code": i.Fails, "message": reasons[i.Fails]})
	}
	o := object{
		"id": i.ID, "name": i.Name, "crn": c.crn(i.Account, p.Zone.Name, "instance", i.ID), "status": status, "status_reasons": why, "created_at": i.Made.UTC().Format(time.RFC3339),
		"href": "https://" + v.Region + ".iaas.cloud.ibm.com/v1/instances/" + i.ID, "resource_type": "instance", "memory": profile.MemoryGiB, "bandwidth": 8000,
		"vcpu":    object{"count": profile.VCPUs, "architecture": profile.Arch, "manufacturer": "intel"},
		"profile": object{"name": p.Profile.Name, "resource_type": "instance_profile"}, "zone": object{"name": p.Zone.Name}, "vpc": c.ref(i.Account, "vpc", c.named(v.VPCs, p.VPC.ID)),
		"resource_group": object{"id": p.ResourceGroup.ID, "name": c.named(v.ResourceGroups, p.ResourceGroup.ID).Name}, "image": object{"id": p.Image.ID},
		"primary_network_interface": nic, "network_interfaces": []object{nic}, "boot_volume_attachment": boot, "volume_attachments": []object{boot},
	}
	if p.PlacementTarget != nil {
		o["dedicated_host"] = object{"id": p.PlacementTarget.ID}
	}
	return o
}
