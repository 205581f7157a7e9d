package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/watch"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/internal/runtime/leading"
)

// leasePoll is how often leader election reads the known lease. That costs no request: the lease is watched,
// and renewed no more often than the retry period allows. So a standby acts within half a second after the
// lease expires or is released.
const leasePoll = 250 * time.Millisecond

// lease is the lock of leader election. It reports confirmed renewals to a [leading.Term]. One goroutine
// elects; another watches.
type lease struct {
	// client has a timeout for each request, watcher none.
	client, watcher           coordinationclient.LeaseInterface
	namespace, name, identity string
	retry                     time.Duration
	clock                     clock.WithTicker
	term                      *leading.Term
	// events records events about the lease; may be nil.
	events events.EventRecorder

	mu sync.Mutex
	// known is the lease as last read, written or seen; watched says that a watch updates it.
	known   *coordinationv1.Lease
	watched bool
	// told is the lease that leader election last got, or has written.
	told *coordinationv1.Lease
	// asked is when the API server was last asked, failed the result.
	asked  time.Time
	failed error
}

var _ resourcelock.Interface = &lease{}

// newLease returns the lock; config is the control cluster's.
func newLease(config *rest.Config, namespace, name string, e Election, t *leading.Term) (*lease, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("find a name for this process: %w", err)
	}
	config = rest.AddUserAgent(rest.CopyConfig(config), "leader-election")
	watcher, err := coordinationclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for watching the lease: %w", err)
	}
	// One hanging request must not lose the lease.
	config.Timeout = max(e.RenewDeadline/2, time.Second)
	c, err := coordinationclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for the lease: %w", err)
	}
	return &lease{
		client: c.Leases(namespace), watcher: watcher.Leases(namespace), namespace: namespace, name: name, identity: host + "_" + string(uuid.NewUUID()),
		retry: e.RetryPeriod, clock: t.Clock, term: t,
	}, nil
}

// Identity implements [resourcelock.Interface]. Two processes of one host have two identities, and so have
// two runs of one process.
func (l *lease) Identity() string { return l.identity }

// Describe implements [resourcelock.Interface].
func (l *lease) Describe() string { return l.namespace + "/" + l.name }

// RecordEvent implements [resourcelock.Interface].
func (l *lease) RecordEvent(what string) {
	l.mu.Lock()
	known := l.known
	l.mu.Unlock()
	if l.events == nil || known == nil {
		return
	}
	about := &coordinationv1.Lease{ObjectMeta: known.ObjectMeta}
	about.SetGroupVersionKind(coordinationv1.SchemeGroupVersion.WithKind("Lease"))
	l.events.Eventf(about, nil, corev1.EventTypeNormal, "LeaderElection", "Elect", "%s %s", l.identity, what)
}

// state reports the leader. A standby is as ready as the leader.
func (l *lease) state(*http.Request) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.known == nil:
		return "not read yet", nil
	case l.holder() == l.identity:
		return "held by this process", nil
	case l.holder() == "":
		return "it has no holder", nil
	}
	return "standing by, it is held by " + l.holder(), nil
}

// Get implements [resourcelock.Interface].
func (l *lease) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.watched || l.known == nil {
		if err := l.read(ctx); err != nil {
			return nil, nil, err
		}
	}
	l.told = l.known
	r := resourcelock.LeaseSpecToLeaderElectionRecord(&l.known.Spec)
	raw, err := json.Marshal(r)
	return r, raw, err
}

// read asks the API server, or repeats its answer of a moment ago.
func (l *lease) read(ctx context.Context) error {
	if l.tooSoon() && (l.failed != nil || l.known != nil) {
		return l.failed
	}
	asked := l.clock.Now()
	known, err := l.client.Get(ctx, l.name, metav1.GetOptions{})
	if err != nil && ctx.Err() != nil {
		return err // a cancelled request does not count as an answer
	}
	l.asked, l.failed = asked, err
	if err != nil {
		return err
	}
	l.known = known
	return nil
}

func (l *lease) tooSoon() bool { return l.clock.Since(l.asked) < l.retry }

// Create implements [resourcelock.Interface].
func (l *lease) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.write(ctx, r, func(o *coordinationv1.Lease) (*coordinationv1.Lease, error) {
		o.ObjectMeta = metav1.ObjectMeta{Namespace: l.namespace, Name: l.name}
		return l.client.Create(ctx, o, metav1.CreateOptions{})
	})
}

// Update implements [resourcelock.Interface]. It replaces only the lease that leader election knows: the
// watch may know by then that another process leads.
func (l *lease) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil {
		return errors.New("the lease was not read yet")
	}
	keeps, ours := r.HolderIdentity == l.identity, l.holder() == l.identity
	if keeps && ours && l.tooSoon() {
		return l.failed
	}
	if !ours && (!keeps || !l.isTold()) {
		if !keeps {
			l.term.Ended()
		}
		return apierrors.NewConflict(coordinationv1.Resource("leases"), l.name, fmt.Errorf("it is held by %q by now", l.holder()))
	}
	err := l.update(ctx, r)
	// A cancelled renewal may have been carried out, or still be: that is no reason to keep the lease.
	for !keeps && apierrors.IsConflict(err) && l.holds(ctx) {
		err = l.update(ctx, r)
	}
	return err
}

// holder returns the holder of the known lease.
func (l *lease) holder() string { return ptr.Deref(l.known.Spec.HolderIdentity, "") }

// isTold reports whether leader election has the known lease.
func (l *lease) isTold() bool {
	return l.told != nil && l.told.UID == l.known.UID && l.told.ResourceVersion == l.known.ResourceVersion
}

func (l *lease) update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.write(ctx, r, func(o *coordinationv1.Lease) (*coordinationv1.Lease, error) {
		o.ObjectMeta = *l.known.ObjectMeta.DeepCopy()
		return l.client.Update(ctx, o, metav1.UpdateOptions{})
	})
}

// holds asks the API server, after a conflict, whether the lease is ours.
func (l *lease) holds(ctx context.Context) bool {
	err := l.read(ctx)
	return err == nil && l.holder() == l.identity
}

// write sends the record and updates the term by the result. It holds the lock meanwhile: the state of a
// lease that is being written is unknown.
func (l *lease) write(ctx context.Context, r resourcelock.LeaderElectionRecord, send func(*coordinationv1.Lease) (*coordinationv1.Lease, error)) error {
	if r.HolderIdentity != l.identity {
		l.term.Ended()
	}
	sent := l.clock.Now()
	known, err := send(&coordinationv1.Lease{Spec: resourcelock.LeaderElectionRecordToLeaseSpec(&r)})
	l.asked, l.failed = sent, err
	switch {
	case err == nil:
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), apierrors.IsNotFound(err), ctx.Err() != nil:
		// The known lease is outdated, or may be after our own timeout: read it before the next try, without
		// a delay. The watch may show an older state first.
		l.known, l.watched, l.asked, l.failed = nil, false, time.Time{}, nil
		return err
	default:
		return err
	}
	l.known, l.told = known, known
	if r.HolderIdentity == l.identity {
		l.term.Renewed(sent)
	}
	return nil
}

// Watch updates the known lease until ctx ends. Without the permission to watch, the lease is read once per
// retry period instead.
func (l *lease) Watch(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := l.watch(ctx); err != nil && ctx.Err() == nil {
			logr.FromContextOrDiscard(ctx).V(1).Info("the lease is not watched", "lease", l.Describe(), "why", err.Error())
		}
		l.mu.Lock()
		l.watched = false
		l.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-l.clock.After(l.retry):
		}
	}
	return nil
}

func (l *lease) watch(ctx context.Context) error {
	l.mu.Lock()
	before := l.known
	l.mu.Unlock()
	w, err := l.watcher.Watch(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, l.name).String()})
	if err != nil {
		return err
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		o, ok := e.Object.(*coordinationv1.Lease)
		if !ok {
			return apierrors.FromObject(e.Object)
		}
		l.saw(o, e.Type == watch.Deleted, before)
	}
	return nil
}

// saw records the state of the watch, unless a newer one is known already. A state from before the watch does
// not count as newer: a watch begins with the current state of the API server, and if that is older, its
// store was restored.
func (l *lease) saw(o *coordinationv1.Lease, deleted bool, before *coordinationv1.Lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if deleted {
		l.known, l.watched = nil, false
		return
	}
	l.watched = true
	if l.known != nil && l.known != before && l.known.UID == o.UID {
		if c, err := resourceversion.CompareResourceVersion(o.ResourceVersion, l.known.ResourceVersion); err == nil && c < 0 {
			return
		}
	}
	l.known = o
}
