package larch

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kit"
)

// Spec is what users write: providerSpec.value of a Machine of machine.openshift.io, providerSpec of a MachineClass of
// machine.sapcloud.io. Both have one form here, because nobody has written one for Larch before.
type Spec struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Type is the size of the machine: "small".
	Type string `json:"type"`
	// Zones are where it may be, best first: each is for when those before it are full.
	Zones []string `json:"zones"`
	// Image is what its disk is a copy of.
	Image string `json:"image"`
	// Tags are the user's own.
	Tags map[string]string `json:"tags,omitempty"`

	// The engine reads these two in the OpenShift API. They are here because what a spec does not know is refused.
	UserDataSecret    *Secret `json:"userDataSecret,omitempty"`
	CredentialsSecret *Secret `json:"credentialsSecret,omitempty"`
}

// Secret names a secret in the machine's namespace.
type Secret struct {
	Name string `json:"name"`
}

// decode makes a spec of JSON, or names the field that is wrong. A provider whose two APIs have specs of two forms
// decodes each into its own type here, and makes one of both.
func decode(_ string, raw []byte) (*Spec, error) {
	s := &Spec{}
	if err := kit.DecodeStrict(raw, s); err != nil {
		return nil, err
	}
	switch {
	case s.Type == "":
		return nil, provider.InvalidField("type", "it is missing")
	case len(s.Zones) == 0:
		return nil, provider.InvalidField("zones", "there are none")
	case s.Image == "":
		return nil, provider.InvalidField("image", "it is missing")
	}
	for key := range s.Tags {
		if strings.HasPrefix(key, tagPrefix) {
			return nil, provider.InvalidField("tags", "%q is not for users to set", key)
		}
	}
	return s, nil
}
