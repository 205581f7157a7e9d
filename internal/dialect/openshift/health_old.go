package openshift

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/api/openshift/healthchecking/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/health"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// OldStrategyAnnotation is where checks of healthchecking.openshift.io/v1alpha1 had the remediation strategy
// before it became a field.
const OldStrategyAnnotation = "healthchecking.openshift.io/strategy"

// OldHealthChecks reads and writes health checks of
// healthchecking.openshift.io/v1alpha1.
type OldHealthChecks struct{}

var _ dialect.HealthChecks[*v1alpha1.MachineHealthCheck] = OldHealthChecks{}

// Traits implements [dialect.HealthChecks].
func (OldHealthChecks) Traits() dialect.HealthTraits {
	return dialect.HealthTraits{
		Kind:        v1alpha1.GroupVersion.WithKind(v1alpha1.KindMachineHealthCheck),
		ReadsCommon: true, ConfigMap: v1alpha1.ConditionsConfigMap,
	}
}

// New implements [dialect.HealthChecks].
func (OldHealthChecks) New() *v1alpha1.MachineHealthCheck { return &v1alpha1.MachineHealthCheck{} }

// NewList implements [dialect.HealthChecks].
func (OldHealthChecks) NewList() client.ObjectList { return &v1alpha1.MachineHealthCheckList{} }

// View returns the engine's facts of c. Only nodes count.
func (OldHealthChecks) View(c *v1alpha1.MachineHealthCheck, common dialect.CommonConditions) health.Check {
	r := checkReader{}
	out := health.Check{
		Conditions: r.conditions(c.Spec.UnhealthyConditions), MaxUnhealthy: r.limit(c.Spec.MaxUnhealthy), Remediation: health.Delete,
		NodesOnly: true, SparesControlPlane: true, OwnerKind: "MachineSet",
	}
	if len(c.Spec.UnhealthyConditions) == 0 {
		out.Conditions = common.Conditions
		r.faults = append(r.faults, common.Faults...)
	}
	_, out.Paused = c.Annotations[PausedAnnotation]
	if v1alpha1.StrategyReboot == cmp.Or(ptr.Deref(c.Spec.RemediationStrategy, ""), c.Annotations[OldStrategyAnnotation]) {
		out.Remediation = health.Reboot
	}
	r.selector(&c.Spec.Selector)
	out.Breaker, out.Escalation = r.breaker(c.Annotations), r.escalation(c.Annotations, 0)
	out.Faults = r.faults
	return out
}

// Selector implements [dialect.HealthChecks]. An empty selector matches nothing.
func (OldHealthChecks) Selector(c *v1alpha1.MachineHealthCheck) labels.Selector {
	s, err := metav1.LabelSelectorAsSelector(&c.Spec.Selector)
	if err != nil || s.Empty() {
		return labels.Nothing()
	}
	return s
}

// Template implements [dialect.HealthChecks]: this kind has none.
func (OldHealthChecks) Template(*v1alpha1.MachineHealthCheck) *corev1.ObjectReference { return nil }

// Record implements [dialect.HealthChecks].
func (OldHealthChecks) Record(c *v1alpha1.MachineHealthCheck, o dialect.HealthOutcome) {
	recordHealth(&c.Status, o)
}

// defaultConditions apply without the ConfigMap.
var defaultConditions = []health.Condition{
	{Type: string(corev1.NodeReady), Status: string(corev1.ConditionUnknown), Timeout: 300 * time.Second},
	{Type: string(corev1.NodeReady), Status: string(corev1.ConditionFalse), Timeout: 300 * time.Second},
}

// statuses are those of conditions in YAML, in which an unquoted True is a boolean.
var statuses = map[any]corev1.ConditionStatus{
	true: corev1.ConditionTrue, "true": corev1.ConditionTrue, "True": corev1.ConditionTrue,
	false: corev1.ConditionFalse, "false": corev1.ConditionFalse, "False": corev1.ConditionFalse,
	"unknown": corev1.ConditionUnknown, "Unknown": corev1.ConditionUnknown,
}

// ParseConditions reads the ConfigMap [v1alpha1.ConditionsConfigMap]; cm is nil if it does not exist. Invalid
// entries are faults, and the others count.
func ParseConditions(cm *corev1.ConfigMap) dialect.CommonConditions {
	if cm == nil {
		return dialect.CommonConditions{Conditions: slices.Clone(defaultConditions)}
	}
	var out dialect.CommonConditions
	at := fmt.Sprintf("configmap %s/%s: data.%s", cm.Namespace, cm.Name, v1alpha1.ConditionsKey)
	fault := func(field, format string, args ...any) {
		out.Faults = append(out.Faults, lifecycle.Fault{Field: at + field, Message: fmt.Sprintf(format, args...)})
	}
	text, ok := cm.Data[v1alpha1.ConditionsKey]
	if !ok {
		fault("", "is missing")
		return out
	}
	var list struct {
		Items []struct {
			Name    string `json:"name"`
			Timeout string `json:"timeout"`
			Status  any    `json:"status"`
		} `json:"items"`
	}
	if err := yaml.Unmarshal([]byte(text), &list); err != nil {
		fault("", "cannot be read: %v", err)
		return out
	}
	for i, item := range list.Items {
		field := fmt.Sprintf(".items[%d]", i)
		d, err := time.ParseDuration(item.Timeout)
		status, known := statuses[scalar(item.Status)]
		switch {
		case item.Name == "":
			fault(field+".name", "must name a node condition")
		case !known:
			fault(field+".status", "must be True, False or Unknown, is %v", item.Status)
		case err != nil || d < 0:
			fault(field+".timeout", `must be a duration like "5m", is %q`, item.Timeout)
		default:
			out.Conditions = append(out.Conditions, health.Condition{Type: item.Name, Status: string(status), Timeout: d})
		}
	}
	return out
}

// scalar returns v if it can be the key of a map.
func scalar(v any) any {
	switch v.(type) {
	case string, bool:
		return v
	}
	return nil
}
