package disruption

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/api/millwright/v1alpha1"
)

// freshness is how long the number of machines that a controller has counted is used. Without that number fewer disruptions are
// allowed, never more.
const freshness = time.Hour

// Holds reports whether the machine with the UID has a permit.
func Holds(s *v1alpha1.MachineDisruptionBudgetStatus, uid types.UID) bool {
	return slices.ContainsFunc(s.Disruptions, func(d v1alpha1.Disruption) bool { return d.UID == uid })
}

// Grant adds a permit, unless the machine has one.
func Grant(s *v1alpha1.MachineDisruptionBudgetStatus, d v1alpha1.Disruption) {
	if !Holds(s, d.UID) {
		s.Disruptions = append(s.Disruptions, d)
	}
}

// Release removes the permit of a machine.
func Release(s *v1alpha1.MachineDisruptionBudgetStatus, uid types.UID) {
	s.Disruptions = slices.DeleteFunc(s.Disruptions, func(d v1alpha1.Disruption) bool { return d.UID == uid })
}

// Observe stores the number of machines that a controller sees.
func Observe(s *v1alpha1.MachineDisruptionBudgetStatus, o v1alpha1.ObservedMachines) {
	i := slices.IndexFunc(s.Observed, func(p v1alpha1.ObservedMachines) bool { return p.API == o.API && p.Namespace == o.Namespace })
	if i < 0 {
		s.Observed = append(s.Observed, o)
		return
	}
	s.Observed[i] = o
}

// Stale reports whether the number of a controller has to be stored: it changed, or it is old.
func Stale(s *v1alpha1.MachineDisruptionBudgetStatus, o v1alpha1.ObservedMachines) bool {
	i := slices.IndexFunc(s.Observed, func(p v1alpha1.ObservedMachines) bool { return p.API == o.API && p.Namespace == o.Namespace })
	return i < 0 || s.Observed[i].Machines != o.Machines || o.At.Sub(s.Observed[i].At.Time) > freshness/4
}

// Machines returns the number of selected machines of all APIs. A controller that sees all namespaces counts the machines of
// controllers that see one namespace, too.
func Machines(s *v1alpha1.MachineDisruptionBudgetStatus, now time.Time) (n int) {
	var all []string
	fresh := func(o v1alpha1.ObservedMachines) bool { return now.Sub(o.At.Time) <= freshness }
	for _, o := range s.Observed {
		if fresh(o) && o.Namespace == "" {
			all = append(all, o.API)
		}
	}
	for _, o := range s.Observed {
		if fresh(o) && (o.Namespace == "" || !slices.Contains(all, o.API)) {
			n += int(o.Machines)
		}
	}
	return n
}

// UseOf returns how much of the budget is in use.
func UseOf(s *v1alpha1.MachineDisruptionBudgetStatus, now time.Time) Use {
	return Use{Machines: Machines(s, now), InUse: len(s.Disruptions)}
}

// Summarize fills in the fields of the status that follow from the others and from the budget.
func Summarize(s *v1alpha1.MachineDisruptionBudgetStatus, b Budget, generation int64, now time.Time) {
	use := UseOf(s, now)
	s.ObservedGeneration, s.Machines, s.InUse = generation, int32(use.Machines), int32(use.InUse)
	s.Reasons = nil
	for _, r := range v1alpha1.DisruptionReasons {
		row := v1alpha1.ReasonStatus{Reason: r}
		for _, d := range s.Disruptions {
			if d.Reason == r {
				row.InUse++
			}
		}
		if n, limited := b.Allowed(now, r, use.Machines); limited {
			allowed := int32(n)
			row.Allowed = &allowed
		}
		s.Reasons = append(s.Reasons, row)
	}
	summarizeValid(s, b, generation, now)
}

func summarizeValid(s *v1alpha1.MachineDisruptionBudgetStatus, b Budget, generation int64, now time.Time) {
	c := metav1.Condition{Type: v1alpha1.ConditionValid, Status: metav1.ConditionTrue, Reason: "Valid", ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(now.Truncate(time.Second))}
	if text := b.Faults(); text != "" {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, "InvalidSpec", text
	}
	for i := range s.Conditions {
		if s.Conditions[i].Type != c.Type {
			continue
		}
		if s.Conditions[i].Status == c.Status {
			c.LastTransitionTime = s.Conditions[i].LastTransitionTime
		}
		s.Conditions[i] = c
		return
	}
	s.Conditions = append(s.Conditions, c)
}
