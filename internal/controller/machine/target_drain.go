package machine

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/runtime/node"
	"github.com/millwright-dev/millwright/provider"
)

// evacuation moves the pods of the machine's instance away.
type evacuation[M client.Object] struct{ *target[M] }

// drainPolicy is the machine's, with what is true now. Volumes are taken away
// from a node only with its machine: one that stays may go on to use them. Only
// then does it matter, too, that the cloud takes the instance back.
func (t *evacuation[M]) drainPolicy(force bool) drain.Policy {
	return t.policyOn(t.world.Node.Object, force)
}

// policyOn is that for a node on which the machine's pods are.
func (t *evacuation[M]) policyOn(n *corev1.Node, force bool) drain.Policy {
	policy := t.policy.Drain.Policy
	policy.Force = policy.Force || force
	policy.Connectivity = t.world.Connectivity
	policy.NodeUnreachable = t.unreachable(n)
	if t.view.Deleted.IsZero() {
		policy.RemoveAttachments = false
		return policy
	}
	return lifecycle.Hasten(t.Clock.Now(), n, policy, t.policy)
}

// unreachable reports whether no kubelet confirms that a pod of the node has ended: it is
// silent, or its instance does not run.
func (t *evacuation[M]) unreachable(n *corev1.Node) bool {
	ready := lifecycle.Ready(n).Status
	i := t.instance()
	return ready == corev1.ConditionUnknown || ready != corev1.ConditionTrue && i != nil && i.State == provider.Stopped
}

// drain moves away the pods of the machine's node, and then those of the other nodes on which
// its instance may run pods.
func (t *evacuation[M]) drain(ctx context.Context, d lifecycle.Decision) (drain.Decision, error) {
	came := drain.Decision{Done: true}
	if t.world.Node.Object != nil || len(t.world.Node.Hosts) == 0 {
		var err error
		if came, err = t.drainOwn(ctx, d); err != nil || !came.Done {
			return came, err
		}
	}
	for i, h := range t.world.Node.Hosts {
		next, err := t.drainHost(ctx, &h, d)
		t.world.Node.Hosts[i] = h
		if err != nil || !next.Done {
			next.Message = "node " + h.Name + ", on which pods of the instance may run: " + next.Message
			return next, err
		}
	}
	return came, nil
}

// drainHost moves away the pods of one of the other nodes, which is cordoned if it is there.
func (t *evacuation[M]) drainHost(ctx context.Context, h **corev1.Node, d lifecycle.Decision) (drain.Decision, error) {
	policy := t.policyOn(*h, d.Force)
	if (*h).UID == "" {
		return t.Nodes.Drain(ctx, *h, policy)
	}
	n, held, err := t.Nodes.Cordon(ctx, *h, node.Want{})
	if err != nil {
		return drain.Decision{}, fmt.Errorf("cordon node %s: %w", (*h).Name, err)
	}
	*h = n
	if held != "" && !policy.Past(t.Clock.Now()) {
		return drain.Decision{Message: held, Next: t.policy.Delays.Transient}, nil
	}
	return t.Nodes.Drain(ctx, n, policy)
}

func (t *evacuation[M]) drainOwn(ctx context.Context, d lifecycle.Decision) (drain.Decision, error) {
	policy := t.drainPolicy(d.Force)
	with, moves, err := t.cordonWith(ctx, policy)
	if err != nil {
		return drain.Decision{}, err
	}
	n, held, err := t.Nodes.Cordon(ctx, t.world.Node.Object, with)
	if err != nil {
		return drain.Decision{}, fmt.Errorf("cordon node %s: %w", t.world.Node.Object.Name, err)
	}
	if t.whose().query(ctx).Anothers(n) { // by what a cache did not show
		t.world.Node = t.see(ctx, nil)
		return drain.Decision{
			Done: !t.view.Deleted.IsZero(), Message: "node " + n.Name + " is another machine's", Next: t.policy.Delays.Transient,
		}, nil
	}
	t.world.Node.Object = n
	if d.Force { // the answer shows the node as it is now
		policy = t.drainPolicy(lifecycle.DecideLife(t.Clock.Now(), t.view, t.world, t.policy).Force)
	}
	if held != "" && !policy.Past(t.Clock.Now()) {
		return drain.Decision{Message: held, Next: t.policy.Delays.Transient}, nil
	}
	if moves {
		t.announce(ctx)
	}
	return t.Nodes.Drain(ctx, t.world.Node.Object, policy)
}

// cordonWith is what happens to the node with the cordon, and whether the drain
// has something to move from a node that leaves. Nothing happens to one that
// stays. Where it leaves, its finalizer goes along, which saves a write later,
// only where nobody can miss it: with the node object gone there would be
// nothing left to drain.
func (t *evacuation[M]) cordonWith(ctx context.Context, policy drain.Policy) (w node.Want, moves bool, err error) {
	if t.view.Deleted.IsZero() {
		return w, false, nil
	}
	w = t.Dialect.Want(t.m, t.infra.class).Leave()
	if t.view.Deletion.Drained {
		w.MarkAnnotations = map[string]string{lifecycle.DrainedAgainAnnotation: "true"}
	}
	if w.DropFinalizer == "" {
		return w, true, nil
	}
	vacant, err := t.Nodes.Vacant(ctx, t.world.Node.Object, policy)
	if !vacant {
		w.DropFinalizer = ""
	}
	return w, !vacant, err
}

// announce lets the node tell why it is drained. Conditions are not written
// together with the cordon, so that this costs a write, which a node that
// nothing has to leave is spared. A drain does not fail by it.
func (t *evacuation[M]) announce(ctx context.Context) {
	if t.lens.narrates == nil {
		return
	}
	want := t.lens.narrates.Leaving(t.world.Node.Object, lifecycle.Unwell(t.view, t.world.Node.Object, t.policy))
	n, err := t.Nodes.Condition(ctx, t.world.Node.Object, want)
	if err != nil {
		t.logOf(t.world.Node.Object).Error(err, "cannot tell on the node why it is drained")
		return
	}
	t.world.Node.Object = n
}
