package e2e

import (
	"testing"

	policyv1 "k8s.io/api/policy/v1"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

func budget(name string) *policyv1.PodDisruptionBudget {
	b := &policyv1.PodDisruptionBudget{}
	b.Namespace, b.Name = "default", name
	return b
}

// The object names the pods that budgets block, with the budget, its error, and the start. Budgets that can never allow an
// eviction are reported when the drain begins. Each pod is evicted as soon as its budget allows it.
func TestBudgetsAtTheirLimit(t *testing.T) {
	inBoth(t, func(t *testing.T, f *fleet.Fleet, d dialect) {
		name := "budget-" + d.name
		twice, pod := name+"-twice", "default/"+name
		d.machine(t, f, name)
		kubectl(t, f, manifest(t, "leaving-budgets.yaml", name), "apply", "-f", "-")
		ready(t, f, name)
		ready(t, f, twice)

		d.remove(t, f, name)
		full := pod + " (disruption budget " + pod + " has no room, since 20"
		d.says(t, f, name, "2 pods have to leave: ", full, pod+"-twice (several disruption budgets cover it: "+pod+"-one, "+pod+"-two, since 20")
		told(t, f, d.object("Machine", name), "DrainObstacle", pod+"-twice: several disruption budgets cover it")
		if !cordoned(t, f, name) {
			t.Error("the node takes new pods while it is drained")
		}
		unmoved(t, f, name)
		unmoved(t, f, twice)

		d.instance(t, f, name)

		merge(t, f, budget(name), `{"spec":{"minAvailable":0}}`)
		if err := f.Client.Delete(t.Context(), budget(name+"-two")); err != nil {
			t.Fatal(err)
		}
		// kube-controller-manager does not update the remaining budget by itself.
		merge(t, f, budget(name+"-one"), `{"metadata":{"labels":{"fixed":"yes"}}}`)
		d.gone(t, f, name)
	})
}
