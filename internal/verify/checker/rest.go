package checker

import "slices"

// rest compares the API server, the wishes of users and the infrastructure whenever the fleet is at rest: each set has the
// machines that it wants, each machine works and has one instance and one node, and nothing else exists.
func rest(h *history, v *Verdict) {
	for _, x := range h.Events {
		if x.What != Mark || x.Mark != AtRest {
			continue
		}
		v.Judged++
		p := picture{era: h.eras[h.eraOf(x.At)], foreign: h.foreign, has: map[string][]*Instance{}, verdict: v, mark: x}
		for _, i := range h.instances {
			if i.lives(x.At) {
				p.has[i.UID] = append(p.has[i.UID], i)
			}
		}
		p.judge()
	}
}

// picture is the state at a mark.
type picture struct {
	*era
	foreign map[string]bool
	// has are the living instances, by the UID of their machine.
	has     map[string][]*Instance
	verdict *Verdict
	mark    Event
}

func (p *picture) breaks(format string, args ...any) {
	p.verdict.breaks(p.mark.At, []string{p.mark.Where()}, format, args...)
}

// present returns the objects of a resource at the time of the mark.
func (p *picture) present(resource string) (all []Object) {
	at := p.mark.At
	for _, t := range p.of(resource) {
		if t.surely(at, at, func(Object) bool { return true }) {
			now := t.during(at, at)
			all = append(all, now[len(now)-1].Object)
		}
	}
	return all
}

func (p *picture) judge() {
	nodes, members, machines := map[string]Object{}, map[string]int{}, p.present("machines") // members by the UID of their set
	for _, n := range p.present("nodes") {
		nodes[n.Metadata.Name] = n
	}
	if want := p.mark.Wanted; want != nil && len(machines) != *want {
		p.breaks("there are %d machines, %d are wanted", len(machines), *want)
	}
	for _, m := range machines {
		_, set := m.owner()
		members[set]++
		p.machine(m, nodes)
	}
	for _, m := range machines {
		delete(p.has, m.Metadata.UID)
		delete(nodes, m.node())
	}
	p.owners(members)
	for _, of := range p.has {
		for _, i := range of {
			if !p.foreign[i.ID] {
				p.breaks("instance %s (%s) has no machine", i.ID, i.Machine)
			}
		}
	}
	for name := range nodes {
		p.breaks("node %s is of no machine", name)
	}
	for _, s := range p.present("secrets") {
		if s.Type == "bootstrap.kubernetes.io/token" {
			p.breaks("bootstrap token %s is left", s.Metadata.Name)
		}
	}
	if p.mark.Message != "" {
		p.breaks("without an instance: %s", p.mark.Message)
	}
}

// machine judges one machine.
func (p *picture) machine(m Object, nodes map[string]Object) {
	_, set := m.owner()
	node, joined := nodes[m.node()]
	switch {
	case m.deleting():
		p.breaks("machine %s is being deleted: %s", m.Metadata.Name, m.why())
	case m.phase() != "Running":
		p.breaks("machine %s is %q: %s", m.Metadata.Name, m.phase(), m.why())
	case !joined:
		p.breaks("machine %s has no node: it names %q", m.Metadata.Name, m.node())
	case !node.ready():
		p.breaks("machine %s has node %s, which is not Ready", m.Metadata.Name, m.node())
	case p.things[set] == nil:
		p.breaks("machine %s is of no set", m.Metadata.Name)
	}
	if n := len(p.has[m.Metadata.UID]); n != 1 {
		p.breaks("machine %s has %d instances", m.Metadata.Name, n)
	}
}

// owners judges sets and deployments. Members is the number of machines of each set.
func (p *picture) owners(members map[string]int) {
	deployed, used := map[string]int{}, map[string]int{} // machines, and sets with machines, by the UID of the deployment
	for _, s := range p.present("machinesets") {
		n := members[s.Metadata.UID]
		p.owner("set", s, n, s.Status.Replicas, s.Status.ReadyReplicas, s.Status.AvailableReplicas)
		_, of := s.owner()
		if deployed[of] += n; n > 0 {
			used[of]++
		}
	}
	for _, d := range p.present("machinedeployments") {
		p.owner("deployment", d, deployed[d.Metadata.UID], d.Status.Replicas, d.Status.UpdatedReplicas, d.Status.ReadyReplicas, d.Status.AvailableReplicas)
		if n := used[d.Metadata.UID]; n > 1 {
			p.breaks("deployment %s has machines of %d sets", d.Metadata.Name, n)
		}
	}
}

// owner judges a set or deployment that has a number of machines, and the numbers in its status.
func (p *picture) owner(kind string, o Object, have int, says ...int) {
	want, name := o.replicas(), o.Metadata.Name
	switch {
	case o.deleting():
		p.breaks("%s %s is being deleted, with the finalizers %v", kind, name, o.Metadata.Finalizers)
	case have != want:
		p.breaks("%s %s has %d machines and wants %d", kind, name, have, want)
	case o.Status.ObservedGeneration < o.Metadata.Generation:
		p.breaks("the status of %s %s is of generation %d, not of %d", kind, name, o.Status.ObservedGeneration, o.Metadata.Generation)
	case slices.ContainsFunc(says, func(n int) bool { return n != want }):
		p.breaks("%s %s wants %d and its status says %v", kind, name, want, says)
	}
}
