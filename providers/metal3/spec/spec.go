// Package spec has the provider specs of Metal3 hosts, without Metal3's types: the
// BareMetalMachineProviderSpec of machine.openshift.io, and the providerSpec of machine.sapcloud.io, for
// which no original provider exists.
//
// The controller refuses specs with unknown fields, as the original does: a misspelt selector would select
// any host.
package spec

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kit"
	"github.com/millwright-dev/millwright/provider/lenient"
)

// OpenShiftKind and OpenShiftGroup identify a spec of machine.openshift.io, as in the original.
const (
	OpenShiftKind    = "BareMetalMachineProviderSpec"
	OpenShiftGroup   = "baremetal.cluster.k8s.io"
	OpenShiftVersion = "v1alpha1"
)

// GardenerVersion and GardenerKind identify a spec of machine.sapcloud.io. They are ours, since there is no
// original.
const (
	GardenerVersion = "metal3.machine.millwright.dev/v1alpha1"
	GardenerKind    = "MachineProviderConfig"
)

// Machine has the fields that both APIs have: which hosts a machine may use, and what is written to their
// disks.
type Machine struct {
	// Image is the image that a host boots. It is used only if both of its fields are set, and required
	// without CustomDeploy.
	Image Image `json:"image,omitzero"`
	// CustomDeploy is another deployment method, which the ramdisk of the hosts must support.
	CustomDeploy CustomDeploy `json:"customDeploy,omitzero"`
	// HostSelector selects hosts by label; empty: any host.
	HostSelector HostSelector `json:"hostSelector,omitzero"`
}

// Image is a disk image.
type Image struct {
	URL string `json:"url"`
	// Checksum is the checksum of the image, or the URL of one.
	Checksum string `json:"checksum"`
}

// CustomDeploy is a deployment method.
type CustomDeploy struct {
	Method string `json:"method"`
}

// HostSelector selects the hosts that match all labels and all expressions.
type HostSelector struct {
	MatchLabels      map[string]string `json:"matchLabels,omitempty"`
	MatchExpressions []Requirement     `json:"matchExpressions,omitempty"`
}

// Requirement is a condition on one label.
type Requirement struct {
	Key string `json:"key"`
	// Operator is In, NotIn, Exists, DoesNotExist, Gt or Lt in any case, or an operator of label selectors:
	// =, ==, != or !.
	Operator string   `json:"operator"`
	Values   []string `json:"values,omitempty"`
}

// OpenShift is the providerSpec.value of a Machine of machine.openshift.io.
type OpenShift struct {
	APIVersion string             `json:"apiVersion,omitempty"`
	Kind       string             `json:"kind,omitempty"`
	Metadata   *metav1.ObjectMeta `json:"metadata,omitempty"`
	Machine    `json:",inline"`
	// UserData is the secret with the user data, by default in the machine's namespace; nil: the host boots
	// without user data.
	UserData *corev1.SecretReference `json:"userData,omitempty"`
	// CredentialsSecret is ours, not the original's: a secret with the kubeconfig of the hosts' cluster; nil:
	// the hosts are in the cluster and namespace of the machine.
	CredentialsSecret *corev1.LocalObjectReference `json:"credentialsSecret,omitempty"`
}

// Gardener is the providerSpec of a MachineClass of machine.sapcloud.io. The MachineClass itself names the
// secrets.
type Gardener struct {
	APIVersion string             `json:"apiVersion,omitempty"`
	Kind       string             `json:"kind,omitempty"`
	Metadata   *metav1.ObjectMeta `json:"metadata,omitempty"`
	Machine    `json:",inline"`
}

// DecodeOpenShift decodes and validates a spec of machine.openshift.io.
func DecodeOpenShift(raw []byte) (*Machine, error) {
	s, err := lenient.DecodeKnown[OpenShift](raw)
	if err != nil {
		return nil, err
	}
	return &s.Machine, lenient.Error(s.Machine.check(nil))
}

// DecodeGardener decodes and validates a spec of machine.sapcloud.io.
func DecodeGardener(raw []byte) (*Machine, error) {
	var s Gardener
	if err := kit.DecodeStrict(raw, &s); err != nil {
		return nil, err
	}
	return &s.Machine, lenient.Error(s.Machine.check(nil))
}

// OpenShiftSecrets returns the secrets in a spec of machine.openshift.io; an empty name means that the spec
// has none.
func OpenShiftSecrets(raw []byte) (userData, credentials provider.SecretRef, err error) {
	s, _, err := lenient.Decode[OpenShift](raw)
	if err != nil {
		return userData, credentials, err
	}
	if s.UserData != nil {
		userData = provider.SecretRef{Namespace: s.UserData.Namespace, Name: s.UserData.Name}
	}
	if s.CredentialsSecret != nil {
		credentials.Name = s.CredentialsSecret.Name
	}
	return userData, credentials, nil
}

// Selector selects hosts by label. The spec must be valid: a selector with an error selects nothing.
func (m *Machine) Selector() labels.Selector {
	selector, faults := m.HostSelector.selector(nil)
	if len(faults) > 0 {
		return labels.Nothing()
	}
	return selector
}
