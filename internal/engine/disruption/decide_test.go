package disruption

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/api/millwright/v1alpha1"
)

// monday is a working day, at a quarter past ten in Berlin.
var monday = time.Date(2026, 11, 30, 9, 15, 0, 0, time.UTC)

func budget(name string, limits ...v1alpha1.Budget) *v1alpha1.MachineDisruptionBudget {
	return &v1alpha1.MachineDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.MachineDisruptionBudgetSpec{Budgets: limits}}
}

func always(nodes string, reasons ...Reason) v1alpha1.Budget {
	return v1alpha1.Budget{Nodes: intstr.Parse(nodes), Reasons: reasons}
}

func working(nodes string, reasons ...Reason) v1alpha1.Budget {
	b := always(nodes, reasons...)
	b.Schedule, b.Duration, b.TimeZone = "0 9 * * mon-fri", &metav1.Duration{Duration: 8 * time.Hour}, "Europe/Berlin"
	return b
}

func paused(b *v1alpha1.MachineDisruptionBudget, why string) *v1alpha1.MachineDisruptionBudget {
	b.Spec.Paused, b.Spec.Message = true, why
	return b
}

func TestDecide(t *testing.T) {
	const rollout, interruption = v1alpha1.ReasonRollout, v1alpha1.ReasonInterruption
	night := monday.Add(12 * time.Hour)
	cases := []struct {
		reason string
		now    time.Time
		budget *v1alpha1.MachineDisruptionBudget
		use    Use
		ask    Ask
		want   string // a part of the message; empty: granted
	}{
		{"a budget without limits limits nothing", monday, budget("b"), Use{Machines: 3, InUse: 3}, Ask{Reason: rollout}, ""},
		{"10% of 20 are 2: the second", monday, budget("b", always("10%")), Use{20, 1}, Ask{Reason: rollout}, ""},
		{"and not the third", monday, budget("b", always("10%")), Use{20, 2}, Ask{Reason: rollout}, "permits 2 disruptions at a time"},
		{"rounded up: 10% of 1", monday, budget("b", always("10%")), Use{1, 0}, Ask{Reason: rollout}, ""},
		{"10% of 11 are 2", monday, budget("b", always("10%")), Use{11, 1}, Ask{Reason: rollout}, ""},
		{"10% of none is none", monday, budget("b", always("10%")), Use{0, 0}, Ask{Reason: rollout}, "permits no rollout"},
		{"a number", monday, budget("b", always("1")), Use{20, 1}, Ask{Reason: rollout}, "permits 1 disruption at a time"},
		{"a permit is kept although the limit fell", monday, budget("b", always("0")), Use{20, 5}, Ask{Reason: rollout, Holds: true}, ""},
		{"a permit is kept in an emergency stop", monday, paused(budget("b"), ""), Use{20, 5}, Ask{Reason: rollout, Holds: true}, ""},
		{"paused", monday, paused(budget("stop"), "storage is down"), Use{20, 0}, Ask{Reason: rollout}, "machine disruption budget stop, which is paused (storage is down)"},
		{"the cloud does not wait for an emergency stop", monday, paused(budget("stop"), ""), Use{20, 0}, Ask{Reason: interruption}, ""},
		{"an interruption is limited only by name", monday, budget("b", always("0")), Use{20, 0}, Ask{Reason: interruption}, ""},
		{"an interruption that is named", monday, budget("b", always("0", interruption)), Use{20, 0}, Ask{Reason: interruption}, "permits no interruption"},
		{"the limit is about another cause", monday, budget("b", always("0", v1alpha1.ReasonScaleDown)), Use{20, 0}, Ask{Reason: rollout}, ""},
		{"an unknown cause may be any of them", monday, budget("b", always("0", v1alpha1.ReasonScaleDown)), Use{20, 0}, Ask{}, "permits no disruption of an unknown cause"},
		{"an unknown cause is not an interruption", monday, budget("b", always("0", interruption)), Use{20, 0}, Ask{}, ""},
		{"the smallest counts", monday, budget("b", always("5"), always("1"), always("3")), Use{20, 1}, Ask{Reason: rollout}, "permits 1 disruption"},
		{"in the window", monday, budget("b", working("0")), Use{20, 0}, Ask{Reason: rollout}, "permits no rollout until 2026-11-30T17:00:00+01:00"},
		{"out of the window", night, budget("b", working("0")), Use{20, 0}, Ask{Reason: rollout}, ""},
		{"out of the window the other limit holds", night, budget("b", working("0"), always("1")), Use{20, 1}, Ask{Reason: rollout}, "permits 1 disruption"},
		{"a limit of none for ever is not the end of the window", monday, budget("b", working("0"), always("0")), Use{20, 0}, Ask{Reason: rollout}, "machine disruption budget b, which permits no rollout"},
		{"those who have waited longer come first", monday, budget("b", always("2")), Use{20, 1}, Ask{Reason: rollout, Ahead: 1}, "waits for its turn"},
		{"an invalid percentage", monday, budget("b", always("110%")), Use{20, 0}, Ask{Reason: rollout}, "is invalid and permits nothing: spec.budgets[0].nodes"},
		{"an invalid zone", monday, budget("b", v1alpha1.Budget{Nodes: intstr.FromInt32(9), Schedule: "@daily", Duration: &metav1.Duration{Duration: time.Hour}, TimeZone: "Mars/Olympus"}), Use{20, 0}, Ask{Reason: rollout}, "spec.budgets[0].timeZone"},
		{"a schedule without a duration", monday, budget("b", v1alpha1.Budget{Nodes: intstr.FromInt32(9), Schedule: "@daily"}), Use{20, 0}, Ask{Reason: rollout}, "spec.budgets[0].duration"},
		{"a duration without a schedule", monday, budget("b", v1alpha1.Budget{Nodes: intstr.FromInt32(9), Duration: &metav1.Duration{Duration: time.Hour}}), Use{20, 0}, Ask{Reason: rollout}, "spec.budgets[0].schedule"},
		{"an unknown cause in a limit", monday, budget("b", always("9", "Drift")), Use{20, 0}, Ask{Reason: rollout}, `spec.budgets[0].reasons: "Drift" is unknown`},
	}
	for _, c := range cases {
		got := Parse(c.budget, time.LoadLocation).Decide(c.now, c.use, c.ask)
		if got.Granted != (c.want == "") || !strings.Contains(got.Message, c.want) {
			t.Errorf("%s: %+v, want %q", c.reason, got, c.want)
		}
	}
}

func TestAnswerSaysUntilWhen(t *testing.T) {
	friday := working("0")
	friday.Duration = &metav1.Duration{Duration: 4 * time.Hour}
	b := Parse(budget("b", friday, working("0"), working("1")), time.LoadLocation)
	if got, want := b.Decide(monday, Use{Machines: 9}, Ask{Reason: v1alpha1.ReasonManual}).Until, monday.Add(6*time.Hour+45*time.Minute); !got.Equal(want) {
		t.Errorf("until %s, want the later of two ends, %s", got, want)
	}
	b = Parse(budget("b", working("0"), always("0")), time.LoadLocation)
	if got := b.Decide(monday, Use{Machines: 9}, Ask{Reason: v1alpha1.ReasonManual}).Until; !got.IsZero() {
		t.Errorf("until %s, want no end", got)
	}
}

func TestSelects(t *testing.T) {
	b := budget("b")
	if !Parse(b, time.LoadLocation).Selects(map[string]string{"a": "b"}) {
		t.Error("an empty selector selects all machines")
	}
	b.Spec.Selector.MatchLabels = map[string]string{"pool": "blue"}
	if p := Parse(b, time.LoadLocation); p.Selects(map[string]string{"pool": "red"}) || !p.Selects(map[string]string{"pool": "blue", "x": "y"}) {
		t.Error("a selector selects by labels")
	}
	b.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}
	if p := Parse(b, time.LoadLocation); !p.Selects(nil) || p.Decide(monday, Use{}, Ask{}).Granted {
		t.Error("an invalid selector permits nothing to any machine")
	}
}

func TestReasonOf(t *testing.T) {
	set := Owner{State: OwnerCurrent, Wanted: 3, Active: 3}
	cases := []struct {
		reason string
		cause  Cause
		want   Reason
	}{
		{"a reboot", Cause{Reboot: true, Unwell: true, Owner: set}, v1alpha1.ReasonReboot},
		{"an update in place", Cause{Update: true, Unwell: true}, v1alpha1.ReasonRollout},
		{"the cloud's announcement comes before all others", Cause{Interrupted: true, Unwell: true, Update: true}, v1alpha1.ReasonInterruption},
		{"it was unhealthy", Cause{Unwell: true, Owner: set}, v1alpha1.ReasonRemediation},
		{"it was unhealthy, and the owner is unknown", Cause{Unwell: true}, v1alpha1.ReasonRemediation},
		{"the owner is unknown", Cause{}, ""},
		{"no owner", Cause{Owner: Owner{State: OwnerNone}}, v1alpha1.ReasonManual},
		{"the owner was deleted", Cause{Owner: Owner{State: OwnerLeaving, Wanted: 3}}, v1alpha1.ReasonScaleDown},
		{"the deployment has a newer template", Cause{Owner: Owner{State: OwnerSuperseded, Wanted: 2, Active: 2}}, v1alpha1.ReasonRollout},
		{"the set has as many as it wants", Cause{Owner: set}, v1alpha1.ReasonScaleDown},
		{"the set has fewer than it wants", Cause{Owner: Owner{State: OwnerCurrent, Wanted: 3, Active: 2}}, v1alpha1.ReasonManual},
		{"the set has replaced it", Cause{Owner: Owner{State: OwnerCurrent, Wanted: 3, Active: 3, Successor: true}}, v1alpha1.ReasonManual},
		{"a recorded scale-down, and the set has created another machine since", Cause{Recorded: v1alpha1.ReasonScaleDown, Owner: Owner{State: OwnerCurrent, Wanted: 3, Active: 3, Successor: true}}, v1alpha1.ReasonScaleDown},
		{"a recorded scale-down, and the machine is unhealthy since", Cause{Recorded: v1alpha1.ReasonScaleDown, Unwell: true}, v1alpha1.ReasonRemediation},
		{"a recorded remediation, and the node is healthy again", Cause{Recorded: v1alpha1.ReasonRemediation, Owner: set}, v1alpha1.ReasonRemediation},
		{"a recorded scale-down, and the cloud ends the instance", Cause{Recorded: v1alpha1.ReasonScaleDown, Interrupted: true}, v1alpha1.ReasonInterruption},
	}
	for _, c := range cases {
		if got := ReasonOf(c.cause); got != c.want {
			t.Errorf("%s: %q, want %q", c.reason, got, c.want)
		}
	}
}

func TestMachines(t *testing.T) {
	seen := func(api, namespace string, n int32, age time.Duration) v1alpha1.ObservedMachines {
		return v1alpha1.ObservedMachines{API: api, Namespace: namespace, Machines: n, At: metav1.NewTime(monday.Add(-age))}
	}
	for _, c := range []struct {
		reason string
		seen   []v1alpha1.ObservedMachines
		want   int
	}{
		{"no controller has counted", nil, 0},
		{"two APIs", []v1alpha1.ObservedMachines{seen("a", "", 3, 0), seen("b", "", 4, 0)}, 7},
		{"two namespaces of one API", []v1alpha1.ObservedMachines{seen("a", "x", 3, 0), seen("a", "y", 4, 0)}, 7},
		{"a machine that two controllers see is one", []v1alpha1.ObservedMachines{seen("a", "x", 3, 0), seen("a", "", 10, 0), seen("b", "x", 1, 0)}, 11},
		{"an old number no longer counts", []v1alpha1.ObservedMachines{seen("a", "x", 3, 0), seen("a", "", 10, 2*time.Hour)}, 3},
	} {
		if got := Machines(&v1alpha1.MachineDisruptionBudgetStatus{Observed: c.seen}, monday); got != c.want {
			t.Errorf("%s: %d, want %d", c.reason, got, c.want)
		}
	}
}

func TestSummarize(t *testing.T) {
	s := &v1alpha1.MachineDisruptionBudgetStatus{}
	Observe(s, v1alpha1.ObservedMachines{API: "a", Machines: 4, At: metav1.NewTime(monday)})
	Observe(s, v1alpha1.ObservedMachines{API: "a", Machines: 40, At: metav1.NewTime(monday)})
	Grant(s, v1alpha1.Disruption{UID: "1", Reason: v1alpha1.ReasonRollout})
	Grant(s, v1alpha1.Disruption{UID: "1", Reason: v1alpha1.ReasonManual})
	Grant(s, v1alpha1.Disruption{UID: "2", Reason: v1alpha1.ReasonManual})
	b := budget("b", always("10%"), always("1", v1alpha1.ReasonRollout))
	Summarize(s, Parse(b, time.LoadLocation), 7, monday)
	rows := map[Reason]string{}
	for _, r := range s.Reasons {
		if r.Allowed == nil {
			rows[r.Reason] = fmt.Sprint("any ", r.InUse)
			continue
		}
		rows[r.Reason] = fmt.Sprint(*r.Allowed, r.InUse)
	}
	if s.Machines != 40 || s.InUse != 2 || s.ObservedGeneration != 7 || rows[v1alpha1.ReasonRollout] != "1 1" || rows[v1alpha1.ReasonManual] != "4 1" || rows[v1alpha1.ReasonInterruption] != "any 0" {
		t.Errorf("%d machines, %d in use, %v", s.Machines, s.InUse, rows)
	}
	since := s.Conditions[0].LastTransitionTime
	Summarize(s, Parse(budget("b", always("x")), time.LoadLocation), 8, monday.Add(time.Hour))
	if c := s.Conditions[0]; len(s.Conditions) != 1 || c.Status != metav1.ConditionFalse || !strings.Contains(c.Message, "spec.budgets[0].nodes") || c.LastTransitionTime == since {
		t.Errorf("conditions %+v", s.Conditions)
	}
	Release(s, "1")
	if Holds(s, "1") || !Holds(s, "2") {
		t.Error("the permit of one machine is removed")
	}
}

func drawBudget(t *rapid.T) *v1alpha1.MachineDisruptionBudget {
	b := budget("b")
	b.Spec.Paused = rapid.IntRange(0, 9).Draw(t, "paused") == 0
	for range rapid.IntRange(0, 3).Draw(t, "limits") {
		l := always(rapid.SampledFrom([]string{"0", "1", "2", "5", "0%", "10%", "33%", "100%", "x"}).Draw(t, "nodes"))
		l.Reasons = rapid.SliceOfNDistinct(rapid.SampledFrom(v1alpha1.DisruptionReasons), 0, 3, rapid.ID[Reason]).Draw(t, "reasons")
		if rapid.Bool().Draw(t, "scheduled") {
			l.Schedule = rapid.SampledFrom([]string{"0 9 * * mon-fri", "@hourly", "*/30 * * * *", "0 0 * * sat"}).Draw(t, "schedule")
			l.Duration = &metav1.Duration{Duration: time.Duration(rapid.IntRange(1, 3000).Draw(t, "duration")) * time.Minute}
			l.TimeZone = rapid.SampledFrom([]string{"", "UTC", "Europe/Berlin", "America/New_York"}).Draw(t, "zone")
		}
		b.Spec.Budgets = append(b.Spec.Budgets, l)
	}
	return b
}

// TestNeverMoreThanAllowed: machines of random causes begin and end, while time passes. After each permit, no limit that is about
// its cause, and that applies at that moment, has more permits than it allows. Limits are computed here by themselves.
func TestNeverMoreThanAllowed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := drawBudget(t)
		b, now := Parse(raw, time.LoadLocation), monday
		s := &v1alpha1.MachineDisruptionBudgetStatus{}
		machines := rapid.IntRange(0, 40).Draw(t, "machines")
		for step := range rapid.IntRange(1, 40).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 600).Draw(t, "minutes")) * time.Minute)
			uid := types.UID(fmt.Sprint(rapid.IntRange(0, 12).Draw(t, "machine")))
			if rapid.IntRange(0, 3).Draw(t, "ends") == 0 {
				Release(s, uid)
				continue
			}
			a := Ask{Reason: rapid.SampledFrom(v1alpha1.DisruptionReasons).Draw(t, "reason"), Holds: Holds(s, uid), Ahead: rapid.IntRange(0, 2).Draw(t, "ahead")}
			answer := b.Decide(now, Use{Machines: machines, InUse: len(s.Disruptions)}, a)
			switch {
			case a.Holds && !answer.Granted:
				t.Fatalf("step %d: a machine with a permit is refused: %s", step, answer.Message)
			case answer.Granted == (answer.Message != ""):
				t.Fatalf("step %d: %+v", step, answer)
			case !answer.Granted && !answer.Until.IsZero() && !answer.Until.After(now):
				t.Fatalf("step %d: it waits until %s, and now is %s", step, answer.Until, now)
			case a.Holds || !answer.Granted:
				continue
			}
			Grant(s, v1alpha1.Disruption{UID: uid, Reason: a.Reason})
			if raw.Spec.Paused && a.Reason != v1alpha1.ReasonInterruption {
				t.Fatalf("step %d: a permit of a paused budget", step)
			}
			for i, l := range raw.Spec.Budgets {
				if most, applies := expected(l, a.Reason, now, machines); applies && len(s.Disruptions) > most {
					t.Fatalf("step %d: limit %d allows %d, and there are %d", step, i, most, len(s.Disruptions))
				}
			}
		}
	})
}

// expected is the number that one limit allows for a cause, and whether it applies.
func expected(l v1alpha1.Budget, r Reason, now time.Time, machines int) (most int, applies bool) {
	named := len(l.Reasons) == 0 && r != v1alpha1.ReasonInterruption
	for _, o := range l.Reasons {
		named = named || o == r
	}
	if !named {
		return 0, false
	}
	if l.Schedule != "" {
		s, err := ParseSchedule(l.Schedule)
		if err != nil {
			return 0, true
		}
		z, _ := time.LoadLocation(l.TimeZone)
		open := false
		for at := now.Truncate(time.Minute); now.Sub(at) < l.Duration.Duration; at = at.Add(-time.Minute) {
			local := at.In(z)
			open = open || has(s.minutes, local.Minute()) && has(s.hours, local.Hour()) && s.on(local)
		}
		if !open {
			return 0, false
		}
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(&l.Nodes, machines, true)
	if err != nil {
		return 0, true
	}
	return n, true
}
