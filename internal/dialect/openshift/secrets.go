package openshift

import (
	machinev1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/api/millwright"
	"github.com/millwright-dev/millwright/provider"
)

// Secrets returns the secrets of m, without a name if none is named: in the fields that all provider specs
// share, of its own spec or of the stored defaults of its cluster.
func (Machines) Secrets(m *machinev1.Machine) (userData, credentials provider.SecretRef) {
	own := ptr.Deref(m.Spec.ProviderSpec.Value, runtime.RawExtension{}).Raw
	kept, _ := millwright.Read(m.Annotations).Text(DefaultsAnnotation)
	for _, spec := range [][]byte{own, []byte(kept)} {
		names, err := provider.ReadCommon(spec)
		if err != nil {
			continue // the machine has its own
		}
		userData, credentials = first(userData, names.UserData), first(credentials, names.Credentials)
	}
	return userData, credentials
}

func first(a, b provider.SecretRef) provider.SecretRef {
	if a.Name != "" {
		return a
	}
	return b
}
