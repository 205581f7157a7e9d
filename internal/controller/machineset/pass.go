package machineset

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/millwright-dev/millwright/internal/controller/written"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/connectivity"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
)

// pass is one pass over one set.
type pass[S client.Object] struct {
	*Reconciler[S]
	*memory
	// Client shows what was written.
	Client *written.Client

	// object is the set as last read or written, set what it says.
	object   S
	set      replicas.Set
	policy   replicas.Policy
	selector labels.Selector
	now      time.Time
	// seen is how well the clusters are.
	seen connectivity.State

	// owned are the machines that the cache lists as the set's, machines
	// those of them that count as its own, members the same as facts.
	owned    []client.Object
	machines []client.Object
	members  []replicas.Member

	// live says that machines were listed by the API server itself.
	live bool
	// frozen says why the set makes no machines, thawed that it was allowed to
	// in this pass.
	frozen string
	thawed bool
	// judged, acted, failure and held are what came of scaling.
	judged  bool
	acted   bool
	failure *dialect.SetFailure
	held    string
	// after is when to look again; zero: at the next event.
	after time.Duration
}

func (p *pass[S]) run(ctx context.Context) error {
	switch {
	case p.set.Deleting && p.lens.Traits().Finalizer == "":
		return nil
	case p.set.Paused != "" && !p.set.Deleting:
		return nil
	case len(p.set.Faults) > 0 && !p.set.Deleting:
		return p.refuse(ctx)
	}
	p.told = ""
	if err := p.tellOverlaps(ctx); err != nil {
		return err
	}
	if err := p.hold(ctx); err != nil {
		return err
	}
	if err := p.observe(ctx); err != nil {
		return err
	}
	err := p.settle(ctx)
	if err == nil {
		err = p.scale(ctx)
	}
	return errors.Join(err, p.record(ctx))
}

// settle brings the machines that are there in order. As long as that fails,
// their number is not known for sure, and nothing is created or deleted.
func (p *pass[S]) settle(ctx context.Context) error {
	return errors.Join(p.propagate(ctx), p.keepFailed(ctx))
}

// scale decides and acts.
func (p *pass[S]) scale(ctx context.Context) error {
	d, ok, err := p.decide(ctx)
	if err != nil || !ok {
		return err
	}
	p.judged = true
	p.hear(d)
	log := logf.FromContext(ctx).WithValues("reason", d.Reason)
	switch {
	case d.Create > 0:
		log.Info(d.Message, "create", d.Create)
		return p.create(ctx, d.Create)
	case len(d.Delete) > 0:
		log.Info(d.Message, "delete", len(d.Delete))
		return p.delete(ctx, d.Delete)
	case d.Finished:
		return p.letGo(ctx)
	}
	return nil
}

// decide returns what to do; false when the cache has to catch up first.
func (p *pass[S]) decide(ctx context.Context) (replicas.Decision, bool, error) {
	d, err := p.judgeAndDecide(ctx)
	if err != nil {
		return d, false, err
	}
	if !d.Acts() && !d.Finished {
		return d, p.awaited.Satisfied(), nil
	}
	if back, err := p.wentBack(ctx); err != nil || back {
		return d, false, err
	}
	if p.live {
		return d, true, nil
	}
	overdue, left := p.awaited.Overdue(p.now)
	if p.ledger.Trusted() && !p.awaited.Satisfied() && !overdue {
		p.again(left)
		return d, false, nil
	}
	if d.Create > 0 && p.ledger.Trusted() && !overdue {
		return d, true, nil
	}
	if err := p.observeLive(ctx); err != nil {
		return d, false, err
	}
	d, err = p.judgeAndDecide(ctx)
	return d, err == nil, err
}

// wentBack reports whether the set is not what was written, but older: nothing is
// made or deleted by a mark, or a deletion, that was undone. The API server is asked
// where the cache shows something older, too.
func (p *pass[S]) wentBack(ctx context.Context) (bool, error) {
	if !p.Client.Hides(p.set.UID) && !p.set.Deleting {
		return false, nil
	}
	now := p.lens.New()
	if err := p.Live.Get(ctx, client.ObjectKeyFromObject(p.object), now); err != nil {
		return false, fmt.Errorf("read set past the cache: %w", err)
	}
	undone := p.set.Deleting && (now.GetUID() != p.set.UID || now.GetDeletionTimestamp() == nil)
	if !p.writes.WentBack(p.now, now) && !undone {
		return false, nil
	}
	p.again(time.Millisecond)
	return true, nil
}

// judgeAndDecide does both from the same facts, so that a set which grows fast
// is frozen in time.
func (p *pass[S]) judgeAndDecide(ctx context.Context) (replicas.Decision, error) {
	if err := p.judge(ctx); err != nil {
		return replicas.Decision{}, err
	}
	return p.guarded(ctx)
}

// hold puts the set's finalizer in place before anything is created.
func (p *pass[S]) hold(ctx context.Context) error {
	finalizer := p.lens.Traits().Finalizer
	if finalizer == "" || p.set.Deleting || controllerutil.ContainsFinalizer(p.object, finalizer) {
		return nil
	}
	return p.patchSet(ctx, "add finalizer", func(s S) { controllerutil.AddFinalizer(s, finalizer) })
}

// letGo takes the finalizer off a set without machines.
func (p *pass[S]) letGo(ctx context.Context) error {
	finalizer := p.lens.Traits().Finalizer
	if !controllerutil.ContainsFinalizer(p.object, finalizer) {
		return nil
	}
	err := p.patchSet(ctx, "remove finalizer", func(s S) { controllerutil.RemoveFinalizer(s, finalizer) })
	p.acted = true
	return client.IgnoreNotFound(err)
}

// again asks for another pass after d at the latest.
func (p *pass[S]) again(d time.Duration) {
	if d > 0 && (p.after == 0 || d < p.after) {
		p.after = d
	}
}

// ours reports whether the set controls m; free, whether nobody does.
func (p *pass[S]) ours(m client.Object) (ours, free bool) {
	ref := metav1.GetControllerOfNoCopy(m)
	return ref != nil && ref.UID == p.set.UID, ref == nil
}

// without returns refs but for those to the set.
func (p *pass[S]) without(refs []metav1.OwnerReference) []metav1.OwnerReference {
	return slices.DeleteFunc(slices.Clone(refs), func(r metav1.OwnerReference) bool { return r.UID == p.set.UID })
}
