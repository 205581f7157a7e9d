package sim

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/sim/judge"
)

// troubled are worlds with nothing but the trouble that is given.
func troubled(bring func(*troubles)) func(*character) {
	return func(c *character) {
		percent := c.percent
		*c = character{cloud: c.cloud, pausePercent: c.pausePercent, sets: 1, singles: 3, percent: percent}
		c.trouble = 10
		bring(&c.troubles)
	}
}

// troubleMutants are defects that only one of the later troubles shows.
func troubleMutants() []Mutation {
	return []Mutation{
		{
			Name: "what a cache shows of a node is never doubted", Finds: []string{judge.ReadyStays},
			Dialects: []string{Gardener}, Client: cachedNodes,
			Setting: troubled(func(t *troubles) { t.stalls = true }),
		},
		{
			Name: "calls have no deadline", Finds: []string{judge.PassEnds}, Endless: true,
			Setting: troubled(func(t *troubles) { t.hangs = true }),
		},
	}
}

// nodesOf reads nodes from a cache, and all else live.
type nodesOf struct {
	client.Reader
	cache client.Reader
}

// Get implements [client.Reader].
func (r nodesOf) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if _, ok := o.(*corev1.Node); ok {
		return r.cache.Get(ctx, key, o, opts...)
	}
	return r.Reader.Get(ctx, key, o, opts...)
}

// List implements [client.Reader].
func (r nodesOf) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if _, ok := list.(*corev1.NodeList); ok {
		return r.cache.List(ctx, list, opts...)
	}
	return r.Reader.List(ctx, list, opts...)
}

func cachedNodes(c client.Client, live client.Reader) (client.Client, client.Reader) {
	return c, nodesOf{live, c}
}
