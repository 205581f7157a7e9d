package start

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
)

// others installs the kinds of other components that a release's manifests have: that of constraints as it is published, of the rest the names.
func (b *box) others() {
	b.Helper()
	o := envtest.CRDInstallOptions{MaxTime: time.Minute, Paths: []string{filepath.Join(published(b.T), "security/v1/zz_generated.crd-manifests/0000_03_config-operator_01_securitycontextconstraints.crd.yaml")}}
	for _, k := range []struct{ group, version, kind, plural string }{
		{"cloudcredential.openshift.io", "v1", "CredentialsRequest", "credentialsrequests"},
		{"monitoring.coreos.com", "v1", "ServiceMonitor", "servicemonitors"},
		{"monitoring.coreos.com", "v1", "PrometheusRule", "prometheusrules"},
	} {
		o.CRDs = append(o.CRDs, &apiextensionsv1.CustomResourceDefinition{
			ObjectMeta: metav1.ObjectMeta{Name: k.plural + "." + k.group},
			Spec: apiextensionsv1.CustomResourceDefinitionSpec{
				Group: k.group, Scope: apiextensionsv1.NamespaceScoped,
				Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: k.kind, Plural: k.plural, Singular: strings.ToLower(k.kind), ListKind: k.kind + "List"},
				Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
					Name: k.version, Served: true, Storage: true,
					Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: ptr.To(true)}},
				}},
			},
		})
	}
	crds, err := envtest.InstallCRDs(b.env.Config, o)
	b.must(err)
	b.Cleanup(func() { b.removed(crds) })
}

// release applies a release's files in the order of their names, as the version operator does, and removes what it brought at the end.
func (b *box) release(dir string) {
	b.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	b.must(err)
	if len(files) == 0 {
		b.Fatalf("%s has no files", dir)
	}
	slices.Sort(files)
	for _, file := range files {
		raw, err := os.ReadFile(file)
		b.must(err)
		for _, document := range bytes.Split(raw, []byte("\n---\n"))[1:] {
			o := &unstructured.Unstructured{}
			b.must(yaml.Unmarshal(document, &o.Object))
			unstructured.RemoveNestedField(o.Object, "status")
			if err := b.Apply(b.Context(), client.ApplyConfigurationFromUnstructured(o), client.FieldOwner("cluster-version-operator"), client.ForceOwnership); err != nil {
				b.Fatalf("%s: %s %s: %v", filepath.Base(file), o.GetKind(), o.GetName(), err)
			}
			if kind := o.GetKind(); kind != "Namespace" && kind != "CustomResourceDefinition" {
				b.Cleanup(func() { b.must(client.IgnoreNotFound(b.Client.Delete(context.Background(), o))) })
			}
		}
	}
}

// TestRelease: the files of install/ are accepted, and the operator with the rights that they give, and no others, runs its
// operands by the images that they name.
func TestRelease(t *testing.T) {
	b := newBox(t)
	b.openshift()
	b.others()
	for _, name := range []string{"openshift-cloud-credential-operator", "openshift-config", "openshift-config-managed"} {
		b.must(client.IgnoreAlreadyExists(b.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})))
	}
	// Those that the tests have from config/: what is tried here are the release's.
	for _, o := range []string{"ClusterRoleBinding", "ClusterRole", "RoleBinding", "Role"} {
		object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": o}}
		object.SetName("machine-api-operator")
		if !strings.HasPrefix(o, "Cluster") {
			object.SetNamespace(home)
		}
		b.must(b.Delete(t.Context(), object))
	}
	b.release(devplanetest.Packages(t, filepath.Join("..", "..", ".."), "install"))
	var images corev1.ConfigMap
	b.must(b.Get(t.Context(), client.ObjectKey{Namespace: home, Name: "machine-api-operator-images"}, &images))
	b.say(images.Data["images.json"])
	b.infrastructure(configv1.AWSPlatformType)
	b.gates()
	b.start(nil)
	b.conditioned("it goes on", configv1.OperatorProgressing, "True/SyncingResources", "operator: 4.2")
	b.within(20*time.Second, "the operands", func() error {
		return b.Get(t.Context(), client.ObjectKey{Namespace: home, Name: "machine-api-termination-handler"}, &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "DaemonSet"}})
	})
	b.rolledOut()
	b.conditioned("all pods run", configv1.OperatorAvailable, "True/AsExpected", "available at operator: 4.2")
	b.conditioned("nothing is missing", configv1.OperatorDegraded, "False/AsExpected", "")
	b.mounted()
}

// mounted looks whether what the operands' pods need is there: what they mount, but for what the service CA makes, and their accounts.
func (b *box) mounted() {
	b.Helper()
	pod := b.deployment().Spec.Template.Spec
	b.must(b.Get(b.Context(), client.ObjectKey{Namespace: home, Name: pod.ServiceAccountName}, &corev1.ServiceAccount{}))
	var services corev1.ServiceList
	b.must(b.List(b.Context(), &services, client.InNamespace(home)))
	for _, v := range pod.Volumes {
		if c := v.ConfigMap; c != nil {
			b.must(b.Get(b.Context(), client.ObjectKey{Namespace: home, Name: c.Name}, &corev1.ConfigMap{}))
		}
		if s := v.Secret; s != nil && !slices.ContainsFunc(services.Items, func(of corev1.Service) bool {
			return of.Annotations["service.beta.openshift.io/serving-cert-secret-name"] == s.SecretName
		}) {
			b.Errorf("nobody makes the Secret %s, which pods mount", s.SecretName)
		}
	}
	for _, s := range services.Items {
		for _, p := range s.Spec.Ports {
			if s.Spec.Selector["k8s-app"] == "controller" && !slices.ContainsFunc(pod.Containers, func(c corev1.Container) bool {
				return slices.ContainsFunc(c.Ports, func(of corev1.ContainerPort) bool { return of.Name == p.TargetPort.StrVal })
			}) {
				b.Errorf("Service %s leads to the port %s, which no container has", s.Name, p.TargetPort.String())
			}
		}
	}
}
