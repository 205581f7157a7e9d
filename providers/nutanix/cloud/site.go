package cloud

import (
	"cmp"
	"context"
	"encoding/json"
	"net"
	"strconv"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/infrastructure"
	"github.com/millwright-dev/millwright/providers/nutanix/spec"
)

// site has the cluster's settings beside specs and credentials.
type site struct {
	// endpoint is the URL of Prism Central; empty if nothing names one.
	endpoint string
	caBundle []byte
	domains  []configv1.NutanixFailureDomain
}

// siteOf reads the Infrastructure. Clusters other than OpenShift's have none: their secrets name Prism Central.
func siteOf(ctx context.Context, o Options, secret map[string][]byte) (s site, err error) {
	s.endpoint = cmp.Or(o.Endpoint, strings.TrimSpace(string(secret[keyEndpoint])))
	infra, err := infrastructure.Read(ctx, o.Objects)
	if err != nil || infra == nil {
		return s, err
	}
	if s.caBundle, err = infrastructure.CloudCABundle(ctx, o.Objects); err != nil {
		return s, err
	}
	if p := infra.Spec.PlatformSpec.Nutanix; p != nil {
		s.domains = p.FailureDomains
		if central := p.PrismCentral; s.endpoint == "" && central.Address != "" {
			s.endpoint = "https://" + net.JoinHostPort(central.Address, strconv.Itoa(cmp.Or(int(central.Port), defaultPort)))
		}
	}
	return s, nil
}

// defaultPort is the usual port of Prism Central.
const defaultPort = 9440

// source identifies a site.
func (s site) source() provider.ClientKey {
	domains, _ := json.Marshal(s.domains) // decoded JSON can be encoded
	return provider.KeyOf(nil, s.endpoint, "", s.caBundle, domains)
}

// place says where virtual machines of a spec are created.
type place struct {
	cluster machinev1.NutanixResourceIdentifier
	subnets []machinev1.NutanixResourceIdentifier
}

// placeOf is the place of a spec. A failure domain replaces the cluster and the subnets of the spec, as in
// the original.
func (s site) placeOf(p *plan) (place, error) {
	name := spec.FailureDomainOf(p.Config)
	if name == "" {
		return place{cluster: p.Cluster, subnets: p.Subnets}, nil
	}
	for _, d := range s.domains {
		if d.Name != name {
			continue
		}
		at := place{cluster: identifier(d.Cluster)}
		for _, n := range d.Subnets {
			at.subnets = append(at.subnets, identifier(n))
		}
		return at, nil
	}
	return place{}, provider.Errorf(provider.Transient, "failureDomain.name: the Infrastructure has no failure domain %q", provider.Clip(name, 100))
}

// identifier converts an identifier of the Infrastructure. The two APIs spell the types differently.
func identifier(i configv1.NutanixResourceIdentifier) machinev1.NutanixResourceIdentifier {
	out := machinev1.NutanixResourceIdentifier{Type: machinev1.NutanixIdentifierUUID, UUID: i.UUID, Name: i.Name}
	if i.Type == configv1.NutanixIdentifierName {
		out.Type = machinev1.NutanixIdentifierName
	}
	return out
}

// nameOf is an identifier as users read it.
func nameOf(i machinev1.NutanixResourceIdentifier) string {
	if i.Type == machinev1.NutanixIdentifierName {
		return deref(i.Name)
	}
	return deref(i.UUID)
}

// deref is the value of an optional field; the zero value if the field is missing.
func deref[T any](p *T) T {
	var zero T
	if p == nil {
		return zero
	}
	return *p
}
