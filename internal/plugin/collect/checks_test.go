package collect_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/millwright-dev/millwright/api/openshift/machine/lenient"
	"github.com/millwright-dev/millwright/internal/plugin/collect"
)

// silent is a node whose kubelet has not posted its status for 4 minutes.
var silent = node("Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.", 4*time.Minute)

// check returns a health check that reports no problem and selects every machine in the namespace.
func check(name string, edits ...func(*lenient.MachineHealthCheck)) *lenient.MachineHealthCheck {
	c := &lenient.MachineHealthCheck{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
	c.Spec.UnhealthyConditions = []lenient.UnhealthyCondition{{Type: "Ready", Status: "Unknown", Timeout: "5m"}}
	c.Status.Conditions = []machinev1.Condition{{Type: "RemediationAllowed", Status: "True", LastTransitionTime: ago(time.Hour)}}
	for _, e := range edits {
		e(c)
	}
	return c
}

// saysC gives a health check a condition with the status False.
func saysC(kind, reason, message string) func(*lenient.MachineHealthCheck) {
	return func(c *lenient.MachineHealthCheck) {
		said := machinev1.Condition{Type: machinev1.ConditionType(kind), Status: "False", Reason: reason, Message: message, LastTransitionTime: ago(3 * time.Minute)}
		if kind == "RemediationAllowed" {
			c.Status.Conditions = nil
		}
		c.Status.Conditions = append(c.Status.Conditions, said)
	}
}

// TestChecksNotRead: a cluster without the kind has no health checks. If health checks cannot be read, the answer has
// a gap.
func TestChecksNotRead(t *testing.T) {
	for _, c := range []struct {
		reason string
		err    error
		gaps   int
		next   string
	}{
		{"the kind is not installed", &meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "MachineHealthCheck"}}, 0, "without a health check"},
		{"the user may not read health checks", errors.New("user jane may not"), 1, "could not be read"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			refuse := func(what string) error {
				if what == "*lenient.MachineHealthCheckList" {
					return c.err
				}
				return nil
			}
			a, err := ask(t, cluster(t, refuse, append(atWork(), openshiftMachine("Running", 5*time.Hour, withNodeO), silent)...), collect.Question{Kind: "Machine", Name: "mill-a-x"})
			if err != nil || len(a.Gaps) != c.gaps || !strings.Contains(a.Next, c.next) {
				t.Errorf("%s: gaps %q, next %q, error %v", c.reason, a.Gaps, a.Next, err)
			}
		})
	}
}
