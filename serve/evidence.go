package serve

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	keeping "github.com/millwright-dev/millwright/internal/controller/postmortem"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/postmortem"
	"github.com/millwright-dev/millwright/internal/runtime/node"
)

// keeper keeps evidence of the machines of one API that failed.
func keeper[M client.Object](a *assembly, mgr ctrl.Manager, lens dialect.Machines[M], resolver dialect.Resolver[M], nodes *node.Cluster) error {
	return keeping.New(keeping.Options[M]{
		Dialect: lens, Resolver: resolver, Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Provider: a.provider, Nodes: nodes,
		Requests: a.requestsOf, Clock: a.process.Clock, Policy: postmortem.DefaultPolicy(),
		Namespace: a.flags.NamespaceOf(lens.API()),
	}).SetupWithManager(mgr)
}

// requestsOf are a machine's certificate requests, where this process approves
// such.
func (a *assembly) requestsOf(ctx context.Context, uid string, nodes ...string) ([]postmortem.Request, error) {
	if a.approves == nil {
		return nil, nil
	}
	return a.approves.RequestsOf(ctx, uid, nodes...)
}
