package prism

import (
	"net/http"
	"path"
	"slices"
)

// shown is an entity in answers.
func shown(kind string, e Named, resources object) object {
	return object{
		"api_version": "3.1", "metadata": object{"kind": kind, "uuid": e.UUID}, "spec": object{"name": e.Name},
		"status": object{"state": "COMPLETE", "name": e.Name, "resources": resources},
	}
}

// known reports whether an entity exists.
func (c *store) known(all []Named, uuid string) bool {
	return c.options.AcceptAny && uuid != "" || slices.ContainsFunc(all, func(n Named) bool { return n.UUID == uuid })
}

func (c *store) cluster(uuid string) (Cluster, bool) {
	for _, k := range c.options.Inventory.Clusters {
		if k.UUID == uuid {
			return k, true
		}
	}
	return Cluster{Named: Named{uuid, "any-cluster"}}, c.options.AcceptAny && uuid != ""
}

func (c *store) subnet(uuid string) (Subnet, bool) {
	for _, n := range c.options.Inventory.Subnets {
		if n.UUID == uuid {
			return n, true
		}
	}
	return Subnet{Named: Named{uuid, "any-subnet"}, CIDR: "10.44.0.0/16"}, c.options.AcceptAny && uuid != ""
}

func (c *store) hasCategory(key, value string) bool {
	for pattern, values := range c.options.Inventory.Categories {
		if ok, _ := path.Match(pattern, key); ok && slices.Contains(values, value) {
			return true
		}
	}
	return c.options.AcceptAny
}

// listClusters lists the clusters of hosts, and Prism Central.
func listClusters(c *Cloud, in *call) (int, object, *failure) {
	central := Named{in.account, c.options.Inventory.Name}
	all := []object{shown("cluster", central, object{"config": object{"service_list": []string{"PRISM_CENTRAL"}}})}
	for _, k := range c.options.Inventory.Clusters {
		all = append(all, shown("cluster", k.Named, object{"config": object{"service_list": []string{"AOS"}}}))
	}
	return c.list(in, "cluster", "name", all)
}

func getCluster(c *Cloud, in *call) (int, object, *failure) {
	k, ok := c.cluster(in.name)
	if !ok {
		return 0, nil, notFound("cluster", in.name)
	}
	return http.StatusOK, shown("cluster", k.Named, object{}), nil
}

// listHosts lists one host of each cluster. GPUs of virtual machines are in use.
func listHosts(c *Cloud, in *call) (int, object, *failure) {
	var all []object
	for _, k := range c.options.Inventory.Clusters {
		gpus := []object{}
		for _, g := range k.GPUs {
			used := c.vms.gpusInUse(k.UUID, g.DeviceID)
			for n := range g.Count {
				status := "UNUSED"
				if n < used {
					status = "USED_FOR_PASSTHROUGH"
				}
				gpus = append(gpus, object{"name": g.Name, "device_id": g.DeviceID, "mode": g.Mode, "vendor": g.Vendor, "status": status})
			}
		}
		host := shown("host", Named{"f" + k.UUID[1:], "host-" + k.Name}, object{"gpu_list": gpus})
		host["status"].(object)["cluster_reference"] = object{"kind": "cluster", "uuid": k.UUID}
		all = append(all, host)
	}
	return c.list(in, "host", "name", all)
}

// listNamed lists entities of a kind. If any name is accepted, one with the name of the filter is among them.
func (c catalog) listNamed(in *call, kind string, all []Named) (int, object, *failure) {
	var out []object
	for _, n := range all {
		out = append(out, shown(kind, n, object{}))
	}
	status, answer, no := c.list(in, kind, "name", out)
	if entities, _ := answer["entities"].([]object); no == nil && len(entities) == 0 && c.options.AcceptAny && in.page().Filter != "" {
		name := in.page().Filter[len("name=="):]
		answer["entities"] = []object{shown(kind, Named{"0005f1a0-0000-4000-8000-0000000000ff", name}, object{})}
		answer["metadata"].(object)["total_matches"] = 1
	}
	return status, answer, no
}

func (c catalog) getNamed(in *call, kind string, all []Named) (int, object, *failure) {
	for _, n := range all {
		if n.UUID == in.name {
			return http.StatusOK, shown(kind, n, object{}), nil
		}
	}
	if c.options.AcceptAny {
		return http.StatusOK, shown(kind, Named{in.name, "any-" + kind}, object{}), nil
	}
	return 0, nil, notFound(kind, in.name)
}

func listImages(c *Cloud, in *call) (int, object, *failure) {
	return c.listNamed(in, "image", c.options.Inventory.Images)
}

func getImage(c *Cloud, in *call) (int, object, *failure) {
	return c.getNamed(in, "image", c.options.Inventory.Images)
}

func (c catalog) subnets() (all []Named) {
	for _, n := range c.options.Inventory.Subnets {
		all = append(all, n.Named)
	}
	return all
}

func listSubnets(c *Cloud, in *call) (int, object, *failure) {
	return c.listNamed(in, "subnet", c.subnets())
}

func getSubnet(c *Cloud, in *call) (int, object, *failure) {
	return c.getNamed(in, "subnet", c.subnets())
}

func listProjects(c *Cloud, in *call) (int, object, *failure) {
	return c.listNamed(in, "project", c.options.Inventory.Projects)
}

func getProject(c *Cloud, in *call) (int, object, *failure) {
	return c.getNamed(in, "project", c.options.Inventory.Projects)
}

func getCategory(c *Cloud, in *call) (int, object, *failure) {
	if !c.hasCategory(in.name, in.value) {
		return 0, nil, notFound("category", in.name+"/"+in.value)
	}
	return http.StatusOK, object{"api_version": "3.1", "name": in.name, "value": in.value}, nil
}
