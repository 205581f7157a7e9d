package machinedeployment

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// nodeRetry is how long after a failure a node is tried again. Nobody waits
// for it.
const nodeRetry = 2 * time.Second

// nodePatch asks for the version that was looked at where a list is rewritten,
// or where what was looked at decided who is next. Annotations alone are set
// whatever else was written meanwhile: a node that joins is written by many.
func nodePatch(before, after *corev1.Node) client.Patch {
	rest := after.DeepCopy()
	rest.Annotations = before.Annotations
	if equality.Semantic.DeepEqual(before, rest) {
		return client.MergeFrom(before)
	}
	return merge(before)
}

// markNodes brings nodes to what is wanted. A node that cannot be written stops
// nothing: it is planned again.
func (h hands[D, S]) markNodes(ctx context.Context, wants []rollout.NodeWant) {
	done, errs := make([]*corev1.Node, len(wants)), make([]error, len(wants))
	h.Writes(len(wants), func(i int) {
		before, ok := h.nodes[wants[i].Node]
		if !ok {
			return
		}
		after := before.DeepCopy()
		h.lens.Machines().MarkNode(after, wants[i])
		if equality.Semantic.DeepEqual(before, after) {
			return
		}
		if errs[i] = h.Nodes.Patch(ctx, after, nodePatch(before, after)); errs[i] == nil {
			done[i] = after
		}
	})
	log := logf.FromContext(ctx).V(1)
	for i, w := range wants {
		switch err := errs[i]; {
		case done[i] != nil:
			log.Info("marked node", "node", w.Node, "machine", w.Machine, "reason", w.Note)
		case err == nil || apierrors.IsNotFound(err):
		case apierrors.IsConflict(err):
			h.again(conflictDelay)
		default:
			log.Info("cannot mark node yet", "node", w.Node, "machine", w.Machine, "error", err.Error())
			h.again(nodeRetry)
		}
	}
}
