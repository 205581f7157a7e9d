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

// quiet is how long a request may wait before that is worth telling: a node
// usually asks moments before its machine is known under its name.
const quiet = 10 * time.Second

// told is what was last said about a request, and for whom it is.
type told struct {
	verdict approval.Verdict
	message string
	node    string
	machine string
	said    bool
}

// tell says why a request is not granted, once per change.
func (a *Approver) tell(ctx context.Context, now time.Time, r *certificatesv1.CertificateSigningRequest, d approval.Decision) {
	t := told{verdict: d.Verdict, message: d.Message, node: d.NodeName}
	if d.Machine != nil {
		t.machine = d.Machine.Key()
	}
	t.said = d.Verdict == approval.Refuse || now.Sub(r.CreationTimestamp.Time) >= quiet
	if !a.news(r.Name, t) {
		return
	}
	log(ctx).Info("certificate request not approved", "request", r.Name, "signer", r.Spec.SignerName,
		"verdict", d.Verdict, "reason", d.Reason, "message", d.Message, "node", d.NodeName, "machine", t.machine)
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

// news remembers t and reports whether it is to be said.
func (a *Approver) news(name string, t told) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.told == nil {
		a.told = map[string]told{}
	}
	before := a.told[name]
	a.told[name] = t
	return t.said && before != t
}

func (a *Approver) forget(name string) {
	a.readings.forget(name)
	a.mu.Lock()
	defer a.mu.Unlock()
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
