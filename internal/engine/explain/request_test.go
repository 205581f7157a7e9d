package explain_test

import (
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/approval"
	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/engine/postmortem"
)

// TestRequested: the approver's objection is known from an event of the machine. Without a machine there is
// no event, and the request waits for no objection.
func TestRequested(t *testing.T) {
	machine := explain.Subject{Kind: "Machine", Namespace: "ns", Name: "m-1"}
	for name, c := range map[string]struct {
		reason  string
		machine explain.Subject
		request postmortem.Request
		want    string
	}{
		"young":   {"a node asks moments before its machine is known", explain.Subject{}, postmortem.Request{Created: now.Add(-30 * time.Second)}, "wait: "},
		"unknown": {"nobody has the name", explain.Subject{}, postmortem.Request{Created: now.Add(-2 * time.Minute)}, "check the name with which the kubelet registers"},
		"waits":   {"nobody has looked at it", machine, postmortem.Request{Created: now.Add(-2 * time.Minute)}, "check whether an approver runs"},
		"refused": {"it is known why", machine, postmortem.Request{Created: now.Add(-2 * time.Minute), Verdict: string(approval.Refuse), Reason: string(approval.ReasonTokenGone)}, "delete the machine"},
	} {
		t.Run(name, func(t *testing.T) {
			a := explain.Requested(now, explain.RequestFacts{Subject: explain.Subject{Kind: "CertificateSigningRequest", Name: "csr-1"}, Request: c.request, Machine: c.machine})
			if !strings.HasPrefix(a.Next, c.want) {
				t.Errorf("%s: %s: %q, want %q", name, c.reason, a.Next, c.want)
			}
		})
	}
}
