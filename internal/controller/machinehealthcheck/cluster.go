package machinehealthcheck

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/health"
	"github.com/millwright-dev/millwright/internal/runtime/node"
)

// cluster has the known facts about the cluster of these nodes. Machines of the whole API are counted only
// while a machine of the check is unhealthy and has no node, or has no record of its node's cluster.
func (p *pass[C]) cluster(ctx context.Context, nodes []corev1.Node) (c health.Cluster, err error) {
	c.UID, err = p.identity(ctx)
	if err != nil { // the status says so, not only the log
		c.Unknown = "it is not known whether the cluster that answers is the one that the machines joined: " + err.Error()
	}
	p.answers = c.UID
	doubtful := false
	for uid, j := range p.state.cohort.ill {
		if j.Verdict.State != health.Unhealthy || j.Target.Node != nil && j.Target.Joined.Cluster != "" {
			continue
		}
		doubtful = true
		if joined := j.Target.Joined.UID; joined != "" && !p.Deletions.Of(joined).IsZero() {
			if c.Deleted == nil {
				c.Deleted = map[types.UID]bool{}
			}
			c.Deleted[uid] = true
		}
	}
	if !doubtful {
		return c, nil
	}
	all, err := p.everyone(ctx)
	if err != nil {
		return c, err
	}
	names := make(map[string]bool, len(nodes))
	for i := range nodes {
		names[nodes[i].Name] = true
	}
	c.Gather(all, names)
	return c, nil
}

// everyone are the machines of the API in all namespaces that the process reads.
func (p *pass[C]) everyone(ctx context.Context) ([]health.Target, error) {
	list := p.patients.Machines()
	if err := p.Reconciler.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the machines whose nodes are counted: %w", err)
	}
	var out []health.Target
	err := meta.EachListItem(list, func(o runtime.Object) error {
		out = append(out, p.patients.Patient(o.(client.Object), nil))
		return nil
	})
	return out, err
}

// identity is the identity of the cluster of the nodes; empty if it may not be read, and if nothing is
// compared.
func (r *Reconciler[C]) identity(ctx context.Context) (string, error) {
	if r.Identity == nil {
		return "", nil
	}
	return r.Identity.Lately(ctx, node.IdentityKept)
}

// sameCluster fails if the cluster that answers now is not the cluster of the plan, or if none answers:
// remedies of many machines take time.
func (r *remediator[C]) sameCluster(ctx context.Context) error {
	switch now, err := r.identity(ctx); {
	case err != nil:
		return err
	case now != r.cluster:
		return fmt.Errorf("the cluster of the nodes was %q when the plan was made, and is %q", r.cluster, now)
	}
	return nil
}
