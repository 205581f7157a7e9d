// Package approval decides whether to approve a kubelet's certificate request.
//
// [Decide] is a chain of named checks, and the first check that objects says why. A request is approved only if it comes from a known
// machine, for the node name under which that machine may join, and for the addresses of its instance. Decide never denies a request: what
// cannot be approved now may be approved later, and other approvers may have other rules.
//
// Decide takes addresses from what the infrastructure reports about the instance. It ignores the addresses of the Node, because a kubelet
// can write any address there. It also ignores the serving certificate that the kubelet presents now: a renewal passes the same checks as a
// first request.
package approval

import (
	"crypto/x509"
	"slices"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
)

// Machine has the facts about a machine that the approver needs.
type Machine struct {
	// UID is that of the object.
	UID, Namespace, Name string
	// NodeName is the node recorded for the machine, or the name that the infrastructure predicts for it.
	NodeName string
	// Linked says that the machine's node has joined: the API records that node, or the
	// machine has run.
	Linked bool
	// Deleting says that the machine is under deletion.
	Deleting bool
	// Created is the object's creation time.
	Created time.Time
	// Addresses are the addresses that the infrastructure reports for the instance. Names in certificates are
	// compared with the Hostname and DNS entries. So an infrastructure that predicts the node name has to
	// report it as Hostname, too.
	Addresses  []corev1.NodeAddress
	ProviderID string
	// Ref is the API object, for events, and names its API; may be empty.
	Ref corev1.ObjectReference
}

// Names reports whether the machine joins, or has joined, as this node. Names of the infrastructure are
// compared as DNS names: ignoring case and the final dot.
func (m Machine) Names(node string) bool {
	if node == "" {
		return false
	}
	return m.NodeName == node || m.has(node, sameName, corev1.NodeInternalDNS)
}

// Key is "namespace/name".
func (m Machine) Key() string { return m.Namespace + "/" + m.Name }

// Subject selects the machines that a request may concern: those that name the node (see [Machine.Names]),
// and the owner of a token, "namespace/name". Either field may be empty.
type Subject struct{ Node, Owner string }

// Facts are the facts on which a request is judged.
type Facts struct {
	Request *certificatesv1.CertificateSigningRequest
	// Certificate is the decoded request, see [Read] and [Verify]. If the request cannot be decoded or is not
	// signed with the sender's key, it is nil, and ParseErr has the reason.
	Certificate *x509.CertificateRequest
	ParseErr    error
	// Machines are the machines that the request may concern: all that name its node (see [Machine.Names]),
	// and the one for which the token was created. The list may contain other machines.
	Machines []Machine
	// Fleet counts all machines whose nodes join the cluster.
	Fleet int
	// NodeExists says that a node of the requested name exists.
	NodeExists bool
	// Nodes counts the nodes of the cluster, Pending the joiners that count against
	// the limit for this request, see [Joiners.Against].
	Nodes, Pending int
	// TokenKnown says that the requestor's bootstrap token still exists. TokenOwner is the "namespace/name"
	// of the machine for which the token was created, TokenUID that machine's UID; both are empty if the
	// token names no machine. All three are for requestors with a token only.
	TokenKnown           bool
	TokenOwner, TokenUID string
}

// Policy has the administrator's settings.
type Policy struct {
	// ClientDisabled disables the approval of client certificates.
	ClientDisabled bool
	// Bootstrappers are groups. A user with a bootstrap token must have one of them, besides the groups of
	// every such user.
	Bootstrappers []string
}

// Groups of users with a bootstrap token that are trusted by default.
const (
	GroupBootstrappers = "system:bootstrappers"
	GroupOurs          = "system:bootstrappers:millwright"
)

// DefaultPolicy trusts both groups.
func DefaultPolicy() Policy {
	return Policy{Bootstrappers: []string{GroupOurs, GroupBootstrappers}}
}

// Limits.
const (
	// PendingWindow is the age up to which pending requests count against the limit. A request with a
	// creation time in the future counts if the clocks may differ that much.
	PendingWindow = time.Hour
	// ClockSkew is how much the clocks of API server and approver may differ.
	ClockSkew = 10 * time.Second
	// JoinWindow is how long after its creation a machine may join.
	JoinWindow = 2 * time.Hour
	// PendingShare is how many joiners of one user count against the limit for other users. A kubelet
	// requests one name; a user whose bootstrap token several machines share requests more.
	PendingShare = 10
	// pendingSlack is how many joiners may wait in addition to one for each machine.
	pendingSlack = 100
)

// MaxPending returns how many joiners may wait before approvals stop: one for each machine or node, whichever
// are more, plus 100.
func MaxPending(machines, nodes int) int { return max(machines, nodes) + pendingSlack }

// TokenID returns the id of the bootstrap token with which the request was created; empty if the requestor
// used another credential.
func TokenID(r *certificatesv1.CertificateSigningRequest) string {
	id, _ := strings.CutPrefix(r.Spec.Username, tokenUser)
	if id == r.Spec.Username {
		return ""
	}
	return id
}

// Handled reports whether this package judges requests of this kind, and whether the request still waits for
// a decision.
func Handled(r *certificatesv1.CertificateSigningRequest) (kind, pending bool) {
	kind = slices.Contains([]string{
		certificatesv1.KubeAPIServerClientKubeletSignerName, certificatesv1.KubeletServingSignerName,
	}, r.Spec.SignerName)
	for _, c := range r.Status.Conditions {
		if c.Type != certificatesv1.CertificateFailed {
			return kind, false
		}
	}
	return kind, len(r.Status.Certificate) == 0
}
