package machineclass

import (
	"context"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func newQueue(t *testing.T) queue {
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(q.ShutDown)
	return q
}

// drain empties the queue and returns the names, sorted.
func drain(q queue) string {
	var names []string
	for q.Len() > 0 {
		r, _ := q.Get()
		q.Done(r)
		names = append(names, r.Name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func updated(h handler.EventHandler, q queue, a, b client.Object) {
	h.Update(context.Background(), event.UpdateEvent{ObjectOld: a, ObjectNew: b}, q)
}

func TestSecretEvents(t *testing.T) {
	ref := func(name string) *corev1.SecretReference { return &corev1.SecretReference{Name: name} }
	h, q := changes(SecretsOf, 0), newQueue(t)
	for _, c := range []struct {
		name, reason, want string
		send               func()
	}{
		{"created", "both secrets are to be held", "a b", func() {
			h.Create(t.Context(), event.CreateEvent{Object: naming(class("x"), ref("a"), ref("b"))}, q)
		}},
		{"deleted", "both may be let go", "a b", func() {
			h.Delete(t.Context(), event.DeleteEvent{Object: naming(class("x"), ref("a"), ref("b"))}, q)
		}},
		{"dropped", "the old one may be let go, the new one is to be held", "a b", func() {
			updated(h, q, naming(class("x"), ref("a"), nil), naming(class("x"), ref("b"), nil))
		}},
		{"unchanged", "a change of something else is no news for secrets", "", func() {
			updated(h, q, naming(class("x"), ref("a"), nil), naming(class("x", others), ref("a"), nil))
		}},
	} {
		c.send()
		if got := drain(q); got != c.want {
			t.Errorf("%s: woke %q, want %q: %s", c.name, got, c.want, c.reason)
		}
	}
}

func TestMachineEvents(t *testing.T) {
	h, q := changes(ClassOf, 0), newQueue(t)
	a, b := machine(ns, "m", "MachineClass", "a"), machine(ns, "m", "MachineClass", "b")
	updated(h, q, a, b)
	if got := drain(q); got != "a b" {
		t.Errorf("a machine that changed its class woke %q, want both classes", got)
	}
	updated(h, q, a, a)
	if got := drain(q); got != "" {
		t.Errorf("a machine that kept its class woke %q", got)
	}
	h.Delete(t.Context(), event.DeleteEvent{Object: b}, q)
	if got := drain(q); got != "b" {
		t.Errorf("a machine that went woke %q, want its class", got)
	}
}

func TestHandlerWakesMachines(t *testing.T) {
	k, q := newCluster(t, machine(ns, "m", "MachineClass", "pool")), newQueue(t)
	Handler(k).Create(t.Context(), event.CreateEvent{Object: class("pool")}, q)
	if got := drain(q); got != "m" {
		t.Errorf("a class that came woke %q, want its machine", got)
	}
	a, b := class("pool"), class("pool", held)
	if Changed().Update(event.UpdateEvent{ObjectOld: a, ObjectNew: b}) {
		t.Error("a finalizer on a class is no news for its machines")
	}
	b.Generation++
	if !Changed().Update(event.UpdateEvent{ObjectOld: a, ObjectNew: b}) {
		t.Error("a class with another spec did not pass")
	}
}

// TestLeftovers: what an earlier process left is asked for at the start, where
// that is permitted.
func TestLeftovers(t *testing.T) {
	k, q := newCluster(t, secret("a", guard), secret("b")), newQueue(t)
	if err := (&Secrets{Client: k, Live: k}).leftovers(ns).Start(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	if got := drain(q); got != "a" {
		t.Errorf("at the start %q are looked at, want those that are held", got)
	}
	for _, c := range []struct {
		err  error
		fail bool
	}{
		{apierrors.NewForbidden(corev1.Resource("secrets"), "", nil), false},
		{apierrors.NewInternalError(context.Canceled), true},
	} {
		refusing := interceptor.NewClient(k.Client.(client.WithWatch), interceptor.Funcs{
			List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return c.err },
		})
		if err := (&Secrets{Client: k, Live: refusing}).leftovers(ns).Start(t.Context(), q); (err != nil) != c.fail {
			t.Errorf("%v: the start came to %v", c.err, err)
		}
	}
}
