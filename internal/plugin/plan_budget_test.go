package plugin

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	millwright "github.com/millwright-dev/millwright/api/millwright/v1alpha1"
	"github.com/millwright-dev/millwright/internal/engine/disruption"
)

// limit is a machine disruption budget.
func limit(name, nodes string, reasons ...millwright.DisruptionReason) *millwright.MachineDisruptionBudget {
	b := &millwright.MachineDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: name}}
	b.Spec.Budgets = []millwright.Budget{{Nodes: intstr.Parse(nodes), Reasons: reasons}}
	return b
}

// TestPlanWithDisruptionBudgets: a plan says which machines wait for which budget, by the cause of their disruption, in both APIs.
func TestPlanWithDisruptionBudgets(t *testing.T) {
	lunch := limit("lunch", "0")
	lunch.Spec.Budgets[0].Schedule, lunch.Spec.Budgets[0].Duration = "0 11 * * *", &metav1.Duration{Duration: 3 * time.Hour} // it is noon
	few := limit("few", "1")
	few.Spec.Selector.MatchLabels = map[string]string{"pool": "mill"}
	scaled := []string{"machineset/mill", "--replicas=0"}
	for _, c := range []struct {
		reason string
		budget *millwright.MachineDisruptionBudget
		args   func(api string) []string
		want   string // empty: no machine waits
	}{
		{"one at a time", few, nil, "held: 2 machines wait for machine disruption budget few, which permits 1 disruption at a time"},
		{"until two o'clock", lunch, nil, "held: 3 machines wait for machine disruption budget lunch, which permits no scale-down until 2026-01-02T14:00:00Z"},
		{"an emergency stop", disruption.NewStop("storage is down"), nil, "Then it waits: 3 machines wait for machine disruption budget emergency-stop, which is paused (storage is down)."},
		{"a scale-down is no rollout", limit("b", "0", millwright.ReasonRollout), nil, ""},
		{"a scale-down", limit("b", "0", millwright.ReasonScaleDown), nil, "permits no scale-down"},
		{"a rollout", limit("b", "0", millwright.ReasonRollout), func(api string) []string { return append([]string{"machinedeployment/fleet"}, roll[api]...) }, "permits no rollout"},
		{"a rollout is no scale-down", limit("b", "0", millwright.ReasonScaleDown), func(api string) []string { return append([]string{"machinedeployment/fleet"}, roll[api]...) }, ""},
		{"a machine that its set replaces", limit("b", "0", millwright.ReasonManual), func(string) []string { return []string{"machine/mill-a", "--delete"} }, "permits no manual disruption"},
		{"a set that is deleted", limit("b", "0", millwright.ReasonScaleDown), func(string) []string { return []string{"machineset/mill", "--delete"} }, "permits no scale-down"},
	} {
		for _, api := range []string{"openshift", "gardener"} {
			args := scaled
			if c.args != nil {
				args = c.args(api)
			}
			world := append(planWorld(api), c.budget.DeepCopy())
			text, code := ask(planCluster(nil, world), "", append(args, "--api", api)...)
			words := strings.Join(strings.Fields(text), " ")
			if code != 1 || !strings.Contains(words, c.want) || c.want == "" && strings.Contains(words, "disruption budget") {
				t.Errorf("%s, %s: exit code %d, want %q in\n%s", c.reason, api, code, c.want, text)
			}
		}
	}
}

// TestPlanInPlaceWithDisruptionBudgets: updates in place need permits, and give them back.
func TestPlanInPlaceWithDisruptionBudgets(t *testing.T) {
	world := planWorld("gardener")
	for _, o := range world {
		if d, is := o.(*v1alpha1.MachineDeployment); is {
			d.Spec.Strategy = v1alpha1.MachineDeploymentStrategy{Type: v1alpha1.InPlaceUpdateMachineDeploymentStrategyType, InPlaceUpdate: &v1alpha1.InPlaceUpdateMachineDeployment{
				OrchestrationType:   v1alpha1.OrchestrationTypeAuto,
				UpdateConfiguration: v1alpha1.UpdateConfiguration{MaxUnavailable: ptr.To(intstr.FromInt32(2)), MaxSurge: ptr.To(intstr.FromInt32(0))},
			}}
		}
	}
	for nodes, want := range map[string]string{
		"1": "held: 1 machine waits for machine disruption budget b, which permits 1 disruption at a time then, with 1 machine updated:",
		"0": "Then it waits: 2 machines wait for machine disruption budget b, which permits no rollout.",
	} {
		args := append([]string{"machinedeployment/fleet", "--api", "gardener"}, roll["gardener"]...)
		text, _ := ask(planCluster(nil, append(world, limit("b", nodes, millwright.ReasonRollout))), "", args...)
		if words := strings.Join(strings.Fields(text), " "); !strings.Contains(words, want) {
			t.Errorf("%s at a time: want %q in\n%s", nodes, want, text)
		}
	}
}

// TestPlanWithoutRightsOnBudgets: budgets that may not be read are not taken for absent.
func TestPlanWithoutRightsOnBudgets(t *testing.T) {
	c := planCluster([]string{"list *v1alpha1.MachineDisruptionBudgetList"}, append(planWorld("openshift"), client.Object(limit("b", "0"))))
	text, _ := ask(c, "", "machineset/mill", "--replicas=0", "--api", "openshift")
	if want := "machine disruption budgets: you may not read them; which disruptions wait for them is not known"; !strings.Contains(strings.Join(strings.Fields(text), " "), want) {
		t.Errorf("want %q in\n%s", want, text)
	}
}
