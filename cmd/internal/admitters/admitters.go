// Package admitters returns the admission rules of all infrastructures for provider specs.
package admitters

import (
	"github.com/millwright-dev/millwright/provider/admit"
	alicloud "github.com/millwright-dev/millwright/providers/alicloud/spec"
	aws "github.com/millwright-dev/millwright/providers/aws/spec"
	azure "github.com/millwright-dev/millwright/providers/azure/spec"
	gcp "github.com/millwright-dev/millwright/providers/gcp/spec"
	ibmcloud "github.com/millwright-dev/millwright/providers/ibmcloud/spec"
	kubevirt "github.com/millwright-dev/millwright/providers/kubevirt/spec"
	libvirt "github.com/millwright-dev/millwright/providers/libvirt/spec"
	metal3 "github.com/millwright-dev/millwright/providers/metal3/spec"
	nutanix "github.com/millwright-dev/millwright/providers/nutanix/spec"
	openstack "github.com/millwright-dev/millwright/providers/openstack/spec"
	powervs "github.com/millwright-dev/millwright/providers/powervs/spec"
	vsphere "github.com/millwright-dev/millwright/providers/vsphere/spec"
)

// ByPlatform returns the admission rules for provider specs, by the name of the infrastructure in Infrastructure
// objects.
func ByPlatform() map[string]admit.Admitter {
	return map[string]admit.Admitter{
		"AlibabaCloud": alicloud.Admitter{}, "AWS": aws.Admitter{}, "Azure": azure.Admitter{}, "BareMetal": metal3.Admitter{}, "GCP": gcp.Admitter{}, "IBMCloud": ibmcloud.Admitter{}, "KubeVirt": kubevirt.Admitter{},
		"Libvirt": libvirt.Admitter{},
		"Nutanix": nutanix.Admitter{}, "OpenStack": openstack.Admitter{}, "PowerVS": powervs.Admitter{}, "VSphere": vsphere.Admitter{},
	}
}
