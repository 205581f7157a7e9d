package cloud

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	configv1 "github.com/openshift/api/config/v1"

	"github.com/millwright-dev/millwright/provider"
)

// choices returns the one place that a spec names.
func (s *session) choices() []provider.Choice {
	if s.plan == nil {
		return nil
	}
	return []provider.Choice{choice(s)}
}

// choice is what capacity is counted by. The zone is that of the failure domain which the place is in; where none is known to be,
// there is no zone. The type is all that a clone may find used up: two specs that differ in any of it are two types. Instances
// have no type: it would become a label of the machine, and is none that the original gives.
func choice(s *session) provider.Choice {
	p := s.plan
	in := s.site.domainOf(p.server, p.place)
	return provider.Choice{
		Name: p.size() + " in " + cmp.Or(in.zone, p.place.spot()), Region: cmp.Or(in.region, p.region), Zone: in.zone,
		Type: fmt.Sprintf("%s, %d GiB of %s in %s", p.size(), p.diskGiB, p.template, p.place.spot()),
	}
}

// narrowed says of a shortage in a zone that is not known that it is one of the choice: other places may be in other zones.
func narrowed(s *session, err error) error {
	e, ok := errors.AsType[*provider.Error](err)
	if !ok || e.Kind != provider.Exhausted || e.Scope != provider.ScopeZone || s.plan == nil || choice(s).Zone != "" {
		return err
	}
	narrow := *e
	narrow.Scope = provider.ScopeType
	return &narrow
}

// size is how large an instance is, as people say it. What the spec leaves out is the template's.
func (p *plan) size() string {
	said := "the template's CPUs"
	if p.cpus > 0 {
		said = fmt.Sprintf("%d CPUs", p.cpus)
	}
	if p.memoryMiB > 0 {
		said += fmt.Sprintf(", %d MiB", p.memoryMiB)
	}
	return said
}

// spot is the place in words: dc1/cluster1/Resources on ds1. What the spec leaves out, the datacenter has one of.
func (p place) spot() string {
	datacenter := cmp.Or(strings.Trim(p.datacenter, "/"), "the datacenter")
	where := strings.TrimSuffix(datacenter+"/"+within("host", cmp.Or(p.host, p.pool, p.computeCluster)), "/")
	if p.vmGroup != "" {
		where += " (" + p.vmGroup + ")"
	}
	if store := within("datastore", cmp.Or(p.datastore, p.pod)); store != "" {
		where += " on " + store
	}
	return where
}

// within is what a name, or an inventory path, says below one of the folders of a datacenter: cluster1/Resources, with
// /dc1/host/ before it and without.
func within(folder, name string) string {
	if _, below, ok := strings.Cut(name, "/"+folder+"/"); ok {
		return below
	}
	return strings.Trim(name, "/")
}

// The categories of the tags that the installer makes for failure domains.
const (
	categoryRegion = "openshift-region"
	categoryZone   = "openshift-zone"
)

// domain is a failure domain: a cluster, or a group of virtual machines in one, with the region and the zone that it is tagged with.
type domain struct {
	region, zone                         string
	server, datacenter, cluster, vmGroup string
}

func newDomain(d configv1.VSpherePlatformFailureDomainSpec) domain {
	out := domain{region: d.Region, zone: d.Zone, server: d.Server, datacenter: strings.Trim(d.Topology.Datacenter, "/")}
	out.cluster = within("host", d.Topology.ComputeCluster)
	if d.ZoneAffinity != nil && d.ZoneAffinity.HostGroup != nil {
		out.vmGroup = d.ZoneAffinity.HostGroup.VMGroup
	}
	return out
}

// domainOf is the failure domain that a place is in. None where several say otherwise, or where regions and zones are known by
// other tags than the domains'.
func (s site) domainOf(server string, at place) (found domain) {
	if s.region != categoryRegion || s.zone != categoryZone {
		return domain{}
	}
	for _, d := range s.domains {
		if !d.holds(server, at) {
			continue
		}
		if found.zone != "" && (found.region != d.region || found.zone != d.zone) {
			return domain{}
		}
		found = d
	}
	return found
}

func (d domain) holds(server string, at place) bool {
	return strings.EqualFold(d.server, server) && d.datacenter == strings.Trim(at.datacenter, "/") &&
		strings.HasPrefix(within("host", at.pool), d.cluster+"/") && (d.vmGroup == "" || d.vmGroup == at.vmGroup)
}
