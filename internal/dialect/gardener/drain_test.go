package gardener

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
)

func TestDrainPolicyOfMachine(t *testing.T) {
	two := 2 * time.Hour
	tests := []struct {
		reason   string
		annotate string
		timeout  *metav1.Duration
		retries  *int32
		drain    time.Duration
		attempts int
		forced   bool
		remark   string
	}{
		{"the flags hold", "", nil, nil, two, 360, true, ""},
		{"the machine's own retries, as far as they fit the timeout", "", &metav1.Duration{Duration: time.Minute}, ptr.To[int32](10), time.Minute, 3, true, ""},
		{"never is never, whatever the fields say", dialect.Never, &metav1.Duration{Duration: time.Minute}, ptr.To[int32](2), 0, 0, false, ""},
		{"for a duration there is a field", "1h", nil, nil, two, 360, true, "spec.drainTimeout"},
		{"what cannot be read is named", "soon", nil, nil, two, 360, true, `"soon"`},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			m := &v1alpha1.Machine{}
			if tt.annotate != "" {
				m.Annotations = map[string]string{dialect.DrainTimeoutAnnotation: tt.annotate}
			}
			m.Spec.MachineConfiguration = &v1alpha1.MachineConfiguration{MachineDrainTimeout: tt.timeout, MaxEvictRetries: tt.retries}
			p := Machines{Defaults: StandardDefaults()}.Policy(m)
			if p.Drain.Timeout != tt.drain || p.Drain.Policy.MaxEvictAttempts != tt.attempts || (p.Drain.UnreachableAfter > 0) != tt.forced {
				t.Errorf("timeout %v, attempts %d, unreachable after %v", p.Drain.Timeout, p.Drain.Policy.MaxEvictAttempts, p.Drain.UnreachableAfter)
			}
			if !strings.Contains(p.Drain.Policy.Remark, tt.remark) || (tt.remark == "") != (p.Drain.Policy.Remark == "") {
				t.Errorf("remark %q", p.Drain.Policy.Remark)
			}
			if !p.Drain.Policy.VolumesOneByOne || !p.Drain.Policy.RemoveAttachments || p.Drain.Policy.DetachTimeout != 2*time.Minute || p.Drain.Policy.ReattachTimeout != 90*time.Second {
				t.Errorf("volumes: %+v", p.Drain.Policy)
			}
		})
	}
}
