// Package spec has what users write for KubeVirt, without an SDK: the KubevirtMachineProviderSpec of machine.openshift.io and the
// KubeVirtProviderSpec of machine.sapcloud.io. Both have the fields of [Machine]; those of OpenShift's original stand beside them.
//
// Unknown fields are refused in specs of machine.sapcloud.io: what a spec says of a virtual machine is handed on to KubeVirt word for word,
// and a word that is misspelt would be a disk or a limit that is not there. Those of machine.openshift.io are read as originals read them:
// there, users are warned as they write one.
package spec

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/provider/kit"
	"github.com/millwright-dev/millwright/provider/lenient"
)

// Machine is what both APIs say of a virtual machine.
type Machine struct {
	// Region and Zone are those of the nodes that it may run on, by their labels topology.kubernetes.io/region and /zone; empty: any.
	Region string `json:"region,omitempty"`
	Zone   string `json:"zone,omitempty"`
	// Resources are what the virtual machine asks for, and what it may take at most.
	Resources Resources `json:"resources,omitzero"`
	// Devices say how disks are attached, and what there is besides.
	Devices *Devices `json:"devices,omitempty"`
	// RootVolume is the disk that it boots from.
	RootVolume DataVolume `json:"rootVolume,omitzero"`
	// AdditionalVolumes are further disks.
	AdditionalVolumes []AdditionalVolume `json:"additionalVolumes,omitempty"`
	// SSHKeys are public keys that cloud-init lets in.
	SSHKeys []string `json:"sshKeys,omitempty"`
	// Networks are those of Multus. The network of pods comes first, unless one of them is the default.
	Networks []Network `json:"networks,omitempty"`
	// CPU is the topology of processors, Memory that of memory.
	CPU    *CPU    `json:"cpu,omitempty"`
	Memory *Memory `json:"memory,omitempty"`
	// DNSPolicy and DNSConfig are those of a pod.
	DNSPolicy corev1.DNSPolicy     `json:"dnsPolicy,omitempty"`
	DNSConfig *corev1.PodDNSConfig `json:"dnsConfig,omitempty"`
	// Tags are labels of the virtual machine. The Gardener API finds by them what its original made.
	Tags map[string]string `json:"tags,omitempty"`
}

// GardenerKind is what a spec of machine.sapcloud.io may call itself.
const GardenerKind = "KubeVirtProviderSpec"

// Gardener is the providerSpec of a MachineClass of machine.sapcloud.io.
type Gardener struct {
	APIVersion string             `json:"apiVersion,omitempty"`
	Kind       string             `json:"kind,omitempty"`
	Metadata   *metav1.ObjectMeta `json:"metadata,omitempty"`
	Machine    `json:",inline"`
}

// DecodeGardener decodes and judges a spec of machine.sapcloud.io.
func DecodeGardener(raw []byte) (*Machine, error) {
	var s Gardener
	if err := kit.DecodeStrict(raw, &s); err != nil {
		return nil, err
	}
	return &s.Machine, lenient.Error(s.Machine.check(nil))
}

// DecodeOpenShift decodes and judges a spec of machine.openshift.io, and returns it as the machine that it describes.
func DecodeOpenShift(raw []byte) (*Machine, error) {
	s, _, err := decodeOpenShift(raw)
	if err != nil {
		return nil, err
	}
	m, faults := s.machine(nil)
	return m, lenient.Error(faults)
}

// OpenShiftSecrets are the names of the secrets that a spec of machine.openshift.io names; empty where it names none.
func OpenShiftSecrets(raw []byte) (userData, credentials string, err error) {
	s, _, err := decodeOpenShift(raw)
	if err != nil {
		return "", "", err
	}
	userData, credentials = s.secrets()
	return userData, credentials, nil
}

// RootDisk and UserDataDisk are the names of the disks that each virtual machine has.
const (
	RootDisk     = "root-disk"
	UserDataDisk = "user-data"
)

// VolumeName is the name of the additional volume with the index.
func (m *Machine) VolumeName(index int) string {
	if name := m.AdditionalVolumes[index].Name; name != "" {
		return name
	}
	return fmt.Sprintf("disk-%d", index)
}

// OwnNetwork reports whether one of the networks stands in for that of pods.
func (m *Machine) OwnNetwork() bool {
	return slices.ContainsFunc(m.Networks, func(n Network) bool { return n.Default })
}
