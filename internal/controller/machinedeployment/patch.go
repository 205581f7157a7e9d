package machinedeployment

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/controller/expectations"
)

// merge is the patch from before to the changed object, which applies only to the version of before.
func merge(before client.Object) client.Patch {
	return client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
}

// patchMachines changes each of the machines with these UIDs. Machines that were deleted meanwhile are left
// out without an error.
func (r *observation[D, S]) patchMachines(ctx context.Context, doing string, uids []types.UID, apply func(i int, m client.Object)) error {
	done, errs := make([]client.Object, len(uids)), make([]error, len(uids))
	r.Writes(len(uids), func(i int) {
		before, ok := r.machines[uids[i]]
		if !ok {
			return
		}
		after := before.DeepCopyObject().(client.Object)
		apply(i, after)
		if equality.Semantic.DeepEqual(before, after) {
			return
		}
		err := r.Client.Patch(ctx, after, merge(before))
		if err == nil {
			done[i] = after
		} else if client.IgnoreNotFound(err) != nil {
			errs[i] = fmt.Errorf("%s %s: %w", doing, before.GetName(), err)
		}
	})
	for i, m := range done {
		if m != nil {
			r.machines[uids[i]] = m
		}
	}
	return brief(errs)
}

// brief joins errs, shortened: all usually have the same cause. A failure that is no conflict comes first.
func brief(errs []error) error {
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if len(errs) == 0 {
		return nil
	}
	if i := slices.IndexFunc(errs, func(err error) bool { return !expectations.OnlyConflicts(err) }); i > 0 {
		errs[0], errs[i] = errs[i], errs[0]
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return fmt.Errorf("%w (and %d more)", errs[0], len(errs)-1)
}

// set finds a set of the deployment.
func (r *observation[D, S]) set(uid types.UID) (at int, found bool) {
	at = slices.IndexFunc(r.sets, func(s S) bool { return s.GetUID() == uid })
	return at, at >= 0
}

// errNoSet occurs only if a set was deleted between the read and the action.
var errNoSet = errors.New("the set is not there any more")
