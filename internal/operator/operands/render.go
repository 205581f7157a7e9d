package operands

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/utils/ptr"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/config"
)

// The names of operands.
const (
	ControllersName = "machine-api-controllers"
	TerminationName = "machine-api-termination-handler"
	WebhooksName    = "machine-api"
	// RemediationName is the name of the webhooks that BareMetal's machine controller serves itself.
	RemediationName = "machine-api-metal3-remediation"
)

// Operands are what a cluster should have.
type Operands struct {
	Mutating   *admissionregistrationv1.MutatingWebhookConfiguration
	Validating *admissionregistrationv1.ValidatingWebhookConfiguration
	// Remediation are the webhooks of requests for remediation; nil but on BareMetal.
	Remediation *Remediation
	// Policies are the admission policies, with their bindings; only on vSphere.
	Policies    []*unstructured.Unstructured
	Controllers *appsv1.Deployment
	// Termination is nil if the cloud does not reclaim instances.
	Termination *appsv1.DaemonSet
}

// Remediation are webhooks that BareMetal's machine controller serves itself.
type Remediation struct {
	Mutating   *admissionregistrationv1.MutatingWebhookConfiguration
	Validating *admissionregistrationv1.ValidatingWebhookConfiguration
}

// Render decides which objects a cluster with these facts should have. The platform must not be NoOp.
func Render(f Facts) (Operands, error) {
	var out Operands
	provider, err := f.Platform.image(f.Images)
	if err != nil {
		return out, err
	}
	mutating, validating, err := config.Webhooks()
	if err != nil {
		return out, err
	}
	out.Mutating, out.Validating = mutating[0], validating[0]
	f.webhooks(&out)
	if f.Platform.name == bareMetal && f.Plain == nil {
		if out.Remediation, err = f.remediation(); err != nil {
			return out, err
		}
	}
	if f.Platform.name == vSphere && f.Gates[gateManyCenters] {
		if out.Policies, err = f.policies(); err != nil {
			return out, err
		}
	}
	out.Controllers = &appsv1.Deployment{}
	if err := decode("operator/operands/controllers.yaml", out.Controllers); err != nil {
		return out, err
	}
	f.controllers(out.Controllers, provider)
	if f.Platform.interruptible {
		out.Termination = &appsv1.DaemonSet{}
		if err := decode("termination-handler/daemonset.yaml", out.Termination); err != nil {
			return out, err
		}
		f.termination(out.Termination, provider)
	}
	return out, nil
}

func decode(file string, into any) error {
	raw, err := config.FS.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read manifest %s: %w", file, err)
	}
	if err := sigsyaml.UnmarshalStrict(raw, into); err != nil {
		return fmt.Errorf("decode manifest %s: %w", file, err)
	}
	return nil
}

// injectCA requests the bundle of the service CA.
const injectCA = "service.beta.openshift.io/inject-cabundle"

// webhooks points the webhooks at the namespace. Without a service CA, machineset-controller writes its own
// bundle.
func (f Facts) webhooks(o *Operands) {
	for i := range o.Mutating.Webhooks {
		o.Mutating.Webhooks[i].ClientConfig.Service.Namespace = f.Namespace
	}
	for i := range o.Validating.Webhooks {
		o.Validating.Webhooks[i].ClientConfig.Service.Namespace = f.Namespace
	}
	if f.Plain == nil {
		o.Mutating.Annotations = map[string]string{injectCA: "true"}
		o.Validating.Annotations = map[string]string{injectCA: "true"}
	}
}

// remediation are webhooks that are called with a certificate of the service CA: without a service CA no
// controller would write a bundle, and every call would fail.
func (f Facts) remediation() (*Remediation, error) {
	r := &Remediation{Mutating: &admissionregistrationv1.MutatingWebhookConfiguration{}, Validating: &admissionregistrationv1.ValidatingWebhookConfiguration{}}
	if err := decode("operator/operands/metal3_mutating.yaml", r.Mutating); err != nil {
		return nil, err
	}
	if err := decode("operator/operands/metal3_validating.yaml", r.Validating); err != nil {
		return nil, err
	}
	for i := range r.Mutating.Webhooks {
		r.Mutating.Webhooks[i].ClientConfig.Service.Namespace = f.Namespace
	}
	for i := range r.Validating.Webhooks {
		r.Validating.Webhooks[i].ClientConfig.Service.Namespace = f.Namespace
	}
	return r, nil
}

// policies leave out the policy about a kind that does not exist: API servers reject such a policy.
func (f Facts) policies() (out []*unstructured.Unstructured, err error) {
	kinds := []string{"machine", "machineset"}
	if f.ControlPlaneSets {
		kinds = append(kinds, "cpms")
	}
	for _, kind := range kinds {
		file, err := config.FS.Open("admission/vsphere_" + kind + ".yaml")
		if err != nil {
			return nil, fmt.Errorf("read the policies of vSphere: %w", err)
		}
		for d := yaml.NewYAMLOrJSONDecoder(file, 4096); ; {
			o := &unstructured.Unstructured{}
			if err := d.Decode(o); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, fmt.Errorf("decode the policies of vSphere: %w", err)
			}
			if o.Object == nil {
				continue
			}
			if _, bound, _ := unstructured.NestedMap(o.Object, "spec", "paramRef"); bound {
				if err := unstructured.SetNestedField(o.Object, f.Namespace, "spec", "paramRef", "namespace"); err != nil {
					return nil, fmt.Errorf("bind the policies of vSphere: %w", err)
				}
			}
			out = append(out, o)
		}
	}
	return out, nil
}

func (f Facts) controllers(d *appsv1.Deployment, provider string) {
	d.Namespace = f.Namespace
	pod := &d.Spec.Template.Spec
	if f.Gates[gateNoHealthChecker] {
		pod.Containers = slices.DeleteFunc(pod.Containers, func(c corev1.Container) bool {
			return c.Name == "machine-healthcheck-controller" || c.Name == "kube-rbac-proxy-mhc-mtrc"
		})
	}
	if f.Plain != nil {
		f.plain(pod)
	}
	for i := range pod.Containers {
		f.container(&pod.Containers[i], provider)
	}
	if f.TrustedCA != "" {
		key := hashKey(f.Namespace + "." + TrustedCAConfigMap + ".configmap")
		d.Annotations[key], d.Spec.Template.Annotations[key] = f.TrustedCA, f.TrustedCA
	}
}

// hashKey is the annotation with the hash of an input that pods read once.
func hashKey(of string) string {
	sum := sha256.Sum256([]byte(of))
	return ("operator.openshift.io/dep-" + hex.EncodeToString(sum[:]))[:63]
}

// container sets the fields that depend on the facts, for one of the controllers or their proxies.
func (f Facts) container(c *corev1.Container, provider string) {
	proxied := strings.HasPrefix(c.Name, "kube-rbac-proxy-")
	c.Image = f.Images[ownImage]
	namespaced(c.Args, f.Namespace)
	switch {
	case proxied:
		c.Image = f.Images[rbacProxyImage]
		c.Args = append(c.Args, f.TLS.proxyArgs()...)
	case c.Name == "machineset-controller":
		c.Args = append(append(c.Args, f.Gates.arg()), f.TLS.args()...)
		if f.Plain != nil {
			c.Args = append(c.Args, "--platform="+f.Platform.name)
			c.Args = append(c.Args, given("--infrastructure-id=", f.Plain.ClusterID)...)
		}
	case c.Name == "machine-controller":
		c.Image = provider
		c.Args = append(c.Args, f.Gates.arg())
		if f.Platform.workers > 0 {
			c.Args = append(c.Args, fmt.Sprintf("--max-concurrent-reconciles=%d", f.Platform.workers))
		}
		if f.Platform.name == bareMetal {
			c.Args = append(c.Args, f.TLS.args()...)
		}
		if f.Plain != nil {
			c.Args = append(c.Args, given("--cluster-id=", f.Plain.ClusterID)...)
		}
		c.Env = append(c.Env, variables(corev1.EnvVar{Name: "RELEASE_VERSION", Value: f.Release})...)
	}
	if !proxied {
		c.Env = append(c.Env, f.Proxy.env()...)
	}
}

// given is a flag that has a value.
func given(flag, value string) []string {
	if value == "" {
		return nil
	}
	return []string{flag + value}
}

// namespaced points the flag --namespace at the namespace.
func namespaced(args []string, namespace string) {
	const flag = "--namespace="
	for i, a := range args {
		if strings.HasPrefix(a, flag) {
			args[i] = flag + namespace
		}
	}
}

func (p Proxy) env() []corev1.EnvVar {
	return variables(
		corev1.EnvVar{Name: "HTTP_PROXY", Value: p.HTTP}, corev1.EnvVar{Name: "HTTPS_PROXY", Value: p.HTTPS}, corev1.EnvVar{Name: "NO_PROXY", Value: p.No},
	)
}

// variables are those that have a value.
func variables(of ...corev1.EnvVar) []corev1.EnvVar {
	return slices.DeleteFunc(of, func(v corev1.EnvVar) bool { return v.Value == "" })
}

// plain removes the service CA and nodes of the role "master". machineset-controller and kube-rbac-proxy
// create their own certificates.
func (f Facts) plain(pod *corev1.PodSpec) {
	pod.NodeSelector = nil
	pod.Tolerations = append(pod.Tolerations, corev1.Toleration{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule})
	const served = "machine-api-controllers-tls"
	pod.Volumes = slices.DeleteFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == served })
	for i := range pod.Volumes {
		if s := pod.Volumes[i].Secret; s != nil {
			s.Optional = ptr.To(true)
		}
	}
	for i := range pod.Containers {
		c := &pod.Containers[i]
		c.VolumeMounts = slices.DeleteFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == served })
		if strings.HasPrefix(c.Name, "kube-rbac-proxy-") {
			c.Args = slices.DeleteFunc(c.Args, func(a string) bool {
				return strings.HasPrefix(a, "--tls-cert-file=") || strings.HasPrefix(a, "--tls-private-key-file=")
			})
		}
	}
}

func (f Facts) termination(d *appsv1.DaemonSet, provider string) {
	d.Namespace = f.Namespace
	for i := range d.Spec.Template.Spec.Containers {
		c := &d.Spec.Template.Spec.Containers[i]
		c.Image = provider
		namespaced(c.Args, f.Namespace)
		c.Env = append(c.Env, f.Proxy.env()...)
	}
}
