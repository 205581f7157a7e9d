package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/millwright-dev/millwright/internal/dialect/apis"
)

// watchedKinds are the kinds of which every object is shown: those of the APIs, with the machines, and
// nodes. They are watched. All others are read when they are needed.
func watchedKinds() (control, target []client.Object) {
	for _, a := range apis.All {
		for _, k := range a.Kinds {
			control = append(control, k.New())
		}
	}
	return control, []client.Object{&corev1.Node{}}
}

// reader answers from the watches of one cluster, and from its API server about all other kinds.
type reader struct {
	client.WithWatch
	scheme  *runtime.Scheme
	watches cache.Cache
	watched map[schema.GroupVersionKind]bool
	// asked are all kinds to watch, with whether the user might read them, in this namespace.
	asked     map[schema.GroupVersionKind]bool
	namespace string
	clock     clock.PassiveClock

	mu sync.Mutex
	// problem is the last failure of a watch, and when it happened.
	problem string
	failed  time.Time
}

// problemAge is how long a failure of a watch is reported: a watch that still fails tries again sooner.
const problemAge = time.Minute

// problems are the failures of watches: what the reader says of objects may be old.
func (r *reader) problems() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.problem == "" || r.clock.Since(r.failed) > problemAge {
		return nil
	}
	return []string{"shown objects may be old: " + r.problem}
}

// failing notes the failure of a watch. A watch that ends, or whose version has expired, is no failure.
func (r *reader) failing(_ context.Context, _ *toolscache.Reflector, err error) {
	if errors.Is(err, io.EOF) || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.problem, r.failed = err.Error(), r.clock.Now()
}

// newReader connects to a cluster. An empty namespace is all of them.
func newReader(config *rest.Config, scheme *runtime.Scheme, namespace string, clk clock.PassiveClock) (*reader, error) {
	live, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	r := &reader{WithWatch: live, scheme: scheme, watched: map[schema.GroupVersionKind]bool{}, asked: map[schema.GroupVersionKind]bool{}, namespace: namespace, clock: clk}
	o := cache.Options{Scheme: scheme, DefaultTransform: cache.TransformStripManagedFields(), DefaultWatchErrorHandler: r.failing}
	if namespace != "" {
		o.DefaultNamespaces = map[string]cache.Config{namespace: {}}
	}
	if r.watches, err = cache.New(config, o); err != nil {
		return nil, fmt.Errorf("prepare watches: %w", err)
	}
	return r, nil
}

// watch starts to watch the kinds that the cluster has and the user may read; changed is called for every change
// of an object, and deleted with the last known object after its deletion. A kind that the user may not read stays with
// the API server, whose refusal is a gap.
func (r *reader) watch(ctx context.Context, changed, deleted func(client.Object), kinds ...client.Object) error {
	go func() { _ = r.watches.Start(ctx) }()
	for _, o := range kinds {
		gvk, err := apiutil.GVKForObject(o, r.scheme)
		if err != nil {
			return fmt.Errorf("watch %T: %w", o, err)
		}
		if r.asked[gvk], err = r.readable(ctx, gvk); err != nil {
			return fmt.Errorf("list %s: %w", gvk.Kind, err)
		}
		if !r.asked[gvk] {
			continue
		}
		informer, err := r.watches.GetInformer(ctx, o)
		if meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("watch %s: %w", gvk.Kind, err)
		}
		if _, err := informer.AddEventHandler(handler(changed, deleted)); err != nil {
			return fmt.Errorf("watch %s: %w", gvk.Kind, err)
		}
		r.watched[gvk] = true
	}
	return nil
}

// readable reports whether the cluster has the kind, and the user may list it. Any other failure may pass: it is an error.
func (r *reader) readable(ctx context.Context, gvk schema.GroupVersionKind) (bool, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	err := r.WithWatch.List(ctx, list, client.InNamespace(r.namespace), client.Limit(1))
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return false, nil
	}
	return err == nil, err
}

// outdated reports whether the user may now read other kinds than when the watches began. API servers do not end a watch
// when the user loses the right to it.
func (r *reader) outdated(ctx context.Context) (bool, error) {
	for gvk, before := range r.asked {
		now, err := r.readable(ctx, gvk)
		if err != nil {
			return false, fmt.Errorf("list %s: %w", gvk.Kind, err)
		}
		if now != before {
			return true, nil
		}
	}
	return false, nil
}

func handler(changed, deleted func(client.Object)) toolscache.ResourceEventHandler {
	one := func(tell func(client.Object), o any) {
		if last, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
			o = last.Obj
		}
		if c, ok := o.(client.Object); ok {
			tell(c)
		}
	}
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { one(changed, o) }, UpdateFunc: func(_, o any) { one(changed, o) },
		DeleteFunc: func(o any) { one(deleted, o); one(changed, o) },
	}
}

// Get reads one object.
func (r *reader) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if r.has(o) && r.follows(key.Namespace) {
		return r.watches.Get(ctx, key, o, opts...)
	}
	return r.WithWatch.Get(ctx, key, o, opts...)
}

// List reads the objects of a kind. Readers do not change the listed objects, which are those of the watch.
// Selections by fields are left to the API server: the watches have no index.
func (r *reader) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(opts)
	if r.has(list) && r.follows(o.Namespace) && o.FieldSelector == nil {
		return r.watches.List(ctx, list, append(opts, client.UnsafeDisableDeepCopy)...)
	}
	return r.WithWatch.List(ctx, list, opts...)
}

// follows reports whether the objects of a namespace are watched; of none: those of the cluster, or of all namespaces.
func (r *reader) follows(namespace string) bool {
	return r.namespace == "" || namespace == "" || namespace == r.namespace
}

func (r *reader) has(o runtime.Object) bool {
	gvk, err := apiutil.GVKForObject(o, r.scheme)
	if err != nil {
		return false
	}
	if meta.IsListType(o) {
		gvk.Kind = gvk.Kind[:len(gvk.Kind)-len("List")]
	}
	return r.watched[gvk]
}
