package machinedeployment

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/millwright-dev/millwright/internal/controller/enqueue"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// Alarms reports what health checks say about the machines that sets create.
type Alarms interface {
	// Kinds are empty checks of the kinds to watch.
	Kinds() []client.Object
	// Look reads the checks of a namespace, and returns their alarms about a set at now.
	Look(ctx context.Context, now time.Time, namespace string) func(set client.Object) rollout.Alarm
	// Changed reports whether a change of a check changes its alarms. Before is nil for a created check,
	// after for a deleted one.
	Changed(before, after client.Object) bool
}

// look returns the alarms of health checks about a set.
func (b *scope[D, S]) look(ctx context.Context) func(client.Object) rollout.Alarm {
	if b.Alarms == nil {
		return func(client.Object) rollout.Alarm { return rollout.Alarm{} }
	}
	return b.Alarms.Look(ctx, b.now, b.facts.Namespace)
}

// WakesOfCheck returns the deployments that a change of a health check concerns: those of its namespace, if
// its alarms about templates change. That is rare.
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
