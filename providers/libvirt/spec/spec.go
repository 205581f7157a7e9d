// Package spec has the provider specs of libvirt, without a libvirt client: the LibvirtMachineProviderConfig
// of machine.openshift.io, and the same fields as the providerSpec of a MachineClass of machine.sapcloud.io,
// for which no original provider exists.
package spec

import (
	"cmp"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider/admit"
	"github.com/millwright-dev/millwright/provider/lenient"
)

// Kind is the kind of a spec of machine.openshift.io.
const Kind = "LibvirtMachineProviderConfig"

// GardenerVersion and GardenerKind identify a spec of machine.sapcloud.io. They are ours, since there is no
// original.
const (
	GardenerVersion = "libvirt.machine.millwright.dev/v1alpha1"
	GardenerKind    = "MachineProviderConfig"
)

// The default names, which exist in a new libvirt.
const (
	DefaultURI     = "qemu:///system"
	DefaultPool    = "default"
	DefaultNetwork = "default"
)

// Config is the spec of either API.
type Config struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	// URI is the address of libvirt: "qemu:///system", "qemu+tcp://host/system". Default: the key uri of the
	// credentials, then [DefaultURI].
	URI string `json:"uri,omitempty"`
	// DomainMemory is in MiB.
	DomainMemory int64 `json:"domainMemory"`
	DomainVcpu   int64 `json:"domainVcpu"`
	// IgnKey is the key of an existing volume with an Ignition config, for all machines of the spec.
	IgnKey string `json:"ignKey,omitempty"`
	// Ignition or CloudInit selects the format in which the guest gets its user data. Without both, the user
	// data itself decides.
	Ignition  *Ignition  `json:"ignition,omitempty"`
	CloudInit *CloudInit `json:"cloudInit,omitempty"`
	Volume    *Volume    `json:"volume,omitempty"`
	// NetworkInterfaceName is the name of the network, NetworkUUID its UUID. The UUID has precedence.
	NetworkInterfaceName string `json:"networkInterfaceName,omitempty"`
	NetworkUUID          string `json:"networkUUID,omitempty"`
	// NetworkInterfaceHostname is the host name that DHCP assigns to the guest. Default: the machine's name.
	NetworkInterfaceHostname string `json:"networkInterfaceHostname,omitempty"`
	// NetworkInterfaceAddress is a range (CIDR). The guest gets a free address of it for its lifetime.
	NetworkInterfaceAddress string `json:"networkInterfaceAddress,omitempty"`
	// Autostart starts the guest when its host starts.
	Autostart bool `json:"autostart,omitempty"`
}

// Ignition is user data as an Ignition config.
type Ignition struct {
	// UserDataSecret is the name of a secret in the machine's namespace.
	UserDataSecret string `json:"userDataSecret,omitempty"`
}

// CloudInit is user data for cloud-init, on a NoCloud disk.
type CloudInit struct {
	// UserDataSecret is the name of a secret in the machine's namespace.
	UserDataSecret string `json:"userDataSecret,omitempty"`
	// SSHAccess enables SSH login with a password. The user data can do this too.
	SSHAccess bool `json:"sshAccess,omitempty"`
}

// Volume is the boot disk of the guest: a layer over a base volume, which is not changed.
type Volume struct {
	// PoolName is the pool of the new volumes and of the base volume. Default: [DefaultPool].
	PoolName string `json:"poolName,omitempty"`
	// BaseVolumeID is the name, the key or the path of the base volume.
	BaseVolumeID string `json:"baseVolumeID"`
	// VolumeName is the prefix of the names of volumes. Default: the machine's name.
	VolumeName string `json:"volumeName,omitempty"`
	// VolumeSize is the size of the disk. Default and minimum: the size of the base volume.
	VolumeSize *resource.Quantity `json:"volumeSize,omitempty"`
}

// Pool is the name of the pool.
func (c *Config) Pool() string {
	if c.Volume == nil {
		return DefaultPool
	}
	return cmp.Or(c.Volume.PoolName, DefaultPool)
}

// Admitter implements [admit.Admitter]. The original provider validates nothing when a spec is written; the
// controller reports invalid specs. To accept what the original accepts, Admitter returns warnings.
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

// Default changes nothing: Create applies the defaults.
func (Admitter) Default(a admit.Request) ([]byte, error) {
	_, document, err := lenient.Decode[Config](a.Spec)
	if err != nil {
		return nil, err
	}
	return document.JSON()
}

// Admit warns about errors that the controller would report, and about fields without an effect.
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
