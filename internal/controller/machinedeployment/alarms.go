package machinedeployment

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/millwright-dev/millwright/internal/controller/enqueue"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// Alarms tells what health checks say of the machines that sets make.
type Alarms interface {
	// Kinds are empty checks of the kinds to be watched.
	Kinds() []client.Object
	// Look reads the checks of a namespace, and returns what they say of a set at
	// now.
	Look(ctx context.Context, now time.Time, namespace string) func(set client.Object) rollout.Alarm
	// Changed reports whether a change of a check changes what it says. Before is
	// nil for one that came into being, after for one that is gone.
	Changed(before, after client.Object) bool
}

// look is what health checks say of a set.
func (b *subject[D, S]) look(ctx context.Context) func(client.Object) rollout.Alarm {
	if b.Alarms == nil {
		return func(client.Object) rollout.Alarm { return rollout.Alarm{} }
	}
	return b.Alarms.Look(ctx, b.now, b.facts.Namespace)
}

// WakesOfCheck returns the deployments that a change of a health check concerns:
// those of its namespace, when what it says of templates changes. That is rare.
func (r *Reconciler[D, S]) WakesOfCheck(ctx context.Context, before, after client.Object) (out []enqueue.Request) {
	if !r.Alarms.Changed(before, after) {
		return nil
	}
	check := after
	if check == nil {
		check = before
	}
	deployments, err := r.listDeployments(ctx, check.GetNamespace())
	if err != nil {
		log.FromContext(ctx).Error(err, "cannot list the deployments that a health check concerns", "check", client.ObjectKeyFromObject(check))
		return nil
	}
	for _, d := range deployments {
		out = append(out, r.waking(d, eventPause))
	}
	return out
}
