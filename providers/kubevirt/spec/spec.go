// Package spec has the provider specs of KubeVirt, without an SDK: the KubevirtMachineProviderSpec of
// machine.openshift.io and the KubeVirtProviderSpec of machine.sapcloud.io. Both have the fields of
// [Machine]; the fields of OpenShift's original provider are separate.
//
// Specs of machine.sapcloud.io with unknown fields are invalid: the provider passes the fields of a virtual
// machine on to KubeVirt, so a misspelt field would be a missing disk or limit. Specs of machine.openshift.io
// are decoded as the original provider decodes them: users get a warning about unknown fields when they write
// a spec.
package spec

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/provider/kit"
	"github.com/millwright-dev/millwright/provider/lenient"
)

// Machine has the fields of a virtual machine that both APIs have.
type Machine struct {
	// Region and Zone select the nodes of the virtual machine by their labels topology.kubernetes.io/region
	// and /zone; empty: any node.
	Region string `json:"region,omitempty"`
	Zone   string `json:"zone,omitempty"`
	// Resources are the requests and limits of the virtual machine.
	Resources Resources `json:"resources,omitzero"`
	// Devices configures how disks are attached, and further devices.
	Devices *Devices `json:"devices,omitempty"`
	// RootVolume is the boot disk.
	RootVolume DataVolume `json:"rootVolume,omitzero"`
	// AdditionalVolumes are further disks.
	AdditionalVolumes []AdditionalVolume `json:"additionalVolumes,omitempty"`
	// SSHKeys are the public keys that cloud-init authorizes.
	SSHKeys []string `json:"sshKeys,omitempty"`
	// Networks are Multus networks. The pod network is the first interface, unless one of the networks is the
	// default.
	Networks []Network `json:"networks,omitempty"`
	// CPU is the processor topology, Memory the memory topology.
	CPU    *CPU    `json:"cpu,omitempty"`
	Memory *Memory `json:"memory,omitempty"`
	// DNSPolicy and DNSConfig are those of a pod.
	DNSPolicy corev1.DNSPolicy     `json:"dnsPolicy,omitempty"`
	DNSConfig *corev1.PodDNSConfig `json:"dnsConfig,omitempty"`
	// Tags are labels of the virtual machine. In the Gardener API, the original provider's virtual machines
	// are found by them.
	Tags map[string]string `json:"tags,omitempty"`
}

// GardenerKind is the kind of a spec of machine.sapcloud.io.
const GardenerKind = "KubeVirtProviderSpec"

// Gardener is the providerSpec of a MachineClass of machine.sapcloud.io.
type Gardener struct {
	APIVersion string             `json:"apiVersion,omitempty"`
	Kind       string             `json:"kind,omitempty"`
	Metadata   *metav1.ObjectMeta `json:"metadata,omitempty"`
	Machine    `json:",inline"`
}

// DecodeGardener decodes and validates a spec of machine.sapcloud.io.
func DecodeGardener(raw []byte) (*Machine, error) {
	var s Gardener
	if err := kit.DecodeStrict(raw, &s); err != nil {
		return nil, err
	}
	return &s.Machine, lenient.Error(s.Machine.check(nil))
}

// DecodeOpenShift decodes and validates a spec of machine.openshift.io, and converts it to a Machine.
func DecodeOpenShift(raw []byte) (*Machine, error) {
	s, _, err := decodeOpenShift(raw)
	if err != nil {
		return nil, err
	}
	m, faults := s.machine(nil)
	return m, lenient.Error(faults)
}

// OpenShiftSecrets returns the names of the secrets in a spec of machine.openshift.io; an empty name means
// that the spec has none.
func OpenShiftSecrets(raw []byte) (userData, credentials string, err error) {
	s, _, err := decodeOpenShift(raw)
	if err != nil {
		return "", "", err
	}
	userData, credentials = s.secrets()
	return userData, credentials, nil
}

// RootDisk and UserDataDisk are the names of the disks of every virtual machine.
const (
	RootDisk     = "root-disk"
	UserDataDisk = "user-data"
)

// VolumeName is the name of the additional volume with this index.
func (m *Machine) VolumeName(index int) string {
	if name := m.AdditionalVolumes[index].Name; name != "" {
		return name
	}
	return fmt.Sprintf("disk-%d", index)
}

// OwnNetwork reports whether one of the networks replaces the pod network.
func (m *Machine) OwnNetwork() bool {
	return slices.ContainsFunc(m.Networks, func(n Network) bool { return n.Default })
}
