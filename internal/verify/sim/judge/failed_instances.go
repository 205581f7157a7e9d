package judge

import (
	"slices"
	"strings"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
)

// Cause is why the infrastructure has given up an instance that it had accepted.
type Cause struct {
	// Text is its words; empty: it has not. Room: there was none after all.
	Text string
	Room bool
	// Since is when that was, Final says that it will not mend it.
	Since time.Time
	Final bool
}

// reportWithin is how long a machine may take to say so without faults: one that could not
// ask for its instance, or was told to wait for room, asks again after ten minutes.
const reportWithin = 12 * time.Minute

// judgeCauses judges that machines say why their instances were given up.
func (j *Judge) judgeCauses() {
	for _, m := range j.machines() {
		i, given := j.givenUp(m)
		since := i.Cause.Since
		if j.calm.After(since) {
			since = j.calm
		}
		if given && j.Now().Sub(since) > reportWithin && !j.failedBefore(m, i.Cause.Since) && !i.Cause.reportedBy(m) && !i.Cause.reportedBefore(m, j.log[m.GetUID()]) {
			j.Broken(CauseReported, "machine %s has instance %s, which was given up at %v: %s", m.GetName(), i.ID, i.Cause.Since, i.Cause.Text)
		}
	}
}

// givenUp is the machine's instance where that was given up, and is the only one. A machine
// that goes, or that takes a node for its own, is judged by that.
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

// failedBefore reports whether the machine was given up for something else, before its
// instance was.
func (j *Judge) failedBefore(m machine, at time.Time) bool {
	return slices.ContainsFunc(j.log[m.GetUID()], func(c change) bool { return c.now != nil && c.at.Before(at) && readMachine(c.now).failed })
}

// reportedBefore reports whether a machine that ran out of its time said so until then: its
// credentials may have been taken away, so that it could not see why any more.
func (c Cause) reportedBefore(m machine, log []change) bool {
	return m.failed && slices.ContainsFunc(log, func(o change) bool { return o.now != nil && c.reportedBy(readMachine(o.now)) })
}

// reportedBy reports whether the machine says so, in the ways of its API.
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

// judgeEarlyFailure judges that a machine fails. One of the API that gives machines time to be
// created, and whose sets replace what has failed, has that time: whoever scales the group
// looks for room elsewhere meanwhile, and its set does not ask for the same again at once.
// One of the other API has it for what the infrastructure may still mend: that is there.
// Where nothing is, it fails at once, as with any instance that is lost.
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
		j.Broken(NoHaste, "machine %s failed %v after it was made, and has %v: %s", now.GetName(), age, timeout, i.Cause.Text)
	}
}
