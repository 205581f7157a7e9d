package machine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// locateTimeout bounds the search of an account.
const locateTimeout = 30 * time.Second

// search is for an instance that is not in its expected place.
type search[M client.Object] struct{ *pass[M] }

// locate searches further for the instance of a machine that does not record where it was requested, and
// that has none in the place of its present labels and class: its record may have been removed, and its
// labels edited. It looks in all clusters of the account if the infrastructure can list them, else in those
// where other machines have requested their instances.
func (p search[M]) locate(ctx context.Context) {
	w := p.world.Instances
	if !w.Looked || len(w.Owned()) > 0 || w.SeenToGo || w.Fault != nil || p.view.Recorded.Origin != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, locateTimeout)
	defer cancel()
	clusters, err := p.clusters(ctx)
	for _, cluster := range clusters {
		if err != nil || cluster == p.infra.class.Cluster {
			continue
		}
		var found bool
		if found, err = p.foundIn(ctx, cluster); found {
			return
		}
	}
	if err != nil {
		p.world.Instances = lifecycle.Instances{Err: p.infra.lacking(err)}
	}
}

// clusters are those to search besides the cluster of the machine's labels and class.
func (p search[M]) clusters(ctx context.Context) (out []string, err error) {
	if l, ok := provider.As[provider.ScopeFinder](p.infra.session); ok {
		cluster, err := l.FindScope(ctx, p.ref())
		if err != nil {
			return nil, fmt.Errorf("look for the instance in all clusters of the account: %w", err)
		}
		return slices.DeleteFunc([]string{cluster}, func(c string) bool { return c == "" }), nil
	}
	if !p.view.Recorded.Provisioned {
		return nil, nil
	}
	return p.fleet.scopes.get(p.Clock, "", func() ([]string, int, error) { return recordedScopes(ctx, p.Client, p.Dialect) })
}

// recordedScopes are the clusters that machines have recorded as the place of their instances, and the
// number of machines.
func recordedScopes[M client.Object](ctx context.Context, c client.Reader, lens dialect.Machines[M]) (out []string, machines int, err error) {
	list := lens.NewList()
	if err := c.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil { // they are only read
		return nil, 0, fmt.Errorf("list machines: %w", err)
	}
	for m := range dialect.Items[M](list) {
		machines++
		if o := lens.View(m).Recorded.Origin; o != nil && o.Cluster != "" && !slices.Contains(out, o.Cluster) {
			out = append(out, o.Cluster)
		}
	}
	slices.Sort(out)
	return out, machines, nil
}

// foundIn reports whether the machine's instance is in the cluster, and if so continues with that cluster
// as the place of the request.
func (p search[M]) foundIn(ctx context.Context, cluster string) (bool, error) {
	class := p.infra.class
	class.Cluster = cluster
	infra, err := openInfrastructure(ctx, p.Provider, class, nil, !p.view.Deleted.IsZero())
	if err != nil {
		return false, err
	}
	was, origin := p.infra, p.world.Session.Origin
	p.infra, p.world.Session.Origin = infra, infra.place()
	p.onInstances(func(s *instances[M]) { p.world.Instances = s.look(ctx) })
	if i := p.world.Instances; i.Looked && len(i.Owned()) > 0 {
		p.log.Info("the instance was found in another cluster than the machine's labels and class say", "cluster", cluster)
		return true, nil
	}
	err = p.world.Instances.Err
	p.infra, p.world.Session.Origin = was, origin
	p.world.Instances = lifecycle.Instances{Looked: true}
	return false, err
}
