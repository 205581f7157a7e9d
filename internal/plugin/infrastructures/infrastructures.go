// Package infrastructures is the table of the infrastructures that Millwright supports, by the names that objects use. Programs add the
// admission rules of their provider specs, because this package imports no infrastructure.
package infrastructures

import "slices"

// Infrastructure is one infrastructure.
type Infrastructure struct {
	// Name is the folder of its provider in providers/.
	Name string
	// Platform is its type in Infrastructure objects; empty: OpenShift has no such type, or no rules for its provider specs.
	Platform string
	// OpenShift is the type of its provider spec in machine.openshift.io.
	OpenShift Type
	// Provider is the value of the field provider of a MachineClass of machine.sapcloud.io, and Gardener the type of its
	// provider spec there; empty: the spec has no type.
	Provider string
	Gardener Type
	// AdmissionOnly: its provider specs are only validated. No controller of Millwright creates its instances.
	AdmissionOnly bool
}

// Type is the type of a provider spec.
type Type struct{ APIVersion, Kind string }

// All has all infrastructures.
var All = []Infrastructure{
	{
		Name: "kubemark", OpenShift: Type{"kubemarkproviderconfig.k8s.io/v1beta1", "KubemarkMachineProviderConfig"},
		Provider: "kubemark", Gardener: Type{"kubemark.millwright.dev/v1alpha1", "KubemarkMachineProviderConfig"},
	},
	{Name: "aws", Platform: "AWS", OpenShift: Type{"machine.openshift.io/v1beta1", "AWSMachineProviderConfig"}, Provider: "AWS"},
	{Name: "alicloud", Platform: "AlibabaCloud", OpenShift: Type{"machine.openshift.io/v1", "AlibabaCloudMachineProviderConfig"}, Provider: "Alicloud"},
	{Name: "azure", Platform: "Azure", OpenShift: Type{"machine.openshift.io/v1beta1", "AzureMachineProviderSpec"}, Provider: "Azure"},
	{Name: "gcp", Platform: "GCP", OpenShift: Type{"machine.openshift.io/v1beta1", "GCPMachineProviderSpec"}, Provider: "GCP"},
	{Name: "ibmcloud", Platform: "IBMCloud", OpenShift: Type{"ibmcloudproviderconfig.openshift.io/v1beta1", "IBMCloudMachineProviderSpec"}},
	{
		Name: "libvirt", Platform: "Libvirt", OpenShift: Type{"libvirtproviderconfig.openshift.io/v1beta1", "LibvirtMachineProviderConfig"},
		Provider: "libvirt", Gardener: Type{"libvirt.machine.millwright.dev/v1alpha1", "MachineProviderConfig"},
	},
	{Name: "nutanix", Platform: "Nutanix", OpenShift: Type{"machine.openshift.io/v1", "NutanixMachineProviderConfig"}},
	{Name: "openstack", Platform: "OpenStack", OpenShift: Type{"machine.openshift.io/v1alpha1", "OpenstackProviderSpec"}, Provider: "OpenStack"},
	{Name: "yandex", Provider: "Yandex"},
	{Name: "vsphere", Platform: "VSphere", OpenShift: Type{"machine.openshift.io/v1beta1", "VSphereMachineProviderSpec"}, Provider: "vsphere"},
	{Name: "kubevirt", Platform: "KubeVirt", OpenShift: Type{"kubevirtproviderconfig.openshift.io/v1alpha1", "KubevirtMachineProviderSpec"}, Provider: "KubeVirt"},
	{
		Name: "metal3", Platform: "BareMetal", OpenShift: Type{"baremetal.cluster.k8s.io/v1alpha1", "BareMetalMachineProviderSpec"},
		Provider: "Metal3", Gardener: Type{"metal3.machine.millwright.dev/v1alpha1", "MachineProviderConfig"},
	},
	{Name: "powervs", Platform: "PowerVS", OpenShift: Type{"machine.openshift.io/v1", "PowerVSMachineProviderConfig"}, AdmissionOnly: true},
}

// Served returns the infrastructures on which controllers of Millwright create instances.
func Served() []Infrastructure {
	return slices.DeleteFunc(slices.Clone(All), func(i Infrastructure) bool { return i.AdmissionOnly })
}

// Names returns the names by which objects name served infrastructures: the kind of a provider spec, or the provider of a machine class.
func Names() (names []string) {
	for _, i := range Served() {
		for _, name := range []string{i.OpenShift.Kind, i.Provider} {
			if name != "" {
				names = append(names, name)
			}
		}
	}
	return names
}
