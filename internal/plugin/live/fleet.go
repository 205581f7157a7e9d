// Package live follows the fleet of a cluster by watches: a row for each object with its state and the reason, and
// the changes of these rows.
package live

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/millwright/v1alpha1"
	"github.com/millwright-dev/millwright/internal/plugin/collect"
	"github.com/millwright-dev/millwright/internal/plugin/connect"
)

// Options say which fleet to follow.
type Options struct {
	// Control is the cluster with the machines, Target the one that they join; nil: the same.
	Control, Target *rest.Config
	// NoNodes says that the machines join a cluster that cannot be read.
	NoNodes bool
	// Namespace is the only one to follow; empty is all.
	Namespace string
	Clock     clock.Clock
	// Changed is called for each change of an object; may be nil.
	Changed func(client.Object)
}

// Fleet is a fleet that is followed.
type Fleet struct {
	// Clusters answer from the watches, and from the API servers about kinds that are not watched. Their clients can
	// watch, too (client.WithWatch).
	Clusters collect.Clusters
	// Control and Target read past the watches.
	Control client.Client
	Target  client.Reader
	feed    *feed
	readers []*reader
}

// Follow connects to the clusters and follows the fleet until ctx ends.
func Follow(ctx context.Context, o Options) (*Fleet, error) {
	scheme := connect.Scheme()
	control, err := newReader(o.Control, scheme, o.Namespace, o.Clock)
	if err != nil {
		return nil, err
	}
	target := control
	if o.Target != nil {
		if target, err = newReader(o.Target, scheme, "", o.Clock); err != nil {
			return nil, fmt.Errorf("cluster that machines join: %w", err)
		}
	}
	clusters := collect.Clusters{Control: control, Target: target}
	if o.NoNodes {
		clusters.Target = unreadable{}
	}
	f := newFeed(clusters, collect.Question{Namespace: o.Namespace}, o.Clock)
	f.problems = func() []string { return append(control.problems(), target.problems()...) }
	changed := func(c client.Object) {
		f.notify()
		if o.Changed != nil {
			o.Changed(c)
		}
	}
	inControl, inTarget := watchedKinds()
	if target == control && !o.NoNodes {
		inControl, inTarget = append(inControl, inTarget...), nil
	}
	budget := &v1alpha1.MachineDisruptionBudget{}
	if err := control.watch(ctx, changed, f.depart, append(inControl, budget)...); err != nil {
		return nil, err
	}
	f.limits.watched = control.has(budget)
	if target != control {
		if err := target.watch(ctx, changed, f.depart, inTarget...); err != nil {
			return nil, err
		}
	}
	go f.run(ctx)
	out := &Fleet{Clusters: clusters, Control: control.WithWatch, Target: target.WithWatch, feed: f, readers: []*reader{control}}
	if target != control {
		out.readers = append(out.readers, target)
	}
	if o.NoNodes {
		out.Target = unreadable{}
	}
	return out, nil
}

// Outdated reports whether the user may now read other kinds than when the watches began.
func (f *Fleet) Outdated(ctx context.Context) (bool, error) {
	for _, r := range f.readers {
		if changed, err := r.outdated(ctx); changed || err != nil {
			return changed, err
		}
	}
	return false, nil
}

// unreadable is a cluster that cannot be read.
type unreadable struct{}

var errUnreadable = errors.New("the machines join another cluster, which this page does not read")

// Get implements [client.Reader].
func (unreadable) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errUnreadable
}

// List implements [client.Reader].
func (unreadable) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errUnreadable
}

// Subscribe returns a channel of changes, of which the first is the whole fleet. It is closed if its reader does not
// keep up. The function ends it.
func (f *Fleet) Subscribe() (<-chan Change, func()) { return f.feed.subscribe() }

// Samples are the recorded samples of the deployment with this UID, the oldest first.
func (f *Fleet) Samples(deployment string) []Sample { return f.feed.samples(deployment) }
