package drains

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/forecast"
)

// policyOf is the policy of a drain of the machine's node: budgets hold without a limit, and the node is not terminated after it, so
// that no volume has to be detached.
func policyOf(machine client.Object) drain.Policy {
	name, _ := apis.KindOf(machine)
	api, _ := apis.Of(name)
	return drain.Policy{CordonLead: api.Machines.Policy(machine).Drain.Policy.CordonLead}
}

// Plan returns the pods that the drain of a node would evict, and what would be in its way. It fails if the drain would delete pods
// that no controller creates again.
func Plan(ctx context.Context, now time.Time, target client.Reader, n *corev1.Node) ([]forecast.Line, error) {
	f := drain.Facts{Node: n}
	var err error
	if f.Pods, err = podsOn(ctx, target, n.Name); err != nil {
		return nil, err
	}
	if err := refused(f); err != nil {
		return nil, err
	}
	var all policyv1.PodDisruptionBudgetList
	if err := target.List(ctx, &all); err != nil {
		return nil, fmt.Errorf("list the pod disruption budgets: %w", err)
	}
	f.Budgets = all.Items
	return forecast.Drained(now, n, f).Lines("cordon node " + n.Name), nil
}

// refused returns an error that names the pods which kubectl drain deletes only with --force.
func refused(f drain.Facts) error {
	pods := drain.Unmanaged(f, drain.Policy{})
	if len(pods) == 0 {
		return nil
	}
	more := ""
	if n := len(pods) - 1; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Errorf("pods: no controller creates %s%s again, and a drain would delete them: delete them yourself, or use kubectl drain --force", pods[0], more)
}

func podsOn(ctx context.Context, target client.Reader, node string) ([]corev1.Pod, error) {
	var pods corev1.PodList
	if err := target.List(ctx, &pods, client.MatchingFields{"spec.nodeName": node}); err != nil {
		return nil, fmt.Errorf("list the pods of node %s: %w", node, err)
	}
	return pods.Items, nil
}
