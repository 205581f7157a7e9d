package openshift

import (
	"fmt"
	"strings"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/openshift/machine/lenient"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/health"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// Annotations about health checks that clients of this API depend on.
const (
	// PausedAnnotation on a check, with any value, pauses it.
	PausedAnnotation = "cluster.x-k8s.io/paused"
	// StrategyAnnotation on a check with the value [StrategyMark] marks machines by
	// [ExternalRemediationAnnotation] instead of deleting them.
	StrategyAnnotation = "machine.openshift.io/remediation-strategy"
	StrategyMark       = "external-baremetal"
	// ExternalRemediationAnnotation on a machine asks another program to power it off and on, which removes
	// it when that is done.
	ExternalRemediationAnnotation = "host.metal3.io/external-remediation"
)

// defaultStartupTimeout is the default of a check.
const defaultStartupTimeout = 10 * time.Minute

// HealthChecks reads and writes health checks of this API.
type HealthChecks struct{}

var _ dialect.HealthChecks[*lenient.MachineHealthCheck] = HealthChecks{}

// Traits implements [dialect.HealthChecks].
func (HealthChecks) Traits() dialect.HealthTraits {
	return dialect.HealthTraits{Kind: machinev1.GroupVersion.WithKind("MachineHealthCheck")}
}

// New implements [dialect.HealthChecks].
func (HealthChecks) New() *lenient.MachineHealthCheck { return &lenient.MachineHealthCheck{} }

// NewList implements [dialect.HealthChecks].
func (HealthChecks) NewList() client.ObjectList { return &lenient.MachineHealthCheckList{} }

// View returns the engine's facts of c.
func (HealthChecks) View(c *lenient.MachineHealthCheck, _ dialect.CommonConditions) health.Check {
	r := checkReader{}
	out := health.Check{
		Conditions:     r.conditions(c.Spec.UnhealthyConditions),
		StartupTimeout: r.startup(c.Spec.NodeStartupTimeout),
		MaxUnhealthy:   r.limit(c.Spec.MaxUnhealthy),
		Remediation:    health.Delete,
	}
	_, out.Paused = c.Annotations[PausedAnnotation]
	switch {
	case c.Spec.RemediationTemplate != nil:
		out.Remediation = health.Request
	case c.Annotations[StrategyAnnotation] == StrategyMark:
		out.Remediation = health.Mark
	}
	r.selector(&c.Spec.Selector)
	out.Breaker, out.Escalation = r.breaker(c.Annotations), r.escalation(c.Annotations, out.StartupTimeout)
	out.Faults = r.faults
	return out
}

// Selector implements [dialect.HealthChecks]. An empty selector matches all
// machines of the namespace.
func (HealthChecks) Selector(c *lenient.MachineHealthCheck) labels.Selector {
	s, err := metav1.LabelSelectorAsSelector(&c.Spec.Selector)
	if err != nil {
		return labels.Nothing()
	}
	return s
}

// Template implements [dialect.HealthChecks].
func (HealthChecks) Template(c *lenient.MachineHealthCheck) *corev1.ObjectReference {
	return c.Spec.RemediationTemplate
}

// Record implements [dialect.HealthChecks].
func (HealthChecks) Record(c *lenient.MachineHealthCheck, o dialect.HealthOutcome) {
	recordHealth(&c.Status, o)
}

// checkReader collects the faults of a check while reading it.
type checkReader struct{ faults []lifecycle.Fault }

func (r *checkReader) fault(field, format string, args ...any) {
	r.faults = append(r.faults, lifecycle.Fault{Field: field, Message: fmt.Sprintf(format, args...)})
}

// conditions returns the valid conditions.
func (r *checkReader) conditions(list []lenient.UnhealthyCondition) (out []health.Condition) {
	for i, c := range list {
		field := fmt.Sprintf("spec.unhealthyConditions[%d].timeout", i)
		if d, ok := r.duration(field, c.Timeout); ok {
			out = append(out, health.Condition{Type: string(c.Type), Status: string(c.Status), Timeout: d})
		}
	}
	return out
}

// startup reads how long a machine may be without a node. With an invalid value the check remediates no
// machine.
func (r *checkReader) startup(text *string) time.Duration {
	if text == nil {
		return defaultStartupTimeout
	}
	d, _ := r.duration("spec.nodeStartupTimeout", *text)
	return d
}

func (r *checkReader) duration(field, text string) (time.Duration, bool) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		r.fault(field, `must be a duration like "5m", is %q`, text)
		return 0, false
	}
	return d, true
}

func (r *checkReader) limit(a *lenient.Amount) health.Limit {
	if a == nil {
		return health.Limit{}
	}
	l, err := health.ParseLimit(a.Text())
	if err != nil {
		r.fault(health.MaxUnhealthyField, "%v", err)
	}
	return l
}

func (r *checkReader) selector(s *metav1.LabelSelector) {
	if _, err := metav1.LabelSelectorAsSelector(s); err != nil {
		r.fault("spec.selector", "%v", err)
	}
}

func (r *checkReader) breaker(annotations map[string]string) health.Breaker {
	b, faults := dialect.ReadBreaker(annotations)
	r.faults = append(r.faults, faults...)
	return b
}

func (r *checkReader) escalation(annotations map[string]string, startup time.Duration) health.Escalation {
	e, faults := dialect.ReadEscalation(annotations, startup)
	r.faults = append(r.faults, faults...)
	return e
}

// faultList joins faults into one line.
func faultList(faults []lifecycle.Fault) string {
	out := make([]string, len(faults))
	for i, f := range faults {
		out[i] = f.Field + " " + f.Message
	}
	return strings.Join(out, "; ")
}
