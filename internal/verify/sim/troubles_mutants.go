package sim

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/verify/sim/judge"
)

// troubled are worlds with only the given trouble.
func troubled(bring func(*troubles)) func(*profile) {
	return func(c *profile) {
		percent := c.percent
		*c = profile{cloud: c.cloud, pausePercent: c.pausePercent, sets: 1, singles: 3, percent: percent}
		c.trouble = 10
		bring(&c.troubles)
	}
}

// troubleMutants are defects that show only with one of the later troubles.
func troubleMutants() []Mutation {
	return []Mutation{
		{
			Name: "what a cache shows of a node is never doubted", Finds: []string{judge.ReadyStays},
			Dialects: []string{Gardener}, Client: cachedNodes,
			Setting: func(c *profile) {
				troubled(func(t *troubles) { t.stalls = true })(c)
				c.percent, c.trouble = [allFaults]int{nodeStalls: 60, nodeRestarts: 60}, 20
			},
		},
		{
			Name: "calls have no deadline", Finds: []string{judge.PassEnds}, Endless: true,
			Setting: troubled(func(t *troubles) { t.hangs = true }),
		},
		{
			Name: "an API server that is busy counts as a budget that refuses", Finds: []string{judge.ForceInTime},
			Dialects: []string{Gardener}, Client: answering(func(verb string, _ client.Object, err error) error {
				if verb == "eviction" && apierrors.IsTooManyRequests(err) {
					refusal := apierrors.NewTooManyRequests(err.Error(), 0)
					refusal.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: budgetCause}}
					return refusal
				}
				return err
			}),
			Setting: func(c *profile) {
				troubled(func(t *troubles) { t.overloads = true })(c)
				c.apps, c.drains, c.percent[apiBusy] = 8, 20*time.Minute, 0
			},
		},
		{
			Name: "finalizers of others go with ours", Finds: []string{judge.OthersHold},
			Client: func(c client.Client, live client.Reader) (client.Client, client.Reader) {
				return finalizerRemover{c}, live
			},
			Setting: troubled(func(t *troubles) { t.foreignFinalizers = true }),
		},
		{
			Name: "what fails is tried again at once, for ever", Finds: []string{judge.NotBusy},
			Patience: func(p *lifecycle.Policy) { p.Delays = lifecycle.Delays{} },
			Setting:  troubled(func(t *troubles) { t.permanent = exhausted }),
		},
		{
			Name: "what a webhook denied is taken for done", Finds: []string{judge.HeldFirst},
			Client: answering(func(_ string, _ client.Object, err error) error {
				if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) {
					return nil
				}
				return err
			}),
			Setting: func(c *profile) {
				troubled(func(t *troubles) { t.forbids = true })(c)
				c.trouble = 20
			},
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

// mistaken is a client that misreads the answers of API servers.
type mistaken struct {
	client.Client
	takes func(verb string, o client.Object, err error) error
}

func answering(takes func(verb string, o client.Object, err error) error) func(client.Client, client.Reader) (client.Client, client.Reader) {
	return func(c client.Client, live client.Reader) (client.Client, client.Reader) {
		return mistaken{c, takes}, live
	}
}

// Patch implements [client.Writer].
func (c mistaken) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	return c.takes("patch", o, c.Client.Patch(ctx, o, p, opts...))
}

// Delete implements [client.Writer].
func (c mistaken) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	return c.takes("delete", o, c.Client.Delete(ctx, o, opts...))
}

// SubResource implements [client.Client].
func (c mistaken) SubResource(name string) client.SubResourceClient {
	return mistakenPart{c.Client.SubResource(name), c, name}
}

type mistakenPart struct {
	client.SubResourceClient
	c    mistaken
	name string
}

// Create implements [client.SubResourceWriter].
func (p mistakenPart) Create(ctx context.Context, o, part client.Object, opts ...client.SubResourceCreateOption) error {
	return p.c.takes(p.name, o, p.SubResourceClient.Create(ctx, o, part, opts...))
}

// finalizerRemover removes all finalizers from objects that it releases.
type finalizerRemover struct{ client.Client }

// Patch implements [client.Writer].
func (c finalizerRemover) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	if all := o.GetFinalizers(); o.GetDeletionTimestamp() != nil && len(all) == 1 && all[0] == foreign {
		o.SetFinalizers(nil)
	}
	return c.Client.Patch(ctx, o, p, opts...)
}
