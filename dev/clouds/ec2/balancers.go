package ec2

import "slices"

// target is a target of a load balancer: an instance or an address.
type target struct{ ID, Port string }

func (c balancers) balancer(kind, name string) bool {
	return slices.ContainsFunc(generator(c).balancersOf(kind, name), func(b LoadBalancer) bool { return b.Type == kind && b.Name == name })
}

// add adds a target; the caller holds the lock.
func (c balancers) add(group string, t target) {
	if !slices.Contains(c.targets[group], t) {
		c.targets[group] = append(c.targets[group], t)
	}
}

func (c balancers) drop(group string, t target) {
	c.targets[group] = slices.DeleteFunc(slices.Clone(c.targets[group]), func(o target) bool { return o == t })
}

// Targets are the instances and addresses that are registered with a classic load balancer, or a target
// group, by its name.
func (c balancers) Targets(name string) (ids []string) {
	reconciler(c).settle()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.targets[name] {
		ids = append(ids, t.ID)
	}
	return ids
}

// Classic load balancers: Elastic Load Balancing API, version 2012-06-01.

func (c balancers) classic(name string) *failure {
	if !c.balancer("classic", name) {
		return refuse("LoadBalancerNotFound", "There is no ACTIVE Load Balancer named '%s'", name)
	}
	return nil
}

func describeClassic(c *Cloud, in *call) ([]node, *failure) {
	var items [][]node
	names := in.List("LoadBalancerNames.member")
	for _, name := range names {
		if no := c.classic(name); no != nil {
			return nil, no
		}
	}
	for _, b := range (generator{c.store}).balancersOf("classic") {
		if b.Type != "classic" || len(names) > 0 && !slices.Contains(names, b.Name) {
			continue
		}
		items = append(items, []node{el("LoadBalancerName", b.Name), el("DNSName", b.Name+".elb.amazonaws.com"), members("Instances", c.instanceMembers(b.Name)...)})
	}
	return []node{members("LoadBalancerDescriptions", items...)}, nil
}

func (c balancers) instanceMembers(name string) (items [][]node) {
	for _, id := range c.Targets(name) {
		items = append(items, []node{el("InstanceId", id)})
	}
	return items
}

func registerInstances(c *Cloud, in *call) ([]node, *failure) {
	name := in.Get("LoadBalancerName")
	if no := c.classic(name); no != nil {
		return nil, no
	}
	for _, t := range in.Each("Instances.member") {
		if c.known(in, []string{t.Get("InstanceId")}) != nil {
			return nil, refuse("InvalidInstance", "Could not find EC2 instance %s.", t.Get("InstanceId"))
		}
	}
	c.mu.Lock()
	for _, t := range in.Each("Instances.member") {
		c.add(name, target{ID: t.Get("InstanceId")})
	}
	c.mu.Unlock()
	return []node{members("Instances", c.instanceMembers(name)...)}, nil
}

func deregisterInstances(c *Cloud, in *call) ([]node, *failure) {
	name := in.Get("LoadBalancerName")
	if no := c.classic(name); no != nil {
		return nil, no
	}
	c.mu.Lock()
	for _, t := range in.Each("Instances.member") {
		c.drop(name, target{ID: t.Get("InstanceId")})
	}
	c.mu.Unlock()
	return []node{members("Instances", c.instanceMembers(name)...)}, nil
}

// Network load balancers: Elastic Load Balancing API, version 2015-12-01.

func arnOf(in *call, kind, name string) string {
	return "arn:aws:elasticloadbalancing:" + in.region + ":" + in.account + ":" + kind + "/" + name
}

func describeLoadBalancers(c *Cloud, in *call) ([]node, *failure) {
	var items [][]node
	names := in.List("Names.member")
	for _, name := range names {
		if !c.balancer("network", name) {
			return nil, refuse("LoadBalancerNotFound", "One or more load balancers not found")
		}
	}
	for _, b := range (generator{c.store}).balancersOf("network") {
		if b.Type != "network" || len(names) > 0 && !slices.Contains(names, b.Name) {
			continue
		}
		items = append(items, []node{el("LoadBalancerArn", arnOf(in, "loadbalancer/net", b.Name)), el("LoadBalancerName", b.Name), el("Type", "network"), el("State", el("Code", "active"))})
	}
	return []node{members("LoadBalancers", items...)}, nil
}

func describeTargetGroups(c *Cloud, in *call) ([]node, *failure) {
	var items [][]node
	known := false
	for _, b := range (generator{c.store}).balancersOf("network") {
		arn := arnOf(in, "loadbalancer/net", b.Name)
		if b.Type != "network" || in.Get("LoadBalancerArn") != "" && in.Get("LoadBalancerArn") != arn {
			continue
		}
		known = true
		for _, g := range b.TargetGroups {
			items = append(items, []node{el("TargetGroupArn", arnOf(in, "targetgroup", g.Name)), el("TargetGroupName", g.Name), el("TargetType", g.Target), el("Protocol", "TCP"), el("Port", "6443"), opt("VpcId", c.networkOf(g)), texts("LoadBalancerArns", "member", []string{arn})})
		}
	}
	if !known && in.Get("LoadBalancerArn") != "" {
		return nil, refuse("LoadBalancerNotFound", "One or more load balancers not found")
	}
	return []node{members("TargetGroups", items...)}, nil
}

func (c balancers) networkOf(g TargetGroup) string {
	if all := c.options.Inventory.Networks; g.Network == "" && len(all) > 0 {
		return all[0].ID
	}
	return g.Network
}

func (c balancers) group(in *call) (TargetGroup, *failure) {
	for _, b := range generator(c).balancersOf("network") {
		for _, g := range b.TargetGroups {
			if arnOf(in, "targetgroup", g.Name) == in.Get("TargetGroupArn") {
				return g, nil
			}
		}
	}
	return TargetGroup{}, refuse("TargetGroupNotFound", "One or more target groups not found")
}

func describeTargetHealth(c *Cloud, in *call) ([]node, *failure) {
	g, no := c.group(in)
	if no != nil {
		return nil, no
	}
	var items [][]node
	for _, id := range c.Targets(g.Name) {
		items = append(items, []node{el("Target", el("Id", id), el("Port", "6443")), el("HealthCheckPort", "6443"), el("TargetHealth", el("State", "healthy"))})
	}
	return []node{members("TargetHealthDescriptions", items...)}, nil
}

func registerTargets(c *Cloud, in *call) ([]node, *failure) {
	g, no := c.group(in)
	if no != nil {
		return nil, no
	}
	for _, t := range in.Each("Targets.member") {
		id := t.Get("Id")
		i, ok := c.instances.Get(id)
		switch {
		case g.Target == "instance" && !ok:
			return nil, refuse("InvalidTarget", "The following targets are not valid instances: '%s'", id)
		case g.Target == "instance" && c.state(i) != running:
			return nil, refuse("InvalidTarget", "The following targets are not in a running state and cannot be registered: '%s'", id)
		case g.Target == "ip" && ok:
			return nil, refuse("ValidationError", "The IP address '%s' is not a valid IPv4 address", id)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range in.Each("Targets.member") {
		c.add(g.Name, target{ID: t.Get("Id")})
	}
	return nil, nil
}

func deregisterTargets(c *Cloud, in *call) ([]node, *failure) {
	g, no := c.group(in)
	if no != nil {
		return nil, no
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range in.Each("Targets.member") {
		c.drop(g.Name, target{ID: t.Get("Id")})
	}
	return nil, nil
}
