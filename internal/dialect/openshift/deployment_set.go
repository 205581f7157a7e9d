package openshift

import (
	"strconv"
	"strings"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/millwright"
	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// Lens implements [dialect.DeployedSets].
func (deployedSets) Lens() dialect.Sets[*machinev1.MachineSet] { return Sets{} }

// View returns the facts of a set of d.
func (deployedSets) View(d *v1beta1.MachineDeployment, s *machinev1.MachineSet) rollout.Set {
	return rollout.Set{
		UID: s.UID, Name: s.Name, Created: s.CreationTimestamp.Time,
		Deleting: s.DeletionTimestamp != nil,
		Current:  isCurrent(d, s),
		Replicas: int(ptr.Deref(s.Spec.Replicas, 0)),
		Observed: s.Status.ObservedGeneration >= s.Generation,
		Revision: revision(s),
		Desired:  count(s, DesiredAnnotation),
		Max:      count(s, MaxAnnotation),
		Avoided:  s.Annotations[OutdatedKey] == yes,
		NoGrowth: millwright.Read(s.Annotations).On(ScaleUpDisabledAnnotation),
		Failure:  failure(s),
		Notes:    dialect.ReadNotes(s.Annotations),
	}
}

func count(o client.Object, key string) *int {
	n, err := strconv.Atoi(o.GetAnnotations()[key])
	if err != nil {
		return nil
	}
	return &n
}

// failure returns why s cannot do its work. Sets of this API report their own faults, machines that a guard
// holds, and failed creations.
func failure(s *machinev1.MachineSet) *rollout.Failure {
	if c := heldCondition(s); c != nil {
		return &rollout.Failure{Reason: dialect.HeldReason, Message: c.Message, Withheld: true}
	}
	for _, c := range s.Status.Conditions {
		if c.Type == FailureCondition && c.Status == corev1.ConditionTrue && s.Status.ErrorMessage == nil {
			return &rollout.Failure{Reason: c.Reason, Message: c.Message}
		}
	}
	if s.Status.ErrorReason == nil && s.Status.ErrorMessage == nil {
		return nil
	}
	return &rollout.Failure{Reason: string(ptr.Deref(s.Status.ErrorReason, "")), Message: ptr.Deref(s.Status.ErrorMessage, "")}
}

// New returns the set of the current template. The hash is on its labels, in its selector and on its
// machines.
func (l deployedSets) New(d *v1beta1.MachineDeployment, w rollout.SetWant) *machinev1.MachineSet {
	hash := templateHash(d)
	s := &machinev1.MachineSet{
		ObjectMeta: metav1.ObjectMeta{
			Name: setName(d.Name, hash), Namespace: d.Namespace,
			Labels:          map[string]string{TemplateHashLabel: hash},
			Annotations:     map[string]string{TemplateAnnotation: rollingOf(&d.Spec.Template).fingerprint()},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, Deployments{}.Traits().Kind)},
		},
		Spec: machinev1.MachineSetSpec{Selector: *d.Spec.Selector.DeepCopy(), Template: *d.Spec.Template.DeepCopy()},
	}
	if s.Spec.Selector.MatchLabels == nil {
		s.Spec.Selector.MatchLabels = map[string]string{}
	}
	s.Spec.Selector.MatchLabels[TemplateHashLabel] = hash
	w.Current = true
	l.Apply(d, s, w)
	return s
}

// Apply edits s to the state w.
func (deployedSets) Apply(d *v1beta1.MachineDeployment, s *machinev1.MachineSet, w rollout.SetWant) {
	s.Spec.Replicas = ptr.To(int32(w.Replicas))
	if w.Current {
		followDeployment(d, s)
	}
	if w.Desired != nil {
		dialect.SetAnnotation(s, DesiredAnnotation, strconv.Itoa(*w.Desired))
	}
	if w.Max != nil {
		dialect.SetAnnotation(s, MaxAnnotation, strconv.Itoa(*w.Max))
	}
	if w.Revision != 0 {
		recordRevision(s, w.Revision)
	}
	if w.Avoided != (s.Annotations[OutdatedKey] == yes) {
		dialect.SetAnnotation(s, OutdatedKey, only(w.Avoided, yes))
	}
	if w.NoGrowth != millwright.Read(s.Annotations).On(ScaleUpDisabledAnnotation) {
		dialect.SetAnnotation(s, ScaleUpDisabledAnnotation, only(w.NoGrowth, yes))
	}
	dialect.WriteNotes(s, w.Notes)
	dialect.HandDeletionGuard(d, s)
}

func only(when bool, value string) string {
	if when {
		return value
	}
	return ""
}

// followDeployment copies fields that replace no machine. Entries that were removed from d stay on s: entries
// of other authors on s cannot be distinguished from those of d.
func followDeployment(d *v1beta1.MachineDeployment, s *machinev1.MachineSet) {
	for key, value := range d.Annotations {
		if !staysHome(key) {
			set(&s.Annotations, key, value)
		}
	}
	set(&s.Annotations, DeploymentAnnotation, d.Name)
	for key, value := range d.Spec.Template.Labels {
		if key != TemplateHashLabel {
			set(&s.Labels, key, value)
		}
	}
	s.Spec.MinReadySeconds = d.Spec.MinReadySeconds
	s.Spec.DeletePolicy = rollingUpdate(d).DeletePolicy
	follow(s, &d.Spec.Template)
}

// staysHome reports whether an annotation concerns only the object that it is on, and is copied neither from
// a deployment to its set nor back.
//
// The autoscaler's annotations are among them. With its own limits a set would be a second group of the same
// machines. And a controller writes the capacity of machines on each set; copies would conflict with it.
func staysHome(key string) bool {
	switch key {
	case corev1.LastAppliedConfigAnnotation, RevisionAnnotation, RevisionHistoryAnnotation, DesiredAnnotation, MaxAnnotation,
		"machine.openshift.io/vCPU", "machine.openshift.io/memoryMb", "machine.openshift.io/GPU", "machine.openshift.io/maxPods":
		return true
	}
	for _, prefix := range []string{
		dialect.OwnPrefix, "capacity.cluster-autoscaler.kubernetes.io/",
		"machine.openshift.io/cluster-api-autoscaler-", "machine.openshift.io/autoscaling-options-",
	} {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}

// recordRevision keeps the previous revision in the history.
func recordRevision(s *machinev1.MachineSet, n int64) {
	was, is := s.Annotations[RevisionAnnotation], strconv.FormatInt(n, 10)
	if was == is {
		return
	}
	if was != "" {
		history := was
		if earlier := s.Annotations[RevisionHistoryAnnotation]; earlier != "" {
			history = earlier + "," + was
		}
		set(&s.Annotations, RevisionHistoryAnnotation, history)
	}
	set(&s.Annotations, RevisionAnnotation, is)
}

// RollBack gives d the template of s again, with the annotations that were copied to s. Annotations that d
// got since stay.
func (Deployments) RollBack(d *v1beta1.MachineDeployment, s **machinev1.MachineSet, _ rollout.RollBack) {
	d.Spec.RollbackTo = nil
	if s == nil || *s == nil {
		return
	}
	t := (*s).Spec.Template.DeepCopy()
	delete(t.Labels, TemplateHashLabel)
	d.Spec.Template = *t
	for key, value := range (*s).Annotations {
		if !staysHome(key) {
			set(&d.Annotations, key, value)
		}
	}
}

// ApplyMetadata writes the revision of the current template. This API has neither wishes nor frozen sets.
func (Deployments) ApplyMetadata(d *v1beta1.MachineDeployment, _ []*machinev1.MachineSet, a rollout.Amend) {
	if a.Revision != 0 {
		set(&d.Annotations, RevisionAnnotation, strconv.FormatInt(a.Revision, 10))
	}
}
