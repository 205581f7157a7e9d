package openshift

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/millwright-dev/millwright/internal/dialect"
)

// TestSeen: the instance has the single values and the conditions of any provider status, with the place of each.
func TestSeen(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	m := &machinev1.Machine{}
	m.Labels = map[string]string{InstanceTypeLabel: "m5.large", ZoneLabel: "eu-1b"}
	m.Annotations = map[string]string{InstanceStateAnnotation: "running"}
	m.Status.LastUpdated = &at
	for raw, want := range map[string]int{``: 3, `"text"`: 3, `{"kind":"X","apiVersion":"y","a":null,"list":[1],"object":{}}`: 3, `{"conditions":"odd"}`: 4, `{"conditions":{}}`: 3} {
		if m.Status.ProviderStatus = nil; raw != "" {
			m.Status.ProviderStatus = &runtime.RawExtension{Raw: []byte(raw)}
		}
		if got := Said(m).Seen; len(got.Facts) != want || got.Said != nil {
			t.Errorf("%s: %+v, want %d facts", raw, got, want)
		}
	}
	m.Status.ProviderStatus = &runtime.RawExtension{Raw: []byte(`{"kind":"X","vmState":"Unknown","instanceId":"i-1","cores":4,"spot":true,"conditions":[{"type":"MachineCreation","status":"True","reason":"Made","message":"it runs","lastTransitionTime":"2026-01-02T03:04:05Z"}]}`)}
	const status = "status.providerStatus"
	want := dialect.Seen{At: at.Time, Said: []dialect.Statement{{About: "condition MachineCreation", Status: "True", Reason: "Made", Message: "it runs", Since: at.Time}}}
	want.Add("state", "running", "annotation machine.openshift.io/instance-state")
	want.Add("type", "m5.large", "label machine.openshift.io/instance-type")
	want.Add("zone", "eu-1b", "label machine.openshift.io/zone")
	for _, f := range [][2]string{{"cores", "4"}, {"instanceId", "i-1"}, {"spot", "true"}, {"vmState", "Unknown"}} {
		want.Add(f[0], f[1], status)
	}
	if diff := cmp.Diff(want, Said(m).Seen, cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) })); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
