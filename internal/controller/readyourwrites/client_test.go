package readyourwrites

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// lagging is an API server, and a cache of it that stands still: it hands out what it
// has, as a cache does that is asked for no copies.
type lagging struct {
	t      *testing.T
	server client.WithWatch
	cached *corev1.NodeList
	writes Writes
	clock  *clocktesting.FakePassiveClock
	// asked counts the reads past the cache, fails is what they come to.
	asked int
	fails error
}

func lag(t *testing.T, names ...string) *lagging {
	l := &lagging{t: t, server: fake.NewClientBuilder().Build(), clock: clocktesting.NewFakePassiveClock(now)}
	for _, name := range names {
		l.must(l.server.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}))
	}
	l.sync()
	return l
}

func (l *lagging) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// sync makes the cache show what the server has.
func (l *lagging) sync() {
	l.cached = &corev1.NodeList{}
	l.must(l.server.List(l.t.Context(), l.cached))
}

// pass begins a pass.
func (l *lagging) pass(awaited *Awaited) *Client {
	cache := interceptor.NewClient(l.server, interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
			for i := range l.cached.Items {
				if l.cached.Items[i].Name == key.Name {
					*o.(*corev1.Node) = l.cached.Items[i]
					return nil
				}
			}
			return errors.New("not cached")
		},
		List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, _ ...client.ListOption) error {
			list.(*corev1.NodeList).Items = append([]corev1.Node(nil), l.cached.Items...)
			return nil
		},
	})
	live := interceptor.NewClient(l.server, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			l.asked++
			return errors.Join(l.fails, c.Get(ctx, key, o, opts...))
		},
	})
	return &Client{Client: cache, Live: live, Writes: &l.writes, Awaited: awaited, Clock: l.clock}
}

func (l *lagging) get(c *Client, name string) *corev1.Node {
	n := &corev1.Node{}
	l.must(c.Get(l.t.Context(), client.ObjectKey{Name: name}, n))
	return n
}

// mark writes the note by one of the ways there are.
func (l *lagging) mark(c *Client, how, name, note string) {
	l.t.Helper()
	before := l.get(c, name)
	after := before.DeepCopy()
	after.Annotations = map[string]string{"note": note}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	l.must(map[string]func() error{
		"patch":        func() error { return c.Patch(l.t.Context(), after, patch) },
		"update":       func() error { return c.Update(l.t.Context(), after) },
		"patch status": func() error { return c.Status().Patch(l.t.Context(), after, patch) },
		"update status": func() error {
			return c.Status().Update(l.t.Context(), after)
		},
	}[how]())
}

// TestReadsItsWrites: however it is written, and read, and by whichever pass: as long as
// the cache is behind, the answer is shown, and no longer.
func TestReadsItsWrites(t *testing.T) {
	for _, how := range []string{"patch", "update", "patch status", "update status"} {
		t.Run(how, func(t *testing.T) {
			l := lag(t, "a", "b")
			first := l.pass(nil)
			l.mark(first, how, "a", "first")
			l.mark(first, how, "a", "second") // over what was written and not what the cache shows
			c := l.pass(nil)
			var list corev1.NodeList
			l.must(c.List(t.Context(), &list))
			got, live := l.get(c, "a"), &corev1.Node{}
			l.must(l.server.Get(t.Context(), client.ObjectKey{Name: "a"}, live))
			if v := live.ResourceVersion; got.ResourceVersion != v || list.Items[0].ResourceVersion != v || l.cached.Items[0].ResourceVersion == v {
				t.Errorf("version %s was written; read %s, listed %s, cached %s", v, got.ResourceVersion, list.Items[0].ResourceVersion, l.cached.Items[0].ResourceVersion)
			}
			if !c.Hides("a") || c.Hides("b") || first.Hides("b") {
				t.Errorf("hidden: a %v, b %v", c.Hides("a"), c.Hides("b"))
			}
			l.sync()
			if c = l.pass(nil); l.get(c, "a") == nil || c.Hides("a") || c.Settle(t.Context(), now) != 0 || !l.writes.empty() {
				t.Error("the cache has caught up, and is not believed")
			}
		})
	}
}

// TestReadsAreCopies: who asks for a copy may change it.
func TestReadsAreCopies(t *testing.T) {
	l := lag(t, "a")
	c := l.pass(nil)
	l.mark(c, "patch", "a", "written")
	l.get(c, "a").Annotations["note"] = "changed"
	if got := l.get(c, "a").Annotations["note"]; got != "written" {
		t.Errorf("read %q after a reader changed what it had read", got)
	}
}

// TestSettle: a cache that hides a write for too long is asked past.
func TestSettle(t *testing.T) {
	tests := map[string]struct {
		reason string
		then   func(l *lagging)
		again  time.Duration
		asked  int
		note   string
	}{
		"in time": {"a cache may be behind for a while", func(l *lagging) { l.clock.SetTime(now.Add(Patience - 1)) }, 1, 0, "written"},
		"stopped": {"the server has what was written", func(*lagging) {}, Patience, 1, "written"},
		"no answer": {
			"asked again later", func(l *lagging) { l.fails = errors.New("timeout") }, Patience, 1, "written",
		},
		"went back": {
			"it has it as it was before", func(l *lagging) { l.server = lag(l.t, "a").server }, time.Millisecond, 1, "",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			l := lag(t, "a")
			c := l.pass(nil)
			l.mark(c, "patch", "a", "written")
			l.get(c, "a")
			if again := c.Settle(t.Context(), now); again != Patience {
				t.Fatalf("at once it is looked again after %v", again)
			}
			l.clock.SetTime(now.Add(Patience))
			tc.then(l)
			c.Live = l.pass(nil).Live
			if again := c.Settle(t.Context(), l.clock.Now()); again != tc.again || l.asked != tc.asked {
				t.Errorf("%s: looked again after %v, want %v; the server was asked %d times, want %d", tc.reason, again, tc.again, l.asked, tc.asked)
			}
			if got := l.get(l.pass(nil), "a").Annotations["note"]; got != tc.note {
				t.Errorf("%s: %q is shown, want %q", tc.reason, got, tc.note)
			}
		})
	}
}

// TestSettleOnlyWhatWasRead: a pass asks for nothing that it did not look at.
func TestSettleOnlyWhatWasRead(t *testing.T) {
	l := lag(t, "a")
	l.mark(l.pass(nil), "patch", "a", "written")
	if again := l.pass(nil).Settle(t.Context(), now.Add(time.Hour)); again != 0 || l.asked != 0 {
		t.Errorf("looked again after %v, asked %d times", again, l.asked)
	}
}

// TestAwaits: what a pass makes or deletes, its owner awaits. An answer that leaves open
// what happened is not this package's.
func TestAwaits(t *testing.T) {
	byUID := func(uid types.UID) client.Preconditions { return client.Preconditions{UID: ptr.To(uid)} }
	named := func(name string) *corev1.Node { return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}} }
	tests := map[string]struct {
		reason string
		do     func(ctx context.Context, c *Client) error
		awaits bool
	}{
		"made":         {"it has to appear", func(ctx context.Context, c *Client) error { return c.Create(ctx, named("c")) }, true},
		"refused":      {"it does not appear", func(ctx context.Context, c *Client) error { _ = c.Create(ctx, named("b")); return nil }, false},
		"said to be":   {"it has to appear", func(_ context.Context, c *Client) error { c.Await(version("d", "1")); return nil }, true},
		"deleted":      {"it has to go", func(ctx context.Context, c *Client) error { return c.Delete(ctx, named("a"), byUID("a")) }, true},
		"gone already": {"it has to go", func(ctx context.Context, c *Client) error { _ = c.Delete(ctx, named("x"), byUID("a")); return nil }, true},
		"replaced": {
			"it has to go: another has its name",
			func(ctx context.Context, c *Client) error { _ = c.Delete(ctx, named("b"), byUID("a")); return nil }, true,
		},
		"changed": {
			"it stays", func(ctx context.Context, c *Client) error {
				_ = c.Delete(ctx, named("a"), client.Preconditions{UID: ptr.To[types.UID]("a"), ResourceVersion: ptr.To("0")})
				return nil
			}, false,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			l, a := lag(t, "a", "b"), &Awaited{}
			l.must(tc.do(t.Context(), l.pass(a)))
			a.Observe([]client.Object{&l.cached.Items[0], &l.cached.Items[1]})
			if a.Satisfied() == tc.awaits {
				t.Errorf("%s: awaited %v", tc.reason, !a.Satisfied())
			}
		})
	}
}

// TestSettleOvertaken: if the watch has stopped, a client with Overtaken set returns what another client
// wrote over the hidden write, as the API server has it.
func TestSettleOvertaken(t *testing.T) {
	for _, asks := range []bool{true, false} {
		l := lag(t, "a")
		c := l.pass(nil)
		c.Overtaken = asks
		l.mark(c, "patch", "a", "written")
		other := &corev1.Node{}
		l.must(l.server.Get(t.Context(), client.ObjectKey{Name: "a"}, other))
		other.Annotations, other.Labels = nil, map[string]string{"by": "others"}
		l.must(l.server.Update(t.Context(), other))
		l.get(c, "a")
		c.Settle(t.Context(), now)
		l.clock.SetTime(now.Add(Patience))
		if again := c.Settle(t.Context(), l.clock.Now()); again != Patience {
			t.Errorf("looked again after %v, want %v", again, Patience)
		}
		got := l.get(l.pass(nil), "a")
		if theirs := got.Labels["by"] == "others" && got.Annotations["note"] == ""; theirs != asks || got.ResourceVersion == l.cached.Items[0].ResourceVersion {
			t.Errorf("asked for: %v, and version %s is shown with %v and %v", asks, got.ResourceVersion, got.Labels, got.Annotations)
		}
		l.sync()
		if c = l.pass(nil); l.get(c, "a").Labels["by"] != "others" || c.Hides("a") {
			t.Error("the cache has caught up, and is not believed")
		}
	}
}
