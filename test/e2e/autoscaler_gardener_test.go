package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

// The keys that the autoscaler of Gardener and the machine API use.
const (
	triggerKey  = "node.machine.sapcloud.io/trigger-deletion-by-mcm"
	changedKey  = "machine.sapcloud.io/last-deployment-replica-change-by-scaler-time"
	priorityKey = "machinepriority.machine.sapcloud.io"
	markedKey   = "machine.sapcloud.io/marked-for-deletion-time"
)

// gardenerAutoscaler sends the same requests to the API as the mcm provider of the fork.
type gardenerAutoscaler struct {
	*robot
	pool string
}

// finished reports whether the autoscaler treats the rollout as finished. Otherwise it does not scale down.
func (r gardenerAutoscaler) finished() bool {
	r.t.Helper()
	c := conditionOf(r.t, r.get("machinedeployments", r.pool), "Progressing")
	return c == condition{} || c.Status == "True" && c.Reason == "NewMachineSetAvailable" || c.Status == "Unknown" && c.Reason == "DeploymentPaused"
}

func (r gardenerAutoscaler) settled() {
	r.t.Helper()
	eventually(r.t, "the rollout of "+r.pool+" finished", func(context.Context) (string, error) {
		if !r.finished() {
			return fmt.Sprint(conditionOf(r.t, r.get("machinedeployments", r.pool), "Progressing")), nil
		}
		return "", nil
	})
}

func (r gardenerAutoscaler) size() int {
	r.t.Helper()
	return number(r.get("machinedeployments", r.pool), "spec", "replicas")
}

// resize writes the whole deployment with another number of replicas.
func (r gardenerAutoscaler) resize(n int64) {
	r.t.Helper()
	r.change("machinedeployments", r.pool, func(o *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(o.Object, n, "spec", "replicas")
	})
}

// remove names machines and lowers the replicas in one write. The names may include invalid entries. It returns the time of the
// write.
func (r gardenerAutoscaler) remove(machines []string, nonsense ...string) string {
	r.t.Helper()
	at := time.Now().UTC().Format(time.RFC3339)
	var entries []string
	for _, m := range machines {
		entries = append(entries, m+"~"+at)
	}
	slices.Sort(entries)
	r.change("machinedeployments", r.pool, func(o *unstructured.Unstructured) {
		annotate(o, changedKey, at)
		annotate(o, triggerKey, strings.Join(append(entries, nonsense...), ","))
		_ = unstructured.SetNestedField(o.Object, int64(number(o, "spec", "replicas")-len(machines)), "spec", "replicas")
	})
	return at
}

// machines returns the machines whose label name is that of the deployment.
func (r gardenerAutoscaler) machines() []unstructured.Unstructured {
	r.t.Helper()
	return r.list("machines", "name="+r.pool)
}

// instances returns the provider IDs of the machines' nodes, or a placeholder.
func (r gardenerAutoscaler) instances() (ids []string) {
	r.t.Helper()
	byName := map[string]string{}
	for id, n := range r.nodes() {
		byName[n.GetName()] = id
	}
	for _, m := range r.machines() {
		id, ok := byName[m.GetLabels()["node"]]
		if !ok {
			id = "requested://" + m.GetName()
		}
		ids = append(ids, id)
	}
	return ids
}

// machineOf finds the machine of an instance: by the end of its provider ID, or by its name if the ID is a placeholder.
func (r gardenerAutoscaler) machineOf(id string) *unstructured.Unstructured {
	r.t.Helper()
	var found []unstructured.Unstructured
	for _, m := range r.list("machines", "") {
		if tail(text(&m, "spec", "providerID")) == tail(id) || m.GetName() == tail(id) {
			found = append(found, m)
		}
	}
	if len(found) != 1 {
		r.t.Fatalf("%d machines have %s, want one", len(found), id)
	}
	return &found[0]
}

// deploymentOf returns the deployment of a machine, through the first owners.
func (r gardenerAutoscaler) deploymentOf(m *unstructured.Unstructured) string {
	r.t.Helper()
	set := r.get("machinesets", m.GetOwnerReferences()[0].Name)
	return set.GetOwnerReferences()[0].Name
}

// template predicts a node from class and deployment.
func (r gardenerAutoscaler) template() nodeTemplate {
	r.t.Helper()
	o := r.get("machinedeployments", r.pool)
	if kind := text(o, "spec", "template", "spec", "class", "kind"); kind != "MachineClass" {
		r.t.Fatalf("the class is of kind %q", kind)
	}
	class := r.get("machineclasses", text(o, "spec", "template", "spec", "class", "name"))
	capacity, _, _ := unstructured.NestedStringMap(class.Object, "nodeTemplate", "capacity")
	for _, core := range []string{"cpu", "gpu", "memory"} {
		if _, ok := capacity[core]; !ok {
			r.t.Errorf("class %s says nothing of %s", class.GetName(), core)
		}
	}
	delete(capacity, "gpu")
	t := nodeTemplate{capacity: capacity, taints: taintsOf(o, "spec", "template", "spec", "nodeTemplate", "spec", "taints")}
	t.labels, _, _ = unstructured.NestedStringMap(o.Object, "spec", "template", "spec", "nodeTemplate", "metadata", "labels")
	t.labels["node.kubernetes.io/instance-type"] = text(class, "nodeTemplate", "instanceType")
	t.labels["topology.kubernetes.io/region"] = text(class, "nodeTemplate", "region")
	t.labels["topology.kubernetes.io/zone"] = text(class, "nodeTemplate", "zone")
	return t
}

// pool creates a deployment with its own classes, <name>-1 and <name>-2.
func pool(t *testing.T, f *fleet.Fleet, name string, replicas int, providerSpec string) gardenerAutoscaler {
	t.Helper()
	d := dialects[1]
	for _, n := range []string{"-1", "-2"} {
		class := &unstructured.Unstructured{Object: map[string]any{}}
		if err := class.UnmarshalJSON(fmt.Appendf(nil, `{"apiVersion":"machine.sapcloud.io/v1alpha1","kind":"MachineClass",
			"metadata":{"name":%q,"namespace":%q},"provider":"kubemark","secretRef":{"name":"worker-user-data","namespace":%q},
			"nodeTemplate":{"capacity":{"cpu":"2","gpu":"0","memory":"4Gi","hugepages-2Mi":"64Mi","example.com/fpga":"1"},"instanceType":%q,"region":"r","zone":"z"},
			"providerSpec":%s}`, name+n, d.namespace, d.namespace, name, providerSpec)); err != nil {
			t.Fatal(err)
		}
		apply(t, f, class)
	}
	d.discard(t, f, name)
	apply(t, f, d.variant(t, name, fmt.Sprintf(`{"replicas":%d,"template":{"spec":{"class":{"name":%q},"nodeTemplate":{
		"metadata":{"labels":{"worker.gardener.cloud/pool":%q}},"spec":{"taints":[{"key":"dedicated","value":%q,"effect":"NoSchedule"}]}}}}}`,
		replicas, name+"-1", name, name)))
	return gardenerAutoscaler{newRobot(t, f, d), name}
}

// TestGardenerAutoscaler simulates a day of the fork: it reads the group, scales up, names machines to delete, revokes a
// deletion, and waits for a rollout.
func TestGardenerAutoscaler(t *testing.T) {
	t.Parallel()
	f, d := hollow(t), dialects[1]
	seats(t, 4)
	r := pool(t, f, "ca-pool", 3, `{"numCores":2,"memoryCapacity":"4Gi","instanceType":"ca-pool","createLatency":"1s"}`)
	c, marks := d.follow(t, f, "name=ca-pool"), d.trace(t, f, "worker.gardener.cloud/pool=ca-pool")
	wishes := r.remember(f)
	running(t, f, d.group, "ca-pool-", 3)
	r.settled()
	r.recognised()
	for _, m := range c.present() {
		r.offers(m, r.template())
	}

	r.resize(4)
	eventually(t, "a placeholder for the machine that comes", func(context.Context) (string, error) {
		ids := r.instances()
		if !slices.ContainsFunc(ids, func(id string) bool { return strings.HasPrefix(id, "requested://ca-pool-") }) {
			return fmt.Sprint(ids), nil
		}
		return "", nil
	})
	running(t, f, d.group, "ca-pool-", 4)
	four := c.present()

	at := r.remove([]string{four[1], four[3]}, "unknown", "unknown~"+time.Now().UTC().Format(time.RFC3339), four[0]+"~yesterday", "~")
	c.only(t, four[0], four[2])
	r.emptied()
	wishes.check(t, at, four[1], four[3])
	for _, set := range d.owned(t, f, r.get("machinedeployments", r.pool)) {
		if got := r.get("machinesets", set).GetAnnotations()[changedKey]; got != at {
			t.Errorf("set %s says that the autoscaler last changed the replicas at %q, want %s", set, got, at)
		}
	}

	// T21: machines are named, and then more are wanted again.
	r.remove([]string{four[0]})
	r.resize(2)
	c.went(t, four[0])
	running(t, f, d.group, "ca-pool-", 2)
	r.emptied()
	if now := c.present(); r.size() != 2 || !slices.Contains(now, four[2]) {
		t.Errorf("%d wanted and %v there, want 2 and %s among them", r.size(), now, four[2])
	}

	old := c.present()
	r.rolls(t, f)
	c.replaced(t, old, 2)
	r.settled()
	marks.check(t, old)
}

// recognised checks that each machine leads to its node and to the deployment, and that no two provider IDs have the same end.
func (r gardenerAutoscaler) recognised() {
	r.t.Helper()
	ends := map[string]bool{}
	ids := r.instances()
	for _, id := range ids {
		if strings.HasPrefix(id, "requested://") {
			r.t.Errorf("%s has no node", id)
		}
		if got := r.deploymentOf(r.machineOf(id)); got != r.pool {
			r.t.Errorf("%s is of deployment %q, want %s", id, got, r.pool)
		}
		ends[tail(id)] = true
	}
	if len(ends) != len(ids) {
		r.t.Errorf("provider IDs %v do not all end differently", ids)
	}
}

// emptied waits until the deployment names no machines.
func (r gardenerAutoscaler) emptied() {
	r.t.Helper()
	eventually(r.t, "no wish is left", func(context.Context) (string, error) {
		return r.get("machinedeployments", r.pool).GetAnnotations()[triggerKey], nil
	})
}

// wishMarks are the marks that machines were seen to have because of the autoscaler's names.
type wishMarks struct {
	mu               sync.Mutex
	priority, marked map[string]string
}

// remember watches the marks on the deployment's machines.
func (r gardenerAutoscaler) remember(f *fleet.Fleet) *wishMarks {
	r.t.Helper()
	w := &wishMarks{priority: map[string]string{}, marked: map[string]string{}}
	observe(r.t, f, kind{r.version.WithResource("machines"), r.namespace, "name=" + r.pool}, func(now objects) {
		w.mu.Lock()
		defer w.mu.Unlock()
		for name, m := range now {
			w.priority[name], w.marked[name] = m.GetAnnotations()[priorityKey], m.GetAnnotations()[markedKey]
		}
	})
	return w
}

// check returns the named machines that did not have the mark that their set reads.
func (w *wishMarks) check(t *testing.T, at string, machines ...string) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range machines {
		if w.priority[m] != "1" || w.marked[m] != at {
			t.Errorf("%s had priority %q and was marked at %q, want 1 and %s", m, w.priority[m], w.marked[m], at)
		}
	}
}

// rolls starts a rollout to the other class: the rollout is not finished, and no node may be removed. While it is paused, it
// counts as finished.
func (r gardenerAutoscaler) rolls(t *testing.T, f *fleet.Fleet) {
	t.Helper()
	patch := func(spec string) {
		kubectl(t, f, "", "-n", r.namespace, "patch", "machinedeployments.machine.sapcloud.io", r.pool, "--type=merge", "-p", `{"spec":`+spec+`}`)
	}
	patch(`{"paused":true,"template":{"spec":{"class":{"name":"` + r.pool + `-2"}}}}`)
	eventually(t, "paused", func(context.Context) (string, error) {
		got := conditionOf(t, r.get("machinedeployments", r.pool), "Progressing")
		if got.Status != "Unknown" || got.Reason != "DeploymentPaused" {
			return fmt.Sprint(got), nil
		}
		return "", nil
	})
	if !r.finished() {
		t.Error("a paused rollout does not count as finished")
	}
	patch(`{"paused":false}`)
	eventually(t, "a rollout under way, with nodes that stay", func(context.Context) (string, error) {
		if r.finished() {
			return "it counts as finished", nil
		}
		for _, n := range r.nodes() {
			if n.GetLabels()["worker.gardener.cloud/pool"] == r.pool && n.GetAnnotations()[stays] != "true" {
				return n.GetName() + " may be removed", nil
			}
		}
		return "", nil
	})
}

// TestGardenerAutoscalerExhausted: a machine without capacity reports this in the fields that the autoscaler reads, and is
// deleted when its placeholder is named.
func TestGardenerAutoscalerExhausted(t *testing.T) {
	t.Parallel()
	f, d := hollow(t), dialects[1]
	r := pool(t, f, "ca-scarce", 2, `{"backend":"memory","instanceType":"ca-scarce","zone":"z","quota":1}`)
	c := d.follow(t, f, "name=ca-scarce")
	var had, scarce string
	eventually(t, "one machine created, another not to be had", func(context.Context) (string, error) {
		had, scarce = "", ""
		var says []string
		for _, m := range r.machines() {
			last := func(field string) string { return text(&m, "status", "lastOperation", field) }
			says = append(says, fmt.Sprintf("%s: %s %s %s", m.GetName(), last("type"), last("state"), last("errorCode")))
			switch {
			case last("type") == "Create" && last("state") == "Failed" && last("errorCode") == "ResourceExhausted":
				scarce = m.GetName()
			case last("type") == "Create" && last("errorCode") == "" && text(&m, "spec", "providerID") != "":
				had = m.GetName()
			}
		}
		if had == "" || scarce == "" {
			return fmt.Sprintf("%d machines: %s", len(says), strings.Join(says, ", ")), nil
		}
		return "", nil
	})
	ids := r.instances()
	slices.Sort(ids)
	if want := []string{"requested://" + had, "requested://" + scarce}; !slices.Equal(ids, slices.Sorted(slices.Values(want))) {
		t.Errorf("instances %v, want %v", ids, want)
	}
	r.remove([]string{r.machineOf("requested://" + scarce).GetName()})
	c.only(t, had)
	r.emptied()
	kubectl(t, f, "", "-n", d.namespace, "delete", d.deployments(), r.pool)
	eventually(t, "all gone", func(context.Context) (string, error) { return strings.Join(c.present(), ", "), nil })
	list := r.list("machinesets", "name=ca-scarce")
	if len(list) > 0 {
		t.Errorf("%d sets outlive their deployment", len(list))
	}
}
