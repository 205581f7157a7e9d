// Package config embeds the manifests of this directory in binaries, so that an installation needs no checkout.
package config

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	streams "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// FS holds the manifests as in this directory: crd/*.yaml, webhook/*.yaml, and the roles of each binary with their bindings and
// admission policies. The operator installs operator/operands/*.yaml and the DaemonSet of termination-handler/. The kind of disruption-budgets/ is optional, and has its own rights. Each policy of
// admission/ is optional: vsphere_*.yaml, each with its binding, are for machine.openshift.io on vSphere. strict_policy.yaml is
// for machine.sapcloud.io, and has no effect without strict_binding.yaml.
//
//go:embed admission/*.yaml crd/*.yaml webhook/*.yaml rbac/*/role*.yaml rbac/*/leader_election.yaml rbac/*/admission.yaml
//go:embed operator/operands/*.yaml termination-handler/daemonset.yaml disruption-budgets/*.yaml
var FS embed.FS

// CRDs returns the CustomResourceDefinitions of both APIs, sorted by file name and thus by group and plural. Each call returns
// new objects. An error means that an embedded manifest cannot be parsed.
func CRDs() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	return crdsIn("crd")
}

// OptionalCRDs returns the CustomResourceDefinitions of Millwright's own kinds, which an installation does not need.
func OptionalCRDs() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	return crdsIn("disruption-budgets")
}

func crdsIn(dir string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	files, err := fs.Glob(FS, dir+"/*_*.yaml")
	if err != nil {
		return nil, fmt.Errorf("listing the CRD manifests: %w", err)
	}
	crds := make([]*apiextensionsv1.CustomResourceDefinition, 0, len(files))
	for _, file := range files {
		raw, err := FS.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading CRD manifest %s: %w", path.Base(file), err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(raw, crd); err != nil {
			return nil, fmt.Errorf("decoding CRD manifest %s: %w", path.Base(file), err)
		}
		crds = append(crds, crd)
	}
	return crds, nil
}

// Webhooks returns the webhook configurations without a CA. The installer requests a CA with an annotation, or leaves it to the
// process that serves the webhooks. Each call returns new objects. An error means that an embedded manifest cannot be parsed.
func Webhooks() ([]*admissionregistrationv1.MutatingWebhookConfiguration, []*admissionregistrationv1.ValidatingWebhookConfiguration, error) {
	mutating := &admissionregistrationv1.MutatingWebhookConfiguration{}
	validating, warnings := &admissionregistrationv1.ValidatingWebhookConfiguration{}, &admissionregistrationv1.ValidatingWebhookConfiguration{}
	for file, into := range map[string]any{"mutating": mutating, "validating": validating, "warnings": warnings} {
		raw, err := FS.ReadFile("webhook/" + file + ".yaml")
		if err != nil {
			return nil, nil, fmt.Errorf("reading webhook manifest %s: %w", file, err)
		}
		if err := yaml.UnmarshalStrict(raw, into); err != nil {
			return nil, nil, fmt.Errorf("decoding webhook manifest %s: %w", file, err)
		}
	}
	return []*admissionregistrationv1.MutatingWebhookConfiguration{mutating}, []*admissionregistrationv1.ValidatingWebhookConfiguration{validating, warnings}, nil
}

// RolesIn returns the roles among the objects of a manifest of rbac/, in their order. A Role is returned as a ClusterRole with
// a namespace, because its fields are a subset. The Kind distinguishes them.
func RolesIn(manifest []byte) (out []rbacv1.ClusterRole, err error) {
	for decoder := streams.NewYAMLOrJSONDecoder(bytes.NewReader(manifest), 4096); ; {
		var role rbacv1.ClusterRole
		err := decoder.Decode(&role)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("decoding roles: %w", err)
		}
		if role.Kind == "Role" || role.Kind == "ClusterRole" {
			out = append(out, role)
		}
	}
}
