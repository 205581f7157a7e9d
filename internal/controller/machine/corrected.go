package machine

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/internal/controller/enqueue"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// awaitsCorrection is the mark of the machine's class, if the machine waits because of a failure; zero: it
// does not wait, or not for long. It does not matter which failures a correction of class, secrets or
// bundles would end: a retry costs little.
func awaitsCorrection(tried tries, out lifecycle.Outcome) enqueue.Mark {
	w := out.World
	failed := false
	for _, err := range []error{out.Err, w.Session.Err, w.Session.UserDataErr, w.Instances.Err, w.Retry.Err, w.Removal.Err} {
		failed = failed || err != nil
	}
	if !failed || out.After <= enqueue.CorrectionPause {
		return enqueue.Mark{}
	}
	mark := tried.mark
	mark.Source = tried.source
	return mark
}

// Corrections looks for machines that wait after a failure and whose class has changed since: secrets are
// not watched, nor are the other sources from which sessions are opened.
type Corrections[M client.Object] struct{ *Reconciler[M] }

// Look returns those machines.
func (r Corrections[M]) Look(ctx context.Context) []reconcile.Request {
	once, sources := r.Resolver.Once(), map[provider.ClientKey]provider.ClientKey{}
	return r.waiters.Corrected(func(key types.NamespacedName, was enqueue.Mark) (enqueue.Mark, bool) {
		m := r.Dialect.New()
		if err := r.Client.Get(ctx, key, m, client.UnsafeDisableDeepCopy); err != nil { // it is only read
			return enqueue.Mark{}, false
		}
		class, err := once.Class(ctx, m)
		is := enqueue.MarkOf(class, err)
		if was.Source != "" && err == nil {
			is.Source = r.sourceOf(ctx, class, sources)
		}
		return is, true
	})
}

// sourceOf is the source from which a session is opened besides its class; empty if it is unknown. Each
// session is opened once for all machines of a class.
func (r Corrections[M]) sourceOf(ctx context.Context, class dialect.Class, known map[provider.ClientKey]provider.ClientKey) provider.ClientKey {
	key := dialect.ClassKey(class.Class)
	if _, ok := known[key]; !ok {
		known[key] = ""
		if session, err := r.Provider.Open(ctx, class.Class); err == nil {
			known[key] = session.Traits().Source
		}
	}
	return known[key]
}
