package kit_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kit"
)

// builder counts what it builds: 1, 2, 3 and so on.
type builder struct {
	mu    sync.Mutex
	built int
}

func (b *builder) build(context.Context) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.built++
	return b.built, nil
}

func newClients(limit int) (*kit.Clients[int], *clocktesting.FakeClock) {
	clk := clocktesting.NewFakeClock(time.Unix(0, 0))
	return kit.NewClients[int](clk, time.Minute, limit), clk
}

func get(t *testing.T, c *kit.Clients[int], key provider.ClientKey, b *builder) int {
	t.Helper()
	n, err := c.Get(t.Context(), key, b.build)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestKeysTellAccountsApart(t *testing.T) {
	cred := func(kv ...string) map[string][]byte {
		m := map[string][]byte{}
		for n := 0; n < len(kv); n += 2 {
			m[kv[n]] = []byte(kv[n+1])
		}
		return m
	}
	seen := map[provider.ClientKey]string{}
	for reason, key := range map[string]provider.ClientKey{
		"plain":                         provider.KeyOf(cred("user", "a", "password", "b"), "https://x", "r"),
		"rotated":                       provider.KeyOf(cred("user", "a", "password", "c"), "https://x", "r"),
		"another endpoint":              provider.KeyOf(cred("user", "a", "password", "b"), "https://y", "r"),
		"another region":                provider.KeyOf(cred("user", "a", "password", "b"), "https://x", "s"),
		"the border elsewhere":          provider.KeyOf(cred("user", "a", "password", "b"), "https://xr", ""),
		"the border within credentials": provider.KeyOf(cred("usera", "password", "b", ""), "https://x", "r"),
		"nothing":                       provider.KeyOf(nil, "", ""),
		"a CA bundle":                   provider.KeyOf(cred("user", "a", "password", "b"), "https://x", "r", []byte("ca")),
		"rotated CA bundle":             provider.KeyOf(cred("user", "a", "password", "b"), "https://x", "r", []byte("cb")),
		"two of them":                   provider.KeyOf(cred("user", "a", "password", "b"), "https://x", "r", []byte("c"), []byte("a")),
		"an empty one":                  provider.KeyOf(cred("user", "a", "password", "b"), "https://x", "r", nil),
		"no credentials":                provider.KeyOf(nil, "https://x", "r", []byte("user"), []byte("a"), []byte("password"), []byte("b")),
	} {
		if other, ok := seen[key]; ok {
			t.Errorf("%q and %q have one key", reason, other)
		}
		seen[key] = reason
	}
	again := provider.KeyOf(cred("password", "b", "user", "a"), "https://x", "r")
	if seen[again] != "plain" {
		t.Error("the same account has two keys")
	}
}

func TestClientsAreSharedUntilForgotten(t *testing.T) {
	c, clk := newClients(10)
	b := &builder{}
	first, again, other := get(t, c, "a", b), get(t, c, "a", b), get(t, c, "b", b)
	if first != 1 || again != 1 || other != 2 {
		t.Fatal("one client for each key")
	}
	if err := c.Observe("a", provider.Errorf(provider.Throttled, "later")); provider.KindOf(err) != provider.Throttled {
		t.Errorf("Observe returns %v", err)
	}
	if get(t, c, "a", b) != 1 {
		t.Error("throttling drops the client")
	}
	denied := provider.Errorf(provider.Denied, "no")
	clk.Step(4 * time.Second)
	if err := c.Observe("a", denied); !errors.Is(err, denied) || get(t, c, "a", b) != 1 {
		t.Errorf("Observe returns %v, and drops a client that was made a moment ago", err)
	}
	clk.Step(time.Second)
	if err := c.Observe("a", denied); !errors.Is(err, denied) {
		t.Errorf("Observe returns %v", err)
	}
	if get(t, c, "a", b) != 3 || get(t, c, "b", b) != 2 {
		t.Error("a denial drops that client and no other")
	}
}

func TestIdleAndSurplusClientsGo(t *testing.T) {
	c, clk := newClients(2)
	b := &builder{}
	get(t, c, "a", b)
	clk.Step(40 * time.Second)
	get(t, c, "b", b)
	get(t, c, "a", b)
	clk.Step(40 * time.Second)
	if get(t, c, "a", b) != 1 {
		t.Error("a client in use is dropped")
	}
	if get(t, c, "c", b) != 3 || get(t, c, "a", b) != 1 {
		t.Error("the surplus takes the client in use")
	}
	if get(t, c, "b", b) != 4 {
		t.Error("the client not asked for the longest stays")
	}
	clk.Step(2 * time.Minute)
	if get(t, c, "b", b) != 5 {
		t.Error("an idle client stays")
	}
}

func TestConcurrentCallersShareOneBuild(t *testing.T) {
	c, _ := newClients(10)
	b, hold := &builder{}, make(chan struct{})
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			n, err := c.Get(context.Background(), "a", func(ctx context.Context) (int, error) {
				<-hold
				return b.build(ctx)
			})
			if n != 1 || err != nil {
				t.Errorf("got %d, %v", n, err)
			}
		})
	}
	close(hold)
	wg.Wait()
}

func TestFailedBuildIsForgotten(t *testing.T) {
	c, _ := newClients(10)
	odd := errors.New("odd")
	if _, err := c.Get(t.Context(), "a", func(context.Context) (int, error) { return 0, odd }); !errors.Is(err, odd) {
		t.Fatalf("got %v", err)
	}
	func() {
		defer func() { _ = recover() }()
		_, _ = c.Get(t.Context(), "a", func(context.Context) (int, error) { panic("odd") })
	}()
	if get(t, c, "a", &builder{}) != 1 {
		t.Error("a failure is kept")
	}
}

func TestCancelledBuildIsTakenUp(t *testing.T) {
	c, _ := newClients(10)
	first, cancel := context.WithCancel(t.Context())
	begun := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		_, err := c.Get(first, "a", func(ctx context.Context) (int, error) {
			close(begun)
			<-ctx.Done()
			return 0, ctx.Err()
		})
		done <- err
	}()
	<-begun
	impatient, giveUp := context.WithCancel(t.Context())
	giveUp()
	if _, err := c.Get(impatient, "a", (&builder{}).build); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that has given up is told %v", err)
	}
	second := make(chan int, 1)
	go func() {
		n, _ := c.Get(context.Background(), "a", (&builder{}).build)
		second <- n
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the first caller is told %v", err)
	}
	if n := <-second; n != 1 {
		t.Error("the second caller fails with the first")
	}
}

// asked is a clock that signals each request for the time.
type asked struct {
	provider.Clock
	times chan struct{}
}

func (c asked) Now() time.Time {
	c.times <- struct{}{}
	return c.Clock.Now()
}

// TestAbandonedClientIsBuiltAgain: if the caller that builds a client is canceled, a waiting caller builds
// it itself, and does not get the other's error.
func TestAbandonedClientIsBuiltAgain(t *testing.T) {
	clk := asked{clocktesting.NewFakeClock(time.Unix(0, 0)), make(chan struct{}, 10)}
	clients := kit.NewClients[int](clk, time.Minute, 10)
	ctx, giveUp := context.WithCancel(t.Context())
	first := make(chan error)
	go func() {
		_, err := clients.Get(ctx, "a", func(ctx context.Context) (int, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		})
		first <- err
	}()
	<-clk.times // the first has begun
	go func() {
		<-clk.times // the second has found the build in progress
		giveUp()
	}()
	if n, err := clients.Get(t.Context(), "a", func(context.Context) (int, error) { return 2, nil }); n != 2 || err != nil {
		t.Errorf("got %d, %v, want 2", n, err)
	}
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the one that gave up got %v", err)
	}
}
