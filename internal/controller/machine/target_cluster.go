package machine

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/runtime/node"
)

// cluster is the identity of the cluster that answers, at most oldest old, and the reason why it is not the
// cluster that the machine joined; empty if it is, or if that is unknown.
func (k *passFacts[M]) cluster(ctx context.Context, oldest time.Duration) (cluster, foreign string, err error) {
	if k.Nodes == nil {
		return "", "", nil
	}
	if cluster, err = k.Nodes.Identity.UID(ctx, oldest); err != nil {
		return "", "", err
	}
	joined := k.view.Recorded.Joined
	foreign = lifecycle.ForeignTarget(joined.Cluster, cluster, joined.Accepted)
	if joined.Cluster == "" && joined.Accepted != cluster {
		foreign = k.otherMachines().joinedElsewhere(ctx, cluster)
	}
	return cluster, foreign, nil
}

// foreign is the state of the node if another cluster answers than the one that the machine joined.
func foreign(cluster, why string) lifecycle.Node {
	return lifecycle.Node{Cluster: cluster, Foreign: why, Err: fmt.Errorf("%w: %s", lifecycle.ErrTargetReplaced, why)}
}

// leaving adds the other places of the pods of the machine's instance, once they have to leave.
func (t *target[M]) leaving(ctx context.Context, f lifecycle.Node) lifecycle.Node {
	f.DeletedAt = t.deletedAt(f)
	if !f.Looked || !t.nodeOwnership().drains() {
		return f
	}
	hosts, err := t.nodeOwnership().hosts(ctx, f)
	if err != nil {
		return t.looked(ctx, nil, err)
	}
	f.Hosts = hosts
	if f.Object != nil {
		return f
	}
	cluster, why, err := t.cluster(ctx, 0) // the decision that there is nothing to drain is final
	switch {
	case err != nil:
		return t.looked(ctx, nil, err)
	case why != "":
		return foreign(cluster, why)
	}
	return t.missing(ctx, f)
}

// deletedAt is when the cluster was seen to delete the node that f does not show any more.
func (k *passFacts[M]) deletedAt(f lifecycle.Node) (at time.Time) {
	if f.Looked && f.Object == nil && f.Taken == "" && k.view.Recorded.NodeUID != "" {
		at = k.Nodes.Deletions.Of(k.view.Recorded.NodeUID)
	}
	return at
}

// missing adds the reason why the cluster is not trusted when it reports that a machine's former node does
// not exist: the nodes of other machines do not exist there, either.
func (t *target[M]) missing(ctx context.Context, f lifecycle.Node) lifecycle.Node {
	f.DeletedAt = t.deletedAt(f)
	had := t.view.HadNode() || t.view.Recorded.NodeUID != ""
	if !f.Looked || f.Object != nil || f.Taken != "" || !f.DeletedAt.IsZero() || !had || len(t.world.Instances.Owned()) == 0 {
		return f
	}
	recorded, there, err := t.otherMachines().nodes(ctx)
	if err != nil {
		return t.looked(ctx, nil, err)
	}
	f.Doubt = lifecycle.Absent(recorded, there)
	return f
}

// hosts are [lifecycle.Node].Hosts, given the machine's own node in f. The pods of a node that another
// machine has recorded are not evicted.
func (w *nodeOwnership[M]) hosts(ctx context.Context, f lifecycle.Node) (out []*corev1.Node, err error) {
	claiming, err := w.query(ctx).Claiming(ctx, w.Nodes, f.Object == nil)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{"": true}
	if f.Object != nil {
		seen[f.Object.Name] = true
	}
	for _, n := range claiming {
		another, err := w.otherMachines().have(ctx, n.Name)
		if err != nil {
			return nil, err
		}
		if !another && !seen[n.Name] {
			out = append(out, n)
		}
		seen[n.Name] = true
	}
	for _, name := range []string{w.view.Recorded.NodeName, w.view.Recorded.Joined.Node} {
		if seen[name] {
			continue
		}
		seen[name] = true
		n, err := w.hostNamed(ctx, name)
		if err != nil {
			return nil, err
		}
		if n != nil {
			out = append(out, n)
		}
	}
	return out, nil
}

// hostNamed is the node of a recorded name: the node itself if it is the very node that was recorded, only
// the name if there is no node and pods are bound to it, and nil if there are no such pods or the name is
// another machine's now.
func (w *nodeOwnership[M]) hostNamed(ctx context.Context, name string) (*corev1.Node, error) {
	another, err := w.otherMachines().have(ctx, name)
	if another || err != nil {
		return nil, err
	}
	n, err := node.Read(ctx, w.Nodes.Live, name)
	switch {
	case err != nil:
		return nil, err
	case n == nil:
		absent := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		vacant, err := w.Nodes.Vacant(ctx, absent, drain.Policy{})
		if vacant || err != nil {
			return nil, err
		}
		return absent, nil
	case n.UID == w.view.Recorded.NodeUID, n.UID == w.view.Recorded.Joined.UID:
		return n, nil
	}
	return nil, nil
}

// fleet has the last results about the nodes of all machines.
type fleet struct {
	mu sync.Mutex
	// elsewhere is the result of [otherMachines.joinedElsewhere] about the cluster, at that time.
	elsewhere map[string]heard
	names     map[string]bool
	named     time.Time
	// nodes are the machines that should exist and had a node, by UID, and whether that node exists;
	// recorded are the provider IDs that such machines of a scope have recorded, by UID.
	nodes    shared[map[string]bool]
	recorded shared[map[string]string]
	// scopes are the clusters that machines have recorded as the place of their instances, sorted.
	scopes shared[[]string]
}

type heard struct {
	text string
	at   time.Time
}

// fleetAge is how long these results are reused.
const fleetAge = 30 * time.Second

// joinedElsewhere says why the cluster is not the one that machines join here, for a machine that has not
// joined yet: other machines have joined, and none of them this cluster. Empty if it may be.
func (o otherMachines[M]) joinedElsewhere(ctx context.Context, cluster string) string {
	if cluster == "" || cluster == node.NoIdentity {
		return ""
	}
	o.fleet.mu.Lock()
	defer o.fleet.mu.Unlock()
	if h, ok := o.fleet.elsewhere[cluster]; ok && o.Clock.Since(h.at) < fleetAge {
		return h.text
	}
	text, list := "", o.Dialect.NewList()
	if err := o.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return "" // the machine's own record is compared anyway
	}
	for m := range dialect.Items[M](list) {
		joined := o.Dialect.View(m).Recorded.Joined
		if joined.Cluster == cluster || joined.Accepted == cluster {
			text = ""
			break
		}
		if joined.Cluster != "" {
			text = lifecycle.ForeignTarget(joined.Cluster, cluster, "")
		}
	}
	o.fleet.elsewhere = map[string]heard{cluster: {text: text, at: o.Clock.Now()}}
	return text
}

// nodes are how many other machines, among those that should exist by their objects, had a node, and how
// many of these nodes the API server has.
func (o otherMachines[M]) nodes(ctx context.Context) (recorded, there int, err error) {
	all, err := o.fleet.nodes.get(o.Clock, "", func() (map[string]bool, int, error) { return o.allNodes(ctx) })
	for uid, is := range all {
		if uid == o.mine.UID {
			continue
		}
		recorded++
		if is {
			there++
		}
	}
	return recorded, there, err
}

// allNodes are the machines that should exist and had a node, with whether that node exists, and the number
// of machines.
func (o otherMachines[M]) allNodes(ctx context.Context) (map[string]bool, int, error) {
	list := o.Dialect.NewList()
	if err := o.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil { // they are only read
		return nil, 0, fmt.Errorf("list machines: %w", err)
	}
	names, err := o.nodeNames(ctx)
	if err != nil {
		return nil, 0, err
	}
	out := map[string]bool{}
	for m := range dialect.Items[M](list) {
		v := o.Dialect.View(m)
		if !v.Deleted.IsZero() || v.Stage == lifecycle.StageFailed || v.Recorded.NodeUID == "" {
			continue
		}
		out[v.UID] = names[v.Recorded.NodeName]
	}
	return out, meta.LenList(list), nil
}

func (o otherMachines[M]) nodeNames(ctx context.Context) (map[string]bool, error) {
	o.fleet.mu.Lock()
	defer o.fleet.mu.Unlock()
	if now := o.Clock.Now(); o.fleet.names == nil || now.Sub(o.fleet.named) >= fleetAge || now.Before(o.fleet.named) {
		names, err := node.Names(ctx, o.Nodes.Live)
		if err != nil {
			return nil, err
		}
		o.fleet.names, o.fleet.named = names, now
	}
	return o.fleet.names, nil
}
