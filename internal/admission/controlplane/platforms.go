package controlplane

import (
	"encoding/json"
	"fmt"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	machinev1alpha1 "github.com/openshift/api/machine/v1alpha1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/internal/dialect/failuredomain"
)

// Warnings of the replaced operator.
const (
	noTargetPools = "TargetPools field is not set on ControlPlaneMachineSet. This configuration is valid for private clusters. If your cluster is not private, please determine and set the correct value."
	mayBeIgnored  = "%s: %s field is configured and may be ignored if configured in the failure domain."
)

// fewestEtcdGiB is the minimum size of a disk for etcd.
const fewestEtcdGiB = 10

// ofPlatform has the rules for the provider spec of one platform.
func (f Facts) ofPlatform(c failuredomain.Config, template machinev1.OpenShiftMachineV1Beta1MachineTemplate, path *field.Path) (v Verdict) {
	switch c.Platform {
	case configv1.AzurePlatformType:
		if decoded[machinev1beta1.AzureMachineProviderSpec](c).InternalLoadBalancer == "" {
			v.Faults = append(v.Faults, field.Required(path.Child("internalLoadBalancer"), "internalLoadBalancer is required for control plane machines"))
		}
	case configv1.GCPPlatformType:
		if len(decoded[machinev1beta1.GCPMachineProviderSpec](c).TargetPools) == 0 {
			v.Warnings = append(v.Warnings, fmt.Sprintf("%s: %s", path.Child("targetPools"), noTargetPools))
		}
	case configv1.OpenStackPlatformType:
		for _, disk := range decoded[machinev1alpha1.OpenstackProviderSpec](c).AdditionalBlockDevices {
			if disk.Name == "etcd" && disk.SizeGiB < fewestEtcdGiB {
				v.Faults = append(v.Faults, field.Invalid(path.Child("additionalBlockDevices"), disk.SizeGiB, "etcd block device size must be at least 10 GiB"))
			}
		}
	case configv1.VSpherePlatformType:
		return f.vSphere(decoded[machinev1beta1.VSphereMachineProviderSpec](c), template.FailureDomains, path)
	case configv1.NutanixPlatformType:
		if template.FailureDomains == nil {
			return v
		}
		for _, fd := range template.FailureDomains.Nutanix {
			if err := failuredomain.Defined(fd.Name, f.Infrastructure); err != nil {
				v.Faults = append(v.Faults, field.Invalid(path.Child("failureDomain", "name"), fd.Name, fmt.Sprintf("error: %v", err)))
			}
		}
	}
	return v
}

// decoded returns the provider spec of a config, which can be decoded.
func decoded[S any](c failuredomain.Config) (s S) {
	_ = json.Unmarshal(c.Raw(), &s)
	return s
}

func (f Facts) vSphere(s machinev1beta1.VSphereMachineProviderSpec, fds *machinev1.FailureDomains, path *field.Path) (v Verdict) {
	v.Faults = fullTemplate(s.Template, path)
	in := f.Infrastructure
	if in == nil || in.Spec.PlatformSpec.VSphere == nil || len(in.Spec.PlatformSpec.VSphere.FailureDomains) == 0 {
		return v
	}
	warn := func(value, name string, path *field.Path) {
		if value != "" {
			v.Warnings = append(v.Warnings, fmt.Sprintf(mayBeIgnored, path.Child(name), name))
		}
	}
	warn(s.Template, "template", path)
	if fds == nil || len(fds.VSphere) == 0 {
		return v
	}
	for _, d := range s.Network.Devices {
		if d.NetworkName != "" {
			v.Faults = append(v.Faults, field.InternalError(path.Child("network"), fmt.Errorf("%w: %#v", errNetwork, s.Network.Devices)))
		}
	}
	if w := s.Workspace; w != nil {
		at := path.Child("workspace")
		if w.Datacenter != "" || w.Datastore != "" || w.Server != "" {
			v.Faults = append(v.Faults, field.InternalError(at, fmt.Errorf("%w: %#v", errWorkspace, w)))
		}
		warn(w.Folder, "folder", at)
		warn(w.ResourcePool, "resourcePool", at)
	}
	return v
}
