package sim

import (
	"fmt"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

func openshiftFleet(w *World) *fleet {
	as := func(d client.Object) *v1beta1.MachineDeployment { return d.(*v1beta1.MachineDeployment) }
	return fleetOf(w, openshift.Deployments{}, openshift.Sets{}, fleetEdits{
		make:    func(name string, n int) client.Object { return openshiftDeployment(w, name, n) },
		restyle: func(d client.Object) { as(d).Spec.Strategy = openshiftStrategy(w) },
		resize:  func(d client.Object, n int) { as(d).Spec.Replicas = ptr.To(int32(n)) },
		roll: func(d client.Object, n int) {
			as(d).Spec.Template.Spec.ProviderSpec = openshiftProviderSpec(fmt.Sprintf(`,"template":%d`, n))
		},
		touch: func(d client.Object) {
			w.annotate(d)
			as(d).Spec.Template.Spec.ObjectMeta.Labels["touched"] = fmt.Sprint(w.roll(3))
			as(d).Spec.Template.Labels["touched"] = fmt.Sprint(w.roll(3))
			as(d).Spec.MinReadySeconds = int32(w.between(0, 10))
		},
		pause:  func(d client.Object, paused bool) { as(d).Spec.Paused = paused },
		goBack: func(d client.Object, to int64) { as(d).Spec.RollbackTo = &v1beta1.RollbackConfig{Revision: to} },
		scaleIn: func(d client.Object, victims []client.Object) {
			for _, m := range victims {
				w.edit(m, "", func(o client.Object) {
					metav1.SetMetaDataAnnotation(&o.(*machinev1.Machine).ObjectMeta, openshift.DeleteMachineAnnotation, w.now.UTC().Format(time.RFC3339))
				})
			}
			w.edit(d, "", func(o client.Object) {
				as(o).Spec.Replicas = ptr.To(max(0, ptr.Deref(as(o).Spec.Replicas, 1)-int32(len(victims))))
			})
		},
		free: func(s client.Object) { delete(s.GetAnnotations(), openshift.ScaleUpDisabledAnnotation) },
		done: openshiftDone,
	})
}

func openshiftDeployment(w *World, name string, n int) client.Object {
	template := machineLabels()
	template[memberLabel] = name
	d := &v1beta1.MachineDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: w.precautions()},
		Spec: v1beta1.MachineDeploymentSpec{
			Replicas: ptr.To(int32(n)), MinReadySeconds: int32(w.between(0, 5)),
			Selector: metav1.LabelSelector{MatchLabels: map[string]string{memberLabel: name}},
			Template: machinev1.MachineTemplateSpec{ObjectMeta: machinev1.ObjectMeta{Labels: template}, Spec: openshiftSpec()},
			Strategy: openshiftStrategy(w),
		},
	}
	if w.chance(60) {
		d.Spec.RevisionHistoryLimit = ptr.To(int32(w.between(0, 2)))
	}
	if w.chance(50) {
		d.Spec.ProgressDeadlineSeconds = ptr.To(int32(w.between(30, 600)))
	}
	return d
}

func openshiftStrategy(w *World) (s v1beta1.MachineDeploymentStrategy) {
	switch w.strategy(rollout.Rolling, rollout.Rolling, rollout.Rolling, rollout.Recreate, rollout.OnDelete) {
	case rollout.Recreate:
		s.Type = v1beta1.RecreateMachineDeploymentStrategyType
	case rollout.OnDelete:
		s.Type = v1beta1.OnDeleteMachineDeploymentStrategyType
	default:
		policies := []string{"", "Random", "Newest", "Oldest"}
		s.RollingUpdate = &v1beta1.MachineRollingUpdateDeployment{MaxSurge: w.bound(), MaxUnavailable: w.bound(), DeletePolicy: policies[w.roll(len(policies))]}
	}
	return s
}

func openshiftDone(o client.Object) (bool, rollout.Status) {
	d := o.(*v1beta1.MachineDeployment)
	st := d.Status
	// With OnDelete the rollout ends when users have deleted the last old machine.
	complete := st.ObservedGeneration == d.Generation && meta.IsStatusConditionTrue(st.Conditions, v1beta1.MachineDeploymentReady) &&
		meta.FindStatusCondition(st.Conditions, v1beta1.MachineDeploymentReconciling) == nil &&
		meta.FindStatusCondition(st.Conditions, v1beta1.MachineDeploymentStalled) == nil
	return complete, rollout.Status{
		Replicas: int(st.Replicas), Updated: int(st.UpdatedReplicas), Ready: int(st.ReadyReplicas),
		Available: int(st.AvailableReplicas), Unavailable: int(st.UnavailableReplicas),
	}
}

func openshiftProviderSpec(more string) machinev1.ProviderSpec {
	return machinev1.ProviderSpec{Value: &runtime.RawExtension{
		Raw: []byte(`{"userDataSecret":{"name":"` + bootName + `"},"credentialsSecret":{"name":"` + secretName + `"}` + more + `}`),
	}}
}
