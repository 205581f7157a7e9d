package explain

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/api/millwright"
	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// input is the machine to explain.
type input struct {
	MachineFacts
	now time.Time
	// left has the pods and volumes that still have to leave the node of a machine under deletion.
	left drain.Decision
}

// Machine explains a machine at the time now: by the decision that its controller would take on the stored
// facts, and by other objects.
func Machine(now time.Time, f MachineFacts) Answer {
	q := &input{MachineFacts: f, now: now}
	if q.NodeLooked && q.Node != nil {
		q.left = drain.Decide(now, drain.Facts{Node: q.Node, Pods: q.Pods}, drain.Memory{}, drain.Policy{})
	}
	found := q.found(lifecycle.DecideLife(now, q.view(), q.world(), q.policy()))
	found.fill = append(found.fill, q.words()...)
	a := f.Controller.unattended(now, f.Subject, found)
	a.Evidence, a.Gaps = f.Evidence, f.Gaps
	a.Because = append(a.Because, f.Made.Notes...)
	return a
}

// found returns the meaning of a decision.
func (q *input) found(d lifecycle.Decision) finding {
	if d.Reason == lifecycle.ReasonTargetReplaced && q.Obstacles.AnotherTarget != "" {
		why, _, _ := strings.Cut(q.Obstacles.AnotherTarget, ": check ")
		return finding{key: string(d.Reason), chain: []Cause{{Source: "target cluster", Reason: string(d.Reason), Message: why}}}
	}
	if d.Reason == lifecycle.ReasonMoved {
		return moved(q)
	}
	if !q.View.Deleted.IsZero() {
		return q.leaving(d)
	}
	return q.living(d)
}

// moved explains a machine whose instance was moved to a machine of another API.
func moved(q *input) finding {
	f := finding{key: string(lifecycle.ReasonMoved), chain: []Cause{{
		Source: "metadata.annotations", Reason: string(lifecycle.ReasonMoved), Message: millwright.MovedTo + ": " + q.View.MovedTo,
	}}}
	if !q.View.Deleted.IsZero() {
		f.key = variant(lifecycle.ReasonMoved, "Deleting")
	}
	return f
}

// view returns the machine in the state after its controller's first writes: those writes themselves are no
// reason.
func (q *input) view() lifecycle.Machine {
	m := q.View
	if m.Deleted.IsZero() && !q.notSeen() {
		m.HasFinalizer = true
		m.Recorded.Origin, m.Recorded.Requests = &lifecycle.Origin{Cluster: "recorded"}, lifecycle.Requests{{Number: 1}}
	}
	return m
}

// policy completes settings that only a controller's flags have by those that the object shows.
func (q *input) policy() lifecycle.Policy {
	p := q.Policy
	p.Targetless = p.Targetless || q.View.Stage == lifecycle.StageDetached
	return p
}

// world returns the facts outside of the object, as far as they are stored. It does not call the
// infrastructure: a recorded instance counts as existing.
func (q *input) world() lifecycle.World {
	w := lifecycle.World{Requests: q.view().Recorded.Requests, Node: lifecycle.Node{Object: q.Node, Looked: q.NodeLooked, Update: q.Update, Foreign: q.Obstacles.AnotherTarget}, Instances: lifecycle.Instances{Looked: true}}
	if q.Made.NoClass && (!q.View.Recorded.Provisioned || !q.View.Deleted.IsZero()) {
		w.Instances.Looked, w.Session.Err = false, errors.New("its "+q.Made.Class+" does not exist")
	}
	if q.View.Recorded.Provisioned {
		i := provider.Instance{ProviderID: q.View.Recorded.ProviderID, State: provider.Running}
		switch {
		case q.Stopped != "":
			i.State = provider.Stopped
		case q.early():
			i.State = provider.Pending
		}
		w.Instances.Own = []provider.Instance{i}
	}
	if q.View.Deleted.IsZero() {
		if q.Failure.Unasked && q.early() && !q.Made.NoClass {
			w.Instances.Looked, w.Instances.Err = false, q.Failure.Err
		}
		w.Retry = lifecycle.Retry{Err: q.Failure.Err, Step: lifecycle.Create, At: q.now, Failures: 1}
		if q.View.Recorded.Provisioned {
			w.Retry.Step = lifecycle.Initialize
		}
		if !q.early() {
			w.Retry = lifecycle.Retry{}
		}
		w.Instances.Fault = gaveUp(q)
		return w
	}
	w.Removal.Err = q.Failure.Err
	w.Disruption = lifecycle.Disruption{Governed: q.View.AwaitsBudget(), Asked: true}
	if !q.View.Since(lifecycle.DeletionInstance).IsZero() || q.NodeLooked && q.Node == nil && q.View.Stage == lifecycle.StageDeleting {
		w.Removal.State = lifecycle.RemovalUnderway
	}
	if q.HasNode() && q.PodsLooked {
		left := q.left
		left.Done = left.Done && !q.detaching()
		w.Drain.Result = &left
	}
	return w
}

// gaveUp returns why the infrastructure failed the machine's instance, if the object says so. Capacity is no
// longer a reason for a machine that has an instance.
func gaveUp(q *input) error {
	if !q.View.Recorded.Provisioned || !q.early() {
		return nil
	}
	switch kind := provider.KindOf(q.Failure.Err); {
	case kind == provider.Exhausted, q.Stopped != "" && (kind == provider.Denied || kind == provider.Invalid):
		return q.Failure.Err
	}
	return nil
}

// early reports whether the machine has no usable instance yet.
func (q *input) early() bool {
	switch q.View.Stage {
	case lifecycle.StageNew, lifecycle.StageCreating, lifecycle.StageCrashing:
		return true
	}
	return false
}

// HasNode reports whether a node of the machine was seen.
func (f *MachineFacts) HasNode() bool { return f.NodeLooked && f.Node != nil }

// unseen is how long an object may be untouched before the answer says so.
const unseen = 30 * time.Second

func (q *input) notSeen() bool {
	return !q.View.HasFinalizer && q.View.Stage == lifecycle.StageNew && len(q.Said) == 0
}

// living explains a decision about a machine that is not under deletion, with other objects.
func (q *input) living(d lifecycle.Decision) finding {
	switch d.Reason {
	case lifecycle.ReasonNew:
		if q.now.Sub(q.View.Created) >= unseen {
			return finding{key: ReasonNotSeen}
		}
	case lifecycle.ReasonInvalidObject:
		f := finding{key: string(d.Reason), fill: []string{"field", q.View.Faults[0].Field}}
		for _, x := range q.View.Faults {
			f.chain = append(f.chain, Cause{Source: x.Field, Reason: string(d.Reason), Message: clause(x.Message)})
		}
		return f
	case lifecycle.ReasonFailed:
		return q.failed()
	case lifecycle.ReasonNodeUnknown:
		if q.Obstacles.Unreached {
			return finding{key: variant(d.Reason, "Unreached"), chain: q.latest()}
		}
	case lifecycle.ReasonGivenUp:
		return finding{key: variant(d.Reason, string(provider.KindOf(d.Err))), chain: slices.Concat(q.latest(), q.stopped(), inputs(q))}
	case lifecycle.ReasonRetry, lifecycle.ReasonCreateFailed, lifecycle.ReasonLookupFailed, lifecycle.ReasonUserData:
		return uncreated(q, d)
	case lifecycle.ReasonAwaitingNode, lifecycle.ReasonJoinTimeout:
		return q.joining(d)
	case lifecycle.ReasonNodeMissing:
		held, remedy := q.checked()
		f := finding{key: string(d.Reason), chain: slices.Concat(q.stopped(), q.latest(), held), fill: []string{"remedy", remedy}}
		switch t := q.Policy.Health.Timeout; {
		case d.Step == lifecycle.Replace:
			f.key = variant(d.Reason, "Replaced")
		case q.Policy.Health.Tracked && t > 0: // its timeout starts here
			f = f.with("left", span(t))
			f.key = variant(d.Reason, "Timed")
		}
		return f
	case lifecycle.ReasonNodeUnhealthy, lifecycle.ReasonFailureWithheld, lifecycle.ReasonHealthTimeout, lifecycle.ReasonRunning:
		if q.View.Stage != lifecycle.StageUpdateFailed || d.Reason == lifecycle.ReasonRunning {
			return q.running(d)
		}
		return finding{key: string(lifecycle.ReasonUpdateFailed), chain: q.latest()}
	}
	return finding{key: string(d.Reason), chain: q.latest()}
}

// uncreated explains why a machine has no instance.
func uncreated(q *input, d lifecycle.Decision) finding {
	f := finding{key: string(d.Reason), chain: append(q.latest(), inputs(q)...)}
	if d.Reason == lifecycle.ReasonRetry {
		f.key = string(lifecycle.ReasonCreateFailed)
	}
	if key, ok := refusals[provider.KindOf(d.Err)]; ok {
		f.key = key
	} else if of := guess(d.Err); f.key == string(lifecycle.ReasonCreateFailed) && of != "" {
		f.key = variant(f.key, string(of))
	}
	if len(q.Made.Absent) > 0 {
		f.key = variant(reasonNoSecret, "Machine")
	}
	return f
}

// failed explains a failed machine.
func (q *input) failed() finding {
	of, kind := "", kindOf(q.Failure.Err)
	switch {
	case q.KeptUntil.After(q.now):
		of = "Preserved"
	case q.Replaces:
		of = "Replaced"
	case q.Owner == "":
	case kind == provider.Invalid:
		of = "Template"
	case kind == provider.Exhausted, kind == provider.Denied:
		of = string(kind)
	case instanceGone(q.Failure.Err):
		of = "InstanceGone"
	default:
		of = "Owned"
	}
	f := finding{key: variant(lifecycle.ReasonFailed, of), fill: []string{"left", span(q.KeptUntil.Sub(q.now))}}
	if !q.View.StageSince.IsZero() {
		f = f.with("failed", " "+span(q.now.Sub(q.View.StageSince))+" ago")
	}
	f.chain = append(append(q.latest(), inputs(q)...), q.requestCauses()...)
	f.chain = append(f.chain, q.ailing()...)
	if q.Evidence != nil && len(f.chain) < 2 { // the observations when it became Failed
		f.chain = append(f.chain, remains(q.Evidence.Record)...)
	}
	return f
}

// usualJoin is how long a node may take to join or to become ready before a user should look, if its timeout
// is at least twice that; lonely is how long a missing certificate request of its kubelet is normal.
const (
	usualJoin = 5 * time.Minute
	lonely    = time.Minute
)

// joining explains a machine whose instance runs, and whose node is not ready yet.
func (q *input) joining(d lifecycle.Decision) finding {
	if len(q.Requests) > 0 {
		return q.requested()
	}
	f := finding{key: string(d.Reason)}
	usual := joinsWithin(q)
	late := q.now.Sub(q.View.Created) > usual && d.Reason == lifecycle.ReasonAwaitingNode
	switch {
	case q.Stopped != "":
		return finding{key: reasonStopped, chain: q.latest()}
	case q.HasNode():
		f.chain = q.holdups()
		f.key = variant(d.Reason, "Unready")
		if late {
			f.key = variant(d.Reason, "Stays")
		}
		return f
	case q.Obstacles.Squatter != nil:
		return squatted(q)
	case late:
		f.key = variant(d.Reason, "Long")
		if _, remedy := q.checked(); len(q.Checks) > 0 {
			f = f.with("health", "; "+remedy)
		}
	case q.now.Sub(q.joiningSince()) > lonely:
		f.key = variant(d.Reason, "Silent")
		f = f.with("left", span(usual-q.now.Sub(q.View.Created)))
	}
	if late || q.now.Sub(q.joiningSince()) > lonely {
		f.chain = append(f.chain, Cause{Reason: "NoCertificateRequest", Message: "no certificate request of its kubelet is pending: the kubelet was not started, or does not reach the API server"})
		f.chain = append(f.chain, tokenless(q)...)
	}
	return f
}

// joinsWithin returns the time after its creation within which the machine should have a node.
func joinsWithin(q *input) time.Duration {
	if t := q.Policy.Join.Timeout; t > 0 {
		return min(usualJoin, t/2)
	}
	return usualJoin
}

// joiningSince returns when the instance started, as far as that was recorded.
func (q *input) joiningSince() time.Time {
	if q.View.StageSince.IsZero() {
		return q.View.Created
	}
	return q.View.StageSince
}

// running explains a machine that has a node.
func (q *input) running(d lifecycle.Decision) finding {
	if lifecycle.Healthy(q.Node, q.Policy) {
		return q.healthy(d)
	}
	if len(q.Requests) > 0 && ready(q.Node).Status != corev1.ConditionTrue {
		return q.requested()
	}
	held, remedy := q.checked()
	causes := q.ailing()
	f := finding{
		chain: append(q.stopped(), append(causes, held...)...),
		fill:  []string{"remedy", remedy, "condition", worst(q.Node, q.Policy)},
	}
	if len(causes) > 0 {
		f = f.with("unwell", lasting(q.now, causes[0].Since))
	}
	of := "Unready"
	if t := q.Policy.Health.Timeout; q.Policy.Health.Tracked && t > 0 && !q.View.StageSince.IsZero() && q.View.Stage == lifecycle.StageLost {
		of, f = "Timed", f.with("left", span(q.View.StageSince.Add(t).Sub(q.now)))
	}
	f.key = variant(lifecycle.ReasonNodeUnhealthy, of)
	if q.Stopped != "" {
		f.key = variant(reasonStopped, of)
	}
	if d.Reason == lifecycle.ReasonFailureWithheld {
		f.key = string(d.Reason)
		f.chain = append(f.chain, Cause{Reason: f.key, Message: "its health timeout of " + span(q.Policy.Health.Timeout) + " has passed, but only one machine of a deployment becomes Failed at a time, and no machine becomes Failed while the controllers cannot read the cluster well"})
	}
	return f
}

// healthy explains a machine whose node is healthy.
func (q *input) healthy(d lifecycle.Decision) finding {
	f := finding{key: string(d.Reason)}
	switch {
	case q.Stopped != "":
		return finding{key: reasonStopped, chain: q.latest()}
	case q.contradicted() != nil:
		return finding{key: string(lifecycle.ReasonContradicted), chain: q.contradicted()}
	case q.View.Stage == lifecycle.StageJoining || q.early():
		f.key = string(lifecycle.ReasonJoined)
	case q.View.Stage != lifecycle.StageRunning:
		f.key = string(lifecycle.ReasonRecovered)
	}
	if q.Owner == "" && q.Checks == nil {
		f.chain = append(f.chain, Cause{Source: "metadata.ownerReferences", Reason: "NoOwner", Message: "no set owns the machine: no controller replaces it when it is deleted"})
	}
	if q.Node.Spec.Unschedulable {
		f.key = variant(f.key, "Cordoned")
		f.chain = append(f.chain, Cause{Source: "node " + q.Node.Name, Reason: "Unschedulable", Message: "the node is cordoned, and accepts no new pods"})
	}
	return f
}

// words returns the values for the placeholders in the texts about machines.
func (q *input) words() []string {
	limit, update, class, node, secret := "", "", q.Made.Class, q.View.Recorded.NodeName, q.Made.Credentials
	if t := q.Policy.Join.Timeout; t > 0 {
		limit = " (limit " + span(t) + ")"
	}
	if t := q.Policy.Update.Timeout; t > 0 {
		update = " (limit " + span(t) + ")"
	}
	if class == "" {
		class = "the provider spec"
	}
	if q.HasNode() {
		node = q.Node.Name
	}
	if secret == "" {
		secret = "the secret of the machine"
	}
	since := lasting(q.now, q.View.StageSince)
	return []string{
		"age", span(q.now.Sub(q.View.Created)), "limit", limit, "retry", span(max(q.Policy.Delays.Transient, q.Policy.Delays.Other)), "late retry", span(q.Policy.Delays.Exhausted), "update", update, "class", class, "credentials", secret, "secret", strings.Join(q.Made.Absent, " and "), "node", node, "owner", q.Owner,
		"since", since, "stopped", q.Stopped, "joining", span(q.now.Sub(q.joiningSince())), "unwell", since, "failed", "", "health", "", "controller", machineController,
		"ready", lasting(q.now, ready(q.Node).LastTransitionTime.Time), "going", q.going(), "pods", fmt.Sprint(len(q.Pods)), "left", "a moment",
	}
}

// machineController is the name of the machine controller in messages.
const machineController = "machine controller of its provider"
