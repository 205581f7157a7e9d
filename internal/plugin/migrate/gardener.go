package migrate

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/plugin/infrastructures"
)

// gardener is machine.sapcloud.io.
type gardener struct{}

// gardenerBuilder builds its objects.
type gardenerBuilder struct{}

func (gardener) build() builder { return gardenerBuilder{} }

func (gardener) api() apis.API {
	name, _ := apis.KindOf(&v1alpha1.Machine{})
	a, _ := apis.Of(name)
	return a
}

func (gardener) newSet() client.Object          { return &v1alpha1.MachineSet{} }
func (gardener) newMachines() client.ObjectList { return &v1alpha1.MachineList{} }

func (gardener) pool(ctx context.Context, r client.Reader, o client.Object) (Pool, error) {
	s := o.(*v1alpha1.MachineSet)
	t := s.Spec.Template
	p := Pool{
		Namespace: s.Namespace, Name: s.Name, Replicas: s.Spec.Replicas, MinReadySeconds: s.Spec.MinReadySeconds, Selector: ptr.Deref(s.Spec.Selector, metav1.LabelSelector{}),
		Labels: t.Labels, Annotations: t.Annotations,
		NodeLabels: t.Spec.NodeTemplateSpec.Labels, NodeAnnotations: t.Spec.NodeTemplateSpec.Annotations, Taints: t.Spec.NodeTemplateSpec.Spec.Taints,
	}
	var c v1alpha1.MachineClass
	if err := r.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: t.Spec.Class.Name}, &c); err != nil {
		return p, fmt.Errorf("machineset %s: read machineclass %s: %w", s.Name, t.Spec.Class.Name, err)
	}
	spec, _, err := decoded(c.ProviderSpec.Raw)
	if err != nil {
		return p, fmt.Errorf("machineclass %s: %w", c.Name, err)
	}
	i := slices.IndexFunc(infrastructures.All, func(i infrastructures.Infrastructure) bool {
		return i.Provider != "" && strings.EqualFold(i.Provider, c.Provider)
	})
	if i < 0 {
		return p, fmt.Errorf("machineclass %s: the provider %q is unknown", c.Name, c.Provider)
	}
	p.Infrastructure, p.Spec = infrastructures.All[i], spec
	if p.Infrastructure.Gardener.Kind != "" && c.NodeTemplate != nil { // in these specs, the class may have region and zone instead
		setDefault(spec, "region", c.NodeTemplate.Region)
		setDefault(spec, "zone", c.NodeTemplate.Zone)
	}
	for field, ref := range map[string]*corev1.SecretReference{"secretRef": c.SecretRef, "credentialsSecretRef": c.CredentialsSecretRef} {
		if ref != nil && ref.Namespace != "" && ref.Namespace != s.Namespace {
			return p, fmt.Errorf("machineclass %s: %s is in namespace %s: in the other API, a Secret is in the namespace of the Machine", c.Name, field, ref.Namespace)
		}
	}
	if c.SecretRef != nil {
		p.UserData, p.Credentials = c.SecretRef.Name, c.SecretRef.Name
	}
	if c.CredentialsSecretRef != nil {
		p.Credentials = c.CredentialsSecretRef.Name
	}
	if t.Spec.MachineConfiguration != nil {
		p.Lost = append(p.Lost, "the timeouts of spec.template.spec")
	}
	return p, nil
}

func setDefault(spec map[string]any, field, value string) {
	if _, there := spec[field]; !there && value != "" {
		spec[field] = value
	}
}

func (gardenerBuilder) class(p Pool) client.Object {
	c := &v1alpha1.MachineClass{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name}, Provider: p.Infrastructure.Provider,
		ProviderSpec: runtime.RawExtension{Raw: encoded(typed(p.Spec, p.Infrastructure.Gardener))},
	}
	if name := cmp.Or(p.UserData, p.Credentials); name != "" {
		c.SecretRef = &corev1.SecretReference{Namespace: p.Namespace, Name: name}
	}
	if p.Credentials != "" && p.Credentials != p.UserData {
		c.CredentialsSecretRef = &corev1.SecretReference{Namespace: p.Namespace, Name: p.Credentials}
	}
	return c
}

func (gardenerBuilder) spec(p Pool) v1alpha1.MachineSpec {
	spec := v1alpha1.MachineSpec{Class: v1alpha1.ClassSpec{Kind: v1alpha1.KindMachineClass, Name: p.Name}}
	spec.NodeTemplateSpec.Labels, spec.NodeTemplateSpec.Annotations, spec.NodeTemplateSpec.Spec.Taints = p.NodeLabels, p.NodeAnnotations, p.Taints
	return spec
}

func (h gardenerBuilder) set(p Pool) client.Object {
	s := &v1alpha1.MachineSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name},
		Spec:       v1alpha1.MachineSetSpec{Replicas: p.Replicas, MinReadySeconds: p.MinReadySeconds, Selector: &p.Selector},
	}
	s.Spec.Template.Labels, s.Spec.Template.Annotations, s.Spec.Template.Spec = p.Labels, p.Annotations, h.spec(p)
	return s
}

func (h gardenerBuilder) machine(p Pool, name, providerID string) client.Object {
	m := &v1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: name, Labels: p.Labels}, Spec: h.spec(p)}
	m.Spec.ProviderID = providerID
	return m
}

func (gardener) held(o client.Object) bool {
	_, held := o.GetLabels()[v1alpha1.LabelKeyScaleUpDisabled]
	return held
}

func (gardener) hold(o client.Object, on bool) {
	labels := maps.Clone(o.GetLabels())
	if labels == nil {
		labels = map[string]string{}
	}
	delete(labels, v1alpha1.LabelKeyScaleUpDisabled)
	if on {
		labels[v1alpha1.LabelKeyScaleUpDisabled] = "true"
	}
	o.SetLabels(labels)
}

func (gardener) counts(o client.Object) (wanted, ready int32) {
	s := o.(*v1alpha1.MachineSet)
	if s.Status.ObservedGeneration < s.Generation {
		return s.Spec.Replicas, 0
	}
	return s.Spec.Replicas, s.Status.ReadyReplicas
}
