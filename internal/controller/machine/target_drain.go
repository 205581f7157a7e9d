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

// evacuation evicts the pods of the machine's instance.
type evacuation[M client.Object] struct{ *target[M] }

// drainPolicy is the machine's, with the present facts. Volumes are detached from a node only with its
// machine: a node that stays may continue to use them. Only then does it also matter that the cloud
// reclaims the instance.
func (t *evacuation[M]) drainPolicy(force bool) drain.Policy {
	return t.policyOn(t.world.Node.Object, force)
}

// policyOn is the policy for a node that runs the machine's pods.
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

// unreachable reports whether no kubelet confirms that a pod of the node has ended: the kubelet does not
// report, or its instance does not run.
func (t *evacuation[M]) unreachable(n *corev1.Node) bool {
	ready := lifecycle.Ready(n).Status
	i := t.instance()
	return ready == corev1.ConditionUnknown || ready != corev1.ConditionTrue && i != nil && i.State == provider.Stopped
}

// drain evicts the pods of the machine's node, and then those of the other nodes on which its instance may
// run pods.
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

// drainHost evicts the pods of one of the other nodes, which is cordoned if it exists.
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
	if t.nodeOwnership().query(ctx).Anothers(n) { // which a cache did not show
		t.world.Node = t.see(ctx, nil)
		return drain.Decision{
			Done: !t.view.Deleted.IsZero(), Message: "node " + n.Name + " is another machine's", Next: t.policy.Delays.Transient,
		}, nil
	}
	t.world.Node.Object = n
	if d.Force { // the answer shows the node in its present state
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

// cordonWith returns the changes of the node that come with the cordon, and whether the drain has to evict
// anything from a node that leaves. A node that stays is not changed. If it leaves, its finalizer is
// removed in the same write, which saves a later one, but only if that is safe: without the node object
// there would be nothing left to drain.
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

// announce writes on the node why it is drained. Conditions cannot be written together with the cordon, so
// this costs a write, which is skipped for a node with no pods to evict. A failure here does not fail the
// drain.
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
