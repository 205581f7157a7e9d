package judge

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/openshift/healthchecking/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/machine/lenient"
)

// The keys and defaults of the older API of health checks.
const (
	restartNode    = "healthchecking.openshift.io/machine-remediation-reboot"
	olderStrategy  = "healthchecking.openshift.io/strategy"
	commonName     = "node-unhealthy-conditions"
	commonKey      = "conditions"
	commonPatience = "5m"
)

// check is one health check of either API, in the terms of the newer one.
type check struct {
	lenient.MachineHealthCheck
	// older: it is of healthchecking.openshift.io. Such a check uses only what nodes report, and an empty selector selects
	// nothing. reboots: an external controller restarts the nodes.
	older, reboots bool
}

// asCheck reads o; nil if it is no health check.
func (j *Judge) asCheck(o client.Object) *check {
	switch o := o.(type) {
	case *lenient.MachineHealthCheck:
		return &check{MachineHealthCheck: *o}
	case *v1alpha1.MachineHealthCheck:
		c := &check{older: true}
		c.ObjectMeta, c.Status = o.ObjectMeta, o.Status
		c.Spec.Selector, c.Spec.MaxUnhealthy, c.Spec.UnhealthyConditions = o.Spec.Selector, o.Spec.MaxUnhealthy, o.Spec.UnhealthyConditions
		if len(c.Spec.UnhealthyConditions) == 0 {
			c.Spec.UnhealthyConditions = j.common()
		}
		how := o.Annotations[olderStrategy]
		if o.Spec.RemediationStrategy != nil {
			how = cmp.Or(*o.Spec.RemediationStrategy, how)
		}
		c.reboots = how == v1alpha1.StrategyReboot
		return c
	}
	return nil
}

// common are the conditions of older checks that have no conditions of their own.
func (j *Judge) common() []lenient.UnhealthyCondition {
	for _, o := range j.All(&corev1.ConfigMap{}) {
		if o.GetName() != commonName || o.GetNamespace() != j.Namespace {
			continue
		}
		var list struct {
			Items []struct {
				Name, Timeout string
				Status        corev1.ConditionStatus
			}
		}
		if yaml.Unmarshal([]byte(o.(*corev1.ConfigMap).Data[commonKey]), &list) != nil {
			return nil
		}
		var out []lenient.UnhealthyCondition
		for _, i := range list.Items {
			out = append(out, lenient.UnhealthyCondition{Type: corev1.NodeConditionType(i.Name), Status: i.Status, Timeout: i.Timeout})
		}
		return out
	}
	return []lenient.UnhealthyCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, Timeout: commonPatience},
		{Type: corev1.NodeReady, Status: corev1.ConditionFalse, Timeout: commonPatience},
	}
}
