package machinedeployment

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/millwright-dev/millwright/internal/controller/expectations"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// create makes the set of the present template. Its name follows from the
// template, so that a creation whose reply was lost happens once.
func (p *pass[D, S]) create(ctx context.Context, w rollout.SetWant) error {
	s := p.lens.Sets().New(p.object, w)
	err := p.Client.Create(ctx, s)
	switch {
	case err == nil:
		logf.FromContext(ctx).Info(w.Note, "set", s.GetName(), "replicas", w.Replicas)
		p.enter(s)
		p.scaled(s, 0, w.Replicas)
		return nil
	case apierrors.IsAlreadyExists(err):
		return p.recognise(ctx, s.GetName())
	case !expectations.Refused(err):
		p.unsure(s.GetName())
	}
	return p.failCreate(fmt.Errorf("create machine set %s: %w", s.GetName(), err))
}

// enter takes a set into account that the cache does not show yet.
func (p *pass[D, S]) enter(s S) {
	p.told.createError = ""
	p.ledger.CreationKnown(s.GetName())
	p.sets = append(p.sets, s)
}

func (p *pass[D, S]) unsure(name string) {
	p.ledger.CreationUnknown(name)
	p.agreed, p.late = false, p.Clock.Now().Add(lateness)
}

// recognise looks whose the set is that has the name already. It is the one
// wanted if an earlier creation went through although its reply was lost.
// Anything else keeps its name, and the next pass takes another: after an earlier creation
// without an answer that waits until the creation cannot happen any more, as the other set
// may go first.
func (p *pass[D, S]) recognise(ctx context.Context, name string) error {
	there := p.lens.Sets().Lens().New()
	err := p.Live.Get(ctx, client.ObjectKey{Namespace: p.facts.Namespace, Name: name}, there)
	if err != nil {
		p.unsure(name)
		return p.failCreate(fmt.Errorf("read machine set %s, which exists already: %w", name, err))
	}
	ref := metav1.GetControllerOfNoCopy(there)
	switch {
	case there.GetDeletionTimestamp() != nil: // the name will be free, and an earlier creation may happen yet
	case ref != nil && ref.UID == p.facts.UID && p.lens.Sets().View(p.object, there).Current:
		p.Client.Await(there)
		p.enter(there)
		return nil
	}
	logf.FromContext(ctx).Info("the name of the new set is taken, and another will be tried", "set", name)
	p.collided = true
	p.again(conflictDelay)
	return nil
}

// failCreate keeps a failure for the record.
func (p *pass[D, S]) failCreate(err error) error {
	p.createErr = err
	p.tellCreateError()
	return err
}
