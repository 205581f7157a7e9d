package postmortem

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/dialect/departures"
	"github.com/millwright-dev/millwright/internal/engine/postmortem"
)

// The record of deleted machines, and the sets and deployments of these machines, which show why they were deleted.
//
// +kubebuilder:rbac:groups="",namespace=millwright-system,resources=configmaps,resourceNames=deleted-machines,verbs=update
// +kubebuilder:rbac:groups=machine.openshift.io;machine.sapcloud.io,namespace=millwright-system,resources=machinedeployments;machinesets,verbs=get

// flushEvery is the shortest time between two writes of a record of deleted machines, however many machines were deleted.
const flushEvery = 30 * time.Second

// leaving has the machines in deletion, and the deleted machines that are not stored yet.
type leaving struct {
	mu sync.Mutex
	// open are the machines in deletion. Their cause is looked up once: soon after the request it is the most reliable.
	open map[types.UID]*opened
	done []postmortem.Departure
}

type opened struct {
	postmortem.Departure
	judged bool
}

// begin notes a machine in deletion.
func (l *leaving) begin(d postmortem.Departure) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		l.open = map[types.UID]*opened{}
	}
	if uid := types.UID(d.UID); l.open[uid] == nil {
		l.open[uid] = &opened{Departure: d}
	}
}

// end notes that a machine does not exist any more; last is what its last known object shows.
func (l *leaving) end(now time.Time, last postmortem.Departure) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last.Deleted = now.UTC().Truncate(time.Second)
	if last.Requested.IsZero() {
		last.Requested = last.Deleted
	}
	uid := types.UID(last.UID)
	if o := l.open[uid]; o != nil {
		last = last.With(o.Departure)
		delete(l.open, uid)
	}
	if l.done = append(l.done, last); len(l.done) > 2*postmortem.MostDepartures { // the newest ones are kept in any case
		l.done = slices.Clone(l.done[len(l.done)-postmortem.MostDepartures:])
	}
}

// undecided returns the machines in deletion whose cause was not looked up.
func (l *leaving) undecided() (out []postmortem.Departure) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range l.open {
		if !o.judged {
			out = append(out, o.Departure)
		}
	}
	return out
}

// decide stores the causes of machines in deletion.
func (l *leaving) decide(all []postmortem.Departure) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range all {
		if o := l.open[types.UID(d.UID)]; o != nil {
			o.Departure, o.judged = d, true
		}
	}
}

// take returns the deleted machines and forgets them; back returns them to the list after a failed write.
func (l *leaving) take() (out []postmortem.Departure) {
	l.mu.Lock()
	defer l.mu.Unlock()
	out, l.done = l.done, nil
	return out
}

func (l *leaving) back(all []postmortem.Departure) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done = append(all, l.done...)
}

// Flush looks up the causes of new deletions, and stores the deleted machines.
func (k *Recorder[M]) Flush(ctx context.Context) error {
	k.leaving.decide(k.causes(ctx, k.leaving.undecided()))
	done := map[string][]postmortem.Departure{}
	for _, d := range k.leaving.take() {
		done[d.Namespace] = append(done[d.Namespace], d)
	}
	var failed error
	for namespace, some := range done {
		some = k.causes(ctx, some)
		switch err := k.storeDepartures(ctx, namespace, some); {
		case apierrors.IsForbidden(err):
			log.FromContext(ctx).Error(err, "deleted machines cannot be recorded", "namespace", namespace)
		case apierrors.IsNotFound(err), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause): // the namespace is deleted, and the record with it
		case err != nil:
			k.leaving.back(some)
			failed = err
		}
	}
	return failed
}

// storeDepartures adds deleted machines to the record of a namespace.
func (k *Recorder[M]) storeDepartures(ctx context.Context, namespace string, some []postmortem.Departure) error {
	stored := departures.Stored(namespace)
	err := k.Live.Get(ctx, client.ObjectKeyFromObject(stored), stored)
	absent := apierrors.IsNotFound(err)
	if err != nil && !absent {
		return fmt.Errorf("read the record of deleted machines: %w", err)
	}
	key := k.Dialect.API()
	earlier, err := postmortem.DecodeDepartures(stored.Data[key])
	if err != nil {
		log.FromContext(ctx).Error(err, "the record of deleted machines is unreadable and begins again", "namespace", namespace)
	}
	raw, err := postmortem.EncodeDepartures(postmortem.Newest(k.Clock.Now(), append(some, earlier...)))
	if err != nil {
		return err
	}
	if stored.Data == nil {
		stored.Data = map[string]string{}
	}
	stored.Data[key] = raw
	if absent {
		err = k.Client.Create(ctx, stored)
	} else {
		err = k.Client.Update(ctx, stored)
	}
	if err != nil {
		return fmt.Errorf("store the record of deleted machines: %w", err)
	}
	return nil
}

// causes returns the departures with their causes, as far as events and the owners of the machines show them. A
// failed read leaves the cause unknown.
func (k *Recorder[M]) causes(ctx context.Context, all []postmortem.Departure) []postmortem.Departure {
	known, families := map[string]map[string]postmortem.Departure{}, map[string]*departures.Family{}
	for i, d := range all {
		if d.By != "" {
			continue
		}
		if known[d.Namespace] == nil {
			known[d.Namespace] = k.eventsAbout(ctx, d.Namespace)
		}
		if said, ok := known[d.Namespace][d.UID]; ok && said.By != "" {
			d.Cause, d.By, d.Why, d.Source = said.Cause, said.By, said.Why, said.Source
		}
		if d.Cause == "" {
			key := d.Namespace + "/" + d.Owner
			f, read := families[key]
			if !read {
				f = k.family(ctx, d)
				families[key] = f
			}
			if f != nil {
				d = departures.FromFamily(d, *f)
			}
		}
		all[i] = d
	}
	return all
}

// eventsAbout returns what the events of a namespace say about deletions.
func (k *Recorder[M]) eventsAbout(ctx context.Context, namespace string) map[string]postmortem.Departure {
	var all []corev1.Event
	for _, reason := range departures.CauseReasons() {
		var list corev1.EventList
		if err := k.Live.List(ctx, &list, client.InNamespace(namespace), client.MatchingFields{"reason": reason}); err != nil {
			log.FromContext(ctx).V(1).Info("cannot read the events about deletions", "namespace", namespace, "error", err.Error())
			return map[string]postmortem.Departure{}
		}
		all = append(all, list.Items...)
	}
	return departures.FromEvents(all)
}

// family reads the owners of a machine and its siblings; nil if they cannot be read.
func (k *Recorder[M]) family(ctx context.Context, d postmortem.Departure) *departures.Family {
	f := &departures.Family{}
	if d.Owner == "" {
		return f
	}
	var err error
	if f.Set, err = k.named(ctx, d.Namespace, d.Owner); err != nil {
		return nil
	}
	if f.Set == nil {
		return f
	}
	if o := metav1.GetControllerOfNoCopy(f.Set); o != nil {
		if f.Deployment, err = k.named(ctx, d.Namespace, o.Kind+"/"+o.Name); err != nil {
			return nil
		}
	}
	list := k.Dialect.NewList()
	if err := k.Client.List(ctx, list, client.InNamespace(d.Namespace), client.UnsafeDisableDeepCopy); err != nil { // they are only read
		return nil
	}
	for m := range dialect.Items[M](list) {
		if o := metav1.GetControllerOfNoCopy(m); o != nil && o.UID == f.Set.GetUID() {
			f.Machines = append(f.Machines, m)
		}
	}
	return f
}

// named reads "MachineSet/mill" from the API server; nil if it does not exist, or if its kind is unknown.
func (k *Recorder[M]) named(ctx context.Context, namespace, named string) (client.Object, error) {
	o := apis.Named(k.Dialect.API(), namespace, named)
	if o == nil {
		return nil, fmt.Errorf("unknown owner %s", named)
	}
	err := k.Live.Get(ctx, client.ObjectKeyFromObject(o), o)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return o, err
}
