package gce

import (
	"net/http"
	"slices"
	"strings"
)

// balancers are target pools, unmanaged instance groups and regional backend services, by region or zone and
// name.
type balancers struct {
	pools, groups, backends map[string]resource
}

func newBalancers(v Inventory) balancers {
	b := balancers{pools: map[string]resource{}, groups: map[string]resource{}, backends: map[string]resource{}}
	for _, p := range v.TargetPools {
		b.pools[p.Region+"/"+p.Name] = resource{
			"kind": "compute#targetPool", "name": p.Name, "region": link("projects", v.Project, "regions", p.Region),
			"selfLink": link("projects", v.Project, "regions", p.Region, "targetPools", p.Name),
		}
	}
	for _, s := range v.BackendServices {
		b.backends[s.Region+"/"+s.Name] = resource{
			"kind": "compute#backendService", "name": s.Name, "protocol": "TCP", "loadBalancingScheme": "INTERNAL", "fingerprint": fingerprint(s.Name),
			"region": link("projects", v.Project, "regions", s.Region), "selfLink": link("projects", v.Project, "regions", s.Region, "backendServices", s.Name),
		}
	}
	return b
}

// forget removes a deleted instance from groups. Target pools keep the name of the instance.
func (b balancers) forget(i instance) {
	for key, g := range b.groups {
		b.groups[key] = g.with(resource{"_members": slices.DeleteFunc(slices.Clone(g.texts("_members")), func(m string) bool {
			return below(m) == below(i.is.text("selfLink"))
		})})
	}
}

// lose removes an instance from groups and target pools.
func (b balancers) lose(i instance) {
	b.forget(i)
	for key, p := range b.pools {
		b.pools[key] = p.with(resource{"instances": edited(p.texts("instances"), []resource{{"instance": i.is["selfLink"]}}, false)})
	}
}

func (q request) key() string { return q.scope + "/" + q.name }

func one(all map[string]resource, q request, kind string) (any, *failure) {
	r, ok := all[q.key()]
	if !ok {
		return nil, notFound("projects/" + q.project + "/" + kind + "/" + q.scope + "/" + q.collection + "/" + q.name)
	}
	return r, nil
}

// getPool creates the pool if anything is accepted.
func getPool(c *Cloud, q request) (any, *failure) {
	if _, ok := c.balancers.pools[q.key()]; !ok && c.options.AcceptAny {
		c.balancers.pools[q.key()] = resource{
			"kind": "compute#targetPool", "name": q.name, "selfLink": link("projects", q.project, "regions", q.scope, "targetPools", q.name),
		}
	}
	return one(c.balancers.pools, q, "regions")
}

func getGroup(c *Cloud, q request) (any, *failure) {
	g, err := one(c.balancers.groups, q, "zones")
	if err != nil {
		return nil, err
	}
	shown := asResource(g).with(nil)
	delete(shown, "_members")
	return shown, nil
}

func getBackend(c *Cloud, q request) (any, *failure) { return one(c.balancers.backends, q, "regions") }

// edited is the list with or without the links of a request.
func edited(list []string, links []resource, add bool) []string {
	for _, l := range links {
		same := func(m string) bool { return below(m) == below(l.text("instance")) }
		list = slices.DeleteFunc(slices.Clone(list), same)
		if add {
			list = append(list, "https://www.googleapis.com/compute/v1/"+below(l.text("instance")))
		}
	}
	return list
}

// poolMember adds instances to a pool or removes them. It does not check whether they exist.
func poolMember(c *Cloud, q request) (any, *failure) {
	pool, err := getPool(c, q)
	if err != nil {
		return nil, err
	}
	p := asResource(pool)
	c.balancers.pools[q.key()] = p.with(resource{"instances": edited(p.texts("instances"), q.body.parts("instances"), q.verb == "addInstance")})
	return finished(c, newOperation(c, q.verb, q.target, "", ""), nil), nil
}

func insertGroup(c *Cloud, q request) (any, *failure) {
	q.name = q.body.text("name")
	if _, ok := c.balancers.groups[q.key()]; ok {
		return nil, failed(http.StatusConflict, "alreadyExists", "The resource 'projects/%s/zones/%s/instanceGroups/%s' already exists", q.project, q.scope, q.name)
	}
	c.balancers.groups[q.key()] = q.body.with(resource{"kind": "compute#instanceGroup", "size": 0, "selfLink": link("projects", q.project, "zones", q.scope, "instanceGroups", q.name)})
	return finished(c, newOperation(c, "insert", q.target, newID(c), ""), nil), nil
}

func listGroup(c *Cloud, q request) (any, *failure) {
	g, ok := c.balancers.groups[q.key()]
	if !ok {
		return nil, notFound("projects/" + q.project + "/zones/" + q.scope + "/instanceGroups/" + q.name)
	}
	var all []placed
	for _, m := range g.texts("_members") {
		i, _ := named(c.instances.All(), q.project, q.scope, tail(m))
		if state := q.body.text("instanceState"); state == "RUNNING" && i.status() != "RUNNING" {
			continue
		}
		all = append(all, placed{"zones/" + q.scope, resource{"instance": m, "status": i.status()}})
	}
	return pageOf(c, q, "instanceGroupsListInstances", all)
}

// groupMembers adds instances to a group or removes them. Instances that do not exist cannot be added.
func groupMembers(c *Cloud, q request) (any, *failure) {
	g, ok := c.balancers.groups[q.key()]
	if !ok {
		return nil, notFound("projects/" + q.project + "/zones/" + q.scope + "/instanceGroups/" + q.name)
	}
	add := q.verb == "addInstances"
	for _, l := range q.body.parts("instances") {
		name := tail(l.text("instance"))
		member := slices.ContainsFunc(g.texts("_members"), func(m string) bool { return tail(m) == name })
		_, there := instanceNamed(c, q.project, q.scope, name)
		switch {
		case add && !there:
			return nil, notFound(below(l.text("instance")))
		case add && member:
			return nil, failed(http.StatusBadRequest, "memberAlreadyExists", "Resource '%s' is already a member of '%s'", l.text("instance"), g.text("selfLink"))
		case !add && !member:
			return nil, failed(http.StatusBadRequest, "memberNotFound", "Resource '%s' is not a member of '%s'", l.text("instance"), g.text("selfLink"))
		}
	}
	members := edited(g.texts("_members"), q.body.parts("instances"), add)
	c.balancers.groups[q.key()] = g.with(resource{"_members": members, "size": len(members)})
	return finished(c, newOperation(c, q.verb, q.target, "", ""), nil), nil
}

func updateBackend(c *Cloud, q request) (any, *failure) {
	s, ok := c.balancers.backends[q.key()]
	if !ok {
		return nil, notFound("projects/" + q.project + "/regions/" + q.scope + "/backendServices/" + q.name)
	}
	if f := q.body.text("fingerprint"); f != "" && f != s.text("fingerprint") {
		return nil, failed(http.StatusPreconditionFailed, "conditionNotMet", "Supplied fingerprint does not match current fingerprint.")
	}
	for _, b := range q.body.parts("backends") {
		parts := strings.Split(below(b.text("group")), "/")
		if len(parts) != 6 || c.balancers.groups[parts[3]+"/"+parts[5]] == nil {
			return nil, invalid("resource.backends[0].group", "'%s'. The referenced resource does not exist.", b.text("group"))
		}
	}
	c.balancers.backends[q.key()] = s.with(q.body).with(resource{"fingerprint": fingerprint(q.body)})
	return finished(c, newOperation(c, "update", q.target, "", ""), nil), nil
}
