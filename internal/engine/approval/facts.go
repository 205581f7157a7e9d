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

// Machine is what the approver needs to know about a machine.
type Machine struct {
	// UID is the object's.
	UID, Namespace, Name string
	// NodeName is the node recorded for the machine, or the name under which
	// the infrastructure foretells that it will register.
	NodeName string
	// Linked says that the machine's node has joined: the API records that node, or the
	// machine has run.
	Linked bool
	// Deleting says that the machine is on its way out.
	Deleting bool
	// Created is the object's creation time.
	Created time.Time
	// Addresses are those that the infrastructure reports for the instance.
	// Names in certificates are checked against the Hostname and DNS entries,
	// so an infrastructure that foretells the node name has to report it as
	// Hostname, too.
	Addresses  []corev1.NodeAddress
	ProviderID string
	// Ref is the API object, for events, and says which API has it; may be empty.
	Ref corev1.ObjectReference
}

// Names reports whether the machine joins, or has joined, as this node. Names
// of the infrastructure are compared as in DNS: without case and without the
// final dot.
func (m Machine) Names(node string) bool {
	if node == "" {
		return false
	}
	return m.NodeName == node || m.has(node, sameName, corev1.NodeInternalDNS)
}

// Key is "namespace/name".
func (m Machine) Key() string { return m.Namespace + "/" + m.Name }

// Subject selects the machines that a request may be about: those that name the node (see
// [Machine.Names]), and the owner of a token, "namespace/name". Either may be empty.
type Subject struct{ Node, Owner string }

// Facts are what is known when a request is judged.
type Facts struct {
	Request *certificatesv1.CertificateSigningRequest
	// Certificate is what the request holds, see [Read] and [Verify]; nil when it
	// could not be decoded or is not its sender's, and then ParseErr says why.
	Certificate *x509.CertificateRequest
	ParseErr    error
	// Machines are those that the request may be about: all that name its node (see
	// [Machine.Names]), and the one for which the token was made. Others may be among them.
	Machines []Machine
	// Fleet counts all machines whose nodes join the cluster.
	Fleet int
	// NodeExists says that there is a node of the name that is asked for.
	NodeExists bool
	// Nodes counts the nodes of the cluster, Pending the joiners that count against
	// the limit for this request, see [Joiners.Against].
	Nodes, Pending int
	// TokenKnown says that the requestor's bootstrap token still exists.
	// TokenOwner is the "namespace/name" of the machine for which it was made,
	// TokenUID that machine's UID; empty when it is nobody's in particular, and
	// where nobody says. All are for requestors with a token only.
	TokenKnown           bool
	TokenOwner, TokenUID string
}

// Policy is what an administrator may choose.
type Policy struct {
	// ClientDisabled leaves requests for client certificates alone.
	ClientDisabled bool
	// Bootstrappers are the groups, besides the requestor's own, that a user
	// with a bootstrap token must have one of.
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
	// PendingWindow is the age up to which pending requests count against the
	// limit. One from the future counts while the clocks may differ so far.
	PendingWindow = time.Hour
	// ClockSkew is by how far the clocks of API server and approver may differ.
	ClockSkew = 10 * time.Second
	// JoinWindow is how long after its creation a machine may join.
	JoinWindow = 2 * time.Hour
	// PendingShare is how many joiners of one user count against the limit for other
	// users. A kubelet asks for one name; users with a bootstrap token that several
	// machines share, for more.
	PendingShare = 10
	// pendingSlack is how many joiners may wait beyond one for each machine.
	pendingSlack = 100
)

// MaxPending is how many joiners may wait before no request is approved any more:
// one for each machine or node, whichever are more, and 100.
func MaxPending(machines, nodes int) int { return max(machines, nodes) + pendingSlack }

// TokenID is the id of the bootstrap token with which the request was made;
// empty when it was made otherwise.
func TokenID(r *certificatesv1.CertificateSigningRequest) string {
	id, _ := strings.CutPrefix(r.Spec.Username, tokenUser)
	if id == r.Spec.Username {
		return ""
	}
	return id
}

// Handled reports whether the request is of a kind that this package judges and
// whether it still waits for a decision.
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
