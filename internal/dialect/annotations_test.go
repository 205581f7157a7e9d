package dialect_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	machinev1 "github.com/openshift/api/machine/v1beta1"

	"github.com/millwright-dev/millwright/api/millwright"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/health"
)

// values are what people write, and what they should not.
var values = []string{
	"", "0", "1", "-1", "3", "007", "2147483647", "2147483648", "99999999999999999999", "10%", "0%", "-5%", "100%", "101%", "%", "1.5%", "0s", "20m", "-1s", "1h30m", "20",
	"true", "false", "False", "never", "Never", "stop", "rollback", "report", "enforce", "off", "reboot", "none", " stop",
}

type reporter interface {
	Helper()
	Errorf(format string, args ...any)
}

// TestReaderAgrees: what the reader of api/millwright makes of a value is what the lenses make of it, so that what it says to
// people and programs is so.
func TestReaderAgrees(t *testing.T) {
	for _, k := range millwright.Keys() {
		for _, v := range values {
			agree(t, map[string]string{k.Name: v})
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(rapid.SampledFrom(values), rapid.StringMatching(`-?[0-9]{1,3}(s|m|h|%)?`))
		annotations := map[string]string{}
		for _, k := range millwright.Keys() {
			if rapid.Bool().Draw(t, "has "+k.Name) {
				annotations[k.Name] = value.Draw(t, k.Name)
			}
		}
		agree(t, annotations)
	})
}

func agree(t reporter, annotations map[string]string) {
	t.Helper()
	agreeOnRollouts(t, annotations)
	agreeOnChecks(t, annotations)
	agreeOnMachines(t, annotations)
}

func agreeOnRollouts(t reporter, annotations map[string]string) {
	r := millwright.Read(annotations)
	got, faults := dialect.ReadGuard(annotations)
	failures, _ := r.Count(millwright.RolloutMaxFailures)
	within, _ := r.Duration(millwright.RolloutReadyWithin)
	word, _ := r.Word(millwright.RolloutOnFailure)
	canary, some := r.CountOrPercentage(millwright.RolloutCanary)
	soak, _ := r.Duration(millwright.RolloutCanarySoak)
	approved, _ := r.Count(millwright.RolloutApproved)
	same(t, "rollout-max-failures", got.MaxFailures, failures)
	same(t, "rollout-ready-within", got.ReadyWithin, within)
	same(t, "rollout-on-failure", got.RollBack, word == "rollback")
	same(t, "rollout-canary", got.Canary != nil, some)
	if some {
		same(t, "rollout-canary", *got.Canary, canary)
	}
	same(t, "rollout-canary-soak", got.Soak, soak)
	same(t, "rollout-approved", got.Approved, int64(approved))
	same(t, "rollout-estimate", got.Estimate, r.On(millwright.RolloutEstimate))
	read := r.Faults()
	same(t, "faults", len(faults), len(read))
	for i, f := range faults {
		same(t, "fault", millwright.Fault{Field: f.Field, Message: f.Message}, read[i])
	}
}

func agreeOnChecks(t reporter, annotations map[string]string) {
	r := millwright.Read(annotations)
	got, _ := dialect.ReadBreaker(annotations)
	want := health.DefaultBreaker()
	if word, ok := r.Word(millwright.RemediationBreaker); ok {
		want.Mode = health.Mode(word)
	}
	if n, ok := r.Percentage(millwright.RemediationStormShare); ok {
		want.StormShare = n
	}
	if d, ok := r.Duration(millwright.RemediationCooldown); ok {
		want.Cooldown = d
	}
	if d, ok := r.Duration(millwright.RemediationBackoff); ok {
		want.Backoff = d
	}
	same(t, "remediation-breaker", got.Mode, want.Mode)
	same(t, "remediation-storm-share", got.StormShare, want.StormShare)
	same(t, "remediation-cooldown", got.Cooldown, want.Cooldown)
	same(t, "remediation-backoff", got.Backoff, want.Backoff)

	e, _ := dialect.ReadEscalation(annotations, time.Minute)
	word, _ := r.Word(millwright.Escalation)
	patience, ok := r.Duration(millwright.RebootTimeout)
	if !ok {
		patience = time.Minute
	}
	same(t, "escalation", e.Reboot, word == "reboot")
	same(t, "reboot-timeout", e.Patience, patience)
}

func agreeOnMachines(t reporter, annotations map[string]string) {
	r := millwright.Read(annotations)
	own := dialect.ReadOwn(annotations)
	for key, got := range map[string]*time.Duration{millwright.CreationTimeout: own.Startup, millwright.HealthTimeout: own.Health} {
		d, ok := r.Duration(key)
		same(t, key, got != nil, ok)
		if ok {
			same(t, key, *got, d)
		}
	}
	same(t, "node-conditions", len(own.Conditions), len(r.List(millwright.NodeConditions)))
	same(t, "skip-remediation", dialect.Asked(annotations, millwright.SkipRemediation), r.On(millwright.SkipRemediation))

	wish := dialect.DrainWishOf(&machinev1.Machine{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}})
	word, _ := r.Word(millwright.DrainTimeout)
	same(t, "drain-timeout", wish.NeverForce, word == "never")
	if word == "" {
		d, _ := r.Duration(millwright.DrainTimeout)
		same(t, "drain-timeout", wish.Timeout, d)
	}
	lead, _ := r.Duration(millwright.CordonLead)
	same(t, "cordon-lead", wish.CordonLead, lead)
}

func same[T comparable](t reporter, what string, lens, reader T) {
	t.Helper()
	if lens != reader {
		t.Errorf("%s: the lens reads %v, the reader %v", what, lens, reader)
	}
}
