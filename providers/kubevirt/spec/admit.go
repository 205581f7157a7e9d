package spec

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider/admit"
	"github.com/millwright-dev/millwright/provider/lenient"
)

// Admitter implements [admit.Admitter]. The original provider validates nothing when a spec is written; the
// controller reports invalid specs. To accept what the original accepts, Admitter returns warnings.
type Admitter struct{}

var _ admit.Admitter = Admitter{}

// Kinds returns the kind that the original provider uses, and the same kind in the group of the other
// infrastructures.
func (Admitter) Kinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		{Group: OpenShiftGroup, Version: "v1alpha1", Kind: OpenShiftKind},
		{Group: "machine.openshift.io", Version: "v1beta1", Kind: OpenShiftKind},
	}
}

// SpecShape implements [admit.SpecShaper].
func (Admitter) SpecShape() any { return &OpenShift{} }

// Default sets the names of the secrets, if neither the current fields nor the original's fields set them.
func (Admitter) Default(a admit.Request) ([]byte, error) {
	s, document, err := decodeOpenShift(a.Spec)
	if err != nil {
		return nil, err
	}
	if s.UserDataSecret == nil && s.IgnitionSecretName == "" {
		document.In("userDataSecret").Set("name", UserDataSecret)
	}
	if s.CredentialsSecret == nil && s.CredentialsSecretName == "" {
		document.In("credentialsSecret").Set("name", CredentialsSecret)
	}
	return document.JSON()
}

// Admit warns about errors that the controller would report, and about probable mistakes.
func (Admitter) Admit(a admit.Request) (warnings []string, faults field.ErrorList) {
	s, _, err := decodeOpenShift(a.Spec)
	if err != nil {
		return nil, field.ErrorList{lenient.Undecodable(a.Path, err)}
	}
	m, wrong := s.machine(nil)
	userData, credentials := s.secrets()
	if userData == "" {
		wrong = append(wrong, field.Required(field.NewPath("userDataSecret", "name"), "it names the secret with the user data of the machine"))
	}
	if credentials == "" {
		wrong = append(wrong, field.Required(field.NewPath("credentialsSecret", "name"), "it names the secret with the kubeconfig of the cluster of KubeVirt"))
	}
	return append(lenient.Warnings(a.Path, lenient.Error(wrong)), m.warnings(a.Path)...), nil
}

// warnings are about valid specs that are probably mistakes.
func (m *Machine) warnings(at *field.Path) (all []string) {
	if len(m.RootVolume.accessModes()) == 0 && m.RootVolume.PVC != nil {
		all = append(all, at.Child("rootVolume", "pvc", "accessModes").String()+": are not given: the claim is refused, unless something fills them in")
	}
	if _, limited := m.Resources.Limits[corev1.ResourceMemory]; limited && m.Resources.OvercommitGuestOverhead {
		all = append(all, at.Child("resources", "overcommitGuestOverhead").String()+": beside a limit of memory the guest may be ended for what its emulator takes")
	}
	return all
}

func (v *DataVolume) accessModes() []corev1.PersistentVolumeAccessMode {
	if v.PVC == nil {
		return nil
	}
	return v.PVC.AccessModes
}
