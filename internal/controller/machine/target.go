package machine

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/runtime/node"
)

// target is the cluster that machines join, for one machine: its node. It reads and acts, and returns the
// results.
type target[M client.Object] struct {
	passFacts[M]
	// answers are the cluster's answers to the requests of a deletion, in order.
	answers []error
}

func (t *target[M]) nodeOwnership() *nodeOwnership[M] { return &nodeOwnership[M]{t.passFacts} }

// find finds the machine's node by all known identifiers: by the recorded ones, else by those of the
// instance; and, in a deletion, the other places of its pods. A cluster other than the one that the machine
// joined is not asked.
func (t *target[M]) find(ctx context.Context) lifecycle.Node {
	if t.policy.Targetless {
		return lifecycle.Node{}
	}
	cluster, why, err := t.cluster(ctx, node.IdentityKept)
	if why != "" && err == nil {
		if t.view.Recorded.Joined.Node == "" && !t.view.HadNode() && t.world.Instances.Looked {
			// The first node here is an observation; the absence of one is not.
			if f := t.own(ctx); f.Object != nil {
				f.Cluster = cluster
				return f
			}
		}
		return foreign(cluster, why)
	}
	f := t.leaving(ctx, t.own(ctx))
	f.Cluster = cluster
	return f
}

// own is the machine's node.
func (t *target[M]) own(ctx context.Context) lifecycle.Node {
	if t.world.Instances.RecordedIsForeign() { // the recorded fields lead to another machine's node
		return lifecycle.Node{Looked: true, Taken: node.AnotherMachine}
	}
	if err := t.nodeOwnership().contested(ctx); err != nil {
		return t.looked(ctx, nil, err)
	}
	q := t.nodeOwnership().query(ctx)
	n, err := t.Nodes.Find(ctx, q)
	if err != nil || n != nil || !t.world.Instances.Looked {
		return t.bearsWitness(ctx, q, t.looked(ctx, n, err))
	}
	return t.taken(ctx, t.Nodes.Client, q)
}

// taken has, for a machine without a node, the owner of the node with its name, in the state of r.
func (t *target[M]) taken(ctx context.Context, r client.Reader, q node.Query) lifecycle.Node {
	n, owner, err := q.Taken(ctx, r)
	f := t.looked(ctx, nil, err)
	f.Taken, f.TakenReady = owner, lifecycle.Ready(n).Status == corev1.ConditionTrue
	return f
}

// looked is the outcome of the search for the node.
func (t *target[M]) looked(ctx context.Context, n *corev1.Node, err error) lifecycle.Node {
	if err != nil && !errors.Is(err, errOwnerUnknown) && !t.view.Deleted.IsZero() {
		t.answers = append(t.answers, err)
	}
	f := t.see(ctx, n)
	f.Looked, f.Err = err == nil, err
	return f
}

// bearsWitness reads the node from the API server if it is about to contradict the infrastructure or, in a
// deletion, to agree: a cache that has stopped shows a node in its old state for ever.
func (t *target[M]) bearsWitness(ctx context.Context, q node.Query, f lifecycle.Node) lifecycle.Node {
	w := t.world
	w.Node = f
	unlisted := !t.view.Deleted.IsZero() && w.Instances.Looked && len(w.Instances.Owned()) == 0 && !w.Instances.SeenToGo
	if f.Object == nil || !unlisted && w.Contradiction(t.view) == "" {
		return f
	}
	q.Name = f.Object.Name
	n, err := t.Nodes.Named(ctx, q)
	return t.looked(ctx, n, err)
}

// live reads the node from the API server before the machine fails because of it, or its pods are deleted
// by force: both are final, and a cache that has stopped does not show a node that has joined, or
// recovered, since.
func (t *target[M]) live(ctx context.Context) lifecycle.Node {
	was := t.world.Node
	if t.policy.Targetless || was.Foreign != "" || t.world.Instances.RecordedIsForeign() { // the node would be another machine's
		return was
	}
	cluster, why, err := t.cluster(ctx, 0)
	switch {
	case err != nil:
		return t.looked(ctx, nil, err)
	case why != "":
		return foreign(cluster, why)
	}
	f := t.missing(ctx, t.liveOwn(ctx))
	f.Cluster, f.Hosts = cluster, was.Hosts
	return f
}

// liveOwn is the machine's node, from the API server.
func (t *target[M]) liveOwn(ctx context.Context) lifecycle.Node {
	was := t.world.Node
	if err := t.nodeOwnership().contested(ctx); err != nil {
		return t.looked(ctx, nil, err)
	}
	q := t.nodeOwnership().query(ctx)
	if was.Object != nil {
		q.Name = was.Object.Name
	}
	n, err := t.Nodes.FindLive(ctx, q)
	f := t.looked(ctx, n, err)
	if was.Taken == "" || !f.Looked || f.Object != nil {
		return f
	}
	if now := t.taken(ctx, t.Nodes.Live, q); !now.Looked || now.Taken != "" {
		return now
	}
	f.Taken = was.Taken
	return f
}

// joinedMeanwhile is the node that a kubelet created during the removal of the instance, once that is done.
// It is read from the API server: the cache may show a node in its state before it named another machine.
func (t *target[M]) joinedMeanwhile(ctx context.Context) lifecycle.Node {
	was := t.world.Node
	if t.world.Removal.State != lifecycle.RemovalDone || !was.Looked || was.Object != nil || was.Taken != "" || t.policy.Targetless {
		return was
	}
	q := t.nodeOwnership().query(ctx)
	if q.Name == "" {
		return t.find(ctx)
	}
	n, err := t.Nodes.Named(ctx, q)
	return t.looked(ctx, n, err)
}

// wantOf is the state that the machine wants for the node of f, its provider ID included.
func (t *target[M]) wantOf(f lifecycle.Node) node.Want {
	w := t.want()
	w.ProviderID = f.Identity
	return w
}

// see is the present state of the node.
func (t *target[M]) see(ctx context.Context, n *corev1.Node) lifecycle.Node {
	f := lifecycle.Node{Object: n, Looked: true}
	if n == nil || !t.view.Deleted.IsZero() {
		return f
	}
	if t.lens.updates != nil && t.policy.Update.InPlace {
		f.Update = t.lens.updates.Update(n)
	}
	if t.lens.preserves != nil && t.policy.Preserve.Supported {
		f.Preservation = t.lens.preserves.NodePreservation(n)
	}
	f.Identity, f.Unsure = t.nodeOwnership().identity(ctx, n)
	_, changed, err := t.wantOf(f).Plan(n)
	if err != nil {
		t.logOf(n).Error(err, "cannot bring the node's metadata in step")
		return f
	}
	f.Stale = changed
	return f
}
