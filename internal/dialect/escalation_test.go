package dialect_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/health"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

func TestReadEscalation(t *testing.T) {
	for _, c := range []struct {
		reason  string
		says    map[string]string
		startup time.Duration
		want    health.Escalation
		fault   string
	}{
		{"off by default", nil, 5 * time.Minute, health.Escalation{Patience: 5 * time.Minute}, ""},
		{"none", map[string]string{dialect.EscalationAnnotation: "none"}, 5 * time.Minute, health.Escalation{Patience: 5 * time.Minute}, ""},
		{"reboot", map[string]string{dialect.EscalationAnnotation: "reboot"}, 5 * time.Minute, health.Escalation{Reboot: true, Patience: 5 * time.Minute}, ""},
		{"without a startup timeout", map[string]string{dialect.EscalationAnnotation: "reboot"}, 0, health.Escalation{Reboot: true, Patience: 10 * time.Minute}, ""},
		{"its own time", map[string]string{dialect.EscalationAnnotation: "reboot", dialect.RebootTimeoutAnnotation: "90s"}, time.Hour, health.Escalation{Reboot: true, Patience: 90 * time.Second}, ""},
		{"a word that is not known", map[string]string{dialect.EscalationAnnotation: "Reboot"}, time.Minute, health.Escalation{Patience: time.Minute}, dialect.EscalationAnnotation},
		{"no time at all", map[string]string{dialect.EscalationAnnotation: "reboot", dialect.RebootTimeoutAnnotation: "0s"}, time.Minute, health.Escalation{Reboot: true, Patience: time.Minute}, dialect.RebootTimeoutAnnotation},
	} {
		t.Run(c.reason, func(t *testing.T) {
			got, faults := dialect.ReadEscalation(c.says, c.startup)
			if got != c.want || (len(faults) > 0) != (c.fault != "") || c.fault != "" && !strings.Contains(faults[0].Field, c.fault) {
				t.Errorf("%s: %+v, faults %v", c.reason, got, faults)
			}
		})
	}
}

// What is written about a reboot is read again; what is not understood asks for
// nothing.
func TestRebooting(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	m := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "m"}}
	want := lifecycle.Rebooting{
		Request: "2026-01-02T03:04:05Z", Until: at.Add(time.Minute), For: "Ready=Unknown,DiskPressure=True",
		Answered: "2026-01-02T03:04:05Z", State: lifecycle.RebootBegun, At: at.Add(time.Second), Calls: 2, Message: "reset",
	}
	dialect.WriteRebootRequest(m, want, "check")
	dialect.WriteReboot(m, want)
	if got := dialect.ReadRebooting(m); !got.Equal(want) {
		t.Errorf("got %+v", got)
	}
	want.Message = strings.Repeat("é", 1000)
	dialect.WriteReboot(m, want)
	if got := dialect.ReadRebooting(m); len(got.Message) == 0 || len(got.Message) > 400 || !strings.HasPrefix(want.Message, got.Message) {
		t.Errorf("a long message becomes %d bytes", len(got.Message))
	}
	for _, text := range []string{"", "now", `{"at":"soon"}`, `{"at":"2026-01-02T03:04:05+00:00"}`, `{"at":1}`} {
		m.Annotations = map[string]string{dialect.RebootRequestAnnotation: text}
		if got := dialect.ReadRebooting(m); got.Request != "" {
			t.Errorf("%q asks for %q", text, got.Request)
		}
	}
}
