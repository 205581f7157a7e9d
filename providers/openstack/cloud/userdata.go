package cloud

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/provider"
)

// processed is the user data that is sent to Nova. The original treats that of machine.openshift.io as a Go
// template, unless the secret has the key disableTemplating, and passes it to the program that
// postprocessor names. Here the controller fills in placeholders, and neither is supported: user data that
// needs them is an error, and no server is created with incomplete user data.
//
// Blank user data is refused as by the original of machine.sapcloud.io: a server without any does not join.
func (cr creator) processed(ctx context.Context, data []byte) ([]byte, error) {
	if cr.class.API == provider.Gardener && len(bytes.TrimSpace(data)) == 0 {
		return nil, provider.InvalidField("secretRef", "the key userData of the class's secrets is blank")
	}
	if cr.plan.userData == nil || cr.provider.config.Objects == nil {
		return data, nil
	}
	raw, err := cr.provider.config.Objects.Object(ctx, provider.ObjectRef{
		APIVersion: "v1", Kind: "Secret", Namespace: cmp.Or(cr.plan.userData.namespace, cr.ref.Namespace), Name: cr.plan.userData.name,
	})
	if errors.Is(err, provider.ErrNoObject) {
		return data, nil
	}
	if err != nil {
		return nil, err
	}
	var secret corev1.Secret
	if err := json.Unmarshal(raw, &secret); err != nil {
		return nil, provider.Errorf(provider.Transient, "the secret %s cannot be read", cr.plan.userData.name)
	}
	const path = "userDataSecret"
	if p, ok := secret.Data["postprocessor"]; ok && len(p) > 0 {
		return nil, provider.InvalidField(path, "the secret asks for the postprocessor %q, which there is not: write what it would make, and leave out the key", provider.Clip(string(p), 40))
	}
	if _, off := secret.Data["disableTemplating"]; !off && bytes.Contains(data, []byte("{{")) {
		return nil, provider.InvalidField(path, "the user data looks like a template ({{), which is not supported: if it is not a template, add the key disableTemplating to the secret")
	}
	return data, nil
}
