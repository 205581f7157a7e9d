package sim

import (
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	collector "github.com/millwright-dev/millwright/internal/controller/orphan"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/gardener"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/runtime/node"
	"github.com/millwright-dev/millwright/internal/verify/sim/judge"
	"github.com/millwright-dev/millwright/internal/verify/sim/store"
	"github.com/millwright-dev/millwright/provider"
)

const className = "class"

func gardenerAdapter(w *World) *adapter {
	w.profile.cloud.Unforetold = false // its drivers must report the name
	kind := func(name string, o client.Object) *store.Kind {
		return store.NewKind(v1alpha1.GroupVersion.WithKind(name), o)
	}
	machines, sets := kind("Machine", &v1alpha1.Machine{}), kind("MachineSet", &v1alpha1.MachineSet{})
	deployments := kind(v1alpha1.KindMachineDeployment, &v1alpha1.MachineDeployment{})
	checks, foreign := checkKind(), store.NewKind(machinev1.GroupVersion.WithKind("Machine"), &machinev1.Machine{})
	classes := kind("MachineClass", &v1alpha1.MachineClass{})
	classes.Counted = true
	for _, k := range []*store.Kind{machines, sets, deployments, checks, foreign} {
		k.Subresource, k.Counted = true, true
	}
	lens, setLens := gardener.Machines{Defaults: gardener.StandardDefaults()}, gardener.Sets{}
	from := func(r client.Reader) dialect.Resolver[*v1alpha1.Machine] {
		return gardener.Resolver{Reader: r, Defaults: lens.Defaults, Cluster: clusterName}
	}
	f := &adapter{
		api: provider.Gardener, knows: v1alpha1.AddToScheme, kinds: []*store.Kind{machines, sets, deployments, classes, checks, foreign}, indexes: node.Indexes(),
		machine: &v1alpha1.Machine{}, set: &v1alpha1.MachineSet{},
		finalizer: v1alpha1.FinalizerMachine, heals: true,
		waits:    judge.Waits{JoinTimeout: 20 * time.Minute, HealthTimeout: 10 * time.Minute, DrainTimeout: 2 * time.Hour, DetachTimeout: 2 * time.Minute},
		fixtures: func() []client.Object { return append(secrets(w), gardenerClasses()...) },
		newMachine: func(name string) client.Object {
			return &v1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: gardenerSpec(w)}
		},
		newSet:   func(name string, n int) client.Object { return gardenerSet(w, name, n) },
		view:     func(m client.Object) lifecycle.Machine { return lens.View(m.(*v1alpha1.Machine)) },
		size:     func(s client.Object) int { return int(s.(*v1alpha1.MachineSet).Spec.Replicas) },
		resize:   func(s client.Object, n int) { s.(*v1alpha1.MachineSet).Spec.Replicas = int32(n) },
		selector: func(s client.Object) labels.Selector { return setLens.View(s.(*v1alpha1.MachineSet)).Selector },
		hurry: func(m client.Object) {
			metav1.SetMetaDataLabel(&m.(*v1alpha1.Machine).ObjectMeta, v1alpha1.LabelKeyForceDeletion, "true")
		},
		fleet:      gardenerFleet(w),
		templateOf: func(m client.Object) int { return templateNumber(m.(*v1alpha1.Machine).Spec.Class.Name, className) },
		runMachines: func(p *process) {
			runMachines(p, lens, from(p.client))
			p.followClasses()
		},
		runSets:    func(p *process) { runSets(p, setLens) },
		patients:   gardener.Patients{},
		runHelpers: runClasses,
		anchors:    func() []client.Object { return w.store.All(&v1alpha1.MachineClass{}) },
	}
	f.seen = func(p *process, cached bool) collector.Kind {
		return sightOf(p, cached, collector.Machines[*v1alpha1.Machine]{
			Lens: lens, GVK: v1alpha1.GroupVersion.WithKind("Machine"), Untagged: true,
		}, from)
	}
	f.runNodes = runNodes
	return f
}

func gardenerSpec(w *World) v1alpha1.MachineSpec {
	spec := v1alpha1.MachineSpec{Class: v1alpha1.ClassSpec{Kind: "MachineClass", Name: className}}
	spec.NodeTemplateSpec.Labels = map[string]string{"pool": "a"}
	spec.NodeTemplateSpec.Spec.Taints = []corev1.Taint{{Key: "pool", Value: "a", Effect: corev1.TaintEffectPreferNoSchedule}}
	if w.profile.drains > 0 {
		spec.MachineConfiguration = &v1alpha1.MachineConfiguration{MachineDrainTimeout: &metav1.Duration{Duration: w.profile.drains}, MaxEvictRetries: w.profile.retries()}
	}
	if w.profile.hazard == keptFailures {
		spec.MachineConfiguration = &v1alpha1.MachineConfiguration{
			MachineCreationTimeout: &metav1.Duration{Duration: time.Minute}, MachinePreserveTimeout: &metav1.Duration{Duration: 2 * time.Hour},
		}
	}
	return spec
}

func gardenerClasses() (out []client.Object) {
	for i := range templates {
		out = append(out, &v1alpha1.MachineClass{
			ObjectMeta:           metav1.ObjectMeta{Namespace: namespace, Name: gardenerClassName(i)},
			ProviderSpec:         runtime.RawExtension{Raw: []byte(`{}`)},
			SecretRef:            &corev1.SecretReference{Namespace: namespace, Name: bootName},
			CredentialsSecretRef: &corev1.SecretReference{Namespace: namespace, Name: secretName},
		})
	}
	return out
}

func gardenerSet(w *World, name string, n int) client.Object {
	template := map[string]string{memberLabel: name}
	if w.profile.groups {
		template[groupLabel] = name
	}
	s := &v1alpha1.MachineSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	s.Spec.Replicas = int32(n)
	s.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{memberLabel: name}}
	s.Spec.Template.Labels = template
	s.Spec.Template.Spec = gardenerSpec(w)
	return s
}
