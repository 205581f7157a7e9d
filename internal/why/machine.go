package why

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/internal/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// question is a machine that is asked about.
type question struct {
	MachineFacts
	now time.Time
}

// check looks at one thing. It answers by returning a finding.
type check func(*question) *finding

// life explains a living machine; what explains it best comes first.
var life = []check{
	invalid,
	notSeen,
	failed,
	classMissing,
	creating,
	unstarted,
	requestsWait,
	joining,
	updating,
	detached,
	nodeLost,
	nodeUnwell,
	instanceStopped,
	healthy,
}

// Machine explains a machine at the time now.
func Machine(now time.Time, f MachineFacts) Answer {
	q := &question{MachineFacts: f, now: now}
	checks, otherwise := life, finding{state: Unknown, reason: "Unknown", text: "is in phase " + phase(f.Phase), next: "look again in a moment"}
	if !f.View.Deleted.IsZero() {
		checks, otherwise = removal, q.leaving()
	}
	found := otherwise
	for _, c := range checks {
		if a := c(q); a != nil {
			found = *a
			break
		}
	}
	a := f.Controller.unattended(now, f.Subject, found).answer(f.Subject, f.Gaps)
	a.Evidence = f.Evidence
	return a
}

func phase(p string) string {
	if p == "" {
		return "none"
	}
	return p
}

func (q *question) age() string { return span(q.now.Sub(q.View.Created)) }

func invalid(q *question) *finding {
	if len(q.View.Faults) == 0 || q.View.Stage == lifecycle.StageFailed {
		return nil
	}
	f := q.View.Faults[0]
	out := &finding{
		state: Failed, reason: string(lifecycle.ReasonInvalidObject), text: "cannot be made: " + f.Field + " is wrong",
		next: "correct " + f.Field + ", in the template where the machine was made from one, and delete the machine",
	}
	for _, f := range q.View.Faults {
		out.chain = append(out.chain, Cause{Source: f.Field, Reason: string(lifecycle.ReasonInvalidObject), Message: clause(f.Message)})
	}
	return out
}

// unseen is how long an object may be untouched before that is worth telling.
const unseen = 30 * time.Second

func notSeen(q *question) *finding {
	if q.View.Held || q.View.Stage != lifecycle.StageNew || len(q.Said) > 0 || q.now.Sub(q.View.Created) < unseen {
		return nil
	}
	return &finding{
		state: Failed, reason: "NotSeen", text: "was made " + q.age() + " ago, and no controller has looked at it",
		next: "see that a machine controller of its provider runs, leads, and serves the API " + q.API + " and the namespace " + q.Namespace,
	}
}

// failed machines stay as they are.
func failed(q *question) *finding {
	if q.View.Stage != lifecycle.StageFailed {
		return nil
	}
	f := &finding{state: Failed, reason: string(lifecycle.ReasonFailed), text: "was given up"}
	if !q.View.StageSince.IsZero() {
		f.text += " " + span(q.now.Sub(q.View.StageSince)) + " ago"
	}
	f.chain = append(quote(q.latest()), q.requestCauses()...)
	f.chain = append(f.chain, q.ailing()...)
	if q.Evidence != nil && len(f.chain) < 2 { // what was seen when it was given up
		f.chain = append(f.chain, remains(q.Evidence.Record)...)
	}
	switch {
	case q.KeptUntil.After(q.now):
		f.text += ", and is preserved for inspection for another " + span(q.KeptUntil.Sub(q.now))
		f.next = "inspect it; when the time is over, or the preservation is taken off, it is replaced"
	case q.Replaces:
		f.next = "wait: " + q.Owner + " deletes it and makes another; mend the cause, or the next one ends like this"
	case q.Owner != "" && q.Trouble == provider.Invalid:
		f.next = "correct what is named in the template of " + q.Owner + ", and delete the machine: " + q.Owner + " makes another"
	case q.Owner != "":
		f.next = "mend the cause and delete the machine: " + q.Owner + " makes another, as a health check would have it"
	default:
		f.next = "mend the cause, delete the machine and make another: nothing else does"
	}
	return f
}

func classMissing(q *question) *finding {
	if !q.NoClass || q.View.Provisioned {
		return nil
	}
	return &finding{
		state: Degraded, reason: string(lifecycle.ReasonClassUnavailable), text: "has no instance, because its " + q.Class + " does not exist",
		chain: quote(q.latest()), next: "create " + q.Class + " in namespace " + q.Namespace + ", or correct the reference",
	}
}

// early reports whether the machine has no usable instance yet.
func (q *question) early() bool {
	switch q.View.Stage {
	case lifecycle.StageNew, lifecycle.StageCreating, lifecycle.StageCrashing:
		return true
	}
	return false
}

func creating(q *question) *finding {
	if !q.early() {
		return nil
	}
	if f := q.refusedCreation(); f != nil {
		return f
	}
	f := &finding{state: Progressing, reason: string(lifecycle.ReasonNoInstance), next: "wait"}
	f.text = "is being made: " + q.age() + " after it was asked for it has no instance yet" + q.limit()
	if q.View.Provisioned {
		f.reason = string(lifecycle.ReasonPending)
		f.text = "is being made: the infrastructure works on its instance, " + q.age() + " after it was asked for" + q.limit()
	}
	if s := q.latest(); s.Status != "Processing" {
		f.chain = quote(s)
	}
	return f
}

// limit is how long the machine may take.
func (q *question) limit() string {
	if q.Policy.JoinTimeout == 0 {
		return ""
	}
	return " (limit " + span(q.Policy.JoinTimeout) + ")"
}

// refusedCreation is about a machine whose last attempt failed.
func (q *question) refusedCreation() *finding {
	cause := quote(q.latest())
	op, exists := q.said(OperationStatement), q.said("condition InstanceExists")
	wrong := q.View.Stage == lifecycle.StageCrashing || op.Status == failing || q.said(ErrorStatement).Message != "" ||
		exists.Status == string(corev1.ConditionUnknown) || strings.HasPrefix(exists.Message, refusal)
	if !wrong {
		return nil
	}
	if len(cause) > 0 {
		cause[0].Message = strings.TrimPrefix(cause[0].Message, refusal)
	}
	t := troubleOf(q.Trouble)
	if q.Trouble == provider.Invalid && q.Class != "" {
		t.next = "correct the field that is named in " + q.Class
	}
	return &finding{
		state: Degraded, reason: t.reason, chain: cause,
		text: "has no instance " + q.age() + " after it was asked for" + q.limit() + ": " + t.what, next: t.next,
	}
}

// refusal is how a condition begins that quotes why there is no instance.
const refusal = "Instance has not been created: "

// requestsWait is about a machine whose kubelet has asked for a certificate and
// got none.
func requestsWait(q *question) *finding {
	if len(q.Requests) == 0 || q.HasNode() && ready(q.Node).Status == corev1.ConditionTrue {
		return nil
	}
	causes := q.requestCauses()
	r := q.worstRequest()
	f := &finding{
		state: Waiting, reason: "CertificatePending", chain: causes,
		text: "is not ready: its instance runs, and its kubelet has waited" + lasting(q.now, r.Created) + " for a certificate" + q.limit(),
		next: "wait: the request is looked at again by itself",
	}
	if r.Reason != "" {
		f.reason = r.Reason
	}
	if r.Verdict == refused || r.Verdict != "" && q.now.Sub(r.Created) > patience {
		f.state, f.next = Degraded, adviceOn(r)
	}
	if r.Verdict == "" && q.now.Sub(r.Created) > patience {
		f.next = "see whether an approver runs: `kubectl describe csr " + r.Name + "`"
	}
	return f
}

// HasNode reports whether a node of the machine was seen.
func (f *MachineFacts) HasNode() bool { return f.NodeLooked && f.Node != nil }

// unstarted is about a machine whose instance stopped before its node was there.
func unstarted(q *question) *finding {
	if q.View.Stage != lifecycle.StageJoining || q.HasNode() {
		return nil
	}
	return instanceStopped(q)
}

func joining(q *question) *finding {
	if q.View.Stage != lifecycle.StageJoining {
		return nil
	}
	f := &finding{state: Progressing, reason: string(lifecycle.ReasonAwaitingNode), next: "wait"}
	if q.HasNode() {
		if q.Policy.LinkedIsRunning {
			return nil
		}
		f.text = "is not ready: its node " + q.Node.Name + " has joined, and does not count as healthy yet" + q.limit()
		f.chain = q.holdups()
		if q.overdue(5 * time.Minute) {
			f.state, f.next = Degraded, "mend what keeps the node from being ready: `kubectl describe node "+q.Node.Name+"`"
		}
		return f
	}
	f.text = "is not ready: its instance runs, but no node has joined" + lasting(q.now, q.joiningSince()) + q.limit()
	if !q.NodeLooked {
		f.text = "is not ready: its instance runs, and whether its node has joined cannot be seen"
	}
	if q.overdue(5 * time.Minute) {
		f.state = Degraded
		f.chain = append(f.chain, Cause{Reason: "NoCertificateRequest", Message: "no certificate request of its kubelet is pending: it was not started, or does not reach the API server"})
		f.next = "read the console of the instance: boot data, image and network decide whether a kubelet starts"
	}
	return f
}

// joiningSince is when the instance began to run, as far as that was recorded.
func (q *question) joiningSince() time.Time {
	if q.View.StageSince.IsZero() {
		return q.View.Created
	}
	return q.View.StageSince
}

// overdue reports whether the machine takes longer than usual, or than half of
// what it may.
func (q *question) overdue(usual time.Duration) bool {
	if t := q.Policy.JoinTimeout; t > 0 {
		usual = min(usual, t/2)
	}
	return q.now.Sub(q.View.Created) > usual
}

func detached(q *question) *finding {
	if q.View.Stage != lifecycle.StageDetached {
		return nil
	}
	return &finding{
		state: Healthy, reason: string(lifecycle.ReasonDetached), text: "is in order: its instance runs, and no node is expected of it", next: nothing,
	}
}

const nothing = "nothing is to be done"

// updating is about updates in place.
func updating(q *question) *finding {
	name := q.View.NodeName
	switch q.View.Stage {
	case lifecycle.StageUpdating:
		f := &finding{state: Progressing, reason: string(lifecycle.ReasonUpdating), text: "is being updated in place" + lasting(q.now, q.View.StageSince), next: "wait for the agent on node " + name}
		if t := q.Policy.UpdateTimeout; t > 0 {
			f.text += " (limit " + span(t) + ")"
		}
		f.chain = quote(q.latest())
		return f
	case lifecycle.StageUpdated:
		return &finding{state: Progressing, reason: string(lifecycle.ReasonUpdated), text: "was updated in place, and is handed over to the new set", next: "wait"}
	case lifecycle.StageUpdateFailed:
		return &finding{
			state: Failed, reason: string(lifecycle.ReasonUpdateFailed), text: "could not be updated in place" + lasting(q.now, q.View.StageSince), chain: quote(q.latest()),
			next: "take the label update-result off node " + name + " to try again, selected-for-update too to call it off; else it is replaced",
		}
	}
	return nil
}

func healthy(q *question) *finding {
	if !slices.Contains([]lifecycle.Stage{lifecycle.StageRunning, lifecycle.StageJoining, lifecycle.StageLost}, q.View.Stage) || !q.HasNode() {
		return q.blind()
	}
	r := ready(q.Node)
	f := &finding{
		state: Healthy, reason: string(lifecycle.ReasonRunning), next: nothing,
		text: "is healthy: its node " + q.Node.Name + " has been Ready" + lasting(q.now, r.LastTransitionTime.Time),
	}
	if q.View.Stage != lifecycle.StageRunning {
		f.state, f.reason, f.next = Progressing, string(lifecycle.ReasonRecovered), "wait: the controllers are about to see it"
		if q.View.Stage == lifecycle.StageJoining {
			f.reason = string(lifecycle.ReasonJoined)
		}
	}
	if q.Node.Spec.Unschedulable {
		f.chain = []Cause{{Source: "node " + q.Node.Name, Reason: "Unschedulable", Message: "the node is cordoned, and takes no new pods"}}
		f.next = fmt.Sprintf("`kubectl uncordon %s` when whoever cordoned it is done", q.Node.Name)
	}
	return f
}

// blind answers for a running machine whose node could not be read.
func (q *question) blind() *finding {
	if q.View.Stage != lifecycle.StageRunning && q.View.Stage != lifecycle.StageLost || q.NodeLooked {
		return nil
	}
	return &finding{
		state: Unknown, reason: string(lifecycle.ReasonNodeUnknown), text: "runs, as far as it says itself; its node cannot be seen",
		next: "ask with the right to read nodes, in the cluster that the machine joins (--target-kubeconfig)",
	}
}
