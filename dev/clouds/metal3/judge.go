package metal3

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/millwright-dev/millwright/dev/clouds/kubeapi"
	"github.com/millwright-dev/millwright/dev/clouds/metal3/host"
)

// Judge implements [kubeapi.Controller]. It refuses unknown fields, and hosts that Metal3's own rules
// refuse.
func (*controller) Judge(kind string, o object) (causes []kubeapi.Cause) {
	var h host.Host
	into := map[string]any{hostKind: &h, "Secret": &corev1.Secret{}}[kind]
	if wrong := kubeapi.Strict(o, into); wrong != nil {
		return wrong
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
