package approval

import (
	"fmt"
	"slices"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"

	"github.com/millwright-dev/millwright/provider"
)

// Verdict is what happens to a request.
type Verdict string

// The verdicts.
const (
	// Approve: grant it.
	Approve Verdict = "Approve"
	// Wait: not yet; ask again.
	Wait Verdict = "Wait"
	// Refuse: not as long as neither it nor a machine changes.
	Refuse Verdict = "Refuse"
	// Ignore: it is decided already, or for others to decide.
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

// ApprovedMessage stands in the condition of an approved request.
const ApprovedMessage = "This CSR was approved by the Node CSR Approver (cluster-machine-approver)"

// Decision is a verdict and why.
type Decision struct {
	Verdict Verdict
	Reason  Reason
	Message string
	// NodeName is the node that the request is for; empty when not known.
	NodeName string
	// Machine is the machine that the request is for; nil when not known.
	Machine *Machine
}

// nodeUser is what the user name of a node begins with.
const nodeUser = "system:node:"

// nodesGroup is the group of all nodes, and the organization that stands for
// it in certificates.
const nodesGroup = "system:nodes"

// input is a request under examination. The checks that find its machine
// note it for those that follow.
type input struct {
	now    time.Time
	f      Facts
	policy Policy

	nodeName string
	machine  *Machine
}

// check looks at one thing. It objects by returning a decision.
type check func(*input) *Decision

// chain is the way of one kind of request: who asks, then for what.
type chain struct{ sender, request []check }

var chains = map[string]chain{
	certificatesv1.KubeAPIServerClientKubeletSignerName: {clientSender, clientRequest},
	certificatesv1.KubeletServingSignerName:             {servingSender, servingRequest},
}

// Decide judges one request. It is total: every combination of facts has an
// answer.
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

// WorthReading reports whether a request gets as far as being looked into: whether its
// sender is one who may ask, and few enough are waiting. What is asked for, and
// whether the token and the node are there, is not needed yet.
func WorthReading(now time.Time, f Facts, policy Policy) bool {
	c, ok := chains[f.Request.Spec.SignerName]
	q := &input{now: now, f: f, policy: policy, nodeName: NodeName(f)}
	return ok && q.first(c.sender) == nil
}

// first is the first objection; nil when there is none.
func (q *input) first(checks []check) *Decision {
	for _, c := range checks {
		if objection := c(q); objection != nil {
			return objection
		}
	}
	return nil
}

// NodeName is the node that a request is for, as far as its form tells: by its
// subject for a client certificate, by its sender for a serving one.
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

// crowded stops everything while far more nodes wait to join than there can be
// machines: something is wrong, and a human has to look. The request is not read in
// full yet: the machine is the one that it is about if it is genuine.
func crowded(q *input) *Decision {
	limit := MaxPending(q.f.Fleet, q.f.Nodes)
	if q.f.Pending <= limit {
		return nil
	}
	q.machine = q.only(func(m *Machine) bool { return m.Names(q.nodeName) })
	return wait(ReasonTooMany, "%d nodes wait for certificates, more than the limit of %d, which is one for each machine or node and %d: "+
		"no request is approved until fewer wait; delete the requests that belong to no machine", q.f.Pending, limit, pendingSlack)
}

func malformed(q *input) *Decision {
	if q.f.Certificate == nil {
		return refuse(ReasonMalformed, "the request cannot be decoded: %v", q.f.ParseErr)
	}
	return nil
}

// mostMessage is the most bytes of a message: it quotes what the sender wrote, and
// an event takes 1024 with what is said around it.
const mostMessage = 600

func refuse(r Reason, format string, args ...any) *Decision {
	return &Decision{Verdict: Refuse, Reason: r, Message: provider.Clip(fmt.Sprintf(format, args...), mostMessage)}
}

func wait(r Reason, format string, args ...any) *Decision {
	return &Decision{Verdict: Wait, Reason: r, Message: provider.Clip(fmt.Sprintf(format, args...), mostMessage)}
}
