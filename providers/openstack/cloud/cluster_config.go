package cloud

import (
	"context"
	"slices"

	configv1 "github.com/openshift/api/config/v1"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/infrastructure"
)

// clusterConfig are the settings of an OpenShift cluster beside the class.
type clusterConfig struct {
	// vips are the addresses that float between nodes: ports accept them.
	vips []string
	// ca is the bundle of the cluster's own certificate authorities, for clouds whose secret has none.
	ca []byte
}

// clusterConfig reads the settings. Other clusters have none.
func (p *Provider) clusterConfig(ctx context.Context, class provider.Class) (s clusterConfig, err error) {
	if class.API != provider.OpenShift || p.config.Objects == nil {
		return s, nil
	}
	i, err := infrastructure.Read(ctx, p.config.Objects)
	if err != nil {
		return s, err
	}
	if i != nil && i.Status.PlatformStatus != nil {
		s.vips = vips(i.Status.PlatformStatus.OpenStack)
	}
	if len(class.Credentials[keyCA]) == 0 {
		s.ca, err = infrastructure.CABundle(ctx, p.config.Objects, "openshift-config", "cloud-provider-config", "ca-bundle.pem")
	}
	return s, err
}

// vips are the addresses of API and ingress, unless they are on the users' load balancers.
func vips(o *configv1.OpenStackPlatformStatus) (all []string) {
	if o == nil || o.LoadBalancer != nil && o.LoadBalancer.Type == configv1.LoadBalancerTypeUserManaged {
		return nil
	}
	all = slices.Concat(o.APIServerInternalIPs, o.IngressIPs)
	for _, former := range []string{o.APIServerInternalIP, o.IngressIP} { //nolint:staticcheck // Older clusters have no others.
		if former != "" {
			all = append(all, former)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// source is the hash of the cluster's settings.
func (s clusterConfig) source() provider.ClientKey {
	parts := [][]byte{s.ca}
	for _, ip := range s.vips {
		parts = append(parts, []byte(ip))
	}
	return provider.KeyOf(nil, "", "", parts...)
}
