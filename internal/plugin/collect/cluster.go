package collect

import (
	"context"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect/status"
	"github.com/millwright-dev/millwright/internal/engine/approval"
	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/runtime/node"
)

// machines returns the machines of both APIs in all namespaces.
func (l *look) machines(ctx context.Context) (out []client.Object) {
	for _, k := range kindsOf(Question{Kind: "Machine"}) {
		list, err := l.listed(ctx, k, "")
		if !meta.IsNoMatchError(err) {
			l.gap(k.plural()+"."+k.api, err)
		}
		out = append(out, list...)
	}
	return out
}

// ofNode explains a node with the facts about its machine.
func (l *look) ofNode(ctx context.Context, n *corev1.Node) explain.Answer {
	for _, o := range l.machines(ctx) {
		v := machineOf(o).View
		if v.Recorded.NodeName == n.Name || v.Recorded.NodeName == "" && theirs(v.Namespace, v.Name, v.Recorded.ProviderID, n) {
			a := explain.Machine(l.now, l.machine(ctx, o))
			return explain.Node(l.now, subject(n), n, &a, texts(l.gaps))
		}
	}
	return explain.Node(l.now, subject(n), n, nil, texts(l.gaps))
}

// leftover returns the node of a machine that no longer exists, or nil. The node has an annotation or a label with
// the machine's name, or has that name itself.
func leftover(ctx context.Context, l *look, q Question) *corev1.Node {
	nodes, _ := l.nodes(ctx)
	for _, n := range nodes {
		namespace, name, _ := strings.Cut(n.Annotations[node.MachineAnnotation], "/")
		marked := name == q.Name && (q.Namespace == "" || q.Namespace == namespace)
		if marked || n.Labels[node.MachineNameLabel] == q.Name || n.Name == q.Name {
			return n
		}
	}
	return nil
}

// theirs reports whether a node has the machine's provider ID, or an annotation with the machine's name.
func theirs(namespace, name, providerID string, n *corev1.Node) bool {
	return providerID != "" && n.Spec.ProviderID == providerID || n.Annotations[node.MachineAnnotation] == namespace+"/"+name
}

// request explains a certificate request. If a machine may have sent the request, the approver's rules apply.
func (l *look) request(ctx context.Context, r *certificatesv1.CertificateSigningRequest) explain.Answer {
	f := explain.RequestFacts{Subject: subject(r), Request: status.Request(r, approval.Decision{})}
	for _, c := range r.Status.Conditions {
		f.Settled = strings.TrimSpace(string(c.Type) + " " + c.Message)
	}
	kind, pending := approval.Handled(r)
	f.Foreign = !kind || !pending && f.Settled == ""
	for _, o := range l.machines(ctx) {
		m := machineOf(o)
		if !pending || !asks(r, m) {
			continue
		}
		f.Machine = m.Subject
		m.Events = l.events(ctx, o)
		if !recorded(&f.Request, m.Events) {
			l.judge(ctx, &f.Request, r, m)
		}
		break
	}
	f.Gaps = texts(l.gaps)
	return explain.Requested(l.now, f)
}

// asks reports whether the machine's kubelet sent the request, or may have sent it.
func asks(r *certificatesv1.CertificateSigningRequest, f *explain.MachineFacts) bool {
	names := []string{f.View.Recorded.NodeName}
	for _, a := range f.View.Recorded.Addresses {
		if a.Type == corev1.NodeInternalDNS || a.Type == corev1.NodeHostName {
			names = append(names, a.Address)
		}
	}
	return status.Asked(r, f.View.UID, names...)
}
