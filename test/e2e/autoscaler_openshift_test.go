package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
	"github.com/millwright-dev/millwright/provider"
)

// autoscaled are the annotations of a node group in these tests.
func autoscaled(least, most int) string {
	return fmt.Sprintf(`{"metadata":{"annotations":{%q:"%d",%q:"%d",%q:"30"}}}`, minSizeKey, least, maxSizeKey, most, provider.OpenShift+"/maxPods")
}

// small is a template of nodes that differ from those of the example in every property that an autoscaler reads.
const small = `{"spec":{"template":{"spec":{
	"metadata":{"labels":{"team":"a"}},
	"taints":[{"key":"dedicated","value":"team-a","effect":"NoSchedule"}],
	"providerSpec":{"value":{"numCores":2,"memoryCapacity":"4Gi","maxPods":30,"gpus":1,"resources":{"ephemeral-storage":"10Gi"},"instanceType":"small"}}}}}}`

// autoscaledSet creates a separate set without machines.
func autoscaledSet(t *testing.T, name string, patches ...string) *unstructured.Unstructured {
	t.Helper()
	const key = provider.OpenShift + "/cluster-api-machineset"
	own := fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"replicas":0,"selector":{"matchLabels":{%q:%q}},"template":{"metadata":{"labels":{%q:%q}}}}}`,
		name, key, name, key, name)
	return fromExample(t, "openshift-machineset.yaml", append([]string{own}, patches...)...)
}

// discardSet deletes a set when the test ends, and removes what blocks the deletion of its machines.
func discardSet(t *testing.T, f *fleet.Fleet, name string) {
	t.Helper()
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		c := dynamicClient(t, f)
		d := dialects[0]
		_ = c.Resource(d.resource("machinesets")).Namespace(d.namespace).Delete(ctx, name, metav1.DeleteOptions{})
	})
}

// TestClusterAutoscalerSet: a MachineSet is a node group, even with zero machines. Its nodes are as predicted, and the named
// machines are deleted.
func TestClusterAutoscalerSet(t *testing.T) {
	t.Parallel()
	f, d := hollow(t), dialects[0]
	seats(t, 4)
	r := newClusterAutoscaler(t, f)
	discardSet(t, f, "ca-set")
	apply(t, f, autoscaledSet(t, "ca-set", autoscaled(0, 4), small))

	g := r.group("MachineSet/" + d.namespace + "/ca-set")
	foretold, _ := g.template()
	for resource, want := range map[string]string{"cpu": "2", "memory": "4Gi", "pods": "30"} {
		if got := foretold.capacity[resource]; !sameQuantity(got, want) {
			t.Errorf("the predicted node has %s %s, want %s", got, resource, want)
		}
	}
	if len(foretold.taints) != 1 || foretold.labels["team"] != "a" || foretold.labels["kubernetes.io/arch"] == "" {
		t.Errorf("the predicted node has the labels %v and the taints %v", foretold.labels, foretold.taints)
	}
	if n, ids := r.size(g), r.instances(g); n != 0 || len(ids) != 0 {
		t.Errorf("size %d and instances %v of a set without machines", n, ids)
	}

	c := d.follow(t, f, provider.OpenShift+"/cluster-api-machineset=ca-set")
	r.increase(g, 4)
	running(t, f, d.group, "ca-set-", 4)
	four := c.present()
	r.recognised(g, four)
	for _, m := range four {
		r.offers(m, foretold)
	}

	r.mark(four[0])
	r.unmark(four[0])
	r.remove(g, four[1])
	c.only(t, four[0], four[2], four[3])
	r.remove(g, four[3], four[0])
	c.only(t, four[2])
	if got := c.came(); len(got) != 4 {
		t.Errorf("machines %v were created, want only the first four", got)
	}
	if n := r.size(g); n != 1 {
		t.Errorf("size %d, want 1", n)
	}
}

// recognised checks that the machines are the nodes of the group, in both directions.
func (r clusterAutoscaler) recognised(g nodeGroup, machines []string) {
	r.t.Helper()
	nodes, ids := r.nodes(), r.instances(g)
	if len(ids) != len(machines) {
		r.t.Errorf("instances %v, want one for each of %v", ids, machines)
	}
	for _, id := range ids {
		n := nodes[id]
		if n == nil {
			r.t.Errorf("no node has the provider ID %s", id)
			continue
		}
		if got := r.groupOf(n); got != g.id() {
			r.t.Errorf("node %s is in node group %q, want %s", n.GetName(), got, g.id())
		}
		if m := r.machineOf(n).GetName(); !slices.Contains(machines, m) {
			r.t.Errorf("node %s is machine %s, want one of %v", n.GetName(), m, machines)
		}
	}
}

// only waits until exactly these machines are left.
func (c *crowd) only(t *testing.T, want ...string) {
	t.Helper()
	slices.Sort(want)
	eventually(t, fmt.Sprintf("machines %v and no others", want), func(context.Context) (string, error) {
		if got := c.present(); !slices.Equal(got, want) {
			return fmt.Sprintf("there are %v", got), nil
		}
		return "", nil
	})
}

// TestClusterAutoscalerDeployment: a MachineDeployment is a node group, its sets are not. The named machine is deleted, even
// during a rollout without progress (cluster-autoscaler#8494).
func TestClusterAutoscalerDeployment(t *testing.T) {
	t.Parallel()
	f, d := hollow(t), dialects[0]
	seats(t, 5)
	r := newClusterAutoscaler(t, f)
	d.discard(t, f, "ca-deploy")
	o := d.variant(t, "ca-deploy", `{"replicas":4}`)
	for key, value := range map[string]string{minSizeKey: "0", maxSizeKey: "4"} {
		annotate(o, key, value)
	}
	apply(t, f, o)
	c := d.follow(t, f, "pool=ca-deploy")
	running(t, f, d.group, "ca-deploy-", 4)
	first := c.present()
	g := r.group("MachineDeployment/" + d.namespace + "/ca-deploy")
	r.recognised(g, first)
	r.noGroups(f, d)

	// New machines must be ready for longer than the test takes, so that the rollout stops with all the old machines and a new
	// one.
	kubectl(t, f, "", "-n", d.namespace, "patch", d.deployments(), "ca-deploy", "--type=merge",
		"-p", `{"spec":{"minReadySeconds":600,"template":{"spec":{"providerSpec":{"value":{"numCores":2}}}}}}`)
	running(t, f, d.group, "ca-deploy-", 5)
	fresh := others(c.present(), first)
	r.remove(g, fresh[0])
	c.went(t, fresh[0])

	// One old machine was deleted, too: three are wanted, and there is one of the new template again.
	var old []string
	eventually(t, "three old machines and a new one", func(context.Context) (string, error) {
		if old = others(first, c.left()); len(old) != 3 || len(c.present()) != 4 {
			return fmt.Sprintf("old ones %v of %v", old, c.present()), nil
		}
		return "", nil
	})
	running(t, f, d.group, "ca-deploy-", 4)
	before := c.left()
	r.remove(g, old[2], old[1])
	c.went(t, old[1])
	c.went(t, old[2])
	if next := others(c.left(), before); slices.Contains(next, old[0]) {
		t.Errorf("%v went when %v were named", next, old[1:])
	}
	kubectl(t, f, "", "-n", d.namespace, "patch", d.deployments(), "ca-deploy", "--type=merge", "-p", `{"spec":{"minReadySeconds":0}}`)
	c.replaced(t, first, 1)

	r.increase(g, 0)
	c.only(t)
	g = r.group(g.id())
	foretold, ok := g.template()
	if !ok {
		t.Fatalf("%s says nothing of its nodes: %v", g.id(), g.GetAnnotations())
	}
	r.increase(g, 1)
	running(t, f, d.group, "ca-deploy-", 1)
	r.offers(c.present()[0], foretold)
}

// others returns the elements of all that are not in some.
func others(all, some []string) (out []string) {
	for _, a := range all {
		if !slices.Contains(some, a) {
			out = append(out, a)
		}
	}
	return out
}

// went waits until a machine is deleted.
func (c *crowd) went(t *testing.T, machine string) {
	t.Helper()
	eventually(t, machine+" leaves", func(context.Context) (string, error) {
		if left := c.left(); !slices.Contains(left, machine) {
			return fmt.Sprintf("%v left", left), nil
		}
		return "", nil
	})
}

// noGroups checks that no set of a deployment has limits. Otherwise a client that ignores owners would see a second node group
// of the same machines.
func (r clusterAutoscaler) noGroups(f *fleet.Fleet, d dialect) {
	r.t.Helper()
	for _, name := range d.owned(r.t, f, r.get("machinedeployments", "ca-deploy")) {
		for key := range r.get("machinesets", name).GetAnnotations() {
			if strings.Contains(key, "cluster-api-autoscaler") {
				r.t.Errorf("set %s of a deployment has the annotation %s", name, key)
			}
		}
	}
}

// TestClusterAutoscalerStates: the fields that the autoscaler reads distinguish machines without nodes.
func TestClusterAutoscalerStates(t *testing.T) {
	t.Parallel()
	f, d := hollow(t), dialects[0]
	r := newClusterAutoscaler(t, f)
	const hooked = `{"spec":{"replicas":2,"template":{"spec":{"lifecycleHooks":{"preTerminate":[{"name":"stay","owner":"test"}]},
		"providerSpec":{"value":{"backend":"memory","instanceType":"ca-states","quota":1,"zones":null,"zone":"z"}}}}}}`
	const broken = `{"spec":{"replicas":1,"template":{"spec":{"providerSpec":{"value":{"numCroes":2}}}}}}`
	discardSet(t, f, "ca-states")
	discardSet(t, f, "ca-broken")
	apply(t, f, autoscaledSet(t, "ca-states", autoscaled(0, 4), hooked))
	apply(t, f, autoscaledSet(t, "ca-broken", autoscaled(0, 4), broken))

	states, failed := r.group("MachineSet/"+d.namespace+"/ca-states"), r.group("MachineSet/"+d.namespace+"/ca-broken")
	r.tells(failed, "failed-machine-"+d.namespace+"_ca-broken-")
	r.tells(states, "kubemark://ca-states-", "pending-machine-"+d.namespace+"_ca-states-")
	for _, m := range r.machines(states) {
		if text(&m, "spec", "providerID") != "" {
			kubectl(t, f, "", "-n", d.namespace, "delete", d.machines(), m.GetName(), "--wait=false")
		}
	}
	pending := "pending-machine-" + d.namespace + "_ca-states-" // its replacement is the second one
	r.tells(states, "deleting-machine-"+d.namespace+"_ca-states-", pending, pending)

	kubectl(t, f, "", "-n", d.namespace, "delete", d.sets(), "ca-states", "ca-broken")
	for _, m := range r.machines(states) {
		kubectl(t, f, "", "-n", d.namespace, "patch", d.machines(), m.GetName(), "--type=merge", "-p", `{"spec":{"lifecycleHooks":null}}`)
	}
	r.tells(states)
	r.tells(failed)
}

// tells waits until the instances of a group have the given prefixes, in order.
func (r clusterAutoscaler) tells(g nodeGroup, prefixes ...string) {
	r.t.Helper()
	slices.Sort(prefixes)
	eventually(r.t, fmt.Sprintf("instances of %s are %v", g.id(), prefixes), func(context.Context) (string, error) {
		ids := r.instances(g)
		if !slices.EqualFunc(ids, prefixes, strings.HasPrefix) {
			return fmt.Sprintf("they are %v", ids), nil
		}
		return "", nil
	})
}
