package approval

import (
	"slices"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
)

// Joiners are the nodes that wait for a certificate, by requestor: the names of the nodes for which each
// requestor has sent a request within [PendingWindow]. A kubelet that sends several requests counts once.
type Joiners map[string]map[string]bool

// CountJoiners counts the pending requests that [Decide] may approve by their requestor: node-bootstrapper,
// users with a bootstrap token of the policy's groups, and nodes that request a serving certificate. It does
// not count requests of other users, for example service accounts, nor renewals of client certificates, which
// kube-controller-manager approves. node returns the name of the node that a request is for, see [NodeName];
// it is called only for recent requests of requestors that several nodes may share.
func CountJoiners(now time.Time, pending []certificatesv1.CertificateSigningRequest, policy Policy, node func(*certificatesv1.CertificateSigningRequest) string) Joiners {
	out := Joiners{}
	for i := range pending {
		r := &pending[i]
		if !Recent(now, r) || !mayAsk(r, policy) {
			continue
		}
		user, name := r.Spec.Username, ""
		if !strings.HasPrefix(user, nodeUser) {
			name = FoldName(node(r))
		}
		if out[user] == nil {
			out[user] = map[string]bool{}
		}
		out[user][name] = true
	}
	return out
}

// Against returns how many joiners count against the limit for a request of this user: all of the user's own,
// all of node-bootstrapper, and at most [PendingShare] of each other user. So the holder of one bootstrap
// token cannot keep all others from joining.
func (j Joiners) Against(user string) (n int) {
	for other, nodes := range j {
		if other == user || other == bootstrapperUser {
			n += len(nodes)
			continue
		}
		n += min(len(nodes), PendingShare)
	}
	return n
}

// Most returns the greatest number that counts against the limit for any user. If it does not exceed the
// limit, the limit stops no request.
func (j Joiners) Most() (n int) {
	others := j.Against("")
	n = others
	for user, nodes := range j {
		if user != bootstrapperUser {
			n = max(n, others+max(len(nodes)-PendingShare, 0))
		}
	}
	return n
}

// Kubelet reports whether the requestor's name is that of a kubelet: a node, a user with a bootstrap token,
// or node-bootstrapper.
func Kubelet(r *certificatesv1.CertificateSigningRequest) bool {
	user := r.Spec.Username
	return user == bootstrapperUser || strings.HasPrefix(user, nodeUser) || TokenID(r) != ""
}

// mayAsk reports whether the requestor is of a kind whose requests are approved.
func mayAsk(r *certificatesv1.CertificateSigningRequest, policy Policy) bool {
	switch r.Spec.SignerName {
	case certificatesv1.KubeAPIServerClientKubeletSignerName:
		return trusted(r, policy)
	case certificatesv1.KubeletServingSignerName:
		return notANode(r) == ""
	}
	return false
}

// trusted reports whether the requestor may request a node's client certificate.
func trusted(r *certificatesv1.CertificateSigningRequest, policy Policy) bool {
	s := r.Spec
	if s.Username == bootstrapperUser {
		return sameSet(s.Groups, bootstrapperGroups)
	}
	return TokenID(r) != "" && slices.ContainsFunc(policy.Bootstrappers, func(g string) bool { return slices.Contains(s.Groups, g) })
}

// nodeGroups are the groups of a node.
var nodeGroups = []string{nodesGroup, "system:authenticated"}

// notANode returns why the requestor of a serving certificate is not a node; empty if it is.
func notANode(r *certificatesv1.CertificateSigningRequest) string {
	if name, ok := strings.CutPrefix(r.Spec.Username, nodeUser); !ok || name == "" {
		return "is not a node"
	}
	for _, g := range nodeGroups {
		if !slices.Contains(r.Spec.Groups, g) {
			return "is not in group " + g
		}
	}
	return ""
}

// FoldName is a name as DNS compares it: in lower case and without the final dot.
func FoldName(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

// Recent reports whether a pending request counts against the limit.
func Recent(now time.Time, r *certificatesv1.CertificateSigningRequest) bool {
	age := now.Sub(r.CreationTimestamp.Time)
	return age < PendingWindow && age > -ClockSkew
}
