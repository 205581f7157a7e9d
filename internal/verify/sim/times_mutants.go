package sim

import (
	"context"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/verify/sim/judge"
)

// unsteady makes worlds whose wall clocks are set, and whose nodes fail.
func unsteady(c *profile) {
	c.wider = wider{clockwork: clockwork{set: true}, healthProfile: healthProfile{checks: true, frail: true}, trouble: 25}
	c.deployments, c.sets, c.singles, c.apps, c.tokens = 0, 3, 0, 0, false
}

// undone makes worlds whose API server is restored.
func undone(c *profile) {
	c.wider = wider{backupProfile: backupProfile{restores: true}, apart: true, trouble: 25}
	c.deployments, c.sets, c.singles, c.apps = 0, 2, 2, 0
}

// timeMutants use a wrong time, or expect that versions never go back.
func timeMutants() []Mutation {
	return []Mutation{
		{
			Name: "timers run by the wall clock", Finds: []string{judge.SeenOnly, judge.WatchedOnly, judge.HealthyStay, judge.ForceInTime, judge.SickGo, judge.Converges},
			Setting: unsteady, WallClock: true,
		},
		{
			Name: "an older version is waited for, for ever", Finds: []string{judge.Converges}, Dialects: []string{Gardener}, Setting: undone, Client: neverBack,
		},
	}
}

// monotonic refuses a version of an object that is older than the last one.
type monotonic struct {
	client.Reader
	seen map[client.ObjectKey]int64
}

// Get implements [client.Reader].
func (r monotonic) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if err := r.Reader.Get(ctx, key, o, opts...); err != nil {
		return err
	}
	v := versionOf(o)
	if v < r.seen[key] {
		return apierrors.NewTimeoutError("version "+strconv.FormatInt(r.seen[key], 10)+" is awaited", 1)
	}
	r.seen[key] = v
	return nil
}

// writing records the versions of its writes.
type writing struct {
	client.Client
	seen map[client.ObjectKey]int64
}

// Patch implements [client.Writer].
func (c writing) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	err := c.Client.Patch(ctx, o, p, opts...)
	if err == nil {
		c.seen[client.ObjectKeyFromObject(o)] = max(versionOf(o), c.seen[client.ObjectKeyFromObject(o)])
	}
	return err
}

func neverBack(c client.Client, live client.Reader) (client.Client, client.Reader) {
	seen := map[client.ObjectKey]int64{}
	return writing{c, seen}, monotonic{live, seen}
}
