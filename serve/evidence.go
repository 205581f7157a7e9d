package serve

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/controller/postmortem"
	"github.com/millwright-dev/millwright/internal/dialect"
)

// keeper stores evidence of the failed machines of one API.
func keeper[M client.Object](ctx context.Context, a *assembly, mgr ctrl.Manager, lens dialect.Machines[M], resolver dialect.Resolver[M]) error {
	nodes, err := a.process.Nodes(ctx, leaseOf(lens.API(), a.plugin))
	if err != nil {
		return err
	}
	return postmortem.New(postmortem.Options[M]{
		Dialect: lens, Resolver: resolver, Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Provider: a.provider, Nodes: nodes,
		Requests: a.requestsOf, Clock: a.process.Clock, Policy: postmortem.DefaultPolicy(),
		Namespace: a.flags.NamespaceOf(lens.API()),
	}).SetupWithManager(mgr)
}

// requestsOf returns the certificate requests of a machine, if this process approves them.
func (a *assembly) requestsOf(ctx context.Context, uid string, nodes ...string) ([]postmortem.Request, error) {
	if a.approves == nil {
		return nil, nil
	}
	return a.approves.RequestsOf(ctx, uid, nodes...)
}
