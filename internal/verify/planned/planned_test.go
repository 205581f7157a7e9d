package planned

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/engine/forecast"
	"github.com/millwright-dev/millwright/internal/plugin/project"
	"github.com/millwright-dev/millwright/internal/verify/sim"
)

// worlds is the number of worlds of a test: PLANNED_SEEDS, or n.
func worlds(t *testing.T, n int) uint64 {
	t.Helper()
	if s := os.Getenv("PLANNED_SEEDS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatalf("PLANNED_SEEDS: %v", err)
		}
	}
	return uint64(n)
}

// changesPerWorld is the number of changes in a world. Each change begins in the state that the change before led to.
const changesPerWorld = 5

// TestExecutedIsPlanned plans changes from the objects in the store of a world without faults, applies them, lets the real
// controllers work, and compares.
func TestExecutedIsPlanned(t *testing.T) {
	for _, dialect := range []string{sim.OpenShift, sim.Gardener} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			met := map[forecast.Kind]int{}
			for seed := range worlds(t, 40) {
				try(t, seed, dialect, met)
			}
			// Otherwise the test compares less than it seems to.
			for _, kind := range []forecast.Kind{forecast.Create, forecast.Delete, forecast.CreateSet, forecast.ScaleSet, forecast.DeleteSet, forecast.Amend} {
				if met[kind] < 5 {
					t.Errorf("only %d steps of the kind %s were compared", met[kind], kind)
				}
			}
			if met[nothing] < 5 {
				t.Errorf("only %d changes came to nothing", met[nothing])
			}
		})
	}
}

// nothing counts changes after which no controller does anything.
const nothing forecast.Kind = "nothing"

func try(t *testing.T, seed uint64, dialect string, met map[forecast.Kind]int) {
	t.Helper()
	c, r := sim.NewFaultFree(seed, dialect), rand.New(rand.NewPCG(seed, 7))
	var story []string
	for range changesPerWorld {
		what, before, after := c.Propose(r)
		if what == "" {
			continue
		}
		story = append(story, what)
		plans := project.Plans(c.Now(), stored(c), []project.Change{{Before: before, After: after}}, func(string) forecast.Durations { return forecast.Durations{} }, nil)
		count(plans, met)
		did := execute(c, before, after)
		if v := c.Violation(); v != "" {
			t.Fatalf("seed %d: %s: the world broke: %s", seed, strings.Join(story, ", "), v)
		}
		if differs := compare(plans, did); differs != "" {
			t.Errorf("seed %d: %s\n%s\n%s", seed, strings.Join(story, ", "), differs, steps(plans))
			return
		}
	}
}

func count(plans []forecast.Plan, met map[forecast.Kind]int) {
	all := 0
	for _, p := range plans {
		for _, s := range p.Steps {
			met[s.Kind]++
			all++
		}
	}
	if all == 0 {
		met[nothing]++
	}
}

func steps(plans []forecast.Plan) string {
	var out strings.Builder
	for _, p := range plans {
		for _, s := range p.Steps {
			fmt.Fprintf(&out, "  %v %s %s %d %v: %s\n", s.At, s.Kind, s.Set, s.Count, s.Machines, s.Reason)
		}
		fmt.Fprintf(&out, "  waits: %v\n", p.Waits)
	}
	return out.String()
}

// stored is the state of the world that a user can read.
func stored(c *sim.FaultFree) project.Stored {
	st := project.Stored{Objects: c.Fleet(), Nodes: map[string]*corev1.Node{}, Pods: map[string][]corev1.Pod{}}
	for _, o := range c.All(&corev1.Node{}) {
		st.Nodes[o.GetName()] = o.(*corev1.Node)
	}
	for _, o := range c.All(&corev1.Pod{}) {
		p := o.(*corev1.Pod)
		st.Pods[p.Spec.NodeName] = append(st.Pods[p.Spec.NodeName], *p)
	}
	for _, o := range c.All(&policyv1.PodDisruptionBudget{}) {
		st.Budgets = append(st.Budgets, *o.(*policyv1.PodDisruptionBudget))
	}
	return st
}

// outcome is the result of a change for machines and sets.
type outcome struct {
	// created counts new machines by the name of their set. deleted are the names of machines that existed before.
	created map[string]int
	deleted []string
	// changed are machines whose spec, labels or owner changed.
	changed []string
	// sizes are the new sizes of the sets of deployments, one after the other.
	sizes []resize
}

// resize is a change of the size of a deployment's set.
type resize struct {
	set      string
	from, to int
}

// execute applies a change and returns its outcome.
func execute(c *sim.FaultFree, before, after client.Object) outcome {
	there := map[string]bool{}
	for _, o := range c.All(c.Machine()) {
		there[o.GetName()] = true
	}
	if before == nil {
		there[after.GetName()] = true
	}
	machines, sets := c.Watch(c.Machine()), c.Watch(c.Set())
	c.Make(before, after)
	c.Settle()
	out := outcome{created: map[string]int{}}
	for _, e := range machines() {
		switch {
		case e.Old == nil:
			out.created[owner(e.New)]++
		case e.Old.GetDeletionTimestamp() == nil && (e.New == nil || e.New.GetDeletionTimestamp() != nil):
			if there[e.Old.GetName()] {
				out.deleted = append(out.deleted, e.Old.GetName())
			}
		case e.New != nil && (e.New.GetGeneration() != e.Old.GetGeneration() || owner(e.New) != owner(e.Old)):
			out.changed = append(out.changed, e.Old.GetName())
		}
	}
	slices.Sort(out.deleted)
	for _, e := range sets() {
		if e.Old != nil && e.New != nil && metav1.GetControllerOf(e.New) != nil && size(e.Old) != size(e.New) {
			out.sizes = append(out.sizes, resize{e.New.GetName(), size(e.Old), size(e.New)})
		}
	}
	return out
}

func owner(m client.Object) string {
	if ref := metav1.GetControllerOf(m); ref != nil {
		return ref.Name
	}
	return ""
}

func size(o client.Object) int {
	switch s := o.(type) {
	case *machinev1.MachineSet:
		return int(*s.Spec.Replicas)
	case *v1alpha1.MachineSet:
		return int(s.Spec.Replicas)
	}
	return 0
}

// compare says how the plans differ from the outcome.
func compare(plans []forecast.Plan, did outcome) string {
	said := outcome{created: map[string]int{}}
	fixed, all := 0, 0
	for _, p := range plans {
		for _, s := range p.Steps {
			all++
			switch s.Kind {
			case forecast.Create:
				said.created[s.Set] += s.Count
			case forecast.Delete:
				for _, m := range s.Machines {
					said.deleted = append(said.deleted, m.Name)
				}
			case forecast.ScaleSet:
				said.sizes = append(said.sizes, resize{s.Set, *s.From, *s.To})
				if !s.Open {
					fixed = len(said.sizes)
				}
			}
		}
	}
	slices.Sort(said.deleted)
	switch {
	case !maps.Equal(said.created, did.created):
		return fmt.Sprintf("created: planned %v, executed %v", said.created, did.created)
	case !slices.Equal(said.deleted, did.deleted):
		return fmt.Sprintf("deleted: planned %v, executed %v", said.deleted, did.deleted)
	case all == 0 && len(did.changed) > 0:
		return fmt.Sprintf("planned nothing, and these machines were changed: %v", did.changed)
	case fixed > len(did.sizes) || !slices.Equal(said.sizes[:fixed], did.sizes[:fixed]):
		return fmt.Sprintf("order: planned %v, of which %d are determined, executed %v", said.sizes, fixed, did.sizes)
	case !maps.Equal(last(said.sizes), last(did.sizes)):
		return fmt.Sprintf("sizes: planned %v, executed %v", said.sizes, did.sizes)
	}
	return ""
}

// last is the final size of each set.
func last(all []resize) map[string]int {
	out := map[string]int{}
	for _, r := range all {
		out[r.set] = r.to
	}
	return out
}
