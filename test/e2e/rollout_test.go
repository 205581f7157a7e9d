package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"golang.org/x/sync/semaphore"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/examples"
	"github.com/millwright-dev/millwright/internal/demo/fleet"
	"github.com/millwright-dev/millwright/provider"
)

// crowded is the limit for the machines of all rollouts together. Each machine is a kubelet, and the computer may have two
// cores.
var crowded = semaphore.NewWeighted(14)

// seats waits until there is capacity for n more machines, and reserves it until the test ends.
func seats(t *testing.T, n int64) {
	t.Helper()
	if err := crowded.Acquire(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { crowded.Release(n) })
}

func (d dialect) deployments() string { return "machinedeployments." + d.group }

// deployment reads a MachineDeployment.
func (d dialect) deployment(t *testing.T, f *fleet.Fleet, name string) *unstructured.Unstructured {
	t.Helper()
	o, err := dynamicClient(t, f).Resource(d.resource("machinedeployments")).Namespace(d.namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// discard deletes a deployment when the test ends, even after a failure.
func (d dialect) discard(t *testing.T, f *fleet.Fleet, name string) {
	t.Helper()
	c := dynamicClient(t, f).Resource(d.resource("machinedeployments")).Namespace(d.namespace)
	t.Cleanup(func() {
		err := c.Delete(context.WithoutCancel(t.Context()), name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	})
}

// condition returns a condition of a deployment, or an empty one.
type condition struct{ Type, Status, Reason, Message string }

func conditionOf(t *testing.T, o *unstructured.Unstructured, kind string) condition {
	t.Helper()
	all, _, err := unstructured.NestedSlice(o.Object, "status", "conditions")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	var conditions []condition
	if err := json.Unmarshal(raw, &conditions); err != nil {
		t.Fatal(err)
	}
	for _, c := range conditions {
		if c.Type == kind {
			return c
		}
	}
	return condition{}
}

// owned returns the names of the sets that an object controls.
func (d dialect) owned(t *testing.T, f *fleet.Fleet, owner *unstructured.Unstructured) (names []string) {
	t.Helper()
	list, err := dynamicClient(t, f).Resource(d.resource("machinesets")).Namespace(d.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		if metav1.IsControlledBy(&list.Items[i], owner) {
			names = append(names, list.Items[i].GetName())
		}
	}
	return names
}

// mill selects the machines and the nodes of the example.
func (d dialect) mill() (machines, nodes string) {
	if d.group == provider.Gardener {
		return "name=mill", "worker.gardener.cloud/pool=mill"
	}
	return "pool=mill", "pool=mill"
}

// TestRollingUpdate follows the examples exactly. At all times, the number of machines is at most replicas plus surge, and at
// least replicas minus unavailable machines run.
func TestRollingUpdate(t *testing.T) {
	inBoth(t, func(t *testing.T, f *fleet.Fleet, d dialect) {
		seats(t, 4)
		r := readRecipe(t, f, d.name+"-machinedeployment.yaml")
		d.discard(t, f, "mill")
		machines, nodes := d.mill()
		c, marks := d.follow(t, f, machines), d.trace(t, f, nodes)

		r.play(t, 1)
		c.bound(t, 4, 3)
		first := c.present()
		r.play(t, 2)
		second := c.replaced(t, first, 3)
		marks.check(t, first)
		if sets := d.owned(t, f, d.deployment(t, f, "mill")); len(sets) != 2 {
			t.Errorf("sets %v, want one for each template", sets)
		}

		r.play(t, 3)
		third := c.replaced(t, second, 3)
		marks.check(t, second)
		if got, want := setsOf(third), setsOf(first); !slices.Equal(got, want) {
			t.Errorf("after the way back the machines are of %v, want those of the first template again, %v", got, want)
		}

		r.play(t, 4)
		time.Sleep(time.Second) // a rollout that ignored the pause would have begun
		if got := c.present(); !slices.Equal(got, third) {
			t.Errorf("machines %v after a change while paused, want still %v", got, third)
		}
		c.bound(t, 4, 2)
		r.play(t, 5)
		fourth := c.replaced(t, third, 2)
		marks.check(t, nil)
		c.bound(t, 3, 2)

		if said := r.play(t, 6); !strings.Contains(said, "spec.strategy.type") || !strings.Contains(said, "Shuffle") {
			t.Errorf("of the strategy Shuffle it says %q, want the field and the value", said)
		}
		c.bound(t, 3, 0)
		if got := c.present(); !slices.Equal(got, fourth) {
			t.Errorf("machines %v of a deployment that is at fault, want still %v", got, fourth)
		}
		r.play(t, 7)
		d.cleared(t, f, c, nodes)
	})
}

// setsOf returns the sets of machines, from their names.
func setsOf(machines []string) []string {
	sets := map[string]bool{}
	for _, m := range machines {
		sets[m[:strings.LastIndex(m, "-")]] = true
	}
	return slices.Sorted(maps.Keys(sets))
}

// cleared waits until no watched object is left.
func (d dialect) cleared(t *testing.T, f *fleet.Fleet, c *crowd, nodes string) {
	t.Helper()
	eventually(t, "everything is deleted with the deployment", func(context.Context) (string, error) {
		if left := c.present(); len(left) > 0 {
			return fmt.Sprintf("machines %v are there", left), nil
		}
		left := kubectl(t, f, "", "get", "nodes", "-l", nodes, "-o", "name")
		return left, nil
	})
}

// fromExample returns the last object of an example with patches.
func fromExample(t *testing.T, file string, patches ...string) *unstructured.Unstructured {
	t.Helper()
	raw, err := examples.FS.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	documents := strings.Split(string(raw), "\n---\n")
	object, err := yaml.YAMLToJSON([]byte(documents[len(documents)-1]))
	if err != nil {
		t.Fatal(err)
	}
	for _, patch := range patches {
		if object, err = jsonpatch.MergePatch(object, []byte(patch)); err != nil {
			t.Fatalf("lay %s over %s: %v", patch, file, err)
		}
	}
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(object); err != nil {
		t.Fatal(err)
	}
	return o
}

// variant returns the deployment of the example with another name, two machines of its own, and changes of its spec.
func (d dialect) variant(t *testing.T, name, spec string) *unstructured.Unstructured {
	t.Helper()
	selector, _ := d.mill()
	key, _, _ := strings.Cut(selector, "=")
	own := fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"replicas":2,"selector":{"matchLabels":{%q:%q}},"template":{"metadata":{"labels":{%q:%q}}}}}`,
		name, key, name, key, name)
	return fromExample(t, d.name+"-machinedeployment.yaml", own, `{"spec":`+spec+`}`)
}

func apply(t *testing.T, f *fleet.Fleet, o *unstructured.Unstructured) {
	t.Helper()
	raw, err := o.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	kubectl(t, f, string(raw), "apply", "-f", "-")
}

// TestRolloutFaults: the API accepts these deployments, but the controller cannot roll them out. They report this, and no
// machine is created for them. Unusual but valid deployments are rolled out.
func TestRolloutFaults(t *testing.T) {
	const zero = `"replicas":0,`
	tests := []struct {
		name, reason string
		// spec is merged into that of the example, which wants two machines here.
		spec string
		// only is the API that has the field; empty for both.
		only string
		// field is the field in the condition Progressing; empty if there is no fault.
		field, says string
	}{
		{"everything", "it would match every set", `{"selector":{"matchLabels":null}}`, "openshift", "spec.selector", "SelectingAll"},
		{"all", "it would match every set; the original tells that in an event only", `{"selector":{"matchLabels":null}}`, "gardener", "spec.selector", "InvalidSpec"},
		{"apart", "its machines would not be its own", `{"selector":{"matchLabels":{"other":"x"}}}`, "", "spec.template.metadata.labels", "InvalidSpec"},
		{"strategy", "it is unknown", `{"strategy":{"type":"Shuffle"}}`, "", "spec.strategy.type", "InvalidSpec"},
		{"bound", "no number and no percentage", `{"strategy":{"rollingUpdate":{"maxSurge":"many"}}}`, "", "spec.strategy.rollingUpdate.maxSurge", "InvalidSpec"},
		{"below", "a bound below nothing", `{"strategy":{"rollingUpdate":{"maxUnavailable":-1}}}`, "", "spec.strategy.rollingUpdate.maxUnavailable", "InvalidSpec"},
		{"class", "no class to make machines of", `{"template":{"spec":{"class":{"name":""}}}}`, "gardener", "spec.template.spec.class.name", "InvalidSpec"},
		{"typeless", "the original has no default either", `{"strategy":{"type":""}}`, "gardener", "spec.strategy.type", "InvalidSpec"},
		{"inplace", "who selects the nodes?", `{"strategy":{"type":"InPlaceUpdate","inPlaceUpdate":{"maxSurge":0,"maxUnavailable":1}}}`, "gardener", "spec.strategy.inPlaceUpdate.orchestrationType", "InvalidSpec"},
		{"blockless", "the strategy's own block is missing", `{"strategy":{"type":"InPlaceUpdate"}}`, "gardener", "spec.strategy.inPlaceUpdate", "InvalidSpec"},
		{"zero", "nothing could move: one may be unavailable then", `{` + zero + `"strategy":{"rollingUpdate":{"maxSurge":0,"maxUnavailable":0}}}`, "", "", "NewMachineSetAvailable"},
		{"percent", "more than there are cannot be", `{` + zero + `"strategy":{"rollingUpdate":{"maxSurge":"200%","maxUnavailable":"150%"}}}`, "", "", "NewMachineSetAvailable"},
	}
	inBoth(t, func(t *testing.T, f *fleet.Fleet, d dialect) {
		for _, tc := range tests {
			if tc.only != "" && tc.only != d.name {
				continue
			}
			t.Run(tc.name, func(t *testing.T) {
				o := d.variant(t, "fault-"+tc.name, tc.spec)
				d.discard(t, f, o.GetName())
				apply(t, f, o)
				want := condition{Reason: tc.says, Status: "True"}
				if tc.says != "NewMachineSetAvailable" {
					want.Status = "False"
				}
				eventually(t, tc.reason, func(context.Context) (string, error) {
					o = d.deployment(t, f, o.GetName())
					got := conditionOf(t, o, "Progressing")
					if got.Reason != want.Reason || got.Status != want.Status || !strings.Contains(got.Message, tc.field) {
						return fmt.Sprintf("Progressing is %+v, want %s %s with %q", got, want.Status, want.Reason, tc.field), nil
					}
					return "", nil
				})
				if sets := d.owned(t, f, o); want.Status == "False" && len(sets) > 0 {
					t.Errorf("%s: it has the sets %v", tc.reason, sets)
				}
			})
		}
	})
}
