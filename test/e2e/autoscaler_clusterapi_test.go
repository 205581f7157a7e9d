package e2e

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
	"github.com/millwright-dev/millwright/provider"
)

// The keys of the clusterapi provider of the cluster-autoscaler when its CAPI_GROUP is machine.openshift.io.
const (
	minSizeKey    = provider.OpenShift + "/cluster-api-autoscaler-node-group-min-size"
	maxSizeKey    = provider.OpenShift + "/cluster-api-autoscaler-node-group-max-size"
	deleteKey     = provider.OpenShift + "/delete-machine"
	machineKey    = provider.OpenShift + "/machine"
	capacityGroup = "capacity.cluster-autoscaler.kubernetes.io/"
)

// clusterAutoscaler sends the same requests to the API as the clusterapi provider, in the same order and with the same fields.
type clusterAutoscaler struct{ *robot }

func newClusterAutoscaler(t *testing.T, f *fleet.Fleet) clusterAutoscaler {
	t.Helper()
	return clusterAutoscaler{newRobot(t, f, dialects[0])}
}

// nodeGroup is a set or a deployment with limits in its annotations.
type nodeGroup struct {
	*unstructured.Unstructured
	resource string
	min, max int
}

func (g nodeGroup) id() string { return path.Join(g.GetKind(), g.GetNamespace(), g.GetName()) }

// groups returns the node groups by ID. A set that a deployment owns is not a group. Neither is a group without machines if its
// nodes cannot be predicted.
func (r clusterAutoscaler) groups() map[string]nodeGroup {
	r.t.Helper()
	out := map[string]nodeGroup{}
	for _, res := range []string{"machinesets", "machinedeployments"} {
		for _, o := range r.list(res, "") {
			if ownerOf(&o, "MachineDeployment") != "" {
				continue
			}
			if g, ok := groupFrom(&o, res); ok {
				out[g.id()] = g
			}
		}
	}
	return out
}

func groupFrom(o *unstructured.Unstructured, res string) (nodeGroup, bool) {
	g := nodeGroup{Unstructured: o, resource: res}
	g.min, _ = strconv.Atoi(o.GetAnnotations()[minSizeKey])
	g.max, _ = strconv.Atoi(o.GetAnnotations()[maxSizeKey])
	_, foretold := g.template()
	return g, g.max > 0 && g.max >= g.min && (foretold || number(o, "spec", "replicas") > 0)
}

// group waits for a node group.
func (r clusterAutoscaler) group(id string) (g nodeGroup) {
	r.t.Helper()
	eventually(r.t, "node group "+id, func(context.Context) (string, error) {
		var ok bool
		if g, ok = r.groups()[id]; !ok {
			return "it is not a node group", nil
		}
		return "", nil
	})
	return g
}

// ownerOf returns the name of the first owner of a kind.
func ownerOf(o *unstructured.Unstructured, kind string) string {
	for _, ref := range o.GetOwnerReferences() {
		if ref.Kind == kind {
			return ref.Name
		}
	}
	return ""
}

// size returns the target size, through the scale subresource.
func (r clusterAutoscaler) size(g nodeGroup) int {
	r.t.Helper()
	s, err := r.scales.Scales(r.namespace).Get(r.t.Context(), r.version.WithResource(g.resource).GroupResource(), g.GetName(), metav1.GetOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	return int(s.Spec.Replicas)
}

// resize returns an error if the limits forbid the size.
func (r clusterAutoscaler) resize(g nodeGroup, n int) error {
	r.t.Helper()
	if n < g.min || n > g.max {
		return fmt.Errorf("%d is not between %d and %d", n, g.min, g.max)
	}
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, n)
	_, err := r.scales.Scales(r.namespace).Patch(r.t.Context(), r.version.WithResource(g.resource), g.GetName(), types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// increase is called with the wanted size.
func (r clusterAutoscaler) increase(g nodeGroup, n int) {
	r.t.Helper()
	if err := r.resize(g, n); err != nil {
		r.t.Fatal(err)
	}
}

// machines returns the machines that the group's selector matches.
func (r clusterAutoscaler) machines(g nodeGroup) []unstructured.Unstructured {
	r.t.Helper()
	want, _, err := unstructured.NestedStringMap(g.Object, "spec", "selector", "matchLabels")
	if err != nil {
		r.t.Fatal(err)
	}
	return r.list("machines", labels.SelectorFromSet(want).String())
}

// instances returns the provider IDs of the group's machines. A machine without a node, or with a node that is about to be
// deleted, has an ID that says so.
func (r clusterAutoscaler) instances(g nodeGroup) (ids []string) {
	r.t.Helper()
	for _, m := range r.machines(g) {
		id, _, _ := unstructured.NestedString(m.Object, "spec", "providerID")
		_, failed, _ := unstructured.NestedString(m.Object, "status", "errorMessage")
		pseudo := func(state string) string { return state + "-machine-" + m.GetNamespace() + "_" + m.GetName() }
		switch {
		case failed:
			id = pseudo("failed")
		case id != "" && m.GetDeletionTimestamp() != nil:
			id = pseudo("deleting")
		case id == "" && text(&m, "status", "nodeRef", "name") == "":
			id = pseudo("pending")
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// machineOf finds the machine of a node by provider ID. The annotation of the node, which the autoscaler uses for machines
// without a provider ID, must name the same machine.
func (r clusterAutoscaler) machineOf(node *unstructured.Unstructured) *unstructured.Unstructured {
	r.t.Helper()
	var found []unstructured.Unstructured
	for _, m := range r.list("machines", "") {
		if id := text(&m, "spec", "providerID"); id != "" && tail(id) == tail(text(node, "spec", "providerID")) {
			found = append(found, m)
		}
	}
	if len(found) != 1 {
		r.t.Fatalf("%d machines have the provider ID of node %s, want one", len(found), node.GetName())
	}
	if got, want := node.GetAnnotations()[machineKey], r.namespace+"/"+found[0].GetName(); got != want {
		r.t.Errorf("node %s says that its machine is %q, want %s", node.GetName(), got, want)
	}
	return &found[0]
}

// groupOf returns the group of a node, through its machine, set and deployment.
func (r clusterAutoscaler) groupOf(node *unstructured.Unstructured) string {
	r.t.Helper()
	set := r.get("machinesets", ownerOf(r.machineOf(node), "MachineSet"))
	owner, res := set, "machinesets"
	if name := ownerOf(set, "MachineDeployment"); name != "" {
		owner, res = r.get("machinedeployments", name), "machinedeployments"
	}
	g, ok := groupFrom(owner, res)
	if !ok {
		return ""
	}
	return g.id()
}

// mark marks a machine to be deleted first; unmark removes the mark.
func (r clusterAutoscaler) mark(machine string) {
	r.t.Helper()
	r.change("machines", machine, func(m *unstructured.Unstructured) { annotate(m, deleteKey, time.Now().String()) })
}

func (r clusterAutoscaler) unmark(machine string) {
	r.t.Helper()
	r.change("machines", machine, func(m *unstructured.Unstructured) { annotate(m, deleteKey, "") })
}

// remove deletes nodes: it marks each machine, and then decreases the size of the group by one.
func (r clusterAutoscaler) remove(g nodeGroup, machines ...string) {
	r.t.Helper()
	nodes := r.nodes()
	n := r.size(g)
	for _, name := range machines {
		id := text(r.get("machines", name), "spec", "providerID")
		if got := r.groupOf(nodes[id]); got != g.id() {
			r.t.Fatalf("node %s is in node group %q, want %s", id, got, g.id())
		}
		r.mark(name)
		n--
		if err := r.resize(g, n); err != nil {
			r.unmark(name)
			r.t.Fatal(err)
		}
	}
}

// template predicts a node of the group. It returns false if the group does not say how large the node would be.
func (g nodeGroup) template() (nodeTemplate, bool) {
	a := g.GetAnnotations()
	mebi := a[provider.OpenShift+"/memoryMb"]
	if mebi != "" {
		mebi += "Mi"
	}
	t := nodeTemplate{capacity: map[string]string{}, labels: map[string]string{}}
	t.capacity["cpu"] = cmp.Or(a[capacityGroup+"cpu"], a[provider.OpenShift+"/vCPU"])
	t.capacity["memory"] = cmp.Or(a[capacityGroup+"memory"], mebi)
	t.capacity["pods"] = cmp.Or(a[capacityGroup+"maxPods"], a[provider.OpenShift+"/maxPods"], "110")
	if gpus := cmp.Or(a[capacityGroup+"gpu-count"], a[provider.OpenShift+"/GPU"]); gpus != "" && gpus != "0" {
		t.capacity["nvidia.com/gpu"] = gpus
	}
	if disk := a[capacityGroup+"ephemeral-disk"]; disk != "" {
		t.capacity["ephemeral-storage"] = disk
	}
	declared, _, _ := unstructured.NestedStringMap(g.Object, "spec", "template", "spec", "metadata", "labels")
	for key, value := range declared {
		t.labels[key] = value
	}
	for label := range strings.SplitSeq(a[capacityGroup+"labels"], ",") {
		if key, value, ok := strings.Cut(label, "="); ok {
			t.labels[key] = value
		}
	}
	t.taints = taintsOf(g.Unstructured, "spec", "template", "spec", "taints")
	return t, t.capacity["cpu"] != "" && t.capacity["memory"] != ""
}

func sameQuantity(a, b string) bool {
	x, errX := resource.ParseQuantity(a)
	y, errY := resource.ParseQuantity(b)
	return errX == nil && errY == nil && x.Cmp(y) == 0
}
