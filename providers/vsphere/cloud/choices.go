package cloud

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	configv1 "github.com/openshift/api/config/v1"

	"github.com/millwright-dev/millwright/provider"
)

// choices returns the spec's only placement.
func (s *session) choices() []provider.Choice {
	if s.plan == nil {
		return nil
	}
	return []provider.Choice{choice(s)}
}

// choice identifies the capacity. The zone is that of the placement's failure domain; without a known
// failure domain it is empty. The type covers everything that a clone may find exhausted: two specs that
// differ in any of it are two types. Instances have no type: it would become a label of the machine that
// the original does not set.
func choice(s *session) provider.Choice {
	p := s.plan
	in := s.clusterConfig.domainOf(p.server, p.placement)
	return provider.Choice{
		Name: p.size() + " in " + cmp.Or(in.zone, p.placement.name()), Region: cmp.Or(in.region, p.region), Zone: in.zone,
		Type: fmt.Sprintf("%s, %d GiB of %s in %s", p.size(), p.diskGiB, p.template, p.placement.name()),
	}
}

// narrowed limits a shortage in an unknown zone to the choice: other placements may be in other zones.
func narrowed(s *session, err error) error {
	e, ok := errors.AsType[*provider.Error](err)
	if !ok || e.Kind != provider.Exhausted || e.Scope != provider.ScopeZone || s.plan == nil || choice(s).Zone != "" {
		return err
	}
	narrow := *e
	narrow.Scope = provider.ScopeType
	return &narrow
}

// size is the size of an instance, for users. A size that the spec omits is the template's.
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

// name is the placement in words: dc1/cluster1/Resources on ds1. If the spec omits a part, the datacenter
// has one only.
func (p placement) name() string {
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

// within is the part of a name, or an inventory path, below one of the folders of a datacenter:
// cluster1/Resources, with /dc1/host/ before it and without.
func within(folder, name string) string {
	if _, below, ok := strings.Cut(name, "/"+folder+"/"); ok {
		return below
	}
	return strings.Trim(name, "/")
}

// The categories of the tags that the installer creates for failure domains.
const (
	categoryRegion = "openshift-region"
	categoryZone   = "openshift-zone"
)

// domain is a failure domain: a cluster, or a group of virtual machines in one, with the region and the
// zone of its tags.
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

// domainOf is the failure domain of a placement. It is empty if several contradict each other, or if
// regions and zones use other tags than the domains'.
func (s clusterConfig) domainOf(server string, at placement) (found domain) {
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

func (d domain) holds(server string, at placement) bool {
	return strings.EqualFold(d.server, server) && d.datacenter == strings.Trim(at.datacenter, "/") &&
		strings.HasPrefix(within("host", at.pool), d.cluster+"/") && (d.vmGroup == "" || d.vmGroup == at.vmGroup)
}
