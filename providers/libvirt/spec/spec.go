// Package spec has what users write for libvirt, without a client of it: the LibvirtMachineProviderConfig of machine.openshift.io, and the
// same fields as the providerSpec of a MachineClass of machine.sapcloud.io, for which no original has a form.
package spec

import (
	"cmp"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider/admit"
	"github.com/millwright-dev/millwright/provider/lenient"
)

// Kind is what a spec of machine.openshift.io calls itself.
const Kind = "LibvirtMachineProviderConfig"

// GardenerVersion and GardenerKind are what a spec of machine.sapcloud.io calls itself: ours, since there is no original.
const (
	GardenerVersion = "libvirt.machine.millwright.dev/v1alpha1"
	GardenerKind    = "MachineProviderConfig"
)

// What stands in for names that a spec leaves out: what a new libvirt has.
const (
	DefaultURI     = "qemu:///system"
	DefaultPool    = "default"
	DefaultNetwork = "default"
)

// Config is the spec of either API.
type Config struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	// URI says where libvirt is: "qemu:///system", "qemu+tcp://host/system". Default: the key uri of the credentials, then [DefaultURI].
	URI string `json:"uri,omitempty"`
	// DomainMemory is in MiB.
	DomainMemory int64 `json:"domainMemory"`
	DomainVcpu   int64 `json:"domainVcpu"`
	// IgnKey is the key of a volume with an Ignition config that is there already, for all machines of the spec.
	IgnKey string `json:"ignKey,omitempty"`
	// Ignition or CloudInit is the form in which the guest gets its user data. Without both the user data itself tells.
	Ignition  *Ignition  `json:"ignition,omitempty"`
	CloudInit *CloudInit `json:"cloudInit,omitempty"`
	Volume    *Volume    `json:"volume,omitempty"`
	// NetworkInterfaceName is the name of the network, NetworkUUID its UUID, which counts if both are given.
	NetworkInterfaceName string `json:"networkInterfaceName,omitempty"`
	NetworkUUID          string `json:"networkUUID,omitempty"`
	// NetworkInterfaceHostname is the name that the network tells the guest. Default: the machine's.
	NetworkInterfaceHostname string `json:"networkInterfaceHostname,omitempty"`
	// NetworkInterfaceAddress is a range (CIDR) of which the guest gets an address that is free, for as long as it lives.
	NetworkInterfaceAddress string `json:"networkInterfaceAddress,omitempty"`
	// Autostart starts the guest with its host.
	Autostart bool `json:"autostart,omitempty"`
}

// Ignition is user data as a config of Ignition.
type Ignition struct {
	// UserDataSecret is the name of a secret in the machine's namespace.
	UserDataSecret string `json:"userDataSecret,omitempty"`
}

// CloudInit is user data for cloud-init, on a disk of the kind NoCloud.
type CloudInit struct {
	// UserDataSecret is the name of a secret in the machine's namespace.
	UserDataSecret string `json:"userDataSecret,omitempty"`
	// SSHAccess lets people log in by password. User data can say so itself.
	SSHAccess bool `json:"sshAccess,omitempty"`
}

// Volume is the disk that the guest boots from: a layer over a base volume, which it leaves as it is.
type Volume struct {
	// PoolName is where volumes are made, and where the base volume is. Default: [DefaultPool].
	PoolName string `json:"poolName,omitempty"`
	// BaseVolumeID is the name, the key or the path of the base volume.
	BaseVolumeID string `json:"baseVolumeID"`
	// VolumeName is what names of volumes begin with. Default: the machine's name.
	VolumeName string `json:"volumeName,omitempty"`
	// VolumeSize is the size of the disk. Default, and the least: the base volume's.
	VolumeSize *resource.Quantity `json:"volumeSize,omitempty"`
}

// Pool is the name of the pool.
func (c *Config) Pool() string {
	if c.Volume == nil {
		return DefaultPool
	}
	return cmp.Or(c.Volume.PoolName, DefaultPool)
}

// Admitter implements [admit.Admitter]. The original has no rules that are asked as a spec is written: what cannot work is told by the
// controller, and here in warnings, so that nothing is refused that was accepted before.
type Admitter struct{}

var _ admit.Admitter = Admitter{}

// Kinds implements [admit.Admitter].
func (Admitter) Kinds() (kinds []schema.GroupVersionKind) {
	for _, version := range []string{"v1beta1", "v1alpha1"} {
		kinds = append(kinds, schema.GroupVersionKind{Group: "libvirtproviderconfig.openshift.io", Version: version, Kind: Kind})
	}
	return kinds
}

// SpecShape implements [admit.SpecShaper].
func (Admitter) SpecShape() any { return &Config{} }

// Default fills in nothing: what a spec leaves out is chosen as machines are made.
func (Admitter) Default(a admit.Request) ([]byte, error) {
	_, document, err := lenient.Decode[Config](a.Spec)
	if err != nil {
		return nil, err
	}
	return document.JSON()
}

// Admit warns of what the controller would refuse, and of what has no effect.
func (Admitter) Admit(a admit.Request) (warnings []string, faults field.ErrorList) {
	c, err := DecodeOpenShift(a.Spec)
	if c == nil {
		return nil, field.ErrorList{lenient.Undecodable(a.Path, err)}
	}
	warnings = lenient.Warnings(a.Path, err)
	for _, n := range ignored(c) {
		warnings = append(warnings, a.Path.Child(n.path).String()+": is ignored: "+n.instead)
	}
	return warnings, nil
}
