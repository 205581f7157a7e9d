package machinedeployment_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/gardener"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
)

// both runs a story in each API.
func both(t *testing.T, openshift func(*testing.T, api[*v1beta1.MachineDeployment, *machinev1.MachineSet]), gardener func(*testing.T, api[*v1alpha1.MachineDeployment, *v1alpha1.MachineSet])) {
	t.Run("machine.openshift.io", func(t *testing.T) { openshift(t, openshiftAPI) })
	t.Run("machine.sapcloud.io", func(t *testing.T) { gardener(t, gardenerAPI) })
}

type (
	openshiftDeployment = v1beta1.MachineDeployment
	openshiftSet        = machinev1.MachineSet
	gardenerDeployment  = v1alpha1.MachineDeployment
	gardenerSet         = v1alpha1.MachineSet
)

// api is one of the two API groups, as far as the tests have to tell them
// apart.
type api[D, S client.Object] struct {
	lens     dialect.Deployments[D, S]
	members  dialect.Sets[S]
	patients dialect.Patients
	// deployments is an empty list.
	deployments func() client.ObjectList
	// deployment is one that rolls with a surge of 1 and none unavailable.
	deployment func(name string, replicas int) D
	size       func(d D, replicas int)
	surge      func(d D, n int)
	recreate   func(d D)
	observed   func(d D) int64
	setSize    func(s S) int
	// template asks for other machines.
	template func(d D, version string)
	version  func(s S) string
	selector func(d D, s *metav1.LabelSelector)
	pause    func(d D, paused bool)
	rollBack func(d D, revision int64)
	history  func(d D, limit int32)
	// collisions counts the names that were taken.
	collisions func(d D) int
	// run is a machine as it looks when it runs on a node.
	run func(m client.Object, node string)
	// link makes a machine run on a node.
	link func(ctx context.Context, c client.Client, m client.Object, node string) error
}

var pool = map[string]string{"pool": "a"}

var gardenerAPI = api[*v1alpha1.MachineDeployment, *v1alpha1.MachineSet]{
	lens:        gardener.Deployments{StayDuringRollout: true},
	members:     gardener.Sets{},
	patients:    gardener.Patients{},
	deployments: func() client.ObjectList { return &v1alpha1.MachineDeploymentList{} },
	deployment: func(name string, n int) *v1alpha1.MachineDeployment {
		return &v1alpha1.MachineDeployment{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: v1alpha1.MachineDeploymentSpec{
				Replicas: int32(n),
				Selector: &metav1.LabelSelector{MatchLabels: pool},
				Strategy: v1alpha1.MachineDeploymentStrategy{
					Type: v1alpha1.RollingUpdateMachineDeploymentStrategyType,
					RollingUpdate: &v1alpha1.RollingUpdateMachineDeployment{UpdateConfiguration: v1alpha1.UpdateConfiguration{
						MaxSurge: ptr.To(intstr.FromInt32(1)), MaxUnavailable: ptr.To(intstr.FromInt32(0)),
					}},
				},
				Template: v1alpha1.MachineTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: pool},
					Spec:       v1alpha1.MachineSpec{Class: v1alpha1.ClassSpec{Kind: v1alpha1.KindMachineClass, Name: "v1"}},
				},
			},
		}
	},
	size: func(d *v1alpha1.MachineDeployment, n int) { d.Spec.Replicas = int32(n) },
	surge: func(d *v1alpha1.MachineDeployment, n int) {
		d.Spec.Strategy.RollingUpdate.MaxSurge = ptr.To(intstr.FromInt(n))
	},
	recreate: func(d *v1alpha1.MachineDeployment) {
		d.Spec.Strategy = v1alpha1.MachineDeploymentStrategy{Type: v1alpha1.RecreateMachineDeploymentStrategyType}
	},
	observed: func(d *v1alpha1.MachineDeployment) int64 { return d.Status.ObservedGeneration },
	setSize:  func(s *v1alpha1.MachineSet) int { return int(s.Spec.Replicas) },
	template: func(d *v1alpha1.MachineDeployment, v string) { d.Spec.Template.Spec.Class.Name = v },
	version:  func(s *v1alpha1.MachineSet) string { return s.Spec.Template.Spec.Class.Name },
	selector: func(d *v1alpha1.MachineDeployment, s *metav1.LabelSelector) { d.Spec.Selector = s },
	pause:    func(d *v1alpha1.MachineDeployment, paused bool) { d.Spec.Paused = paused },
	rollBack: func(d *v1alpha1.MachineDeployment, revision int64) {
		d.Spec.RollbackTo = &v1alpha1.RollbackConfig{Revision: revision}
	},
	history:    func(d *v1alpha1.MachineDeployment, limit int32) { d.Spec.RevisionHistoryLimit = &limit },
	collisions: func(d *v1alpha1.MachineDeployment) int { return int(ptr.Deref(d.Status.CollisionCount, 0)) },
	run: func(o client.Object, node string) {
		m := o.(*v1alpha1.Machine)
		m.Labels[v1alpha1.LabelKeyNode] = node
		m.Status.CurrentStatus.Phase = v1alpha1.MachineRunning
	},
	link: func(ctx context.Context, c client.Client, o client.Object, node string) error {
		m := o.(*v1alpha1.Machine)
		before := m.DeepCopy()
		m.Labels[v1alpha1.LabelKeyNode] = node
		if err := c.Patch(ctx, m, client.MergeFrom(before)); err != nil {
			return err
		}
		before = m.DeepCopy()
		m.Status.CurrentStatus.Phase = v1alpha1.MachineRunning
		return c.Status().Patch(ctx, m, client.MergeFrom(before))
	},
}

var openshiftAPI = api[*v1beta1.MachineDeployment, *machinev1.MachineSet]{
	lens:        openshift.Deployments{},
	members:     openshift.Sets{},
	patients:    openshift.Patients{},
	deployments: func() client.ObjectList { return &v1beta1.MachineDeploymentList{} },
	deployment: func(name string, n int) *v1beta1.MachineDeployment {
		d := &v1beta1.MachineDeployment{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: v1beta1.MachineDeploymentSpec{
				Replicas: ptr.To(int32(n)),
				Selector: metav1.LabelSelector{MatchLabels: pool},
				Template: machinev1.MachineTemplateSpec{ObjectMeta: machinev1.ObjectMeta{Labels: pool}},
			},
		}
		providerSpec(d, "v1")
		return d
	},
	size: func(d *v1beta1.MachineDeployment, n int) { d.Spec.Replicas = ptr.To(int32(n)) },
	surge: func(d *v1beta1.MachineDeployment, n int) {
		d.Spec.Strategy.RollingUpdate = &v1beta1.MachineRollingUpdateDeployment{MaxSurge: ptr.To(intstr.FromInt(n))}
	},
	recreate: func(d *v1beta1.MachineDeployment) {
		d.Spec.Strategy = v1beta1.MachineDeploymentStrategy{Type: v1beta1.RecreateMachineDeploymentStrategyType}
	},
	observed: func(d *v1beta1.MachineDeployment) int64 { return d.Status.ObservedGeneration },
	setSize:  func(s *machinev1.MachineSet) int { return int(ptr.Deref(s.Spec.Replicas, 1)) },
	template: providerSpec,
	version: func(s *machinev1.MachineSet) string {
		return strings.Split(string(s.Spec.Template.Spec.ProviderSpec.Value.Raw), `"`)[3]
	},
	selector: func(d *v1beta1.MachineDeployment, s *metav1.LabelSelector) {
		d.Spec.Selector = ptr.Deref(s, metav1.LabelSelector{})
	},
	pause: func(d *v1beta1.MachineDeployment, paused bool) { d.Spec.Paused = paused },
	rollBack: func(d *v1beta1.MachineDeployment, revision int64) {
		d.Spec.RollbackTo = &v1beta1.RollbackConfig{Revision: revision}
	},
	history:    func(d *v1beta1.MachineDeployment, limit int32) { d.Spec.RevisionHistoryLimit = &limit },
	collisions: func(d *v1beta1.MachineDeployment) int { return int(ptr.Deref(d.Status.CollisionCount, 0)) },
	run: func(o client.Object, node string) {
		o.(*machinev1.Machine).Status.NodeRef = &corev1.ObjectReference{Kind: "Node", Name: node}
	},
	link: func(ctx context.Context, c client.Client, o client.Object, node string) error {
		m := o.(*machinev1.Machine)
		before := m.DeepCopy()
		m.Status.NodeRef = &corev1.ObjectReference{Kind: "Node", Name: node}
		return c.Status().Patch(ctx, m, client.MergeFrom(before))
	},
}

func providerSpec(d *v1beta1.MachineDeployment, version string) {
	d.Spec.Template.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: fmt.Appendf(nil, `{"version":%q}`, version)}
}
