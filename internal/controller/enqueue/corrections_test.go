package enqueue_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/internal/controller/enqueue"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/provider"
)

// TestWhatIsCorrected says which changes of what an object is made from end its pause.
func TestWhatIsCorrected(t *testing.T) {
	class := func(edit func(*dialect.Class)) enqueue.Mark {
		c := dialect.Class{Class: provider.Class{Spec: []byte("{}"), Credentials: map[string][]byte{"password": []byte("a")}}, UserData: []byte("boot")}
		edit(&c)
		return enqueue.MarkOf(c, nil)
	}
	same := func(*dialect.Class) {}
	unreadable := enqueue.MarkOf(dialect.Class{}, errors.New("secret a/b is forbidden"))
	from := func(m enqueue.Mark, source provider.ClientKey) enqueue.Mark {
		m.Source = source
		return m
	}
	for _, tt := range []struct {
		reason string
		was    enqueue.Mark
		is     enqueue.Mark
		want   bool
	}{
		{"nothing", class(same), class(same), false},
		{"credentials", class(same), class(func(c *dialect.Class) { c.Credentials = map[string][]byte{"password": []byte("b")} }), true},
		{"the spec", class(same), class(func(c *dialect.Class) { c.Spec = []byte(`{"zone":"a"}`) }), true},
		{"user data", class(same), class(func(c *dialect.Class) { c.UserData = []byte("other") }), true},
		{"user data that is there now", class(func(c *dialect.Class) { c.UserData, c.UserDataErr = nil, errors.New("no key") }), class(same), true},
		{"empty user data that is allowed now", class(func(c *dialect.Class) { c.UserData, c.UserDataErr = nil, errors.New("no key") }), class(func(c *dialect.Class) { c.UserData = nil }), true},
		{"another choice", class(same), class(func(c *dialect.Class) { c.Fallbacks = [][]byte{[]byte("{}")} }), true},
		{"a secret that exists now, and is empty", class(func(c *dialect.Class) { c.Absent = "; secret a/b does not exist" }), class(same), true},
		{"the right to read it", unreadable, class(same), true},
		{"it cannot be read any more", class(same), unreadable, false},
		{"it still cannot be read", unreadable, unreadable, false},
		{"a bundle of certificates", from(class(same), "old"), from(class(same), "new"), true},
		{"the bundle cannot be read just now", from(class(same), "old"), class(same), false},
	} {
		var w enqueue.Waiters
		key := types.NamespacedName{Namespace: "ns", Name: "m"}
		w.Wait(key, tt.was)
		got := w.Corrected(func(types.NamespacedName, enqueue.Mark) (enqueue.Mark, bool) { return tt.is, true })
		if (len(got) == 1) != tt.want {
			t.Errorf("%s: wakes %v", tt.reason, got)
		}
		if w.Wait(key, enqueue.Mark{}); len(w.Corrected(func(types.NamespacedName, enqueue.Mark) (enqueue.Mark, bool) { return tt.is, true })) != 0 {
			t.Errorf("%s: what does not wait any more is woken", tt.reason)
		}
	}
}

// TestCorrectionsAreLookedFor while a controller runs, and no longer.
func TestCorrectionsAreLookedFor(t *testing.T) {
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer q.ShutDown()
	ctx, cancel := context.WithCancel(t.Context())
	looks := make(chan struct{}, 10)
	err := enqueue.Corrections(clock.RealClock{}, func(context.Context) []reconcile.Request {
		looks <- struct{}{}
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: "m"}}}
	}).Start(ctx, q)
	if err != nil {
		t.Fatal(err)
	}
	if req, _ := q.Get(); req.Name != "m" {
		t.Errorf("woke %v", req)
	}
	cancel()
	time.Sleep(enqueue.CorrectionPause + 500*time.Millisecond)
	if n := len(looks); n > 2 {
		t.Errorf("looked %d times, the last ones after the controller had stopped", n)
	}
}
