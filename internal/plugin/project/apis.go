package project

import (
	"slices"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/gardener"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/internal/engine/forecast"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

func openshiftAPI() api[*v1beta1.MachineDeployment, *machinev1.MachineSet] {
	return api[*v1beta1.MachineDeployment, *machinev1.MachineSet]{
		deployments: openshift.Deployments{}, lens: openshift.Sets{},
		view: func(o client.Object) (lifecycle.Machine, lifecycle.Policy) {
			m := o.(*machinev1.Machine)
			return openshift.Machines{}.View(m), openshift.Machines{}.Policy(m)
		},
		run: func(o client.Object, node string, _ time.Time) {
			m := o.(*machinev1.Machine)
			m.Status.Phase, m.Status.NodeRef = ptr.To(machinev1.PhaseRunning), &corev1.ObjectReference{Kind: "Node", Name: node}
		},
		leave: func(o client.Object) { o.(*machinev1.Machine).Status.Phase = ptr.To(machinev1.PhaseDeleting) },
	}
}

func gardenerAPI() api[*v1alpha1.MachineDeployment, *v1alpha1.MachineSet] {
	lens := gardener.Machines{Defaults: gardener.StandardDefaults()}
	return api[*v1alpha1.MachineDeployment, *v1alpha1.MachineSet]{
		deployments: gardener.Deployments{}, lens: gardener.Sets{},
		view: func(o client.Object) (lifecycle.Machine, lifecycle.Policy) {
			m := o.(*v1alpha1.Machine)
			return lens.View(m), lens.Policy(m)
		},
		run: func(o client.Object, node string, now time.Time) {
			m := o.(*v1alpha1.Machine)
			metav1.SetMetaDataLabel(&m.ObjectMeta, v1alpha1.LabelKeyNode, node)
			m.Status.CurrentStatus = v1alpha1.CurrentStatus{Phase: v1alpha1.MachineRunning, LastUpdateTime: metav1.NewTime(now)}
		},
		updated: gardener.Updated,
		leave:   func(o client.Object) { o.(*v1alpha1.Machine).Status.CurrentStatus.Phase = v1alpha1.MachineTerminating },
	}
}

// model is the group of a root; nil for an object without one.
func (w *world) model(root client.Object) forecast.Model {
	switch root.(type) {
	case *machinev1.Machine, *machinev1.MachineSet, *v1beta1.MachineDeployment:
		return newGroup(openshiftAPI(), w, root)
	case *v1alpha1.Machine, *v1alpha1.MachineSet, *v1alpha1.MachineDeployment:
		return newGroup(gardenerAPI(), w, root)
	}
	return nil
}

// adopters are the sets or deployments that may adopt o.
func (w *world) adopters(o client.Object) []client.Object {
	switch o.(type) {
	case *machinev1.Machine, *machinev1.MachineSet:
		return adopters(openshiftAPI(), w, o)
	case *v1alpha1.Machine, *v1alpha1.MachineSet:
		return adopters(gardenerAPI(), w, o)
	}
	return nil
}

func adopters[D, S client.Object](a api[D, S], w *world, o client.Object) (out []client.Object) {
	if metav1.GetControllerOfNoCopy(o) != nil {
		return nil
	}
	g := &group[D, S]{api: a}
	s, isSet := o.(S)
	for _, x := range w.Objects {
		if x.GetNamespace() != o.GetNamespace() || x.GetDeletionTimestamp() != nil {
			continue
		}
		if set, ok := x.(S); ok && !isSet && dialect.Claims(a.lens.View(set).Selector, set, o) {
			out = append(out, x)
		}
		if d, ok := x.(D); ok && isSet && g.child(d, s) {
			out = append(out, x)
		}
	}
	slices.SortFunc(out, byAge)
	return out
}
