package judge

import (
	"slices"
	"strings"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
)

// Cause is the reason for which the cloud failed an instance that it had accepted.
type Cause struct {
	// Text is the cloud's message; empty if the instance has not failed. Room: the cloud had no capacity.
	Text string
	Room bool
	// Since is the time of the failure. Final: the cloud will not repair the instance.
	Since time.Time
	Final bool
}

// reportWithin is how long a machine may take to report the cause without faults: a machine that could not create its
// instance, or waits for capacity, retries after ten minutes.
const reportWithin = 12 * time.Minute

// judgeCauses judges that machines report why their instances failed. A machine whose updates are denied cannot.
func (j *Judge) judgeCauses() {
	for _, m := range j.machines() {
		i, given := j.givenUp(m)
		since := i.Cause.Since
		if j.calm.After(since) {
			since = j.calm
		}
		if given && !j.hopeless(m.Object) && j.Now().Sub(since) > reportWithin && !j.failedBefore(m, i.Cause.Since) && !i.Cause.reportedBy(m) && !i.Cause.reportedBefore(m, j.log[m.GetUID()]) {
			j.Broken(CauseReported, "machine %s has instance %s, which failed at %v: %s", m.GetName(), i.ID, i.Cause.Since, i.Cause.Text)
		}
	}
}

// givenUp returns the machine's only instance if that instance has failed. It returns false for a machine that is
// being deleted or that has a node.
func (j *Judge) givenUp(m machine) (i Instance, given bool) {
	var all []Instance
	for _, o := range j.Instances() {
		if o.UID == string(m.GetUID()) {
			all = append(all, o)
		}
	}
	if len(all) != 1 || all[0].Cause.Text == "" || m.GetDeletionTimestamp() != nil || m.unsure {
		return i, false
	}
	i = all[0]
	return i, (m.provider == "" || sameID(m.provider, i.ProviderID)) && j.node(m.node) == nil && j.node(i.NodeName) == nil
}

// failedBefore reports whether the machine failed for another reason before its instance failed.
func (j *Judge) failedBefore(m machine, at time.Time) bool {
	return slices.ContainsFunc(j.log[m.GetUID()], func(c change) bool { return c.now != nil && c.at.Before(at) && readMachine(c.now).failed })
}

// reportedBefore reports whether a machine that has timed out reported the cause earlier: later it may have been unable
// to learn the cause, because it had lost its credentials.
func (c Cause) reportedBefore(m machine, log []change) bool {
	return m.failed && slices.ContainsFunc(log, func(o change) bool { return o.now != nil && c.reportedBy(readMachine(o.now)) })
}

// reportedBy reports whether the machine reports the cause in the manner of its API.
func (c Cause) reportedBy(m machine) bool {
	switch o := m.Object.(type) {
	case *v1alpha1.Machine:
		op := o.Status.LastOperation
		return strings.Contains(op.Description, c.Text) && op.Type == v1alpha1.MachineOperationCreate && op.State == v1alpha1.MachineStateFailed &&
			(!c.Room || op.ErrorCode == "ResourceExhausted")
	case *machinev1.Machine:
		if s := o.Status; s.ErrorMessage != nil {
			return strings.Contains(*s.ErrorMessage, c.Text) && (!c.Room || s.ErrorReason != nil && *s.ErrorReason == machinev1.InsufficientResourcesMachineError)
		}
		said := func(e machinev1.Condition) bool {
			return e.Status == corev1.ConditionTrue && strings.Contains(e.Message, c.Text)
		}
		return !c.Final && slices.ContainsFunc(o.Status.Conditions, said)
	}
	return true
}

// judgeEarlyFailure judges the failure of a machine. In the API with a creation timeout, whose sets replace failed
// machines, the machine does not fail before that timeout: meanwhile the autoscaler looks for capacity elsewhere, and
// the set does not repeat the same request at once. In the other API a machine does not fail while its instance exists
// and the cloud may still repair it. If no instance exists, the machine fails at once, as with any lost instance.
func (j *Judge) judgeEarlyFailure(old, now machine) {
	i, given := j.givenUp(old)
	timeout := j.apiOf(old.Object).JoinTimeout
	if !given || old.provider == "" || old.failed || !now.failed || timeout == 0 && (i.Cause.Final || !i.Exists(j.Now())) {
		return
	}
	if old.join != nil {
		timeout = *old.join
	}
	age := j.Now().Sub(j.made(old.GetUID()))
	if timeout == 0 || age < timeout-time.Second-2*j.Skew {
		j.Broken(NoHaste, "machine %s failed %v after it was created, before its timeout of %v: %s", now.GetName(), age, timeout, i.Cause.Text)
	}
}
