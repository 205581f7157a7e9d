package explain

import (
	"cmp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/internal/engine/health"
	"github.com/millwright-dev/millwright/internal/engine/postmortem"
)

// HealthCheck is a health check that selects a machine.
type HealthCheck struct {
	// Name is that of the object.
	Name string
	// Said is its status.
	Said []postmortem.Statement
	// Verdict is its verdict about the machine.
	Verdict health.Verdict
}

// The statements of checks that concern a machine.
const (
	RemediationAllowed = "condition RemediationAllowed"
	Calm               = "condition Calm"
	Valid              = "condition Valid"
)

// checked returns what the health checks do about a machine that is unwell: what holds them back, and which
// one replaces the machine.
func (q *input) checked() (causes []Cause, next string) {
	switch {
	case len(q.Checks) == 0 && q.Obstacles.UnreadChecks:
		return nil, "the health checks could not be read, so it is not known whether one replaces the machine"
	case len(q.Checks) == 0:
		return nil, "without a health check no controller replaces the machine"
	}
	var names, held []string
	for _, c := range q.Checks {
		names = append(names, c.Name)
		for _, about := range []string{Valid, RemediationAllowed, Calm} {
			s := find(c.Said, about)
			if s.Status != string(corev1.ConditionFalse) {
				continue
			}
			causes = append(causes, Cause{Source: "machinehealthcheck " + c.Name, Reason: s.Reason, Message: clause(s.Message), Since: s.Since})
			if about == RemediationAllowed {
				held = append(held, c.Name)
			}
		}
	}
	if len(held) == len(names) {
		if len(held) > 1 {
			return causes, "health checks " + strings.Join(held, ", ") + " remediate nothing at the moment"
		}
		return causes, "health check " + held[0] + " remediates nothing at the moment"
	}
	return causes, q.verdict()
}

// verdict says which check remediates the machine first, and when.
func (q *input) verdict() string {
	first := q.Checks[0]
	for _, c := range q.Checks[1:] {
		if at := c.remedies(q.now); !at.IsZero() && (first.remedies(q.now).IsZero() || at.Before(first.remedies(q.now))) {
			first = c
		}
	}
	switch at := first.remedies(q.now); {
	case at.IsZero() && first.Verdict.State == health.Healthy:
		return "health check " + first.Name + " ignores the problem of the node, and does not remediate the machine"
	case at.IsZero():
		return "health check " + first.Name + " does not remediate it: " + cmp.Or(clause(first.Verdict.Message), string(first.Verdict.State))
	case at.After(q.now):
		return "health check " + first.Name + " remediates the machine in " + span(at.Sub(q.now))
	}
	return "health check " + first.Name + " remediates the machine now"
}

// remedies returns when the check remediates the machine if nothing changes; zero: never.
func (c HealthCheck) remedies(now time.Time) time.Time {
	switch v := c.Verdict; v.State {
	case health.Unhealthy:
		return now
	case health.Suspect, health.Starting:
		return v.Due
	}
	return time.Time{}
}
