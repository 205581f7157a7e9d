package forecast

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/api/millwright/v1alpha1"
	"github.com/millwright-dev/millwright/internal/engine/disruption"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// seated is a pool whose machines have nodes, and belong to a set that keeps its machines.
type seated struct {
	*pool
	change func(*Exit)
}

func (s seated) Exit(uid types.UID) Exit {
	e := s.pool.Exit(uid)
	e.Node = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: string(uid)}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}
	e.Machine.Stage, e.Machine.UID, e.Machine.Deleted = lifecycle.StageRunning, string(uid), epoch
	e.Labels, e.Owner = map[string]string{"pool": "blue"}, Owner{State: OwnerCurrent, Wanted: 1, Active: 1}
	if s.change != nil {
		s.change(&e)
	}
	return e
}

// limited is a budget for 20 machines.
func limited(name, nodes string, holders int, change ...func(*v1alpha1.MachineDisruptionBudget)) Limit {
	b := &v1alpha1.MachineDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.MachineDisruptionBudgetSpec{Budgets: []v1alpha1.Budget{{Nodes: intstr.Parse(nodes)}}}}
	for _, c := range change {
		c(b)
	}
	return Limit{Budget: disruption.Parse(b, time.LoadLocation), Use: disruption.Use{Machines: 20, InUse: holders}}
}

func until(end time.Duration) func(*v1alpha1.MachineDisruptionBudget) {
	return func(b *v1alpha1.MachineDisruptionBudget) { // epoch is 03:04
		b.Spec.Budgets[0].Schedule, b.Spec.Budgets[0].Duration = "0 3 * * *", &metav1.Duration{Duration: end + 4*time.Minute}
	}
}

func aboutRollouts(b *v1alpha1.MachineDisruptionBudget) {
	b.Spec.Budgets[0].Reasons = []v1alpha1.DisruptionReason{v1alpha1.ReasonRollout}
}

func stopped(b *v1alpha1.MachineDisruptionBudget) {
	b.Spec.Paused, b.Spec.Message = true, "storage is down"
}

// TestBudgets: a forecast says which machines wait for a budget, how many it permits, and until when; its duration has the waits.
func TestBudgets(t *testing.T) {
	superseded := func(e *Exit) { e.Owner.State = OwnerSuperseded }
	for _, c := range []struct {
		reason string
		limits []Limit
		change func(*Exit)
		held   string
		waits  string
		took   time.Duration
		known  bool
	}{
		{"no budget", nil, nil, "", "", time.Minute, true},
		{"room for all", []Limit{limited("b", "3", 0)}, nil, "", "", time.Minute, true},
		{"one at a time", []Limit{limited("b", "1", 0)}, nil, "2 machines wait for machine disruption budget b, which permits 1 disruption at a time", "", 3 * time.Minute, true},
		{"two at a time", []Limit{limited("b", "10%", 0)}, nil, "1 machine waits for machine disruption budget b, which permits 2 disruptions at a time", "", 2 * time.Minute, true},
		{"not before a window ends", []Limit{limited("b", "0", 0, until(time.Hour))}, nil, "3 machines wait for machine disruption budget b, which permits no scale-down until 2026-01-02T04:04:00Z", "", time.Hour + time.Minute, true},
		{"the strictest counts", []Limit{limited("a", "2", 0), limited("b", "1", 0)}, nil, "2 machines wait for machine disruption budget b, which permits 1 disruption at a time", "", 3 * time.Minute, true},
		{
			"never",
			[]Limit{limited("stop", "5", 0, stopped)},
			nil, "3 machines wait for machine disruption budget stop, which is paused (storage is down)",
			"3 machines wait for machine disruption budget stop, which is paused (storage is down)", 0, false,
		},
		{"machines outside of the plan have the permits", []Limit{limited("b", "1", 1)}, nil, "3 machines wait for machine disruption budget b, which permits 1 disruption at a time", "", time.Minute, false},
		{"about another cause", []Limit{limited("b", "0", 0, aboutRollouts)}, nil, "", "", time.Minute, true},
		{"about this cause", []Limit{limited("b", "0", 0, aboutRollouts)}, superseded, "3 machines wait for machine disruption budget b, which permits no rollout", "3 machines wait for machine disruption budget b, which permits no rollout", 0, false},
		{"a machine without a node does not ask", []Limit{limited("b", "0", 0)}, func(e *Exit) { e.Node = nil }, "", "", time.Minute, true},
		{"a forced deletion does not wait", []Limit{limited("b", "0", 0)}, func(e *Exit) { e.Machine.Deletion.Force = true }, "", "", time.Minute, true},
		{"other machines", []Limit{limited("b", "0", 0, func(b *v1alpha1.MachineDisruptionBudget) {
			b.Spec.Selector.MatchLabels = map[string]string{"pool": "red"}
		})}, nil, "", "", time.Minute, true},
	} {
		t.Run(c.reason, func(t *testing.T) {
			f := Run(epoch, seated{poolOf(1, "a", "b", "c", "d"), c.change}, known, c.limits, nil)
			held := ""
			for _, h := range f.Steps[0].Held {
				held += h.String()
			}
			if held != c.held || strings.Join(f.Waits, ", ") != c.waits || f.Took.Length.Truncate(time.Second) != c.took || f.Took.Known != c.known {
				t.Errorf("held %q; waits %q; %s, known %v (%s)", held, f.Waits, f.Took.Length, f.Took.Known, f.Took.Source)
			}
		})
	}
}

// TestPermitsOfThePlan: a machine that has a permit keeps it, and gives it back.
func TestPermitsOfThePlan(t *testing.T) {
	l := limited("b", "1", 1)
	l.Holders = map[types.UID]bool{"a": true}
	f := Run(epoch, seated{poolOf(1, "a", "b"), nil}, known, []Limit{l}, nil)
	if len(f.Steps[0].Held) != 0 || !f.Took.Known {
		t.Errorf("the machine with the permit waits: %+v", f)
	}
	if !l.Holders["a"] {
		t.Error("the forecast changes its input")
	}
}

// TestManyMachinesWait: one at a time, hundreds of machines are planned to the end.
func TestManyMachinesWait(t *testing.T) {
	const n = 300
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("m-%03d", i))
	}
	p := poolOf(0, names...)
	p.policy.Burst = n
	f := Run(epoch, seated{p, nil}, known, []Limit{limited("b", "1", 0, until(48*time.Hour))}, nil)
	if f.Cut || !f.Took.Known || f.Took.Length.Truncate(time.Second) != n*time.Minute || len(f.Steps[0].Held[0].Machines) != n-1 {
		t.Errorf("cut %v, %s, known %v, %s", f.Cut, f.Took.Length, f.Took.Known, f.Steps[0].Held[0])
	}
}

// TestNeverMoreThanPermitted: in whatever order machines ask and give back, no budget has more permits than it allows, a machine that
// was refused takes none, and one of the machines gets a permit whenever there is room in all budgets.
func TestNeverMoreThanPermitted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var limits []Limit
		least := 100
		for i, n := range rapid.SliceOfN(rapid.IntRange(0, 4), 1, 3).Draw(t, "limits") {
			limits = append(limits, limited(fmt.Sprint("b-", i), fmt.Sprint(n), 0))
			least = min(least, n)
		}
		p := newPermits(limits)
		has := map[types.UID]bool{}
		model := seated{poolOf(1), nil}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			m := types.UID(rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"}).Draw(t, "machine"))
			now := epoch.Add(time.Duration(rapid.IntRange(0, 2).Draw(t, "minutes")) * time.Minute)
			if rapid.Bool().Draw(t, "gives back") {
				p.release(m)
				delete(has, m)
				continue
			}
			granted := p.ask(now, m, model.Exit(m), lifecycle.DisruptingDeletion).Granted
			if want := has[m] || len(has) < least; granted != want {
				t.Fatalf("%d of %d permits are in use, %s has one: %v; granted: %v", len(has), least, m, has[m], granted)
			}
			if granted {
				has[m] = true
			}
			for i, l := range p.limits {
				if l.Use.InUse != len(has) || len(l.Holders) != len(has) {
					t.Fatalf("budget %d has %d permits in use and %d holders, want %d", i, l.Use.InUse, len(l.Holders), len(has))
				}
			}
		}
	})
}
