// Package spec has what users write for hosts of Metal3, without its types: the BareMetalMachineProviderSpec of machine.openshift.io, and
// what machines of machine.sapcloud.io are made with, for which no original has a form.
//
// Unknown fields are refused as machines are made, as the original does: a selector that is misspelt would choose any host.
package spec

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kit"
	"github.com/millwright-dev/millwright/provider/lenient"
)

// OpenShiftKind and OpenShiftGroup are what a spec of machine.openshift.io calls itself, as its original does.
const (
	OpenShiftKind    = "BareMetalMachineProviderSpec"
	OpenShiftGroup   = "baremetal.cluster.k8s.io"
	OpenShiftVersion = "v1alpha1"
)

// GardenerVersion and GardenerKind are what a spec of machine.sapcloud.io calls itself: ours, since there is no original.
const (
	GardenerVersion = "metal3.machine.millwright.dev/v1alpha1"
	GardenerKind    = "MachineProviderConfig"
)

// Machine is what both APIs say of a machine: which hosts it may have, and what is written on their disks.
type Machine struct {
	// Image is what a host boots. It is used only if both of its fields are given, and needed without CustomDeploy.
	Image Image `json:"image,omitzero"`
	// CustomDeploy is another way of deploying, which the ramdisk of the hosts knows.
	CustomDeploy CustomDeploy `json:"customDeploy,omitzero"`
	// HostSelector chooses hosts by their labels; empty: any host.
	HostSelector HostSelector `json:"hostSelector,omitzero"`
}

// Image is an image of a disk.
type Image struct {
	URL string `json:"url"`
	// Checksum is that of the image, or a URL of one.
	Checksum string `json:"checksum"`
}

// CustomDeploy is a way of deploying.
type CustomDeploy struct {
	Method string `json:"method"`
}

// HostSelector chooses hosts: each label and each expression has to hold.
type HostSelector struct {
	MatchLabels      map[string]string `json:"matchLabels,omitempty"`
	MatchExpressions []Requirement     `json:"matchExpressions,omitempty"`
}

// Requirement is about one label.
type Requirement struct {
	Key string `json:"key"`
	// Operator is In, NotIn, Exists, DoesNotExist, Gt or Lt, in any case, or a sign that selectors of labels have: =, ==, != or !.
	Operator string   `json:"operator"`
	Values   []string `json:"values,omitempty"`
}

// OpenShift is providerSpec.value of a machine of machine.openshift.io.
type OpenShift struct {
	APIVersion string             `json:"apiVersion,omitempty"`
	Kind       string             `json:"kind,omitempty"`
	Metadata   *metav1.ObjectMeta `json:"metadata,omitempty"`
	Machine    `json:",inline"`
	// UserData is the secret with the user data, in the machine's namespace if it names none; nil: a host boots without.
	UserData *corev1.SecretReference `json:"userData,omitempty"`
	// CredentialsSecret is not the original's: a secret whose kubeconfig leads to the hosts; nil: they are in the cluster and the namespace of
	// the machine.
	CredentialsSecret *corev1.LocalObjectReference `json:"credentialsSecret,omitempty"`
}

// Gardener is the providerSpec of a MachineClass of machine.sapcloud.io, which names its secrets beside it.
type Gardener struct {
	APIVersion string             `json:"apiVersion,omitempty"`
	Kind       string             `json:"kind,omitempty"`
	Metadata   *metav1.ObjectMeta `json:"metadata,omitempty"`
	Machine    `json:",inline"`
}

// DecodeOpenShift decodes and judges a spec of machine.openshift.io.
func DecodeOpenShift(raw []byte) (*Machine, error) {
	s, err := lenient.DecodeKnown[OpenShift](raw)
	if err != nil {
		return nil, err
	}
	return &s.Machine, lenient.Error(s.Machine.check(nil))
}

// DecodeGardener decodes and judges a spec of machine.sapcloud.io.
func DecodeGardener(raw []byte) (*Machine, error) {
	var s Gardener
	if err := kit.DecodeStrict(raw, &s); err != nil {
		return nil, err
	}
	return &s.Machine, lenient.Error(s.Machine.check(nil))
}

// OpenShiftSecrets are the secrets that a spec of machine.openshift.io names; their names are empty where it names none.
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

// Selector chooses hosts by their labels. It is of a spec that was judged: what does not hold of it chooses nothing.
func (m *Machine) Selector() labels.Selector {
	selector, faults := m.HostSelector.selector(nil)
	if len(faults) > 0 {
		return labels.Nothing()
	}
	return selector
}
