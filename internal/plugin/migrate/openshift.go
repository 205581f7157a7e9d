package migrate

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/millwright"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/plugin/infrastructures"
)

// clusterLabel is required on each Machine of machine.openshift.io.
const clusterLabel = machinev1.MachineClusterIDLabel

// openshift is machine.openshift.io.
type openshift struct{}

// openshiftBuilder builds its objects.
type openshiftBuilder struct{}

func (openshift) build() builder { return openshiftBuilder{} }

func (openshift) api() apis.API {
	name, _ := apis.KindOf(&machinev1.Machine{})
	a, _ := apis.Of(name)
	return a
}

func (openshift) newSet() client.Object          { return &machinev1.MachineSet{} }
func (openshift) newMachines() client.ObjectList { return &machinev1.MachineList{} }

func (openshift) pool(_ context.Context, _ client.Reader, o client.Object) (Pool, error) {
	s := o.(*machinev1.MachineSet)
	t := s.Spec.Template
	p := Pool{
		Namespace: s.Namespace, Name: s.Name, Replicas: ptr.Deref(s.Spec.Replicas, 1), MinReadySeconds: s.Spec.MinReadySeconds, Selector: s.Spec.Selector,
		Labels: t.Labels, Annotations: t.Annotations, NodeLabels: t.Spec.Labels, NodeAnnotations: t.Spec.Annotations, Taints: t.Spec.Taints,
		Cluster: t.Labels[clusterLabel],
	}
	if t.Spec.ProviderSpec.Value == nil {
		return p, fmt.Errorf("machineset %s: spec.template.spec.providerSpec.value is empty", s.Name)
	}
	spec, kind, err := decoded(t.Spec.ProviderSpec.Value.Raw)
	if err != nil {
		return p, fmt.Errorf("machineset %s: %w", s.Name, err)
	}
	served := infrastructures.Served()
	i := slices.IndexFunc(served, func(i infrastructures.Infrastructure) bool { return i.OpenShift.Kind == kind && kind != "" })
	if i < 0 {
		return p, fmt.Errorf("machineset %s: the kind %q of the provider spec is unknown", s.Name, kind)
	}
	p.Infrastructure = served[i]
	if c, known := converters[p.Infrastructure.Name]; known {
		p.UserData, p.Credentials = c.takeSecrets(spec)
	}
	p.Spec = spec
	if d := s.Spec.DeletePolicy; d != "" && d != string(machinev1.RandomMachineSetDeletePolicy) {
		p.Lost = append(p.Lost, "spec.deletePolicy "+d)
	}
	if h := t.Spec.LifecycleHooks; len(h.PreDrain)+len(h.PreTerminate) > 0 {
		p.Lost = append(p.Lost, "spec.template.spec.lifecycleHooks")
	}
	for _, key := range slices.Sorted(maps.Keys(s.Annotations)) {
		if _, size := scaling[key]; size {
			p.Lost = append(p.Lost, "annotation "+key)
		}
	}
	return p, nil
}

// scaling are the annotations for the cluster-autoscaler.
var scaling = map[string]bool{
	"machine.openshift.io/cluster-api-autoscaler-node-group-min-size": true,
	"machine.openshift.io/cluster-api-autoscaler-node-group-max-size": true,
}

func (openshiftBuilder) class(Pool) client.Object { return nil }

// spec returns the spec of the Machines of a pool.
func (openshiftBuilder) spec(p Pool) machinev1.MachineSpec {
	spec := typed(p.Spec, p.Infrastructure.OpenShift)
	if c, known := converters[p.Infrastructure.Name]; known {
		_ = c.putSecrets(spec, p.UserData, p.Credentials) // the translation has checked whether the spec can name them
	}
	return machinev1.MachineSpec{
		ObjectMeta:   machinev1.ObjectMeta{Labels: p.NodeLabels, Annotations: p.NodeAnnotations},
		Taints:       p.Taints,
		ProviderSpec: machinev1.ProviderSpec{Value: &runtime.RawExtension{Raw: encoded(spec)}},
	}
}

func (openshiftBuilder) labels(p Pool) map[string]string {
	labels := maps.Clone(p.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[clusterLabel] = cmp.Or(labels[clusterLabel], p.Cluster)
	return labels
}

func (h openshiftBuilder) set(p Pool) client.Object {
	return &machinev1.MachineSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name, Labels: map[string]string{clusterLabel: p.Cluster}},
		Spec: machinev1.MachineSetSpec{
			Replicas: &p.Replicas, MinReadySeconds: p.MinReadySeconds, Selector: p.Selector,
			Template: machinev1.MachineTemplateSpec{ObjectMeta: machinev1.ObjectMeta{Labels: h.labels(p), Annotations: p.Annotations}, Spec: h.spec(p)},
		},
	}
}

func (h openshiftBuilder) machine(p Pool, name, providerID string) client.Object {
	m := &machinev1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: name, Labels: h.labels(p)}, Spec: h.spec(p)}
	m.Spec.ProviderID = &providerID
	return m
}

func (openshift) held(o client.Object) bool {
	return millwright.Read(o.GetAnnotations()).On(millwright.ScaleUpDisabled)
}

func (openshift) hold(o client.Object, on bool) {
	value := ""
	if on {
		value = "true"
	}
	dialect.SetAnnotation(o, millwright.ScaleUpDisabled, value)
}

func (openshift) counts(o client.Object) (wanted, ready int32) {
	s := o.(*machinev1.MachineSet)
	if s.Status.ObservedGeneration < s.Generation {
		return ptr.Deref(s.Spec.Replicas, 1), 0
	}
	return ptr.Deref(s.Spec.Replicas, 1), s.Status.ReadyReplicas
}
