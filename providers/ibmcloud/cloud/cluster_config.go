package cloud

import (
	"cmp"
	"context"
	"strings"

	configv1 "github.com/openshift/api/config/v1"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/infrastructure"
)

// clusterConfig are the settings of a session besides class and credentials.
type clusterConfig struct {
	endpoints endpoints
	// read says that the cluster has an Infrastructure.
	read bool
}

// endpoints are the URLs of the called services. That of VPC is empty: the region determines it.
type endpoints struct{ iam, resources, tagging, vpc string }

func (e endpoints) text() string {
	return strings.Join([]string{e.iam, e.resources, e.tagging, e.vpc}, " ")
}

// vpcVersion is the path of VPC's API in its endpoint.
const vpcVersion = "/v1"

// vpcIn is the URL of VPC in a region.
func (e endpoints) vpcIn(region string) string {
	return cmp.Or(e.vpc, "https://"+region+".iaas.cloud.ibm.com"+vpcVersion)
}

// publicEndpoints are those of IBM Cloud.
var publicEndpoints = endpoints{
	iam: "https://iam.cloud.ibm.com", resources: "https://resource-controller.cloud.ibm.com", tagging: "https://tags.global-search-tagging.cloud.ibm.com",
}

// clusterConfig reads the endpoints in the Infrastructure of a cluster of OpenShift, which replace the
// public ones.
func (p *Provider) clusterConfig(ctx context.Context, class provider.Class) (clusterConfig, error) {
	if one := strings.TrimSuffix(p.options.Endpoint, "/"); one != "" {
		return clusterConfig{endpoints: endpoints{iam: one, resources: one, tagging: one, vpc: one + vpcVersion}}, nil
	}
	w := clusterConfig{endpoints: publicEndpoints}
	if class.API != provider.OpenShift {
		return w, nil
	}
	infra, err := infrastructure.Read(ctx, p.options.Objects)
	if err != nil || infra == nil {
		return w, err
	}
	w.read = true
	if infra.Status.PlatformStatus == nil || infra.Status.PlatformStatus.IBMCloud == nil {
		return w, nil
	}
	of := map[configv1.IBMCloudServiceName]*string{
		configv1.IBMCloudServiceIAM: &w.endpoints.iam, configv1.IBMCloudServiceResourceManager: &w.endpoints.resources,
		configv1.IBMCloudServiceGlobalTagging: &w.endpoints.tagging, configv1.IBMCloudServiceVPC: &w.endpoints.vpc,
	}
	for _, e := range infra.Status.PlatformStatus.IBMCloud.ServiceEndpoints {
		if into := of[e.Name]; into != nil && e.URL != "" {
			*into = strings.TrimSuffix(e.URL, "/")
		}
	}
	return w, nil
}

// source is the hash of the settings that were read from the cluster.
func (w clusterConfig) source() provider.ClientKey {
	if !w.read {
		return ""
	}
	return provider.KeyOf(nil, w.endpoints.text(), "")
}
