package csr

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/millwright-dev/millwright/internal/engine/approval"
)

// quiet is how long a request may wait before it is reported: a node usually sends it moments before its
// machine is known by its name.
const quiet = 10 * time.Second

// told is the last report about a request, and the machine that the request is for.
type told struct {
	verdict approval.Verdict
	reason  approval.Reason
	message string
	node    string
	machine string
	// joiner is the sender of the request, see [joinerOf].
	joiner string
	said   bool
}

// mostTold is how many requests of one joiner get their own event at a time. Each event takes a write, and
// one client may create many requests.
const mostTold = approval.PendingShare

// tell reports why a request is not granted, once per change: on the request itself, and on the machine if
// that is known.
func (a *Approver) tell(ctx context.Context, now time.Time, r *certificatesv1.CertificateSigningRequest, d approval.Decision) {
	t := told{verdict: d.Verdict, reason: d.Reason, message: d.Message, node: d.NodeName, joiner: joinerOf(r, d)}
	if d.Machine != nil {
		t.machine = d.Machine.Key()
	}
	if d.Reason == approval.ReasonTooMany {
		t.message = "" // its numbers change with every request and machine
	}
	t.said = d.Verdict == approval.Refuse && !others(d) || now.Sub(r.CreationTimestamp.Time) >= quiet
	news, few := a.news(r.Name, t)
	if !news {
		return
	}
	log(ctx).Info("certificate request not approved", "request", r.Name, "signer", r.Spec.SignerName,
		"verdict", d.Verdict, "reason", d.Reason, "message", d.Message, "node", d.NodeName, "machine", t.machine)
	if a.OnRequests != nil && few {
		a.OnRequests.Eventf(reference(r), nil, corev1.EventTypeWarning, string(d.Reason), "ApproveCertificate",
			"the certificate request of node %q is not approved: %s", d.NodeName, d.Message)
	}
	if d.Machine == nil {
		return
	}
	if a.Refused != nil {
		a.Refused(*d.Machine, string(d.Reason), d.Message)
	}
	if a.Events != nil && d.Machine.Ref.Kind != "" {
		a.Events.Eventf(d.Machine.Ref.DeepCopy(), nil, corev1.EventTypeWarning, string(d.Reason), "ApproveCertificate",
			"certificate request %s of node %q is not approved: %s", r.Name, d.NodeName, d.Message)
	}
}

// others reports whether another approver, such as kube-controller-manager, may well approve the request in
// a moment.
func others(d approval.Decision) bool {
	return d.Reason == approval.ReasonUntrusted || d.Reason == approval.ReasonClientDisabled
}

// joinerOf names the sender of a request: the requestor and, if several nodes share that requestor, the
// node. If the requestor may not request certificates at all, the node is ignored.
func joinerOf(r *certificatesv1.CertificateSigningRequest, d approval.Decision) string {
	if d.Reason == approval.ReasonUntrusted {
		return r.Spec.Username
	}
	return r.Spec.Username + " " + d.NodeName
}

// reference names a request in events. Objects of a typed client have no kind set.
func reference(r *certificatesv1.CertificateSigningRequest) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: certificatesv1.SchemeGroupVersion.String(), Kind: "CertificateSigningRequest", Name: r.Name, UID: r.UID, ResourceVersion: r.ResourceVersion,
	}
}

// news remembers t. It reports whether t is new, and whether few enough requests of the same joiner have
// been reported.
func (a *Approver) news(name string, t told) (news, few bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.told == nil {
		a.told, a.toldOf = map[string]told{}, map[string]int{}
	}
	before := a.told[name]
	a.told[name] = t
	a.count(before, -1)
	few = a.toldOf[t.joiner] < mostTold
	a.count(t, 1)
	return t.said && before != t, few
}

// count keeps how many requests of each joiner have been reported.
func (a *Approver) count(t told, by int) {
	if !t.said {
		return
	}
	if a.toldOf[t.joiner] += by; a.toldOf[t.joiner] <= 0 {
		delete(a.toldOf, t.joiner)
	}
}

func (a *Approver) forget(name string) {
	a.readings.forget(name)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.count(a.told[name], -1)
	delete(a.told, name)
}

// waiting are the names of the ungranted requests that may be for the machine.
func (a *Approver) waiting(m approval.Machine) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []string
	for name, t := range a.told {
		if t.machine == m.Key() || m.Names(t.node) {
			out = append(out, name)
		}
	}
	return out
}

func log(ctx context.Context) logr.Logger { return ctrl.LoggerFrom(ctx) }
