// Package setprograms returns the programs with the controllers of sets and deployments. Their webhooks have the
// rules of all infrastructures.
package setprograms

import (
	"github.com/spf13/cobra"

	"github.com/millwright-dev/millwright/internal/program"
	"github.com/millwright-dev/millwright/provider/admit"
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

// SetController returns the program machineset-controller as a command.
func SetController() *cobra.Command { return program.SetController(admitters()).Command() }

// ControllerManager returns the program machine-controller-manager as a command.
func ControllerManager() *cobra.Command { return program.ControllerManager(admitters()).Command() }

// admitters returns the admission rules for provider specs, by the name of the infrastructure in Infrastructure
// objects.
func admitters() map[string]admit.Admitter {
	return map[string]admit.Admitter{
		"AWS": aws.Admitter{}, "Azure": azure.Admitter{}, "BareMetal": metal3.Admitter{}, "GCP": gcp.Admitter{}, "KubeVirt": kubevirt.Admitter{},
		"Libvirt": libvirt.Admitter{},
		"Nutanix": nutanix.Admitter{}, "OpenStack": openstack.Admitter{}, "PowerVS": powervs.Admitter{}, "VSphere": vsphere.Admitter{},
	}
}
