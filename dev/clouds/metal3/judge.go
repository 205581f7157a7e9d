package metal3

import (
	"bytes"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/millwright-dev/millwright/dev/clouds/kubeapi"
	"github.com/millwright-dev/millwright/dev/clouds/metal3/host"
)

// Judge implements [kubeapi.Controller]: fields that its kind has not and, of hosts, what Metal3's own rules refuse.
func (*controller) Judge(kind string, o object) (causes []kubeapi.Cause) {
	raw, err := json.Marshal(o)
	if err != nil {
		return []kubeapi.Cause{kubeapi.Wrong("metadata", err.Error())}
	}
	var h host.Host
	into := map[string]any{hostKind: &h, "Secret": &corev1.Secret{}}[kind]
	strict := json.NewDecoder(bytes.NewReader(raw))
	strict.DisallowUnknownFields()
	if err := strict.Decode(into); err != nil {
		return []kubeapi.Cause{kubeapi.Wrong("spec", "strict decoding error: "+err.Error())}
	}
	for key, value := range o.Texts("metadata", "labels") {
		for _, why := range append(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)...) {
			causes = append(causes, kubeapi.Wrong("metadata.labels", fmt.Sprintf("Invalid value: %q: %s", value, why)))
		}
	}
	if kind == hostKind && h.Spec.DisablePowerOff && !h.Spec.Online {
		causes = append(causes, kubeapi.Wrong("spec.online", "node can't simultaneously have online set to false and have power off disabled"))
	}
	return causes
}
