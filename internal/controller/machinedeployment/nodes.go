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

// nodeRetry is the pause before a failed write to a node is repeated. Nothing waits for it.
const nodeRetry = 2 * time.Second

// nodePatch requires the version that was read if it rewrites a list, or if the read decided which node is
// next. It sets annotations alone regardless of other writes: many clients write a node that joins.
func nodePatch(before, after *corev1.Node) client.Patch {
	rest := after.DeepCopy()
	rest.Annotations = before.Annotations
	if equality.Semantic.DeepEqual(before, rest) {
		return client.MergeFrom(before)
	}
	return merge(before)
}

// markNodes brings nodes to the wanted state. A node that cannot be written blocks nothing: the next plan
// has it again.
func (h executor[D, S]) markNodes(ctx context.Context, wants []rollout.NodeWant) {
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
