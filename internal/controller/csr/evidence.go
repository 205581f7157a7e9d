package csr

import (
	"context"
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect/status"
	"github.com/millwright-dev/millwright/internal/engine/approval"
	"github.com/millwright-dev/millwright/internal/engine/postmortem"
)

// RequestsOf are the pending requests of the machine with this UID, or of nodes with these names, each with
// its present verdict. It grants no request. A request that cannot be judged is reported without a verdict,
// and with the error.
func (a *Approver) RequestsOf(ctx context.Context, uid string, nodes ...string) (out []postmortem.Request, err error) {
	var list certificatesv1.CertificateSigningRequestList
	if err := a.Client.List(ctx, &list, client.MatchingFields{PendingIndex: pendingValue}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing pending certificate requests: %w", err)
	}
	for i := range list.Items {
		r := &list.Items[i]
		if !status.Asks(r, uid, nodes...) {
			continue
		}
		var d approval.Decision
		facts, e := a.observe(ctx, r)
		if e != nil {
			err = fmt.Errorf("judging certificate request %s: %w", r.Name, e)
		} else {
			d = approval.Decide(a.Clock.Now(), facts, a.Policy)
		}
		out = append(out, status.Request(r, d))
	}
	return out, err
}
