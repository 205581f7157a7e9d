package why

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/internal/evidence"
)

// HealthCheck is a health check that selects a machine.
type HealthCheck struct {
	// Name is the object's.
	Name string
	// Said is what it says about itself.
	Said []evidence.Statement
}

// What checks say that is told of a machine.
const (
	RemediationAllowed = "condition RemediationAllowed"
	Calm               = "condition Calm"
	Valid              = "condition Valid"
)

// checked tells what the health checks have to do with a machine that is unwell:
// what holds them, and who replaces it.
func (q *question) checked() (causes []Cause, next string) {
	if len(q.Checks) == 0 {
		return nil, "without a health check nothing replaces the machine"
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
		return causes, "health check " + strings.Join(held, ", ") + " remedies nothing at the moment"
	}
	return causes, "health check " + strings.Join(names, ", ") + " remedies the machine when its timeouts are over"
}
