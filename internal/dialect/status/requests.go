package status

import (
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"

	"github.com/millwright-dev/millwright/internal/engine/approval"
	"github.com/millwright-dev/millwright/internal/engine/bootstrap"
	"github.com/millwright-dev/millwright/internal/engine/postmortem"
)

// tokenAttempts is how many token ids a machine may have; only the first is likely.
const tokenAttempts = 8

// Asks reports whether a pending certificate request is, or may be, from the kubelet of the machine with this
// UID: it was created with the machine's bootstrap token, or for a node of one of the given names.
func Asks(r *certificatesv1.CertificateSigningRequest, uid string, nodes ...string) bool {
	_, pending := approval.Handled(r)
	return pending && Asked(r, uid, nodes...)
}

// Asked is like [Asks], for a request that may have been decided.
func Asked(r *certificatesv1.CertificateSigningRequest, uid string, nodes ...string) bool {
	if kind, _ := approval.Handled(r); !kind {
		return false
	}
	if id := approval.TokenID(r); id != "" {
		for attempt := range tokenAttempts {
			if id == bootstrap.TokenID(uid, attempt) {
				return true
			}
		}
	}
	name := nodeName(r)
	return name != "" && slices.Contains(nodes, name)
}

// nodeName returns the node that a request names. It does not verify that its sender has the key: that takes
// longer, and nothing is approved here.
func nodeName(r *certificatesv1.CertificateSigningRequest) string {
	f := approval.Facts{Request: r}
	if r.Spec.SignerName == certificatesv1.KubeAPIServerClientKubeletSignerName {
		f.Certificate, f.ParseErr = approval.Read(r.Spec.Request)
	}
	return approval.NodeName(f)
}

// Request returns a certificate request with the approver's decision; d is zero if the approver did not judge
// it.
func Request(r *certificatesv1.CertificateSigningRequest, d approval.Decision) postmortem.Request {
	return postmortem.Request{
		Name: r.Name, Signer: r.Spec.SignerName, Node: nodeName(r), Created: r.CreationTimestamp.Time,
		Verdict: string(d.Verdict), Reason: string(d.Reason), Message: d.Message,
	}
}
