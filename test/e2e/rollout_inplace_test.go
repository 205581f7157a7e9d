package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

// osPool selects the nodes of the example of updates in place.
const osPool = "worker.gardener.cloud/pool=mill-os"

// TestUpdateInPlace follows the example exactly: the nodes are updated one after the other, also after a failure, selected by
// the controller or by a user, and while the replicas change. Instances stay.
func TestUpdateInPlace(t *testing.T) {
	t.Parallel()
	f, d := hollow(t), dialects[1]
	seats(t, 4)
	r := readRecipe(t, f, "gardener-inplace.yaml")
	d.discard(t, f, "mill-os")
	c := d.follow(t, f, "name=mill-os")

	r.play(t, 1)
	before := c.instances()
	c.bound(t, 3, 0)

	r.play(t, 2)
	first := d.selected(t, f)
	if len(first) != 1 || !first[0].unschedulable {
		t.Fatalf("selected are %v, want one, cordoned", first)
	}

	r.play(t, 3)
	d.says(t, f, first[0].name, "InPlaceUpdateFailed", "the disk is full")
	time.Sleep(time.Second) // a rollout that ignored the failure would select the next node
	if now := d.selected(t, f); len(now) != 1 || now[0].name != first[0].name {
		t.Errorf("selected are %v after the update of %s failed, want none beside it", now, first[0].name)
	}

	r.play(t, 4)
	if now := c.instances(); !maps.Equal(before, now) {
		t.Errorf("instances %v after the update, want still %v", now, before)
	}
	d.released(t, f, 3)

	r.play(t, 5)
	byHand := d.selected(t, f)
	if len(byHand) != 1 {
		t.Fatalf("selected are %v, want the one selected by hand", byHand)
	}
	c.bound(t, 4, 0)
	r.play(t, 6)
	d.grown(t, c, before, byHand[0].name)
	d.released(t, f, 2)

	r.play(t, 7)
	d.cleared(t, f, c, osPool)
}

// grown waits until two machines exist: the one that a user selected, with the same instance, and one that was added by scaling
// up.
func (d dialect) grown(t *testing.T, c *crowd, before map[string]string, chosen string) {
	t.Helper()
	eventually(t, "two machines left", func(context.Context) (string, error) {
		now := c.instances()
		if len(now) != 2 || now[chosen] != before[chosen] {
			return fmt.Sprintf("there are %v, want %s and a new one", now, chosen), nil
		}
		return "", nil
	})
	if came := c.came(); len(came) != 4 {
		t.Errorf("machines %v were created, want three and the requested fourth", came)
	}
}

// selectedNode returns a node that is selected for an update.
type selectedNode struct {
	name          string
	unschedulable bool
}

func (dialect) selected(t *testing.T, f *fleet.Fleet) (out []selectedNode) {
	t.Helper()
	list, err := dynamicClient(t, f).Resource(nodeKind).List(t.Context(), metav1.ListOptions{LabelSelector: osPool})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range list.Items {
		if n.GetLabels()[v1alpha1.LabelKeyNodeSelectedForUpdate] == "true" {
			cordoned, _, _ := unstructured.NestedBool(n.Object, "spec", "unschedulable")
			out = append(out, selectedNode{n.GetName(), cordoned})
		}
	}
	return out
}

// released waits until n nodes exist, no node has a mark of an update, and all machines belong to one set.
func (d dialect) released(t *testing.T, f *fleet.Fleet, n int) {
	t.Helper()
	client := dynamicClient(t, f)
	eventually(t, "nodes as if nothing had happened", func(ctx context.Context) (string, error) {
		nodes, err := client.Resource(nodeKind).List(ctx, metav1.ListOptions{LabelSelector: osPool})
		if err != nil || len(nodes.Items) != n {
			return fmt.Sprintf("there are %d nodes, not %d", len(nodes.Items), n), err
		}
		for i := range nodes.Items {
			if left := leftover(&nodes.Items[i]); left != "" {
				return nodes.Items[i].GetName() + " has " + left, nil
			}
		}
		machines, err := client.Resource(d.resource("machines")).Namespace(d.namespace).List(ctx, metav1.ListOptions{LabelSelector: "name=mill-os"})
		if err != nil {
			return "", err
		}
		owners := map[string]bool{}
		for _, m := range machines.Items {
			owners[metav1.GetControllerOf(&m).Name] = true
			if shield := m.GetLabels()[v1alpha1.LabelKeyNodeUpdateResult]; shield != "" {
				return m.GetName() + " is still shielded", nil
			}
		}
		if len(owners) != 1 {
			return fmt.Sprintf("the machines belong to %v", slices.Collect(maps.Keys(owners))), nil
		}
		return "", nil
	})
}

// leftover returns the mark of an update on a node.
func leftover(n *unstructured.Unstructured) string {
	for key := range n.GetLabels() {
		if strings.HasPrefix(key, "node.machine.sapcloud.io/") {
			return "label " + key
		}
	}
	for _, key := range []string{stays, v1alpha1.AnnotationKeyUpdateFailedReason} {
		if n.GetAnnotations()[key] != "" {
			return "annotation " + key
		}
	}
	if cordoned, _, _ := unstructured.NestedBool(n.Object, "spec", "unschedulable"); cordoned {
		return "spec.unschedulable"
	}
	if tainted(n, v1alpha1.TaintKeyPreferNoSchedule) {
		return "the taint of old nodes"
	}
	return ""
}
