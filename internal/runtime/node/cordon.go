package node

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/nodemeta"
)

// The lease in the cluster that machines join whose holder is the control-plane node that may be drained. It
// is the one object that every process writes with its resource version: with live listings alone two
// processes, of two providers or of two APIs, could look at the same moment and both find no other node
// cordoned.
const (
	ClaimNamespace = "kube-system"
	ClaimName      = "millwright-control-plane-drain"
)

// claimKept is how long a claim counts whose node is not cordoned yet: its holder is about to cordon it.
const claimKept = time.Minute

// Cordon keeps new pods off the node, and applies w in the same patch. Only one control-plane node at a time
// may be drained: held then names the obstacle for this one, and none of its pods may be evicted.
func (c *Cluster) Cordon(ctx context.Context, n *corev1.Node, w nodemeta.Want) (after *corev1.Node, held string, err error) {
	if c == nil || n == nil {
		return n, "", nil
	}
	w.Unschedulable = ptr.To(true)
	if !controlPlane(n) {
		after, _, err = c.Apply(ctx, n, w)
		return after, "", err
	}
	if held, err := c.claim(ctx, n); held != "" || err != nil {
		return n, held, err
	}
	after, wrote, err := c.Apply(ctx, n, w)
	if err != nil || !wrote {
		return after, "", err
	}
	// Only a cordoned node keeps its claim. A process that was asleep after its claim finds out here that
	// another node has the claim now.
	held, err = c.claim(ctx, after)
	return after, held, err
}

// controlPlaneRoles are the labels of control-plane nodes.
var controlPlaneRoles = []string{"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"}

func controlPlane(n *corev1.Node) bool {
	return slices.ContainsFunc(controlPlaneRoles, func(r string) bool { _, ok := n.Labels[r]; return ok })
}

// claim makes the node the one control-plane node that may be drained, or returns why it cannot. The lease is
// read before the other nodes: if another process claims it in between, the write fails.
func (c *Cluster) claim(ctx context.Context, n *corev1.Node) (held string, err error) {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: ClaimNamespace, Name: ClaimName}}
	err = c.Live.Get(ctx, client.ObjectKeyFromObject(lease), lease)
	if client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("reading who drains a control-plane node: %w", err)
	}
	missing := err != nil
	holder := ptr.Deref(lease.Spec.HolderIdentity, "")
	if holder == n.Name {
		return "", nil
	}
	if taken, err := c.claimed(ctx, lease, holder); taken || err != nil {
		return "control-plane node " + holder + " is being drained" + oneAtATime, err
	}
	if !n.Spec.Unschedulable {
		other, err := c.cordonedControlPlane(ctx, n)
		if err != nil {
			return "", err
		}
		if other != "" {
			return "control-plane node " + other + " is unschedulable" + oneAtATime, nil
		}
	}
	return c.takeClaim(ctx, lease, n.Name, missing)
}

const oneAtATime = "; control-plane nodes are drained one at a time"

func (c *Cluster) takeClaim(ctx context.Context, lease *coordinationv1.Lease, node string, missing bool) (held string, err error) {
	lease.Spec.HolderIdentity = &node
	lease.Spec.AcquireTime = ptr.To(metav1.NewMicroTime(c.Clock.Now()))
	if missing {
		err = c.Client.Create(ctx, lease)
	} else {
		err = c.Client.Update(ctx, lease)
	}
	switch {
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), apierrors.IsNotFound(err):
		return "another control-plane node was chosen at the same moment" + oneAtATime, nil
	case err != nil:
		return "", fmt.Errorf("claiming the drain of control-plane node %s: %w", node, err)
	}
	return "", nil
}

// claimed reports whether the holder's claim counts: its node is cordoned, or is about to be. A claim ends
// with the deletion of its node, or when the node is uncordoned.
func (c *Cluster) claimed(ctx context.Context, lease *coordinationv1.Lease, holder string) (bool, error) {
	if holder == "" {
		return false, nil
	}
	var n corev1.Node
	err := c.Live.Get(ctx, client.ObjectKey{Name: holder}, &n)
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("reading control-plane node %s: %w", holder, err)
	}
	t := lease.Spec.AcquireTime
	return n.Spec.Unschedulable || t != nil && c.Clock.Since(t.Time) < claimKept, nil
}

// cordonedControlPlane returns the other control-plane nodes that are unschedulable, for any reason. It reads
// past the cache.
func (c *Cluster) cordonedControlPlane(ctx context.Context, n *corev1.Node) (string, error) {
	var names []string
	for _, r := range controlPlaneRoles {
		var list corev1.NodeList
		if err := c.Live.List(ctx, &list, client.HasLabels{r}); err != nil {
			return "", fmt.Errorf("listing control-plane nodes: %w", err)
		}
		for _, o := range list.Items {
			if o.Name != n.Name && o.Spec.Unschedulable {
				names = append(names, o.Name)
			}
		}
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", "), nil
}
