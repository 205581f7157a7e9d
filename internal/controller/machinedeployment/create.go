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

// create creates the set of the present template. Its name is derived from the template, so that a creation
// whose reply was lost happens only once. It reports whether another set has that name.
func (h executor[D, S]) create(ctx context.Context, w rollout.SetWant) (collided bool, err error) {
	s := h.lens.Sets().New(h.object, w)
	err = h.Client.Create(ctx, s)
	switch {
	case err == nil:
		logf.FromContext(ctx).Info(w.Note, "set", h.named(s.GetName()), "replicas", w.Replicas)
		h.enter(s)
		h.scaled(s, 0, w.Replicas)
		return false, nil
	case apierrors.IsAlreadyExists(err):
		return h.recognise(ctx, s.GetName())
	case !expectations.Refused(err):
		h.unsure(s.GetName())
	}
	return false, h.failCreate(fmt.Errorf("create machine set %s: %w", s.GetName(), err))
}

// enter adds to the observed sets one that the cache does not show yet.
func (h executor[D, S]) enter(s S) {
	h.told.createError = ""
	h.expectations.CreationKnown(s.GetName())
	h.sets = append(h.sets, s)
}

// recognise checks whose the set with that name is. It is the wanted set if an earlier creation succeeded
// although its reply was lost. Any other set keeps the name, and the next pass chooses another. After an
// earlier creation without an answer, that has to wait until this creation cannot happen any more, because
// the other set may be deleted before.
func (h executor[D, S]) recognise(ctx context.Context, name string) (collided bool, err error) {
	there := h.lens.Sets().Lens().New()
	err = h.Live.Get(ctx, client.ObjectKey{Namespace: h.facts.Namespace, Name: name}, there)
	if err != nil {
		h.unsure(name)
		return false, h.failCreate(fmt.Errorf("read machine set %s, which exists already: %w", name, err))
	}
	ref := metav1.GetControllerOfNoCopy(there)
	switch {
	case there.GetDeletionTimestamp() != nil: // the name will be free, and an earlier creation may still happen
	case ref != nil && ref.UID == h.facts.UID && h.lens.Sets().View(h.object, there).Current:
		h.Client.Await(there)
		h.enter(there)
		return false, nil
	}
	logf.FromContext(ctx).Info("the name of the new set is taken, and another will be tried", "set", h.named(name))
	h.again(conflictDelay)
	return true, nil
}

// failCreate reports a failure, and returns it for the record.
func (h executor[D, S]) failCreate(err error) error {
	h.tellCreateError(err)
	return err
}
