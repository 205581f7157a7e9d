package machinedeployment

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/millwright-dev/millwright/internal/controller/expectations"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// executor carries out the plan for sets, machines and nodes.
type executor[D, S client.Object] struct {
	*observation[D, S]
	// waiting is the plan's message about a canary.
	waiting string
}

// named is the name of a set, or a machine, of the deployment in log lines.
func (h executor[D, S]) named(name string) string {
	return h.object.GetNamespace() + "/" + name
}

// rollBack makes the template of an earlier set the deployment's again, or only clears the request for
// that.
func (h executor[D, S]) rollBack(ctx context.Context, b rollout.RollBack) error {
	var to *S
	if b.To != nil {
		i, ok := h.set(b.To.UID)
		if !ok {
			return fmt.Errorf("roll back to %s: %w", b.To.Name, errNoSet)
		}
		to = &h.sets[i]
	}
	if err := h.patchDeployment(ctx, "roll back", func(d D) { h.lens.RollBack(d, to, b) }); err != nil {
		return err
	}
	h.tellRollBack(b)
	return nil
}

// applyMetadata writes the deployment's metadata about the rollout.
func (h executor[D, S]) applyMetadata(ctx context.Context, a rollout.Amend) error {
	return h.patchDeployment(ctx, "amend deployment", func(d D) { h.lens.ApplyMetadata(d, h.sets, a) })
}

// markForDeletion passes an autoscaler's choice on to the machines.
func (h executor[D, S]) markForDeletion(ctx context.Context, victims []rollout.Victim) error {
	uids := make([]types.UID, 0, len(victims))
	for _, v := range victims {
		uids = append(uids, v.UID)
	}
	return h.patchMachines(ctx, "mark machine", uids, func(i int, m client.Object) { h.marker.MarkForDeletion(m, victims[i].At) })
}

// move moves machines from one set to another.
func (h executor[D, S]) move(ctx context.Context, moves []rollout.Move) error {
	uids := make([]types.UID, 0, len(moves))
	for _, m := range moves {
		_, from := h.set(m.From)
		_, to := h.set(m.To)
		if !from || !to {
			return fmt.Errorf("hand over machine %s: %w", m.Name, errNoSet)
		}
		uids = append(uids, m.UID)
	}
	err := h.patchMachines(ctx, "hand over machine", uids, func(i int, m client.Object) {
		from, _ := h.set(moves[i].From)
		to, _ := h.set(moves[i].To)
		h.mover.Move(m, h.sets[from], h.sets[to])
	})
	if err != nil {
		return err
	}
	for _, m := range moves {
		logf.FromContext(ctx).Info("handed a machine over", "machine", h.named(m.Name), "reason", m.Note)
	}
	return nil
}

// applySet brings a set to the planned state. If another client deleted it meanwhile, the rest of the plan
// waits: the plan counted on its machines.
func (h executor[D, S]) applySet(ctx context.Context, w rollout.SetWant) error {
	i, ok := h.set(w.UID)
	if !ok {
		return nil
	}
	after, err := h.patchSet(ctx, "update", h.sets[i], func(s S) { h.lens.Sets().Apply(h.object, s, w) })
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("update machine set %s: %w", w.Name, apierrors.NewConflict(h.resource(), h.object.GetName(), errNoSet))
	}
	if err != nil {
		if w.Scales() && !expectations.Refused(err) {
			h.unsureSize(h.sets[i], w.Replicas)
		}
		return err
	}
	h.sets[i] = after
	if w.Scales() {
		logf.FromContext(ctx).Info("scaled machine set", "set", h.named(w.Name), "from", w.Was, "to", w.Replicas, "reason", w.Note)
		h.scaled(after, w.Was, w.Replicas)
	}
	h.tellCanary(w)
	return nil
}

// unprotect lets machines count like any other again, once their set has made room for them.
func (h executor[D, S]) unprotect(ctx context.Context, machines []rollout.MachineRef) error {
	uids := make([]types.UID, 0, len(machines))
	for _, m := range machines {
		uids = append(uids, m.UID)
	}
	return h.patchMachines(ctx, "remove the protection of the moved machine", uids, func(_ int, m client.Object) { h.mover.Unprotect(m) })
}

// prune deletes the planned sets only, and, unless all sets have to be deleted, only if they are as empty
// as when the plan was made.
func (h executor[D, S]) prune(ctx context.Context, sets []rollout.SetRef) error {
	errs := make([]error, len(sets))
	h.Writes(len(sets), func(i int) { errs[i] = h.deleteSet(ctx, sets[i]) })
	for i, ref := range sets {
		switch {
		case errs[i] == nil:
			logf.FromContext(ctx).Info("deleted machine set", "set", h.named(ref.Name), "reason", ref.Note)
		case !expectations.Refused(errs[i]):
			h.agreed = false
		}
	}
	return brief(errs)
}

func (h executor[D, S]) deleteSet(ctx context.Context, ref rollout.SetRef) error {
	i, ok := h.set(ref.UID)
	if !ok {
		return nil
	}
	s := h.sets[i]
	if s.GetDeletionTimestamp() != nil {
		return nil
	}
	as := client.Preconditions{UID: ptr.To(ref.UID)}
	if !h.facts.Deleting {
		as.ResourceVersion = ptr.To(s.GetResourceVersion())
	}
	gone := h.lens.Sets().Lens().New()
	gone.SetNamespace(s.GetNamespace())
	gone.SetName(s.GetName())
	if err := client.IgnoreNotFound(h.Client.Delete(ctx, gone, as)); err != nil {
		return fmt.Errorf("delete machine set %s: %w", ref.Name, err)
	}
	return nil
}
