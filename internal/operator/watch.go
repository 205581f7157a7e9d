package operator

import (
	"context"
	"fmt"
	"slices"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

const (
	// readAgain is the pause between two reads of objects that may not be watched: the original's roles
	// grant no more than get on Infrastructures.
	readAgain = 10 * time.Second
	// askAgain is how often the operator checks whether it may watch a kind, as a multiple of readAgain: an
	// administrator may grant or revoke the right.
	askAgain = 30
)

// watcher starts a pass when something changes.
type watcher struct {
	in   cache.Cache
	live client.Client
	// namespace is that of triggers in a namespace.
	namespace string
	clk       clock.WithTicker
	queue     workqueue.TypedRateLimitingInterface[reconcile.Request]
	pass      reconcile.Request
}

// watch begins to watch triggers. No pass waits for that: a pass reads the objects that it needs.
func (w watcher) watch(ctx context.Context, triggers []trigger) {
	for _, t := range triggers {
		go w.follow(ctx, t)
	}
}

// follow watches a trigger while that is permitted, and reads its objects from time to time while it is not.
func (w watcher) follow(ctx context.Context, t trigger) {
	log := ctrl.LoggerFrom(ctx).WithValues("kind", t.kind.Kind)
	ticker := w.clk.NewTicker(readAgain)
	defer ticker.Stop()
	var seen []string
	watched, may := false, false
	for n := 0; ; n++ {
		if n%askAgain == 0 {
			var why string
			var err error
			if may, why, err = w.may(ctx, t); err != nil {
				log.Error(err, "Not known whether objects may be watched: they are read from time to time", "every", readAgain.String())
				n = -1 // check again next time
			} else if !may {
				log.Info("Objects may not be watched: they are read from time to time", "every", readAgain.String(), "why", why)
			}
		}
		if may && !watched {
			if err := w.start(ctx, t); err != nil {
				log.Error(err, "Objects are not watched: they are read from time to time", "every", readAgain.String())
			} else {
				watched = true
			}
		}
		if !may || !watched {
			now := w.read(ctx, t)
			if seen != nil && !slices.Equal(seen, now) {
				w.queue.Add(w.pass)
			}
			seen = now
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
	}
}

// may reports whether the operator may list and watch a kind; if not, why names the missing right.
func (w watcher) may(ctx context.Context, t trigger) (may bool, why string, err error) {
	m, err := w.live.RESTMapper().RESTMapping(t.kind.GroupKind(), t.kind.Version)
	if err != nil {
		return false, "", fmt.Errorf("find the resource of %s: %w", t.kind.Kind, err)
	}
	namespace := ""
	if m.Scope.Name() == meta.RESTScopeNameNamespace {
		namespace = w.namespace
	}
	for _, verb := range []string{"list", "watch"} {
		r := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: verb, Group: m.Resource.Group, Version: m.Resource.Version, Resource: m.Resource.Resource,
		}}}
		if err := w.live.Create(ctx, r); err != nil {
			return false, "", fmt.Errorf("ask for the right to %s %s: %w", verb, m.Resource.GroupResource(), err)
		}
		if !r.Status.Allowed {
			return false, fmt.Sprintf("no right to %s %s", verb, m.Resource.GroupResource()), nil
		}
	}
	return true, "", nil
}

// start starts a watch, which continues by itself.
func (w watcher) start(ctx context.Context, t trigger) error {
	of := &metav1.PartialObjectMetadata{}
	of.SetGroupVersionKind(t.kind)
	toOne := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request { return []reconcile.Request{w.pass} })
	named := predicate.NewPredicateFuncs(func(seen client.Object) bool { return slices.Contains(t.names, seen.GetName()) })
	if err := source.Kind(w.in, client.Object(of), toOne, named).Start(ctx, w.queue); err != nil {
		return fmt.Errorf("watch %s: %w", t.kind.Kind, err)
	}
	return nil
}

// read returns the UID and the version of each of a trigger's objects, or why it cannot be read.
func (w watcher) read(ctx context.Context, t trigger) []string {
	out := make([]string, len(t.names))
	for i, name := range t.names {
		o := &metav1.PartialObjectMetadata{}
		o.SetGroupVersionKind(t.kind)
		key := client.ObjectKey{Name: name}
		if m, err := w.live.RESTMapper().RESTMapping(t.kind.GroupKind(), t.kind.Version); err == nil && m.Scope.Name() == meta.RESTScopeNameNamespace {
			key.Namespace = w.namespace
		}
		if err := w.live.Get(ctx, key, o); err != nil {
			out[i] = err.Error()
			continue
		}
		out[i] = string(o.UID) + "/" + o.ResourceVersion
	}
	return out
}
