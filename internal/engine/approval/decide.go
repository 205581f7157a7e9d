package approval

import (
	"fmt"
	"slices"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"

	"github.com/millwright-dev/millwright/provider"
)

// Verdict is the outcome for a request.
type Verdict string

// The verdicts.
const (
	// Approve grants the request.
	Approve Verdict = "Approve"
	// Wait leaves the request pending and judges it again later.
	Wait Verdict = "Wait"
	// Refuse leaves it pending until it or a machine changes.
	Refuse Verdict = "Refuse"
	// Ignore leaves it alone: it is decided already, or another approver decides.
	Ignore Verdict = "Ignore"
)

// Reason is a stable CamelCase word for a verdict.
type Reason string

// The reasons.
const (
	ReasonApproved          Reason = "NodeCSRApprove"
	ReasonSettled           Reason = "AlreadyDecided"
	ReasonForeign           Reason = "OtherSigner"
	ReasonRenewal           Reason = "ClientRenewal"
	ReasonTooMany           Reason = "TooManyPending"
	ReasonMalformed         Reason = "MalformedRequest"
	ReasonClientDisabled    Reason = "ClientCertificatesDisabled"
	ReasonUntrusted         Reason = "UntrustedRequestor"
	ReasonTokenGone         Reason = "TokenGone"
	ReasonUsages            Reason = "UnexpectedUsages"
	ReasonSubject           Reason = "UnexpectedSubject"
	ReasonNames             Reason = "UnexpectedNames"
	ReasonNodeExists        Reason = "NodeExists"
	ReasonNoMachine         Reason = "NoMachine"
	ReasonAmbiguous         Reason = "SeveralMachines"
	ReasonOtherToken        Reason = "TokenOfOtherMachine"
	ReasonDeleting          Reason = "MachineDeleting"
	ReasonLinked            Reason = "MachineHasNode"
	ReasonOutsideJoinWindow Reason = "OutsideJoinWindow"
	ReasonNotLinked         Reason = "MachineNotLinked"
	ReasonNoAddresses       Reason = "MachineWithoutAddresses"
	ReasonAddress           Reason = "AddressNotOfMachine"
)

// ApprovedMessage is the message of the condition of an approved request.
const ApprovedMessage = "This CSR was approved by the Node CSR Approver (cluster-machine-approver)"

// Decision is a verdict and its reason.
type Decision struct {
	Verdict Verdict
	Reason  Reason
	Message string
	// NodeName is the node that the request is for; empty if unknown.
	NodeName string
	// Machine is the machine that the request is for; nil if unknown.
	Machine *Machine
}

// nodeUser is the prefix of the user name of a node.
const nodeUser = "system:node:"

// nodesGroup is the group of all nodes, and the organization of their certificates.
const nodesGroup = "system:nodes"

// input is the request to judge. The checks that find its machine store it here for the checks that follow.
type input struct {
	now    time.Time
	f      Facts
	policy Policy

	nodeName string
	machine  *Machine
}

// check checks one thing. It objects by returning a decision.
type check func(*input) *Decision

// chain has the checks for one kind of request: first of the sender, then of the request.
type chain struct{ sender, request []check }

var chains = map[string]chain{
	certificatesv1.KubeAPIServerClientKubeletSignerName: {clientSender, clientRequest},
	certificatesv1.KubeletServingSignerName:             {servingSender, servingRequest},
}

// Decide judges one request. It has an answer for every combination of facts.
func Decide(now time.Time, f Facts, policy Policy) Decision {
	c, ok := chains[f.Request.Spec.SignerName]
	if !ok {
		return Decision{Verdict: Ignore, Reason: ReasonForeign}
	}
	q := &input{now: now, f: f, policy: policy, nodeName: NodeName(f)}
	d := Decision{Verdict: Approve, Reason: ReasonApproved, Message: ApprovedMessage}
	if objection := q.first(slices.Concat(c.sender, []check{malformed}, c.request)); objection != nil {
		d = *objection
	}
	d.NodeName, d.Machine = q.nodeName, q.machine
	return d
}

// WorthReading reports whether the request has to be decoded: its sender may send such a request, and few
// enough nodes wait. It needs neither the content of the request nor the token nor the node.
func WorthReading(now time.Time, f Facts, policy Policy) bool {
	c, ok := chains[f.Request.Spec.SignerName]
	q := &input{now: now, f: f, policy: policy, nodeName: NodeName(f)}
	return ok && q.first(c.sender) == nil
}

// first returns the first objection, or nil.
func (q *input) first(checks []check) *Decision {
	for _, c := range checks {
		if objection := c(q); objection != nil {
			return objection
		}
	}
	return nil
}

// NodeName returns the node that a request is for: by the subject of a client certificate, by the sender of a
// serving certificate.
func NodeName(f Facts) string {
	name := f.Request.Spec.Username
	if f.Request.Spec.SignerName == certificatesv1.KubeAPIServerClientKubeletSignerName {
		if f.Certificate == nil {
			return ""
		}
		name = f.Certificate.Subject.CommonName
	}
	name, ok := strings.CutPrefix(name, nodeUser)
	if !ok {
		return ""
	}
	return name
}

func settled(q *input) *Decision {
	if _, pending := Handled(q.f.Request); pending {
		return nil
	}
	return &Decision{Verdict: Ignore, Reason: ReasonSettled}
}

// crowded stops all approvals while far more nodes wait to join than there can be machines: something is
// wrong, and an administrator has to look. The request is not decoded yet, so the machine in the decision is
// right only if the request is genuine.
func crowded(q *input) *Decision {
	limit := MaxPending(q.f.Fleet, q.f.Nodes)
	if q.f.Pending <= limit {
		return nil
	}
	q.machine = q.only(func(m *Machine) bool { return m.Names(q.nodeName) })
	return wait(ReasonTooMany, "%d nodes wait for certificates; the limit is %d (one for each machine or node, plus %d): "+
		"no request is approved until fewer wait; delete the requests that belong to no machine", q.f.Pending, limit, pendingSlack)
}

func malformed(q *input) *Decision {
	if q.f.Certificate == nil {
		return refuse(ReasonMalformed, "the request cannot be decoded: %v", q.f.ParseErr)
	}
	return nil
}

// mostMessage is the limit of a message in bytes. A message quotes the sender's text; an event can hold 1024
// bytes, including the text around the message.
const mostMessage = 600

func refuse(r Reason, format string, args ...any) *Decision {
	return &Decision{Verdict: Refuse, Reason: r, Message: provider.Clip(fmt.Sprintf(format, args...), mostMessage)}
}

func wait(r Reason, format string, args ...any) *Decision {
	return &Decision{Verdict: Wait, Reason: r, Message: provider.Clip(fmt.Sprintf(format, args...), mostMessage)}
}
