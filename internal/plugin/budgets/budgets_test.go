package budgets_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/millwright-dev/millwright/api/millwright/v1alpha1"
	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/plugin/budgets"
	"github.com/millwright-dev/millwright/internal/plugin/connect"
)

// monday is a working day, at a quarter past ten in Berlin.
var monday = time.Date(2026, 11, 30, 9, 15, 0, 0, time.UTC)

// budget allows some disruptions and has some permits, among 20 machines.
func budget(name, nodes string, permits int, change ...func(*v1alpha1.MachineDisruptionBudget)) v1alpha1.MachineDisruptionBudget {
	b := v1alpha1.MachineDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), Generation: 1, CreationTimestamp: metav1.NewTime(monday.Add(-time.Hour))}}
	b.Spec.Budgets = []v1alpha1.Budget{{Nodes: intstr.Parse(nodes)}}
	b.Status.Observed = []v1alpha1.ObservedMachines{{API: "machine.openshift.io", Machines: 20, At: metav1.NewTime(monday)}}
	for i := range permits {
		b.Status.Disruptions = append(b.Status.Disruptions, v1alpha1.Disruption{UID: types.UID(rune('a' + i)), Reason: v1alpha1.ReasonRollout})
	}
	for _, c := range change {
		c(&b)
	}
	return b
}

func of(pool string) func(*v1alpha1.MachineDisruptionBudget) {
	return func(b *v1alpha1.MachineDisruptionBudget) {
		b.Spec.Selector.MatchLabels = map[string]string{"pool": pool}
	}
}

func paused(b *v1alpha1.MachineDisruptionBudget) {
	b.Spec.Paused, b.Spec.Message = true, "storage is down"
}

func working(b *v1alpha1.MachineDisruptionBudget) {
	e := &b.Spec.Budgets[0]
	e.Schedule, e.Duration, e.TimeZone, e.Reasons = "0 9 * * mon-fri", &metav1.Duration{Duration: 8 * time.Hour}, "Europe/Berlin", []v1alpha1.DisruptionReason{v1alpha1.ReasonManual}
}

func TestAsk(t *testing.T) {
	blue := budgets.Machine{UID: "x", Labels: map[string]string{"pool": "blue"}}
	for _, c := range []struct {
		reason string
		all    []v1alpha1.MachineDisruptionBudget
		m      budgets.Machine
		want   string // a part of the message; empty: granted
	}{
		{"no budget", nil, blue, ""},
		{"room for one more", []v1alpha1.MachineDisruptionBudget{budget("a", "10%", 1)}, blue, ""},
		{"no room", []v1alpha1.MachineDisruptionBudget{budget("a", "10%", 2)}, blue, "permits 2 disruptions at a time"},
		{"the machine has a permit", []v1alpha1.MachineDisruptionBudget{budget("a", "1", 1)}, budgets.Machine{UID: "a"}, ""},
		{"about other machines", []v1alpha1.MachineDisruptionBudget{budget("a", "0", 0, of("red"))}, blue, ""},
		{"each of them must permit it", []v1alpha1.MachineDisruptionBudget{budget("a", "5", 0), budget("b", "0", 0, of("blue"))}, blue, "budget b, which permits no manual disruption"},
		{"an emergency stop", []v1alpha1.MachineDisruptionBudget{budget("stop", "5", 0, paused)}, blue, "is paused (storage is down)"},
	} {
		got := budgets.Ask(monday, c.all, c.m, v1alpha1.ReasonManual)
		if got.Granted != (c.want == "") || !strings.Contains(got.Message, c.want) {
			t.Errorf("%s: %+v, want %q", c.reason, got, c.want)
		}
	}
}

func TestRowOf(t *testing.T) {
	for _, c := range []struct {
		reason string
		now    time.Time
		b      v1alpha1.MachineDisruptionBudget
		state  explain.State
		stops  bool
		want   string
	}{
		{"a limit", monday, budget("a", "10%", 1), explain.Healthy, false, "permits 2 disruptions at a time; 1 of 20 machines are under disruption"},
		{"none", monday, budget("a", "0", 0), explain.Healthy, false, "permits no disruption; 0 of 20 machines are under disruption"},
		{"in a window", monday, budget("a", "0", 0, working), explain.Healthy, false, "permits no disruption for Manual until Mon 30 Nov 2026, 17:00 Europe/Berlin; 0 of 20 machines are under disruption"},
		{"out of it", monday.Add(12 * time.Hour), budget("a", "0", 0, working), explain.Healthy, false, "limits nothing now"},
		{"paused", monday, budget("a", "5", 0, paused), explain.Waiting, true, "stops all voluntary disruption of machines"},
		{"paused for some", monday, budget("a", "5", 0, paused, of("red")), explain.Waiting, true, "stops all voluntary disruption of machines with pool=red"},
		{"invalid", monday, budget("a", "110%", 0), explain.Failed, true, `is invalid and permits nothing: spec.budgets[0].nodes: "110%" is more than 100%`},
	} {
		r := budgets.RowOf(c.now, &c.b)
		if r.State != c.state || r.Stops != c.stops || r.Sentence != c.want || r.Machines != 20 && c.now.Equal(monday) {
			t.Errorf("%s: %+v", c.reason, r)
		}
		if since := r.Since.Equal(monday.Add(-time.Hour)); since != c.stops {
			t.Errorf("%s: since %s", c.reason, r.Since)
		}
	}
	later := budget("a", "5", 0, paused)
	later.Generation = 2
	if r := budgets.RowOf(monday, &later); !r.Stops || !r.Since.IsZero() {
		t.Errorf("since when a budget is paused that was changed is unknown: %+v", r)
	}
	out := budget("a", "2", 0, working)
	if l := budgets.RowOf(monday.Add(12*time.Hour), &out).Limits; len(l) != 1 || l[0].Active || !l[0].Begins.Equal(monday.Add(22*time.Hour+45*time.Minute)) || l[0].Schedule != "0 9 * * mon-fri for 8h, Europe/Berlin" {
		t.Errorf("limits %+v", l)
	}
}

// TestRead: a cluster without the kind has no budgets; another failure does not show that.
func TestRead(t *testing.T) {
	b, a := budget("b", "1", 0), budget("a", "1", 0)
	c := fake.NewClientBuilder().WithScheme(connect.Scheme()).WithObjects(&b, &a).Build()
	if all, err := budgets.Read(t.Context(), c); err != nil || len(all) != 2 || all[0].Name != "a" {
		t.Errorf("%v %v", all, err)
	}
	for _, failure := range []error{&meta.NoKindMatchError{}, errors.New("connection refused")} {
		broken := interceptor.NewClient(c, interceptor.Funcs{
			List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return failure },
			Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
				return failure
			},
		})
		all, err := budgets.Read(t.Context(), broken)
		_, one := budgets.Get(t.Context(), broken, "a")
		if absent := meta.IsNoMatchError(failure); len(all) != 0 || (err == nil) != absent || errors.Is(one, budgets.ErrNotInstalled) != absent {
			t.Errorf("%v: %v %v %v", failure, all, err, one)
		}
	}
}
