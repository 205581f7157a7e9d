package collect

import (
	"context"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect/status"
	"github.com/millwright-dev/millwright/internal/engine/approval"
	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/engine/postmortem"
	"github.com/millwright-dev/millwright/internal/runtime/node"
)

// requests returns the pending certificate requests of the machine, each with the approver's report. For some
// requests, the approver writes no event on a machine, because it cannot find the machine. requests judges these by
// the approver's rules, as far as this package can read the facts. A denied request without a later request is
// included.
func (l *look) requests(ctx context.Context, f *explain.MachineFacts) (out []postmortem.Request) {
	list, err := once(l, "certificatesigningrequests", func() (*certificatesv1.CertificateSigningRequestList, error) {
		var list certificatesv1.CertificateSigningRequestList
		return &list, l.Target.List(ctx, &list)
	})
	if err != nil {
		l.gap("certificatesigningrequests", err)
		return nil
	}
	var denied, newest *certificatesv1.CertificateSigningRequest
	for i := range list.Items {
		r := &list.Items[i]
		if !asks(r, f) {
			continue
		}
		if newest == nil || newest.CreationTimestamp.Before(&r.CreationTimestamp) {
			newest = r
		}
		if _, pending := approval.Handled(r); !pending {
			if denial(r) != nil {
				denied = r
			}
			continue
		}
		request := status.Request(r, approval.Decision{})
		if !recorded(&request, f.Events) {
			l.judge(ctx, &request, r, f)
		}
		if request.Verdict == string(approval.Refuse) && decidedSince(ctx, l, r) {
			continue
		}
		out = append(out, request)
	}
	if denied != nil && denied == newest { // the kubelet has not sent another request
		request := status.Request(denied, approval.Decision{})
		c := denial(denied)
		request.Verdict, request.Reason, request.Message = string(approval.Refuse), explain.ReasonRequestDenied, strings.TrimSuffix(c.Reason+": "+c.Message, ": ")
		out = append(out, request)
	}
	return out
}

// decidedSince reports whether the request was decided or deleted after look listed the requests. The facts of the
// verdict are newer than the list: for example, the token of a kubelet that has joined is deleted.
func decidedSince(ctx context.Context, l *look, r *certificatesv1.CertificateSigningRequest) bool {
	var now certificatesv1.CertificateSigningRequest
	if err := l.Target.Get(ctx, client.ObjectKeyFromObject(r), &now); err != nil {
		return apierrors.IsNotFound(err)
	}
	_, pending := approval.Handled(&now)
	return !pending
}

// denial returns the denial of a request, or nil if the request was not denied.
func denial(r *certificatesv1.CertificateSigningRequest) *certificatesv1.CertificateSigningRequestCondition {
	for i, c := range r.Status.Conditions {
		if c.Type == certificatesv1.CertificateDenied {
			return &r.Status.Conditions[i]
		}
	}
	return nil
}

// recorded copies the approver's report from the newest event about the request. It returns false if no event is
// about the request.
func recorded(r *postmortem.Request, events []postmortem.Event) bool {
	for _, e := range slices.Backward(events) {
		_, message, ok := strings.Cut(e.Message, "certificate request "+r.Name+" of node ")
		if !ok {
			continue
		}
		if _, objection, ok := strings.Cut(message, " is not approved: "); ok {
			message = objection
		}
		r.Reason, r.Message, r.Verdict = e.Reason, message, string(approval.Wait)
		if !waits[approval.Reason(e.Reason)] {
			r.Verdict = string(approval.Refuse)
		}
		return true
	}
	return false
}

// waits has the reasons of objections that may be temporary.
var waits = map[approval.Reason]bool{
	approval.ReasonTooMany: true, approval.ReasonNoMachine: true, approval.ReasonAmbiguous: true,
	approval.ReasonNotLinked: true, approval.ReasonNoAddresses: true, approval.ReasonAddress: true, approval.ReasonNodeExists: true,
}

// sure has the reasons that follow from facts which this package can read.
var sure = map[approval.Reason]bool{
	approval.ReasonMalformed: true, approval.ReasonUntrusted: true, approval.ReasonTokenGone: true, approval.ReasonUsages: true,
	approval.ReasonSubject: true, approval.ReasonNames: true, approval.ReasonOtherToken: true, approval.ReasonOutsideJoinWindow: true,
	approval.ReasonNoMachine: true, approval.ReasonNodeExists: true,
}

// judge applies the approver's rules to a request. It sets the verdict only for the reasons in sure.
func (l *look) judge(ctx context.Context, out *postmortem.Request, r *certificatesv1.CertificateSigningRequest, f *explain.MachineFacts) {
	facts := approval.Facts{Request: r, TokenKnown: true}
	facts.Certificate, facts.ParseErr = approval.Parse(r.Spec.Request)
	if id := approval.TokenID(r); id != "" {
		owner, known, err := node.TokenOwner(ctx, l.Target, id)
		l.gap("bootstrap token "+id, err)
		if err == nil {
			facts.TokenOwner, facts.TokenUID, facts.TokenKnown = owner.Key, owner.UID, known
		}
	}
	nodes, _ := l.nodes(ctx)
	facts.NodeExists = nodes[approval.NodeName(facts)] != nil
	v := f.View
	facts.Machines = []approval.Machine{{
		UID: v.UID, Namespace: v.Namespace, Name: v.Name, NodeName: v.Recorded.NodeName, Linked: v.Recorded.NodeUID != "" || v.HadNode(),
		Deleting: !v.Deleted.IsZero(), Created: v.Created, ProviderID: v.Recorded.ProviderID, Addresses: v.Recorded.Addresses,
	}}
	d := approval.Decide(l.now, facts, approval.DefaultPolicy())
	if sure[d.Reason] && (d.Reason != approval.ReasonNoMachine || v.Recorded.NodeName != "" || len(v.Recorded.Addresses) > 0) {
		out.Verdict, out.Reason, out.Message = string(d.Verdict), string(d.Reason), d.Message
	}
}
