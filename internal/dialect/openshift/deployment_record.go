package openshift

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// Reasons of conditions that are not the engine's own.
const (
	reasonEnough     = "MinimumReplicasAvailable"
	reasonNotEnough  = "MinimumReplicasUnavailable"
	reasonFailure    = "MachineSetFailed"
	reasonIncomplete = "MachinesUnavailable"
	reasonDeleting   = "Deleting"
	reasonOther      = "Other"
)

// reasonForm is the form of a condition's reason that the API requires.
var reasonForm = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]{0,200}[A-Za-z0-9_])?$`)

func deploymentCondition(s *v1beta1.MachineDeploymentStatus, kind string) *metav1.Condition {
	return meta.FindStatusCondition(s.Conditions, kind)
}

// Record writes counters and conditions into the status of d. With a fault nothing was counted, and the
// counters stay.
func (Deployments) Record(d *v1beta1.MachineDeployment, o dialect.DeploymentOutcome[*machinev1.MachineSet]) {
	r := recorder{d: d, o: o, now: metav1.NewTime(o.Now.Truncate(time.Second))}
	d.Status.ObservedGeneration = d.Generation
	if o.Collided {
		d.Status.CollisionCount = ptr.To(ptr.Deref(d.Status.CollisionCount, 0) + 1)
	}
	r.progress()
	if !o.Plan.Status.Faulty {
		r.count()
	}
	r.verdict()
}

type recorder struct {
	d   *v1beta1.MachineDeployment
	o   dialect.DeploymentOutcome[*machinev1.MachineSet]
	now metav1.Time
}

// set writes a condition in a form that the schema of conditions accepts: texts from a set or the API server
// may have any form.
func (r recorder) set(kind string, status metav1.ConditionStatus, reason, message string) {
	const longest = 4096 // of 32768 characters
	if !reasonForm.MatchString(reason) {
		reason = reasonOther
	}
	meta.SetStatusCondition(&r.d.Status.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: strings.ToValidUTF8(message[:min(len(message), longest)], ""),
		ObservedGeneration: r.d.Generation, LastTransitionTime: r.now,
	})
}

// only sets a condition that is there while it is true.
func (r recorder) only(kind string, when bool, reason, message string) {
	if !when {
		meta.RemoveStatusCondition(&r.d.Status.Conditions, kind)
		return
	}
	r.set(kind, metav1.ConditionTrue, reason, message)
}

// count writes the counters.
func (r recorder) count() {
	s, st := &r.d.Status, r.o.Plan.Status
	s.LabelSelector = metav1.FormatLabelSelector(&r.d.Spec.Selector)
	s.Replicas, s.UpdatedReplicas = int32(st.Replicas), int32(st.Updated)
	s.ReadyReplicas, s.AvailableReplicas = int32(st.Ready), int32(st.Available)
	s.UnavailableReplicas = int32(st.Unavailable)
	message := fmt.Sprintf("%d machines available, at least %d needed", st.Available, st.Floor)
	if st.Enough {
		r.set(v1beta1.MachineDeploymentAvailable, metav1.ConditionTrue, reasonEnough, message)
	} else {
		r.set(v1beta1.MachineDeploymentAvailable, metav1.ConditionFalse, reasonNotEnough, message)
	}
	f := ptr.Deref(st.Failure, rollout.Failure{})
	r.only(v1beta1.MachineDeploymentReplicaFailure, st.Failure != nil, cmp.Or(f.Reason, reasonFailure), f.Message)
}

// progress writes the progress of the rollout, and since when.
func (r recorder) progress() {
	p, repeats := r.o.Plan.Status.Progress, false
	switch {
	case r.o.CreateErr != nil:
		p = rollout.Progress{Status: rollout.False, Reason: rollout.SetCreateError, Message: r.o.CreateErr.Error(), Since: r.o.Now}
		repeats = true
	case dialect.SelectsAll(r.o.Deployment.Faults):
		p.Reason, repeats = rollout.SelectsAll, true
	case r.o.Plan.Status.Faulty:
		repeats = true
	}
	if p.Status == "" {
		return
	}
	// Every pass finds the obstacle again: it counts since the first.
	was := last(&r.d.Status).Progress
	if repeats && was.Status == p.Status && was.Reason == p.Reason && was.Message == p.Message {
		p.Since = was.Since
	}
	r.set(v1beta1.MachineDeploymentProgressing, metav1.ConditionStatus(p.Status), string(p.Reason), p.Message)
	if since := metav1.NewTime(p.Since.Truncate(time.Second)); !since.Equal(r.d.Status.LastProgressTime) {
		r.d.Status.LastProgressTime = &since
	}
}

// verdict summarizes for clients that know only Ready, Reconciling and Stalled. At most one of the last two
// exists.
func (r recorder) verdict() {
	p := last(&r.d.Status).Progress
	st, reason, message := r.o.Plan.Status, string(p.Reason), p.Message
	complete := st.Complete && p.Status != rollout.False
	stalled, going := false, !complete
	switch {
	case r.o.Deployment.Deleting:
		complete, going, reason, message = false, false, reasonDeleting, "the deployment is being deleted"
	case st.Faulty, p.Reason == rollout.Stopped, p.Reason == rollout.DeadlineExceeded:
		stalled, going = true, false
	case p.Reason == rollout.IsPaused, p.Reason == rollout.HeldBack:
		going = false // it continues when a user acts
	case p.Reason == rollout.SetAvailable && !complete:
		reason = reasonIncomplete
		message = fmt.Sprintf("%d of %d machines available, %d up to date", st.Available, r.o.Deployment.Replicas, st.Updated)
	}
	reason = cmp.Or(reason, reasonIncomplete)
	if complete {
		r.set(v1beta1.MachineDeploymentReady, metav1.ConditionTrue, reason, message)
	} else {
		r.set(v1beta1.MachineDeploymentReady, metav1.ConditionFalse, reason, message)
	}
	r.only(v1beta1.MachineDeploymentStalled, stalled, reason, message)
	r.only(v1beta1.MachineDeploymentReconciling, going, reason, message)
}
