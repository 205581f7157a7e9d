package openshift

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/api/openshift/machine/lenient"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/health"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// Conditions of health checks. Clients know the first group.
const (
	RemediationAllowed = "RemediationAllowed"
	TemplateAvailable  = "ExternalRemediationTemplateAvailable"
	RequestAvailable   = "ExternalRemediationRequestAvailable"

	// Valid is False while a field of the check is invalid.
	Valid = "Valid"
	// Calm is False while the storm breaker objects. Its message is the decision with its counts.
	Calm = "Calm"
)

// Reasons of these conditions.
const (
	ReasonTooManyUnhealthy      = "TooManyUnhealthy"
	ReasonTemplateNotFound      = "ExternalRemediationTemplateNotFound"
	ReasonRequestCreationFailed = "ExternalRemediationRequestCreationFailed"
	ReasonInvalidSpec           = "InvalidSpec"
	// ReasonBlind: nodes cannot be observed, or only since a moment ago, and no machine is remediated that
	// depends on it. ReasonStorm: a group of machines is in a storm, or was a short while ago. ReasonHeld:
	// some machines are left alone, or would be, because of the rate or of back-off.
	ReasonBlind = "Blind"
	ReasonStorm = "Storm"
	ReasonHeld  = "Held"
	// ReasonNoMachines: the check selects no machine, so that Calm, which is True, means little.
	ReasonNoMachines = "NoMachines"
)

// recordHealth writes the result of a pass.
func recordHealth(s *lenient.MachineHealthCheckStatus, o dialect.HealthOutcome) {
	s.ExpectedMachines = ptr.To(int64(o.Plan.Expected))
	s.CurrentHealthy = ptr.To(int64(o.Plan.Healthy))
	s.RemediationsAllowed = int64(min(o.Plan.Remaining, math.MaxInt32))
	set := func(c machinev1.Condition) { s.Conditions = withCondition(s.Conditions, c, o.Now) }
	set(allowed(o))
	if c := calm(o); c != nil {
		set(*c)
	} else {
		s.Conditions = slices.DeleteFunc(s.Conditions, func(c machinev1.Condition) bool { return c.Type == Calm })
	}
	later := func(c machinev1.Condition) { // added only if there is or was a problem
		has := slices.ContainsFunc(s.Conditions, func(o machinev1.Condition) bool { return o.Type == c.Type })
		if has || c.Status != corev1.ConditionTrue {
			set(c)
		}
	}
	later(condition(Valid, ReasonInvalidSpec, machinev1.ConditionSeverityWarning, faultList(o.Check.Faults)))
	if o.Requested {
		later(condition(TemplateAvailable, ReasonTemplateNotFound, machinev1.ConditionSeverityError, text(o.TemplateErr)))
		later(condition(RequestAvailable, ReasonRequestCreationFailed, machinev1.ConditionSeverityError, text(o.RequestErr)))
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// condition is False for the given reason, or True where there is no message.
func condition(kind machinev1.ConditionType, reason string, severity machinev1.ConditionSeverity, message string) machinev1.Condition {
	if message == "" {
		return machinev1.Condition{Type: kind, Status: corev1.ConditionTrue}
	}
	return machinev1.Condition{Type: kind, Status: corev1.ConditionFalse, Severity: severity, Reason: reason, Message: message}
}

// allowed returns the condition that clients know, in its words.
func allowed(o dialect.HealthOutcome) machinev1.Condition {
	p, c := &o.Plan, &o.Check
	message := ""
	if i := slices.IndexFunc(c.Faults, func(f lifecycle.Fault) bool { return f.Field == health.MaxUnhealthyField }); i >= 0 {
		message = "Remediation is not allowed: " + faultList(c.Faults[i:i+1])
		return condition(RemediationAllowed, ReasonInvalidSpec, machinev1.ConditionSeverityWarning, message)
	}
	severity := machinev1.ConditionSeverityWarning
	if !p.Restricts { // machines are only starting
		severity = machinev1.ConditionSeverityInfo
	}
	if d := p.Distrust; d.Text != "" {
		return condition(RemediationAllowed, string(d.Reason), machinev1.ConditionSeverityWarning, "Remediation is not allowed: "+d.Text)
	}
	if !p.Allowed {
		message = fmt.Sprintf("Remediation is not allowed, the number of not started or unhealthy machines exceeds maxUnhealthy (%s)", restricted(o))
	}
	return condition(RemediationAllowed, ReasonTooManyUnhealthy, severity, message)
}

// restricted returns the counts of a check that remediates nothing.
func restricted(o dialect.HealthOutcome) string {
	total := o.Plan.Expected + o.Plan.Missing
	return fmt.Sprintf("total: %v, unhealthy: %v, maxUnhealthy: %v", total, total-o.Plan.Healthy, o.Check.MaxUnhealthy)
}

// calm returns the breaker's condition; nil if the breaker is off.
func calm(o dialect.HealthOutcome) *machinev1.Condition {
	p := &o.Plan
	held := slices.ContainsFunc(p.Cases, func(c health.Case) bool { return c.Hold != "" })
	blind := p.Blind != "" || p.Doubt != ""
	if o.Check.Breaker.Mode == health.Off && !blind {
		return nil
	}
	out := machinev1.Condition{Type: Calm, Status: corev1.ConditionTrue, Message: p.Sentence}
	switch {
	case blind:
		out.Reason = ReasonBlind
	case len(p.Storms) > 0:
		out.Reason = ReasonStorm
	case held:
		out.Reason = ReasonHeld
	case p.Expected+p.Missing == 0 && len(o.Check.Faults) == 0:
		out.Reason, out.Message = ReasonNoMachines, "no machine matches the selector: nothing is watched"
		return &out
	default:
		return &out
	}
	out.Status, out.Severity = corev1.ConditionFalse, machinev1.ConditionSeverityInfo
	if blind || o.Check.Breaker.Mode == health.Enforce {
		out.Severity = machinev1.ConditionSeverityWarning
	}
	return &out
}

// withCondition puts c into a list that is sorted by type. The transition time changes with any field of the
// condition, as clients of this API expect.
func withCondition(list []machinev1.Condition, c machinev1.Condition, at time.Time) []machinev1.Condition {
	i := slices.IndexFunc(list, func(o machinev1.Condition) bool { return o.Type == c.Type })
	if i < 0 {
		c.LastTransitionTime = metav1.NewTime(at.Truncate(time.Second))
		list = append(list, c)
		slices.SortFunc(list, func(a, b machinev1.Condition) int { return cmp.Compare(a.Type, b.Type) })
		return list
	}
	c.LastTransitionTime = list[i].LastTransitionTime
	c.Message = strings.ToValidUTF8(c.Message, "")
	if list[i] != c {
		c.LastTransitionTime = metav1.NewTime(at.Truncate(time.Second))
		list[i] = c
	}
	return list
}
