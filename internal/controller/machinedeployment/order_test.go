package machinedeployment_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestNobodyWaitsForMarks(t *testing.T) { both(t, nobodyWaitsForMarks, nobodyWaitsForMarks) }

// Marking the nodes of a large fleet takes seconds. The new set is created before that, and the end of the
// rollout is reported before marks are removed. Old nodes are avoided before a machine is deleted:
// otherwise its pods would move there.
func nobodyWaitsForMarks[D, S client.Object](t *testing.T, a api[D, S]) {
	w := newWorld(t, a)
	w.declare(4)
	r := w.controller()
	w.rest(r)
	avoided, lifted := 0, 0
	w.fate = func(o client.Object) fate {
		switch o := o.(type) {
		case *corev1.Node:
			if len(w.sets()) != 2 {
				t.Errorf("node %s is written before the new set is made", o.Name)
			}
			if len(o.Spec.Taints) > 0 {
				avoided++
				break
			}
			if o.Annotations["cluster-autoscaler.kubernetes.io/scale-down-disabled"] == "" {
				lifted++
				if last := w.facts().Last; last.Old != 0 || last.Available != 4 {
					t.Errorf("the mark of node %s comes off before the rollout is told to be done: %+v", o.Name, last)
				}
			}
		case S:
			if v := w.lens.Sets().View(w.deployment(), o); !v.Current && v.Replicas < 4 && avoided < 4 {
				t.Errorf("set %s comes down to %d after %d of 4 nodes were marked", o.GetName(), v.Replicas, avoided)
			}
		}
		return fine
	}
	w.change(func(d D) { a.template(d, "v2") })
	w.rest(r)
	if avoided != 4 || lifted != 4 {
		t.Errorf("%d nodes were marked and %d freed of their marks, want 4 and 4", avoided, lifted)
	}
}
