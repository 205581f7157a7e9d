package dialect_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/api/millwright"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/health"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// TestReadBreaker pins the message about an invalid value, and that the default applies then.
func TestReadBreaker(t *testing.T) {
	rate := func(text string) func(*health.Breaker) {
		return func(b *health.Breaker) { b.Rate, _ = health.ParseLimit(text) }
	}
	tests := []struct {
		reason, key, value string
		want               func(*health.Breaker)
		message            string
	}{
		{"a mode", dialect.BreakerAnnotation, "enforce", func(b *health.Breaker) { b.Mode = health.Enforce }, ""},
		{"no mode", dialect.BreakerAnnotation, "stop", nil, `must be "report", "enforce" or "off", is "stop"`},
		{"a number", dialect.RateAnnotation, "5", rate("5"), ""},
		{"a share", dialect.RateAnnotation, "30%", rate("30%"), ""},
		{"a rate is read as maxUnhealthy is, and that takes what is below zero for zero", dialect.RateAnnotation, "-1", rate("0"), ""},
		{"neither", dialect.RateAnnotation, "few", nil, `must be a number of machines or a percentage like "20%", is "few"`},
		{"empty", dialect.RateAnnotation, "", nil, `must be a number of machines or a percentage like "20%", is ""`},
		{"a share of the sick", dialect.StormShareAnnotation, "40%", func(b *health.Breaker) { b.StormShare = 40 }, ""},
		{"nobody is no storm", dialect.StormShareAnnotation, "0%", nil, `must be a percentage from "1%" to "100%", is "0%"`},
		{"a span", dialect.CooldownAnnotation, "1h", func(b *health.Breaker) { b.Cooldown = time.Hour }, ""},
		{"no rest is a choice", dialect.CooldownAnnotation, "0s", func(b *health.Breaker) { b.Cooldown = 0 }, ""},
		{"the past", dialect.CooldownAnnotation, "-1m", nil, `must be a duration like "10m", is "-1m"`},
		{"another span", dialect.BackoffAnnotation, "2m", func(b *health.Breaker) { b.Backoff = 2 * time.Minute }, ""},
		{"no unit", dialect.BackoffAnnotation, "2", nil, `must be a duration like "1m", is "2"`},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			want, faults := health.DefaultBreaker(), []lifecycle.Fault(nil)
			if tt.want != nil {
				tt.want(&want)
			}
			if tt.message != "" {
				faults = []lifecycle.Fault{{Field: "metadata.annotations[" + tt.key + "]", Message: tt.message}}
			}
			got, found := dialect.ReadBreaker(map[string]string{tt.key: tt.value})
			if got.Rate.Of(100) == want.Rate.Of(100) {
				got.Rate = want.Rate // it keeps the text, too
			}
			if got != want {
				t.Errorf("%s: %s=%q reads as %+v", tt.reason, tt.key, tt.value, got)
			}
			if diff := cmp.Diff(faults, found); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}

func TestReadOwn(t *testing.T) {
	tests := []struct {
		reason      string
		annotations map[string]string
		want        health.Own
	}{
		{"nothing", nil, health.Own{}},
		{"both, and conditions", map[string]string{
			millwright.CreationTimeout: "20m", millwright.HealthTimeout: "10m", millwright.NodeConditions: "A, B,",
		}, health.Own{Startup: ptr.To(20 * time.Minute), Health: ptr.To(10 * time.Minute), Conditions: []string{"A", "B"}}},
		{"no time at all is no timeout", map[string]string{millwright.HealthTimeout: "0s"}, health.Own{}},
		{"what cannot be read is passed over", map[string]string{millwright.CreationTimeout: "soon"}, health.Own{}},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, dialect.ReadOwn(tt.annotations)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}
