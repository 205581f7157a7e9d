package spec

import (
	"cmp"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider/kit"
	"github.com/millwright-dev/millwright/provider/lenient"
)

// The kind of specs of machine.openshift.io, and the group that the original provider uses for it.
const (
	OpenShiftKind  = "KubevirtMachineProviderSpec"
	OpenShiftGroup = "kubevirtproviderconfig.openshift.io"
)

// The default names of secrets.
const (
	UserDataSecret    = "worker-user-data"
	CredentialsSecret = "kubevirt-credentials"
)

// OpenShift is the providerSpec.value of a Machine of machine.openshift.io.
type OpenShift struct {
	APIVersion string             `json:"apiVersion,omitempty"`
	Kind       string             `json:"kind,omitempty"`
	Metadata   *metav1.ObjectMeta `json:"metadata,omitempty"`
	// UserDataSecret and CredentialsSecret are used as in the specs of other infrastructures.
	UserDataSecret    *corev1.LocalObjectReference `json:"userDataSecret,omitempty"`
	CredentialsSecret *corev1.LocalObjectReference `json:"credentialsSecret,omitempty"`
	Original          `json:",inline"`
	Machine           `json:",inline"`
}

// Original has the fields of the original provider of machine.openshift.io, which creates one kind of virtual
// machine: a clone of a claim, connected to one Multus network.
type Original struct {
	// SourcePVCName is the claim that is cloned to the root volume.
	SourcePVCName string `json:"sourcePvcName,omitempty"`
	// RequestedStorage is the size of the root volume (default 35Gi), StorageClassName its class,
	// PersistentVolumeAccessMode its access mode (default ReadWriteMany).
	RequestedStorage           string `json:"requestedStorage,omitempty"`
	StorageClassName           string `json:"storageClassName,omitempty"`
	PersistentVolumeAccessMode string `json:"persistentVolumeAccessMode,omitempty"`
	// RequestedMemory defaults to 2048M. If RequestedCPU is 0, KubeVirt decides.
	RequestedMemory string `json:"requestedMemory,omitempty"`
	RequestedCPU    uint32 `json:"requestedCPU,omitempty"`
	// NetworkName is the only network.
	NetworkName string `json:"networkName,omitempty"`
	// IgnitionSecretName and CredentialsSecretName are the former names of userDataSecret.name and
	// credentialsSecret.name.
	IgnitionSecretName    string `json:"ignitionSecretName,omitempty"`
	CredentialsSecretName string `json:"credentialsSecretName,omitempty"`
}

const (
	defaultStorage = "35Gi"
	defaultMemory  = "2048M"
)

// secrets returns the names of the secrets in the spec; an empty name means that the spec has none.
func (s *OpenShift) secrets() (userData, credentials string) {
	name := func(ref *corev1.LocalObjectReference, former string) string {
		if ref != nil && ref.Name != "" {
			return ref.Name
		}
		return former
	}
	return name(s.UserDataSecret, s.IgnitionSecretName), name(s.CredentialsSecret, s.CredentialsSecretName)
}

// machine converts the spec to a Machine, and returns the errors of the spec.
func (s *OpenShift) machine(at *field.Path) (*Machine, field.ErrorList) {
	m := s.Machine
	faults := s.checkSecrets(at)
	faults = append(faults, s.clone(&m, at)...)
	faults = append(faults, s.sized(&m, at)...)
	if s.NetworkName != "" {
		if len(m.Networks) > 0 {
			faults = append(faults, both(at, "networkName", "networks"))
		}
		m.Networks = []Network{{Name: s.NetworkName, Default: true}}
	}
	if len(faults) > 0 {
		return &m, faults
	}
	return &m, m.check(at)
}

// both is the error if a field of the original provider is set together with the field that replaces it.
func both(at *field.Path, former, now string) *field.Error {
	return field.Forbidden(at.Child(former), "says the same as "+now+", which is given as well")
}

func (s *OpenShift) checkSecrets(at *field.Path) (faults field.ErrorList) {
	differ := func(ref *corev1.LocalObjectReference, former string) bool {
		return ref != nil && ref.Name != "" && former != "" && ref.Name != former
	}
	if differ(s.UserDataSecret, s.IgnitionSecretName) {
		faults = append(faults, both(at, "ignitionSecretName", "userDataSecret"))
	}
	if differ(s.CredentialsSecret, s.CredentialsSecretName) {
		faults = append(faults, both(at, "credentialsSecretName", "credentialsSecret"))
	}
	return faults
}

// clone sets the root volume as the original provider does.
func (s *OpenShift) clone(m *Machine, at *field.Path) (faults field.ErrorList) {
	given := s.RequestedStorage + s.StorageClassName + s.PersistentVolumeAccessMode
	if s.SourcePVCName == "" {
		if given != "" {
			return field.ErrorList{field.Required(at.Child("sourcePvcName"), "requestedStorage, storageClassName and persistentVolumeAccessMode are of a clone of it")}
		}
		return nil
	}
	if m.RootVolume.given() {
		return field.ErrorList{both(at, "sourcePvcName", "rootVolume")}
	}
	size, err := quantity(cmp.Or(s.RequestedStorage, defaultStorage))
	if err != nil || size.Sign() <= 0 {
		return field.ErrorList{invalid(at.Child("requestedStorage"), s.RequestedStorage, "is no size")}
	}
	mode := corev1.PersistentVolumeAccessMode(cmp.Or(s.PersistentVolumeAccessMode, string(corev1.ReadWriteMany)))
	if !accessModes[mode] {
		return field.ErrorList{invalid(at.Child("persistentVolumeAccessMode"), string(mode), "is no mode of access")}
	}
	claim := &corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{mode},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: size}},
	}
	if s.StorageClassName != "" {
		claim.StorageClassName = &s.StorageClassName
	}
	m.RootVolume = DataVolume{Source: &Source{PVC: &ClonedSource{Name: s.SourcePVCName}}, PVC: claim}
	return nil
}

var accessModes = map[corev1.PersistentVolumeAccessMode]bool{
	corev1.ReadWriteMany: true, corev1.ReadOnlyMany: true, corev1.ReadWriteOnce: true, corev1.ReadWriteOncePod: true,
}

// sized adds the requests of the original provider's fields. Memory has a default only with the original's
// root volume.
func (s *OpenShift) sized(m *Machine, at *field.Path) (faults field.ErrorList) {
	requests := corev1.ResourceList{}
	for name, q := range m.Resources.Requests {
		requests[name] = q
	}
	add := func(name corev1.ResourceName, of, text string) {
		q, err := quantity(text)
		_, twice := m.Resources.Requests[name]
		switch {
		case err != nil || q.Sign() <= 0:
			faults = append(faults, invalid(at.Child(of), text, "is no amount"))
		case twice:
			faults = append(faults, both(at, of, "resources.requests."+string(name)))
		}
		requests[name] = q
	}
	memory := s.RequestedMemory
	if memory == "" && s.SourcePVCName != "" && m.MemoryMiB() == 0 {
		memory = defaultMemory
	}
	if memory != "" {
		add(corev1.ResourceMemory, "requestedMemory", memory)
	}
	if s.RequestedCPU > 0 {
		add(corev1.ResourceCPU, "requestedCPU", resource.NewQuantity(int64(s.RequestedCPU), resource.DecimalSI).String())
	}
	if len(requests) > 0 {
		m.Resources.Requests = requests
	}
	return faults
}

// quantity parses an amount, within the bounds of [kit.DecodeStrict].
func quantity(text string) (resource.Quantity, error) {
	raw, err := json.Marshal(map[string]string{"amount": text})
	if err != nil {
		return resource.Quantity{}, err
	}
	var read struct {
		Amount resource.Quantity `json:"amount"`
	}
	err = kit.DecodeStrict(raw, &read)
	return read.Amount, err
}

// invalid is an error with a shortened value.
func invalid(at *field.Path, value, why string) *field.Error {
	return field.Invalid(at, lenient.Shown(value), why)
}

// decodeOpenShift decodes a spec without validation, and returns the decoded document too.
func decodeOpenShift(raw []byte) (*OpenShift, *lenient.Document, error) {
	return lenient.Decode[OpenShift](raw)
}
