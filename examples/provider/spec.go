package larch

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kit"
)

// Spec is the provider spec that users write: providerSpec.value of a Machine of machine.openshift.io, and providerSpec of a
// MachineClass of machine.sapcloud.io. Larch is new to both APIs, so both have the same form.
type Spec struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Type is the size of the machine: "small".
	Type string `json:"type"`
	// Zones are the allowed zones, best first. A later zone is used if those before it are full.
	Zones []string `json:"zones"`
	// Image is the image of the disk.
	Image string `json:"image"`
	// Tags are further tags.
	Tags map[string]string `json:"tags,omitempty"`

	// The engine reads these two fields in machine.openshift.io. They are declared because decode refuses unknown fields.
	UserDataSecret    *Secret `json:"userDataSecret,omitempty"`
	CredentialsSecret *Secret `json:"credentialsSecret,omitempty"`
}

// Secret names a secret in the machine's namespace.
type Secret struct {
	Name string `json:"name"`
}

// decode decodes a spec, or returns an error that names the invalid field. If the APIs have different specs, decode each into its
// own type here, and convert both into one type.
func decode(_ string, raw []byte) (*Spec, error) {
	s := &Spec{}
	if err := kit.DecodeStrict(raw, s); err != nil {
		return nil, err
	}
	switch {
	case s.Type == "":
		return nil, provider.InvalidField("type", "a value is required")
	case len(s.Zones) == 0:
		return nil, provider.InvalidField("zones", "at least one zone is required")
	case s.Image == "":
		return nil, provider.InvalidField("image", "a value is required")
	}
	for key := range s.Tags {
		if strings.HasPrefix(key, tagPrefix) {
			return nil, provider.InvalidField("tags", "tag %q has the reserved prefix "+tagPrefix, key)
		}
	}
	return s, nil
}
