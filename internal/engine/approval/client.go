package approval

import (
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
)

// clientSender and clientRequest are the checks of a request for a client certificate, with which a new node
// introduces itself.
var clientSender = []check{settled, renewal, clientDisabled, requestorTrusted, crowded}

var clientRequest = []check{
	tokenThere,
	clientUsages,
	clientSubject,
	clientNames,
	nodeAbsent,
	machineByName,
	tokenOfMachine,
	machineStays,
	machineUnlinked,
	insideJoinWindow,
}

// bootstrapperUser is the service account that bootstraps nodes in clusters without bootstrap tokens.
// bootstrapperGroups are the exact groups it has.
const bootstrapperUser = "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper"

var bootstrapperGroups = []string{
	"system:serviceaccounts:openshift-machine-config-operator", "system:serviceaccounts", "system:authenticated",
}

// tokenUser is the prefix of the name of a user with a bootstrap token.
const tokenUser = "system:bootstrap:"

// renewal ignores renewals: the node itself renews its certificate, and kube-controller-manager approves that
// by the node's own permission.
func renewal(q *input) *Decision {
	if !strings.HasPrefix(q.f.Request.Spec.Username, nodeUser) {
		return nil
	}
	return &Decision{Verdict: Ignore, Reason: ReasonRenewal}
}

func clientDisabled(q *input) *Decision {
	if !q.policy.ClientDisabled {
		return nil
	}
	return refuse(ReasonClientDisabled, "approval of client certificates is disabled")
}

func requestorTrusted(q *input) *Decision {
	if trusted(q.f.Request, q.policy) {
		return nil
	}
	s := q.f.Request.Spec
	return refuse(ReasonUntrusted, "user %q with groups %q may not request a node's client certificate", s.Username, s.Groups)
}

// tokenThere refuses a request whose token does not exist. Without the token it is unknown for which machine
// it was created, and a leftover request could take the name of another machine.
func tokenThere(q *input) *Decision {
	if TokenID(q.f.Request) == "" || q.f.TokenKnown {
		return nil
	}
	return refuse(ReasonTokenGone, "the bootstrap token %s does not exist", TokenID(q.f.Request))
}

func clientUsages(q *input) *Decision {
	usages := without(q.f.Request.Spec.Usages, certificatesv1.UsageKeyEncipherment)
	if sameSet(usages, []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth}) {
		return nil
	}
	return refuse(ReasonUsages, "usages %q are not those of a client certificate", q.f.Request.Spec.Usages)
}

func clientSubject(q *input) *Decision {
	s := q.f.Certificate.Subject
	if len(s.Organization) != 1 || s.Organization[0] != nodesGroup {
		return refuse(ReasonSubject, "organization %q is not %q alone", s.Organization, nodesGroup)
	}
	if q.nodeName == "" {
		return refuse(ReasonSubject, "common name %q is not that of a node", s.CommonName)
	}
	return nil
}

func clientNames(q *input) *Decision {
	c := q.f.Certificate
	if len(c.DNSNames)+len(c.IPAddresses)+len(c.EmailAddresses)+len(c.URIs) == 0 {
		return nil
	}
	return refuse(ReasonNames, "a client certificate must not have subject alternative names")
}

func nodeAbsent(q *input) *Decision {
	if !q.f.NodeExists {
		return nil
	}
	q.machine = q.only(func(m *Machine) bool { return m.Names(q.nodeName) })
	return refuse(ReasonNodeExists, "node %s exists already", q.nodeName)
}

// machineByName finds the machine that may join under the requested name.
func machineByName(q *input) *Decision {
	found := q.machines(func(m *Machine) bool { return m.Names(q.nodeName) })
	switch len(found) {
	case 1:
		q.machine = found[0]
		return nil
	case 0:
		q.machine = q.byKey(q.f.TokenOwner) // for the event
		return wait(ReasonNoMachine, "no machine is expected to join as %s", q.nodeName)
	}
	return wait(ReasonAmbiguous, "%d machines would join as %s: %s", len(found), q.nodeName, keys(found))
}

// tokenOfMachine keeps a machine from joining as another one: a token created for one machine is valid for
// that machine only, and not for a later machine of the same name. A requestor without one of Millwright's
// tokens has to pass the other checks only: the node does not exist, and exactly one machine of that name has
// not joined and is inside its join window.
func tokenOfMachine(q *input) *Decision {
	switch {
	case TokenID(q.f.Request) == "":
		return nil
	case q.f.TokenOwner != "" && q.f.TokenOwner != q.machine.Key():
		return refuse(ReasonOtherToken, "the bootstrap token was created for machine %s", q.f.TokenOwner)
	case q.f.TokenUID != "" && q.f.TokenUID != q.machine.UID:
		return refuse(ReasonOtherToken, "the bootstrap token was created for an earlier machine %s, with UID %s", q.machine.Key(), q.f.TokenUID)
	}
	return nil
}

func machineStays(q *input) *Decision {
	if !q.machine.Deleting {
		return nil
	}
	return refuse(ReasonDeleting, "machine %s is being deleted", q.machine.Key())
}

func machineUnlinked(q *input) *Decision {
	if !q.machine.Linked {
		return nil
	}
	return refuse(ReasonLinked, "machine %s has a node already: %s", q.machine.Key(), q.machine.NodeName)
}

func insideJoinWindow(q *input) *Decision {
	age := q.f.Request.CreationTimestamp.Sub(q.machine.Created)
	if age >= -ClockSkew && age <= JoinWindow {
		return nil
	}
	return refuse(ReasonOutsideJoinWindow, "the request was created %v after machine %s, later than the limit of %v", age, q.machine.Key(), JoinWindow)
}

// machines returns the machines that match. It returns machines under deletion only if no other machine
// matches: the successor of such a machine may have the same name.
func (q *input) machines(match func(*Machine) bool) []*Machine {
	var stay, leave []*Machine
	for i := range q.f.Machines {
		m := &q.f.Machines[i]
		switch {
		case !match(m):
		case m.Deleting:
			leave = append(leave, m)
		default:
			stay = append(stay, m)
		}
	}
	if len(stay) > 0 {
		return stay
	}
	return leave
}

// only returns the one machine that matches, for the event; nil if no machine or several machines match.
func (q *input) only(match func(*Machine) bool) *Machine {
	if found := q.machines(match); len(found) == 1 {
		return found[0]
	}
	return nil
}

func (q *input) byKey(key string) *Machine {
	for i := range q.f.Machines {
		if key != "" && q.f.Machines[i].Key() == key {
			return &q.f.Machines[i]
		}
	}
	return nil
}
