package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect/gardener"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

func gardenerFleet(w *World) *fleet {
	as := func(d client.Object) *v1alpha1.MachineDeployment { return d.(*v1alpha1.MachineDeployment) }
	lens := gardener.Deployments{StayDuringRollout: w.profile.ccm}
	return fleetOf(w, lens, gardener.Sets{}, fleetEdits{
		make:    func(name string, n int) client.Object { return gardenerDeployment(w, name, n) },
		restyle: func(d client.Object) { as(d).Spec.Strategy = gardenerStrategy(w) },
		resize:  func(d client.Object, n int) { as(d).Spec.Replicas = int32(n) },
		roll:    func(d client.Object, n int) { as(d).Spec.Template.Spec.Class.Name = gardenerClassName(n) },
		touch: func(d client.Object) {
			w.annotate(d)
			metav1.SetMetaDataLabel(&as(d).ObjectMeta, "touched", fmt.Sprint(w.roll(3)))
			as(d).Spec.Template.Spec.NodeTemplateSpec.Labels["touched"] = fmt.Sprint(w.roll(3))
			if w.profile.drains > 0 {
				w.roll(3)
				return
			}
			as(d).Spec.Template.Spec.MachineConfiguration = &v1alpha1.MachineConfiguration{MaxEvictRetries: ptr.To(int32(w.roll(3)))}
		},
		pause:   func(d client.Object, paused bool) { as(d).Spec.Paused = paused },
		goBack:  func(d client.Object, to int64) { as(d).Spec.RollbackTo = &v1alpha1.RollbackConfig{Revision: to} },
		scaleIn: func(d client.Object, victims []client.Object) { gardenerScaleIn(w, d, victims) },
		thaw: func(o client.Object) {
			annotations := o.GetAnnotations()
			if annotations == nil {
				annotations = map[string]string{}
			}
			annotations[v1alpha1.AnnotationKeyUnfreeze] = "true"
			o.SetAnnotations(annotations)
		},
		free: func(s client.Object) { delete(s.GetLabels(), v1alpha1.LabelKeyScaleUpDisabled) },
		done: gardenerDone,
		awaits: func(n *corev1.Node) bool {
			return n.Labels[v1alpha1.LabelKeyNodeUpdateResult] == "" && slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
				return c.Type == v1alpha1.NodeInPlaceUpdate && c.Reason == v1alpha1.ReasonReadyForUpdate
			})
		},
		answer: func(n *corev1.Node, ok bool) {
			result := v1alpha1.LabelValueNodeUpdateFailed
			if ok {
				result = v1alpha1.LabelValueNodeUpdateSuccessful
			}
			metav1.SetMetaDataLabel(&n.ObjectMeta, v1alpha1.LabelKeyNodeUpdateResult, result)
		},
		choose: func(n *corev1.Node) {
			metav1.SetMetaDataLabel(&n.ObjectMeta, v1alpha1.LabelKeyNodeSelectedForUpdate, "true")
		},
	})
}

func gardenerClassName(template int) string {
	if template == 0 {
		return className
	}
	return fmt.Sprint(className, template)
}

func gardenerDeployment(w *World, name string, n int) client.Object {
	template := map[string]string{memberLabel: name}
	if w.profile.groups {
		template[groupLabel] = name
	}
	d := &v1alpha1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: w.precautions()}}
	d.Spec = v1alpha1.MachineDeploymentSpec{
		Replicas: int32(n), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{memberLabel: name}},
		Strategy: gardenerStrategy(w),
	}
	d.Spec.Template.Labels, d.Spec.Template.Spec = template, gardenerSpec(w)
	if w.profile.hazard == keptFailures {
		d.Spec.AutoPreserveFailedMachineMax = 3
	}
	if w.chance(60) {
		d.Spec.RevisionHistoryLimit = ptr.To(int32(w.between(0, 2)))
	}
	if w.chance(50) {
		d.Spec.ProgressDeadlineSeconds = ptr.To(int32(w.between(30, 600)))
	}
	return d
}

func gardenerStrategy(w *World) (s v1alpha1.MachineDeploymentStrategy) {
	bounds := v1alpha1.UpdateConfiguration{MaxSurge: w.bound(), MaxUnavailable: w.bound()}
	switch w.strategy(rollout.Rolling, rollout.Rolling, rollout.InPlace, rollout.InPlace, rollout.Recreate) {
	case rollout.Recreate:
		s.Type = v1alpha1.RecreateMachineDeploymentStrategyType
	case rollout.InPlace:
		s.Type = v1alpha1.InPlaceUpdateMachineDeploymentStrategyType
		s.InPlaceUpdate = &v1alpha1.InPlaceUpdateMachineDeployment{UpdateConfiguration: bounds, OrchestrationType: v1alpha1.OrchestrationTypeAuto}
		if w.chance(25) {
			s.InPlaceUpdate.OrchestrationType = v1alpha1.OrchestrationTypeManual
		}
	default:
		s.Type = v1alpha1.RollingUpdateMachineDeploymentStrategyType
		s.RollingUpdate = &v1alpha1.RollingUpdateMachineDeployment{UpdateConfiguration: bounds}
	}
	return s
}

// gardenerScaleIn is one update of the deployment: fewer replicas, the machines to
// delete, and the time of that decision.
func gardenerScaleIn(w *World, d client.Object, victims []client.Object) {
	now := w.now.UTC().Format(time.RFC3339)
	w.edit(d, "", func(o client.Object) {
		d := o.(*v1alpha1.MachineDeployment)
		d.Spec.Replicas = max(0, d.Spec.Replicas-int32(len(victims)))
		wishes := strings.FieldsFunc(d.Annotations[v1alpha1.AnnotationKeyTriggerDeletion], func(r rune) bool { return r == ',' })
		for _, m := range victims {
			wishes = append(wishes, m.GetName()+"~"+now)
			if w.adapter.view(m).Stage != lifecycle.StageFailed { // otherwise the wish is dropped
				w.owners.chosen[m.GetUID()] = true
			}
		}
		slices.Sort(wishes)
		metav1.SetMetaDataAnnotation(&d.ObjectMeta, v1alpha1.AnnotationKeyTriggerDeletion, strings.Join(wishes, ","))
		metav1.SetMetaDataAnnotation(&d.ObjectMeta, v1alpha1.AnnotationKeyScalerReplicaChange, now)
	})
}

func gardenerDone(o client.Object) (bool, rollout.Status) {
	d := o.(*v1alpha1.MachineDeployment)
	st := d.Status
	complete := st.ObservedGeneration == d.Generation && slices.ContainsFunc(st.Conditions, func(c v1alpha1.MachineDeploymentCondition) bool {
		return c.Type == v1alpha1.MachineDeploymentProgressing && c.Status == v1alpha1.ConditionTrue && c.Reason == v1alpha1.ReasonNewMachineSetAvailable
	})
	frozen := d.Labels[v1alpha1.LabelKeyFreeze] != "" || slices.ContainsFunc(st.Conditions, func(c v1alpha1.MachineDeploymentCondition) bool {
		return c.Type == v1alpha1.MachineDeploymentFrozen
	})
	return complete && !frozen, rollout.Status{
		Replicas: int(st.Replicas), Updated: int(st.UpdatedReplicas), Ready: int(st.ReadyReplicas),
		Available: int(st.AvailableReplicas), Unavailable: int(st.UnavailableReplicas),
	}
}
