package cloud

import (
	"context"

	configv1 "github.com/openshift/api/config/v1"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/infrastructure"
)

// clusterConfig are the settings of a session besides class and credentials.
type clusterConfig struct {
	// cloud is one of several Azure clouds, by OpenShift's names; endpoint is a Resource Manager of its
	// own.
	cloud, endpoint string
	// group is the resource group of the cluster, tags are those of all resources created for it.
	group string
	tags  map[string]string
	ca    []byte
}

// clusterConfig reads the Infrastructure of a cluster of OpenShift, and its bundle of certificates.
func (p *Provider) clusterConfig(ctx context.Context, class provider.Class) (w clusterConfig, err error) {
	w = clusterConfig{cloud: string(configv1.AzurePublicCloud), endpoint: p.Endpoint, ca: p.CABundle}
	if class.API != provider.OpenShift {
		return w, nil
	}
	infra, err := infrastructure.Read(ctx, p.Objects)
	if err != nil || infra == nil {
		return w, err
	}
	ca, err := infrastructure.CloudCABundle(ctx, p.Objects)
	if err != nil {
		return w, err
	}
	w.ca = append(append([]byte{}, w.ca...), ca...)
	if infra.Status.PlatformStatus == nil || infra.Status.PlatformStatus.Azure == nil {
		return w, nil
	}
	azure := infra.Status.PlatformStatus.Azure
	if azure.CloudName != "" {
		w.cloud = string(azure.CloudName)
	}
	if w.endpoint == "" {
		w.endpoint = azure.ARMEndpoint
	}
	w.group = azure.ResourceGroupName
	w.tags = map[string]string{}
	for _, t := range azure.ResourceTags {
		w.tags[t.Key] = t.Value
	}
	return w, nil
}

// source is the hash of the cluster's settings.
func (w clusterConfig) source() provider.ClientKey {
	tags := map[string][]byte{}
	for key, value := range w.tags {
		tags[key] = []byte(value)
	}
	return provider.KeyOf(tags, w.endpoint+" "+w.cloud, w.group, w.ca)
}
