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

// hands make machines and delete them.
type hands[S client.Object] struct{ *subject[S] }

// attempt is one creation. The name is chosen beforehand and, when the reply
// is lost, used again, so that the machine exists once or not at all.
type attempt struct {
	name string
	// made is the machine, if the attempt came to one.
	made client.Object
	// unsure says that it may have been made or may yet be, sure that it will
	// not be made any more. An attempt refused is neither: it leaves open what
	// becomes of an earlier one under the same name.
	unsure, sure bool
}

// create makes n machines in batches of 1, 2, 4 and so on.
func (h hands[S]) create(ctx context.Context, n int) *dialect.SetFailure {
	attempts := make([]attempt, n)
	names := h.ledger.UnknownCreations()
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

// enterCreated keeps account of the attempts and returns the machines made.
func (h hands[S]) enterCreated(attempts []attempt) (made []client.Object) {
	for _, a := range attempts {
		switch {
		case a.made != nil:
			h.ledger.CreationKnown(a.name)
			made = append(made, a.made)
		case a.sure:
			h.ledger.CreationKnown(a.name)
		case a.unsure:
			h.ledger.CreationUnknown(a.name)
		}
	}
	return made
}

func (h hands[S]) createOne(ctx context.Context, a *attempt) error {
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

// recognise looks whose the machine is that has the name already: it is ours
// if an earlier creation went through although its reply was lost.
func (h hands[S]) recognise(ctx context.Context, a *attempt) error {
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

// delete deletes the victims, each by its UID, and returns those that surely are.
func (h hands[S]) delete(ctx context.Context, victims []replicas.Victim) (deleted []replicas.Victim, failure *dialect.SetFailure) {
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
			h.ledger.DeletionKnown(v.UID)
			deleted = append(deleted, v)
		case !expectations.Refused(errs[i]):
			h.ledger.ExpectDeletion(now, v.UID)
		}
	}
	h.tellDeleted(deleted)
	return deleted, h.fail(false, errors.Join(errs...))
}

// errSpecChanged is that of what is not done any more, because the set asks for something else since the pass began. The next pass decides
// about that.
var errSpecChanged = errors.New("the set has another spec")

// specUnchanged reports whether the set is as the pass saw it, as far as the cache shows: what a large set does takes seconds.
func (h hands[S]) specUnchanged(ctx context.Context) bool {
	now := h.lens.New()
	err := h.Client.Get(ctx, client.ObjectKeyFromObject(h.object), now)
	return err != nil || now.GetUID() == h.object.GetUID() && now.GetGeneration() <= h.object.GetGeneration()
}

func (h hands[S]) deleteOne(ctx context.Context, v replicas.Victim) error {
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

// trace has it told what was done with a machine since from.
func (h hands[S]) trace(uid types.UID, name, what string, from time.Time, about ...any) {
	if h.Tracer != nil {
		h.Tracer.Did(string(uid), what, from, nil, append(about, "machine", h.set.Namespace+"/"+name, "set", h.set.Namespace+"/"+h.set.Name)...)
	}
}

// fail tells a failure, and returns it for the record, shortened: what fails for one
// usually fails for all alike.
func (h hands[S]) fail(creating bool, err error) *dialect.SetFailure {
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
