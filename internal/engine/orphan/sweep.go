// Package orphan decides about instances and nodes without a machine.
//
// [Sweep] decides which instances without a machine to remove, and [JudgeNode] what to do about a node without a machine.
//
// The package performs no I/O, reads no clock and imports no API group.
package orphan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// Sweep decides about every instance of a scope. The listing has to precede the reading of the machines, and
// the machines have to be read past any cache: then the machine of a listed instance, if it exists, is among
// the machines.
//
// An instance that a machine may own is kept: the recorded instance, all instances of a machine whose
// creation or deletion is in progress, and, while the recorded instance is not listed, all instances with its
// UID or name. The rest is quarantined, and removed after the grace period unless a limit prevents it.
func Sweep(now time.Time, m Memory, l Listing, machines []Machine, p Policy) Plan {
	c := newCensus(machines)
	why, m := distrust(m, l, c)
	if why != "" {
		return Plan{Doubt: why, Memory: m}
	}
	m = m.at(now, p.Period)
	m.Looked = now
	s := &sweep{now: now, census: c, policy: p, cluster: l.Cluster, memory: m, listed: index(l.Instances), ready: l.Ready}
	s.names = s.clusters()
	for _, i := range l.Instances {
		if i.Exists() {
			s.instance(i)
		}
	}
	if l.LeftoversErr == nil {
		s.leftovers(l.Leftovers)
	}
	s.underWay()
	return s.plan(func(old Suspect) bool { return len(old.Left) > 0 && l.LeftoversErr != nil })
}

// Resume decides, between two listings, about the removals that have begun.
func Resume(m Memory, machines []Machine) Plan {
	s := &sweep{census: newCensus(machines), memory: m.clone(), now: m.Looked, listed: index(nil)}
	s.underWay()
	return s.plan(func(Suspect) bool { return true })
}

// sweep is the state of one Sweep.
type sweep struct {
	now      time.Time
	census   *census
	policy   Policy
	cluster  string
	names    map[string]bool // of the cluster, in tags
	memory   Memory
	listed   shared
	ready    []ReadyNode
	verdicts []Verdict
}

// shared counts the existing instances that share a property.
type shared struct {
	all           []provider.Instance
	byUID, byName map[string]int
}

func index(instances []provider.Instance) shared {
	x := shared{byUID: map[string]int{}, byName: map[string]int{}}
	for _, i := range instances {
		if i.Exists() {
			x.all = append(x.all, i)
			x.byUID[i.UID]++
			x.byName[i.Name]++
		}
	}
	return x
}

// instance judges one instance of the listing.
func (s *sweep) instance(i provider.Instance) {
	key := cmp.Or(i.ID, i.ProviderID)
	v := Verdict{Key: key, Instance: i, Begun: s.memory.Suspects[key].Removing, Fate: Keep, listed: true}
	switch {
	case key == "":
		v.Reason, v.Message = ReasonNameless, "the infrastructure gives it no identifier"
	case !s.ours(i):
		v.Reason, v.Message = ReasonNotOurs, fmt.Sprintf("it is tagged for another cluster than %s", s.cluster)
	default:
		s.judge(&v)
	}
	s.verdicts = append(s.verdicts, v)
}

// scopeTags are the prefixes of the tags by which Kubernetes clusters own resources of an account, as far as
// infrastructures allow slashes in their keys.
var scopeTags = []string{"kubernetes.io/cluster/", "kubernetes.io-cluster-", "kubernetes.io_cluster."}

// tagged returns the clusters that the tags name as owners of the instance.
func tagged(i provider.Instance) (names []string) {
	for key := range i.Tags {
		for _, prefix := range scopeTags {
			if name, ok := strings.CutPrefix(key, prefix); ok {
				names = append(names, name)
			}
		}
	}
	return names
}

// clusters returns the names of this cluster: that of the scope, and those in the tags of instances that
// machines have recorded. Users tag them in a class of machine.sapcloud.io, and need not name the control
// namespace.
func (s *sweep) clusters() map[string]bool {
	names := map[string]bool{s.cluster: true}
	for _, i := range s.listed.all {
		if !slices.ContainsFunc(s.census.claims(i), func(m Machine) bool { return m.records(i) }) {
			continue
		}
		for _, name := range tagged(i) {
			names[name] = true
		}
	}
	return names
}

// ours reports whether the tags do not name only other clusters as owners. The provider lists no such
// instances; this check protects against a future provider that does.
func (s *sweep) ours(i provider.Instance) bool {
	names := tagged(i)
	return len(names) == 0 || slices.ContainsFunc(names, func(name string) bool { return s.names[name] })
}

// judge looks for a machine that needs the instance.
func (s *sweep) judge(v *Verdict) {
	i := v.Instance
	claims := s.census.claims(i)
	for _, rule := range []struct {
		reason Reason
		holds  func(Machine) bool
		says   string
	}{
		{ReasonLeaving, func(m Machine) bool { return m.Deleting }, "machine %s is being deleted and removes it itself"},
		{ReasonRecorded, func(m Machine) bool { return m.records(i) }, "machine %s has it recorded"},
		{ReasonEarly, func(m Machine) bool { return m.Early || m.ProviderID == "" }, "machine %s is being created"},
		{ReasonUnseen, func(m Machine) bool { return !v.Begun && !s.shows(m, i) }, "machine %s has recorded another one, which is not listed"},
	} {
		if n := slices.IndexFunc(claims, rule.holds); n >= 0 {
			m := claims[n]
			v.Machine, v.Reason = &m, rule.reason
			v.Message = fmt.Sprintf(rule.says, m.Namespace+"/"+m.Name)
			return
		}
	}
	if i.State == provider.Stopping && !v.Begun {
		v.Reason, v.Message = ReasonGoing, "another program is removing it"
		return
	}
	if i.UID == "" && !s.policy.Untagged && !v.Begun {
		v.Reason, v.Message = ReasonUntagged, "it was not created for a machine"
		return
	}
	if s.unseen(i.Owner, i.Namespace) && !v.Begun {
		v.Reason, v.Message = ReasonNotSeen, "it was created for a machine in namespace "+i.Namespace
		return
	}
	s.bar(v, i.Owner)
	v.Fate, v.Cause, v.Message = Quarantine, ReasonStray, "it has no machine"
	if len(claims) > 0 {
		m := claims[0]
		v.Machine, v.Cause = &m, ReasonDouble
		v.Message = fmt.Sprintf("machine %s/%s has another one, %s", m.Namespace, m.Name, m.ProviderID)
	}
	v.Ref = s.ref(i, len(claims) == 0)
}

// shows reports whether an instance other than i is listed that m recorded, and that stays.
func (s *sweep) shows(m Machine, i provider.Instance) bool {
	return slices.ContainsFunc(s.listed.all, func(o provider.Instance) bool {
		return o.ID != i.ID && o.State != provider.Stopping && m.records(o)
	})
}

// ref identifies what to remove: all resources with the instance's UID and name if no other instance has
// them, otherwise only this instance.
func (s *sweep) ref(i provider.Instance, alone bool) provider.Ref {
	if !alone || i.UID == "" || s.listed.byUID[i.UID] > 1 {
		return provider.Ref{}
	}
	r := provider.Ref{UID: i.UID, ProviderID: i.ProviderID}
	if s.listed.byName[i.Name] <= 1 && len(s.census.named(i.Name)) == 0 {
		r.Name = i.Name
	}
	return r
}

// leftovers judges resources without an instance, by the machine for which they were created.
func (s *sweep) leftovers(all []provider.Leftover) {
	groups := map[string]*Verdict{}
	var order []string
	for _, l := range all {
		key := "leftover/" + cmp.Or(l.UID, l.Name, l.Kind+"/"+l.ID)
		if groups[key] == nil {
			groups[key] = &Verdict{Key: key, Begun: s.memory.Suspects[key].Removing}
			order = append(order, key)
		}
		groups[key].Left = append(groups[key].Left, l)
	}
	for _, key := range order {
		s.judgeLeft(groups[key])
		s.verdicts = append(s.verdicts, *groups[key])
	}
}

func (s *sweep) judgeLeft(v *Verdict) {
	l := v.Left[0]
	for _, other := range v.Left {
		l.Name = cmp.Or(l.Name, other.Name) // a disk may have no name
		l.Owner, l.Namespace = cmp.Or(l.Owner, other.Owner), cmp.Or(l.Namespace, other.Namespace)
	}
	what := kinds(v.Left)
	if claims := s.census.owners(l.UID, l.Name); len(claims) > 0 {
		v.Fate, v.Reason, v.Machine = Keep, ReasonRecorded, &claims[0]
		v.Message = fmt.Sprintf("machine %s/%s may use %s", claims[0].Namespace, claims[0].Name, what)
		return
	}
	if l.UID != "" && s.listed.byUID[l.UID] > 0 || l.Name != "" && s.listed.byName[l.Name] > 0 {
		v.Fate, v.Reason, v.Message = Keep, ReasonInUse, what+" may belong to an instance"
		return
	}
	if s.unseen(l.Owner, l.Namespace) && !v.Begun {
		v.Fate, v.Reason, v.Message = Keep, ReasonNotSeen, what+" of a machine in namespace "+l.Namespace
		return
	}
	s.bar(v, l.Owner)
	v.Fate, v.Cause, v.Message = Quarantine, ReasonStray, what+" without instance and machine"
	v.Ref = provider.Ref{UID: l.UID, Name: l.Name}
}

// kinds returns "disk, nic".
func kinds(left []provider.Leftover) string {
	var out []string
	for _, l := range left {
		out = append(out, l.Kind)
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), ", ")
}

// underWay adds the removals that have begun and whose instances are no longer listed: other resources of the
// instances may still exist.
func (s *sweep) underWay() {
	judged := map[string]bool{}
	for _, v := range s.verdicts {
		judged[v.Key] = true
	}
	for key, old := range s.memory.Suspects {
		if !old.Removing || judged[key] {
			continue
		}
		v := Verdict{Key: key, Instance: old.Instance, Left: old.Left, Begun: true, Fate: Keep}
		if len(old.Left) > 0 {
			s.judgeLeft(&v)
		} else {
			s.judge(&v)
		}
		v.Ref = old.Ref
		s.verdicts = append(s.verdicts, v)
	}
}

// Wanted returns why an instance must not be removed after all, given the current machines; empty if it may
// be removed.
func Wanted(v Verdict, machines []Machine) string {
	s := &sweep{census: newCensus(machines), listed: index(nil)}
	again := Verdict{Key: v.Key, Instance: v.Instance, Left: v.Left, Begun: true, Fate: Keep}
	if len(v.Left) > 0 {
		s.judgeLeft(&again)
	} else {
		s.judge(&again)
	}
	if again.Fate == Keep || again.Cause != v.Cause {
		return again.Message
	}
	return ""
}
