package gardener

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// Lens implements [dialect.DeployedSets].
func (deployedSets) Lens() dialect.Sets[*v1alpha1.MachineSet] { return Sets{} }

// View returns the facts of a set of d.
func (deployedSets) View(d *v1alpha1.MachineDeployment, s *v1alpha1.MachineSet) rollout.Set {
	_, held := s.Labels[v1alpha1.LabelKeyScaleUpDisabled]
	v := rollout.Set{
		UID: s.UID, Name: s.Name, Created: s.CreationTimestamp.Time,
		Deleting: s.DeletionTimestamp != nil,
		Current:  sameTemplate(&d.Spec.Template, &s.Spec.Template),
		Replicas: int(s.Spec.Replicas),
		Observed: s.Status.ObservedGeneration >= s.Generation,
		Revision: revision(s),
		Desired:  number(s.Annotations[v1alpha1.AnnotationKeyDesiredReplicas]),
		Max:      number(s.Annotations[v1alpha1.AnnotationKeyMaxReplicas]),
		Avoided:  s.Annotations[v1alpha1.AnnotationKeyPreferNoSchedule] == preferNoScheduleValue,
		NoGrowth: held,
		Notes:    dialect.ReadNotes(s.Annotations),
	}
	if c := setCondition(s, v1alpha1.MachineSetReplicaFailure); c != nil && c.Status == v1alpha1.ConditionTrue {
		v.Failure = &rollout.Failure{Reason: c.Reason, Message: c.Message, Withheld: c.Reason == dialect.HeldReason}
	}
	return v
}

// revision returns the recorded revision; 0 if none exists, or no number.
func revision(o client.Object) int64 {
	n, err := strconv.ParseInt(o.GetAnnotations()[v1alpha1.AnnotationKeyRevision], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func number(s string) *int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return nil
	}
	return &n
}

func setCondition(s *v1alpha1.MachineSet, t v1alpha1.MachineSetConditionType) *v1alpha1.MachineSetCondition {
	i := slices.IndexFunc(s.Status.Conditions, func(c v1alpha1.MachineSetCondition) bool { return c.Type == t })
	if i < 0 {
		return nil
	}
	return &s.Status.Conditions[i]
}

// New returns the set of the current template. The hash is on its labels, in its selector and on its
// machines.
func (l deployedSets) New(d *v1alpha1.MachineDeployment, w rollout.SetWant) *v1alpha1.MachineSet {
	hash := templateHash(d)
	s := &v1alpha1.MachineSet{
		ObjectMeta: metav1.ObjectMeta{
			Name: setName(d, hash), Namespace: d.Namespace,
			Labels:          labelled(d.Spec.Template.Labels, v1alpha1.LabelKeyMachineTemplateHash, hash),
			Finalizers:      []string{v1alpha1.FinalizerMachine},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, Deployments{}.Traits().Kind)},
		},
		Spec: v1alpha1.MachineSetSpec{
			Selector: ptr.To(*d.Spec.Selector.DeepCopy()),
			Template: *d.Spec.Template.DeepCopy(),
		},
	}
	s.Spec.Selector.MatchLabels = labelled(s.Spec.Selector.MatchLabels, v1alpha1.LabelKeyMachineTemplateHash, hash)
	s.Spec.Template.Labels = labelled(s.Spec.Template.Labels, v1alpha1.LabelKeyMachineTemplateHash, hash)
	w.Current = true
	l.Apply(d, s, w)
	return s
}

// labelled returns a copy of m with one more entry.
func labelled(m map[string]string, key, value string) map[string]string {
	out := make(map[string]string, len(m)+1)
	maps.Copy(out, m)
	out[key] = value
	return out
}

// Apply edits s to the state w.
//
// An adopted set whose selector lacks the hash keeps it so. The original labels its machines one by one
// before it narrows the selector, which occupies a worker for minutes. That is not necessary: a machine
// belongs to the set that controls it, even if another set's selector matches it, and only a machine without
// a controller could be adopted by either.
func (deployedSets) Apply(d *v1alpha1.MachineDeployment, s *v1alpha1.MachineSet, w rollout.SetWant) {
	s.Spec.Replicas = int32(w.Replicas)
	if w.Current {
		followDeployment(d, s)
	}
	if w.Desired != nil {
		dialect.SetAnnotation(s, v1alpha1.AnnotationKeyDesiredReplicas, strconv.Itoa(*w.Desired))
	}
	if w.Max != nil {
		dialect.SetAnnotation(s, v1alpha1.AnnotationKeyMaxReplicas, strconv.Itoa(*w.Max))
	}
	if w.Revision != 0 {
		recordRevision(s, w.Revision)
	}
	avoided := ""
	if w.Avoided {
		avoided = preferNoScheduleValue
	}
	dialect.SetAnnotation(s, v1alpha1.AnnotationKeyPreferNoSchedule, avoided)
	hold(s, w.NoGrowth)
	dialect.WriteNotes(s, w.Notes)
	dialect.HandDeletionGuard(d, s)
	passOn(d, s)
}

// followDeployment copies fields that replace no machine. Annotations that were removed from d stay on s, as
// in the original: annotations of other authors on s cannot be distinguished from those of d.
func followDeployment(d *v1alpha1.MachineDeployment, s *v1alpha1.MachineSet) {
	for key, value := range d.Annotations {
		if !staysHome(key) {
			setAnnotation(s, key, value)
		}
	}
	s.Spec.MinReadySeconds = d.Spec.MinReadySeconds
	s.Spec.AutoPreserveFailedMachineMax = d.Spec.AutoPreserveFailedMachineMax
	follow(&s.Spec.Template, &d.Spec.Template)
}

// staysHome reports whether an annotation concerns only the object that it is on, and is copied neither from
// a deployment to its set nor back. Millwright's own annotations are set on deployments.
func staysHome(key string) bool {
	switch key {
	case corev1.LastAppliedConfigAnnotation,
		v1alpha1.AnnotationKeyRevision, v1alpha1.AnnotationKeyRevisionHistory,
		v1alpha1.AnnotationKeyDesiredReplicas, v1alpha1.AnnotationKeyMaxReplicas,
		v1alpha1.AnnotationKeyPreferNoSchedule, v1alpha1.AnnotationKeyUnfreeze, v1alpha1.AnnotationKeyTriggerDeletion:
		return true
	}
	return strings.HasPrefix(key, dialect.OwnPrefix)
}

// setAnnotation is [dialect.SetAnnotation] for values that may be empty.
func setAnnotation(o client.Object, key, value string) {
	a := o.GetAnnotations()
	if a == nil {
		a = map[string]string{}
	}
	a[key] = value
	o.SetAnnotations(a)
}

// recordRevision keeps the previous revision in the history.
func recordRevision(s *v1alpha1.MachineSet, n int64) {
	was, is := s.Annotations[v1alpha1.AnnotationKeyRevision], strconv.FormatInt(n, 10)
	if was == is {
		return
	}
	if was != "" {
		history := was
		if earlier := s.Annotations[v1alpha1.AnnotationKeyRevisionHistory]; earlier != "" {
			history = earlier + "," + was
		}
		setAnnotation(s, v1alpha1.AnnotationKeyRevisionHistory, history)
	}
	setAnnotation(s, v1alpha1.AnnotationKeyRevision, is)
}

func hold(s *v1alpha1.MachineSet, held bool) {
	_, was := s.Labels[v1alpha1.LabelKeyScaleUpDisabled]
	switch {
	case was && !held:
		delete(s.Labels, v1alpha1.LabelKeyScaleUpDisabled)
	case held && !was:
		s.Labels = labelled(s.Labels, v1alpha1.LabelKeyScaleUpDisabled, "true")
	}
}

// passOn copies to s the annotations that concern old sets as well: the time of the autoscaler's last change
// of the replicas, without which its choice among old machines would have no effect, and a user's wish to
// thaw.
func passOn(d *v1alpha1.MachineDeployment, s *v1alpha1.MachineSet) {
	scaled := d.Annotations[v1alpha1.AnnotationKeyScalerReplicaChange]
	if scaled != "" && (s.Spec.Replicas > 0 || s.Status.Replicas > 0) {
		setAnnotation(s, v1alpha1.AnnotationKeyScalerReplicaChange, scaled)
	}
	if wantsThaw(d) && labelledFrozen(s) && !wantsThaw(s) {
		setAnnotation(s, v1alpha1.AnnotationKeyUnfreeze, v1alpha1.LabelValueTrue)
	}
}

// wantsThaw reports whether a user requests to unfreeze o; any value counts.
func wantsThaw(o client.Object) bool {
	_, ok := o.GetAnnotations()[v1alpha1.AnnotationKeyUnfreeze]
	return ok
}

// frozen reports whether s creates no machines because far too many exist. Label and condition are written
// one after the other; either counts.
func frozen(s *v1alpha1.MachineSet) bool {
	c := setCondition(s, v1alpha1.MachineSetFrozen)
	return labelledFrozen(s) || c != nil && c.Status == v1alpha1.ConditionTrue
}
