package sim

import (
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	collector "github.com/millwright-dev/millwright/internal/controller/orphan"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/runtime/node"
	"github.com/millwright-dev/millwright/internal/verify/sim/cloud"
	"github.com/millwright-dev/millwright/internal/verify/sim/store"
	"github.com/millwright-dev/millwright/provider"
)

// tokenLifetime is how long bootstrap tokens are valid.
const tokenLifetime = time.Hour

func openshiftAdapter(w *World) *adapter {
	machines := store.NewKind(machinev1.GroupVersion.WithKind("Machine"), &machinev1.Machine{})
	sets := store.NewKind(machinev1.GroupVersion.WithKind("MachineSet"), &machinev1.MachineSet{})
	deployments := store.NewKind(v1beta1.GroupVersion.WithKind(v1beta1.KindMachineDeployment), &v1beta1.MachineDeployment{})
	checks := checkKind()
	for _, k := range []*store.Kind{machines, sets, deployments, checks} {
		k.Subresource, k.Counted = true, true
	}
	lens, setLens := openshift.Machines{HookPatience: w.profile.hooks}, openshift.Sets{}
	classes := openshift.Resolver{TokenLifetime: tokenLifetime, DefaultCluster: clusterName}
	if w.profile.scopes && w.profile.unnamed {
		classes.DefaultCluster = ""
	}
	from := func(r client.Reader) dialect.Resolver[*machinev1.Machine] {
		of := classes
		of.Reader = r
		return of
	}
	f := &adapter{
		api: provider.OpenShift, knows: v1beta1.AddToScheme, kinds: []*store.Kind{machines, sets, deployments, checks}, indexes: node.Indexes(),
		machine: &machinev1.Machine{}, set: &machinev1.MachineSet{},
		finalizer: machinev1.MachineFinalizer,
		fixtures:  func() []client.Object { return secrets(w) },
		newMachine: func(name string) client.Object {
			return &machinev1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: machineLabels()}, Spec: openshiftSpec()}
		},
		newSet:   openshiftSet,
		view:     func(m client.Object) lifecycle.Machine { return lens.View(m.(*machinev1.Machine)) },
		size:     func(s client.Object) int { return int(*s.(*machinev1.MachineSet).Spec.Replicas) },
		resize:   func(s client.Object, n int) { s.(*machinev1.MachineSet).Spec.Replicas = ptr.To(int32(n)) },
		selector: func(s client.Object) labels.Selector { return setLens.View(s.(*machinev1.MachineSet)).Selector },
		hook:     openshiftHook,
		unhook: func(m client.Object) {
			m.(*machinev1.Machine).Spec.LifecycleHooks = machinev1.LifecycleHooks{}
		},
		hurry: func(m client.Object) {
			metav1.SetMetaDataAnnotation(&m.(*machinev1.Machine).ObjectMeta, openshift.ExcludeDrainAnnotation, "")
		},
		fleet: openshiftFleet(w),
		templateOf: func(m client.Object) int {
			return templateNumber(string(m.(*machinev1.Machine).Spec.ProviderSpec.Value.Raw), `"template":`)
		},
		runMachines: func(p *process) { runMachines(p, lens, from(p.client)) },
		runSets:     func(p *process) { runSets(p, setLens) },
		patients:    openshift.Patients{},
		runHelpers:  func(p *process) { runCapacity(p, classes) },
		anchors:     func() []client.Object { return w.store.All(&machinev1.MachineSet{}) },
		seen: func(p *process, cached bool) collector.Kind {
			return sightOf(p, cached, collector.Machines[*machinev1.Machine]{
				Lens: lens, GVK: machinev1.GroupVersion.WithKind("Machine"),
			}, from)
		},
	}
	return f
}

func machineLabels() map[string]string {
	return map[string]string{openshift.ClusterLabel: clusterName, openshift.RoleLabel: "worker"}
}

func openshiftSpec() machinev1.MachineSpec {
	return machinev1.MachineSpec{
		ProviderSpec: openshiftProviderSpec(""),
		ObjectMeta:   machinev1.ObjectMeta{Labels: map[string]string{"pool": "a"}},
		Taints:       []corev1.Taint{{Key: "pool", Value: "a", Effect: corev1.TaintEffectPreferNoSchedule}},
	}
}

func openshiftSet(name string, n int) client.Object {
	template := machineLabels()
	template[memberLabel] = name
	return &machinev1.MachineSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: machinev1.MachineSetSpec{
			Replicas: ptr.To(int32(n)), MinReadySeconds: 5,
			Selector: metav1.LabelSelector{MatchLabels: map[string]string{memberLabel: name}},
			Template: machinev1.MachineTemplateSpec{ObjectMeta: machinev1.ObjectMeta{Labels: template}, Spec: openshiftSpec()},
		},
	}
}

func openshiftHook(o client.Object, drain bool) {
	m := o.(*machinev1.Machine)
	hooks := []machinev1.LifecycleHook{{Name: "Backup", Owner: "user"}}
	if drain {
		m.Spec.LifecycleHooks.PreDrain = hooks
	} else {
		m.Spec.LifecycleHooks.PreTerminate = hooks
	}
}

// secrets are the credentials and the user data of instances.
func secrets(w *World) []client.Object {
	userData := "boot"
	if w.profile.tokens {
		userData = "token=<<BOOTSTRAP_TOKEN>>"
	}
	return []client.Object{
		credentials(),
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: bootName}, Data: map[string][]byte{"userData": []byte(userData)}},
	}
}

func credentials() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: secretName}, Data: map[string][]byte{cloud.CredentialKey: []byte("secret")}}
}
