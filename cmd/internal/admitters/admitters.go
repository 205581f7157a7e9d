// Package admitters returns the admission rules of all infrastructures for provider specs.
package admitters

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/millwright-dev/millwright/internal/plugin/infrastructures"
	"github.com/millwright-dev/millwright/provider/admit"
	alicloud "github.com/millwright-dev/millwright/providers/alicloud/spec"
	aws "github.com/millwright-dev/millwright/providers/aws/spec"
	azure "github.com/millwright-dev/millwright/providers/azure/spec"
	gcp "github.com/millwright-dev/millwright/providers/gcp/spec"
	kubevirt "github.com/millwright-dev/millwright/providers/kubevirt/spec"
	libvirt "github.com/millwright-dev/millwright/providers/libvirt/spec"
	metal3 "github.com/millwright-dev/millwright/providers/metal3/spec"
	nutanix "github.com/millwright-dev/millwright/providers/nutanix/spec"
	openstack "github.com/millwright-dev/millwright/providers/openstack/spec"
	powervs "github.com/millwright-dev/millwright/providers/powervs/spec"
	vsphere "github.com/millwright-dev/millwright/providers/vsphere/spec"
)

// all are the rules, one for each infrastructure with a platform in the table of infrastructures.
var all = []admit.Admitter{
	alicloud.Admitter{},
	aws.Admitter{},
	azure.Admitter{},
	gcp.Admitter{},
	kubevirt.Admitter{},
	libvirt.Admitter{},
	metal3.Admitter{},
	nutanix.Admitter{},
	openstack.Admitter{},
	powervs.Admitter{},
	vsphere.Admitter{},
}

// ByPlatform returns the admission rules for provider specs, by the name of the infrastructure in Infrastructure
// objects.
func ByPlatform() map[string]admit.Admitter {
	platforms := map[string]admit.Admitter{}
	for _, i := range infrastructures.All {
		gvk := schema.FromAPIVersionAndKind(i.OpenShift.APIVersion, i.OpenShift.Kind)
		n := slices.IndexFunc(all, func(a admit.Admitter) bool { return slices.Contains(a.Kinds(), gvk) })
		if i.Platform != "" && n >= 0 {
			platforms[i.Platform] = all[n]
		}
	}
	return platforms
}
