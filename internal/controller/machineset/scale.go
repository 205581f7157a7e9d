package machineset

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/controller/expectations"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
	"github.com/millwright-dev/millwright/internal/engine/turn"
	"github.com/millwright-dev/millwright/internal/runtime/pace"
)

// executor creates machines and deletes them.
type executor[S client.Object] struct{ *scope[S] }

// attempt is one creation. The name is chosen beforehand and used again if the reply is lost, so that the
// machine exists at most once.
type attempt struct {
	name string
	// made is the machine, if the attempt created one.
	made client.Object
	// unsure says that it may have been created or may still be; sure says that it will not be created any
	// more. A refused attempt is neither: it leaves open the outcome of an earlier attempt under the same
	// name.
	unsure, sure bool
}

// create creates n machines in batches of 1, 2, 4 and so on.
func (h executor[S]) create(ctx context.Context, n int) *dialect.SetFailure {
	attempts := make([]attempt, n)
	names := h.expectations.UnknownCreations()
	for i := range attempts {
		if i < len(names) {
			attempts[i].name = names[i]
		} else {
			attempts[i].name = dialect.MachineName(h.set.Name, h.Names())
		}
	}
	tried, err := replicas.SlowStart(n, h.Creates, func(i int) error {
		if !h.specUnchanged(ctx) {
			return errSpecChanged
		}
		return h.createOne(ctx, &attempts[i])
	})
	made := h.enterCreated(attempts[:tried])
	h.tellCreated(made)
	return h.fail(true, err)
}

// enterCreated records the attempts and returns the created machines.
func (h executor[S]) enterCreated(attempts []attempt) (made []client.Object) {
	for _, a := range attempts {
		switch {
		case a.made != nil:
			h.expectations.CreationKnown(a.name)
			made = append(made, a.made)
		case a.sure:
			h.expectations.CreationKnown(a.name)
		case a.unsure:
			h.expectations.CreationUnknown(a.name)
		}
	}
	return made
}

func (h executor[S]) createOne(ctx context.Context, a *attempt) error {
	m, from := h.lens.NewMachine(h.object, a.name), h.Clock.Now()
	err := h.Client.Create(pace.WithClass(ctx, turn.Asking), m)
	switch {
	case err == nil:
		a.made = m
		h.trace(m.GetUID(), a.name, "MachineSet creates", from)
		return nil
	case apierrors.IsAlreadyExists(err):
		return h.recognise(ctx, a)
	case !expectations.Refused(err):
		a.unsure = true
	}
	return fmt.Errorf("create machine %s: %w", a.name, err)
}

// recognise checks whose the machine with that name is: it is the set's if an earlier creation succeeded
// although its reply was lost.
func (h executor[S]) recognise(ctx context.Context, a *attempt) error {
	there := h.lens.Traits().Machine()
	err := h.Live.Get(ctx, client.ObjectKey{Namespace: h.set.Namespace, Name: a.name}, there)
	if err != nil {
		a.unsure = !apierrors.IsNotFound(err)
		return fmt.Errorf("read machine %s, which exists already: %w", a.name, err)
	}
	a.sure = true
	if ours, _ := h.ours(there); !ours {
		return fmt.Errorf("create machine %s: the name is taken", a.name)
	}
	if there.GetDeletionTimestamp() == nil {
		a.made = there
		h.Client.Await(there)
	}
	return nil
}

// delete deletes the victims, each by its UID, and returns those that are certainly deleted.
func (h executor[S]) delete(ctx context.Context, victims []replicas.Victim) (deleted []replicas.Victim, failure *dialect.SetFailure) {
	errs := make([]error, len(victims))
	h.Deletes(len(victims), func(i int) {
		if errs[i] = errSpecChanged; h.specUnchanged(ctx) {
			errs[i] = h.deleteOne(ctx, victims[i])
		}
	})
	now := h.Clock.Now()
	for i, v := range victims {
		switch {
		case errors.Is(errs[i], errSpecChanged):
		case errs[i] == nil:
			h.expectations.DeletionKnown(v.UID)
			deleted = append(deleted, v)
		case !expectations.Refused(errs[i]):
			h.expectations.ExpectDeletion(now, v.UID)
		}
	}
	h.tellDeleted(deleted)
	return deleted, h.fail(false, errors.Join(errs...))
}

// errSpecChanged is the error of actions that are skipped because the set's spec has changed since the pass
// began. The next pass decides about them.
var errSpecChanged = errors.New("the set has another spec")

// specUnchanged reports whether the set still has the spec that the pass saw, as far as the cache shows:
// the actions of a large set take seconds.
func (h executor[S]) specUnchanged(ctx context.Context) bool {
	now := h.lens.New()
	err := h.Client.Get(ctx, client.ObjectKeyFromObject(h.object), now)
	return err != nil || now.GetUID() == h.object.GetUID() && now.GetGeneration() <= h.object.GetGeneration()
}

func (h executor[S]) deleteOne(ctx context.Context, v replicas.Victim) error {
	m := h.lens.Traits().Machine()
	m.SetNamespace(h.set.Namespace)
	m.SetName(v.Name)
	from := h.Clock.Now()
	err := h.Client.Delete(ctx, m, client.Preconditions{UID: ptr.To(v.UID)})
	if err == nil {
		h.trace(v.UID, v.Name, "MachineSet deletes", from, "reason", v.Reason)
	}
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return fmt.Errorf("delete machine %s: %w", v.Name, err)
}

// trace records that something was done with a machine since from.
func (h executor[S]) trace(uid types.UID, name, what string, from time.Time, about ...any) {
	if h.Tracer != nil {
		h.Tracer.Did(string(uid), what, from, nil, append(about, "machine", h.set.Namespace+"/"+name, "set", h.set.Namespace+"/"+h.set.Name)...)
	}
}

// fail reports a failure, and returns it for the record, shortened: all machines usually fail for the same
// cause.
func (h executor[S]) fail(creating bool, err error) *dialect.SetFailure {
	if err = withoutSpecChanged(err); err == nil {
		return nil
	}
	f := &dialect.SetFailure{Creating: creating, Err: brief(err)}
	h.tellFailure(f)
	return f
}

// withoutSpecChanged leaves [errSpecChanged] out of errors that are joined.
func withoutSpecChanged(err error) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return err
	}
	return errors.Join(slices.DeleteFunc(slices.Clone(joined.Unwrap()), func(e error) bool { return errors.Is(e, errSpecChanged) })...)
}

// brief is the first of the errors joined in err, and how many more there are.
func brief(err error) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || len(joined.Unwrap()) == 0 {
		return err
	}
	all := joined.Unwrap()
	if len(all) == 1 {
		return all[0]
	}
	return fmt.Errorf("%w (and %d more)", all[0], len(all)-1)
}
