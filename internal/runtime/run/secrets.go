package run

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// secretTTL is how long a secret that was read is used again. So a fleet of 1000 machines with one class
// reads its secrets at most every two seconds, and a rotated credential is seen within seconds.
const secretTTL = 2 * time.Second

// newClient returns the managers' client: everything but secrets is read from caches. A cache of secrets
// would need the permission to list all of a namespace; reading by name needs only the names.
func newClient(c *rest.Config, o client.Options) (client.Client, error) {
	o.Cache.DisableFor = append(o.Cache.DisableFor, &corev1.Secret{})
	inner, err := client.New(c, o)
	if err != nil {
		return nil, err
	}
	return &secretCache{Client: inner, clock: clock.RealClock{}, seen: map[client.ObjectKey]seenSecret{}}, nil
}

// secretCache remembers secrets for secretTTL.
type secretCache struct {
	client.Client
	clock clock.PassiveClock
	mu    sync.Mutex
	seen  map[client.ObjectKey]seenSecret
}

type seenSecret struct {
	secret *corev1.Secret
	err    error
	at     time.Time
}

// Get reads a secret at most once per secretTTL, and other objects from the cache.
func (c *secretCache) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	s, ok := o.(*corev1.Secret)
	if !ok || len(opts) > 0 {
		return c.Client.Get(ctx, key, o, opts...)
	}
	c.mu.Lock()
	known, ok := c.seen[key]
	c.mu.Unlock()
	if !ok || c.clock.Since(known.at) > secretTTL {
		known = seenSecret{secret: &corev1.Secret{}, at: c.clock.Now()}
		known.err = c.Client.Get(ctx, key, known.secret)
		c.remember(key, known)
	}
	if known.err != nil {
		return known.err
	}
	known.secret.DeepCopyInto(s)
	return nil
}

// remember stores a secret and drops outdated ones.
func (c *secretCache) remember(key client.ObjectKey, s seenSecret) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, old := range c.seen {
		if c.clock.Since(old.at) > secretTTL {
			delete(c.seen, k)
		}
	}
	c.seen[key] = s
}
