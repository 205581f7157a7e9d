// Package infrastructures is the table of the infrastructures that Millwright supports, by the names that objects of both APIs use.
package infrastructures

// Infrastructure is one infrastructure.
type Infrastructure struct {
	// Name is the folder of its provider in providers/.
	Name string
	// OpenShift is the type of its provider spec in machine.openshift.io.
	OpenShift Type
	// Provider is the value of the field provider of a MachineClass of machine.sapcloud.io, and Gardener the type of its
	// provider spec there; empty: the spec has no type.
	Provider string
	Gardener Type
}

// Type is the type of a provider spec.
type Type struct{ APIVersion, Kind string }

// All has all infrastructures.
var All = []Infrastructure{
	{
		Name: "kubemark", OpenShift: Type{"kubemarkproviderconfig.k8s.io/v1beta1", "KubemarkMachineProviderConfig"},
		Provider: "kubemark", Gardener: Type{"kubemark.millwright.dev/v1alpha1", "KubemarkMachineProviderConfig"},
	},
	{Name: "aws", OpenShift: Type{"machine.openshift.io/v1beta1", "AWSMachineProviderConfig"}, Provider: "AWS"},
	{Name: "alicloud", OpenShift: Type{"machine.openshift.io/v1", "AlibabaCloudMachineProviderConfig"}, Provider: "Alicloud"},
	{Name: "azure", OpenShift: Type{"machine.openshift.io/v1beta1", "AzureMachineProviderSpec"}, Provider: "Azure"},
	{Name: "gcp", OpenShift: Type{"machine.openshift.io/v1beta1", "GCPMachineProviderSpec"}, Provider: "GCP"},
	{
		Name: "libvirt", OpenShift: Type{"libvirtproviderconfig.openshift.io/v1beta1", "LibvirtMachineProviderConfig"},
		Provider: "libvirt", Gardener: Type{"libvirt.machine.millwright.dev/v1alpha1", "MachineProviderConfig"},
	},
	{Name: "nutanix", OpenShift: Type{"machine.openshift.io/v1", "NutanixMachineProviderConfig"}},
	{Name: "openstack", OpenShift: Type{"machine.openshift.io/v1alpha1", "OpenstackProviderSpec"}, Provider: "OpenStack"},
	{Name: "yandex", Provider: "Yandex"},
	{Name: "vsphere", OpenShift: Type{"machine.openshift.io/v1beta1", "VSphereMachineProviderSpec"}, Provider: "vsphere"},
	{Name: "kubevirt", OpenShift: Type{"kubevirtproviderconfig.openshift.io/v1alpha1", "KubevirtMachineProviderSpec"}, Provider: "KubeVirt"},
	{
		Name: "metal3", OpenShift: Type{"baremetal.cluster.k8s.io/v1alpha1", "BareMetalMachineProviderSpec"},
		Provider: "Metal3", Gardener: Type{"metal3.machine.millwright.dev/v1alpha1", "MachineProviderConfig"},
	},
}

// Names returns the names by which objects name infrastructures: the kind of a provider spec, or the provider of a machine class.
func Names() (names []string) {
	for _, i := range All {
		for _, name := range []string{i.OpenShift.Kind, i.Provider} {
			if name != "" {
				names = append(names, name)
			}
		}
	}
	return names
}
