package openshift_test

import (
	"encoding/json"
	"errors"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/randfill"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/api/openshift/healthchecking/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/machine/lenient"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/dialecttest"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/internal/engine/health"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

var statusOfChecks = []string{"status.expectedMachines", "status.currentHealthy", "status.remediationsAllowed", "status.conditions"}

func amounts(a *lenient.Amount, c randfill.Continue) {
	*a = []lenient.Amount{`2`, `"40%"`, `"foo%50"`, `-1`}[c.Intn(4)]
}

func texts(r *rand.Rand, of ...string) string { return of[r.Intn(len(of))] }

func shown(s lenient.MachineHealthCheckStatus) (int, int) {
	return int(ptr.Deref(s.ExpectedMachines, -1)), int(ptr.Deref(s.CurrentHealthy, -1))
}

// unique leaves one condition of a type, as the API server does, in order.
func unique(list []machinev1.Condition) []machinev1.Condition {
	slices.SortFunc(list, func(a, b machinev1.Condition) int { return strings.Compare(string(a.Type), string(b.Type)) })
	return slices.CompactFunc(list, func(a, b machinev1.Condition) bool { return a.Type == b.Type })
}

func TestHealthCheckLaws(t *testing.T) {
	dialecttest.HealthLaws[*lenient.MachineHealthCheck]{
		Dialect: openshift.HealthChecks{},
		Owned:   statusOfChecks,
		Fill:    []any{amounts},
		Prepare: func(c *lenient.MachineHealthCheck, r *rand.Rand) {
			c.Spec.NodeStartupTimeout = ptr.To(texts(r, "0", "10m", "0abc"))
			c.Annotations = map[string]string{dialect.BreakerAnnotation: texts(r, "off", "report", "enforce", "maybe")}
			c.Status.Conditions = unique(c.Status.Conditions)
		},
		Shows: func(c *lenient.MachineHealthCheck) (int, int) { return shown(c.Status) },
	}.Check(t)
}

func TestOldHealthCheckLaws(t *testing.T) {
	dialecttest.HealthLaws[*v1alpha1.MachineHealthCheck]{
		Dialect: openshift.OldHealthChecks{},
		Owned:   statusOfChecks,
		Fill:    []any{amounts},
		Prepare: func(c *v1alpha1.MachineHealthCheck, _ *rand.Rand) { c.Status.Conditions = unique(c.Status.Conditions) },
		Shows:   func(c *v1alpha1.MachineHealthCheck) (int, int) { return shown(c.Status) },
	}.Check(t)
}

// viewed is the check of a spec in JSON, and annotations.
func viewed(t *testing.T, spec string, annotations map[string]string) health.Check {
	t.Helper()
	var c lenient.MachineHealthCheck
	if err := json.Unmarshal([]byte(`{"spec":`+spec+`}`), &c); err != nil {
		t.Fatal(err)
	}
	c.Annotations = annotations
	return openshift.HealthChecks{}.View(&c, dialect.CommonConditions{})
}

func TestViewHealthCheck(t *testing.T) {
	for _, c := range []struct {
		reason, spec string
		annotations  map[string]string
		holds        func(health.Check) bool
		faults       []string
	}{
		{"1.3: nodeStartupTimeout nil ⇒ 10m, maxUnhealthy nil ⇒ 100%", `{}`, nil, func(c health.Check) bool {
			return c.StartupTimeout == 10*time.Minute && c.MaxUnhealthy.Of(7) == 7 && c.Remediation == health.Delete && !c.Paused && c.Breaker == health.DefaultBreaker()
		}, nil},
		{"1.3: unhealthyConditions[] {type, status, timeout}", `{"unhealthyConditions":[{"type":"Ready","status":"Unknown","timeout":"300s"}]}`, nil, func(c health.Check) bool {
			return slices.Equal(c.Conditions, []health.Condition{{Type: "Ready", Status: "Unknown", Timeout: 5 * time.Minute}})
		}, nil},
		{"4.3: nodeStartupTimeout 0 disables", `{"nodeStartupTimeout":"0"}`, nil, func(c health.Check) bool { return c.StartupTimeout == 0 }, nil},
		{"C22: garbage remedies nobody", `{"nodeStartupTimeout":"0abc"}`, nil, func(c health.Check) bool { return c.StartupTimeout == 0 }, []string{"spec.nodeStartupTimeout"}},
		{"C22: a timeout that does not fit, and one that does", `{"unhealthyConditions":[{"type":"A","status":"True","timeout":"99999999999h"},{"type":"B","status":"True","timeout":"1m"}]}`, nil, func(c health.Check) bool {
			return len(c.Conditions) == 1 && c.Conditions[0].Type == "B"
		}, []string{"spec.unhealthyConditions[0].timeout"}},
		{"4.4: maxUnhealthy foo%50: error", `{"maxUnhealthy":"foo%50"}`, nil, func(health.Check) bool { return true }, []string{"spec.maxUnhealthy"}},
		{"1.3: nodeStartupTimeout 15m", `{"nodeStartupTimeout":"15m"}`, nil, func(c health.Check) bool { return c.StartupTimeout == 15*time.Minute }, nil},
		{"4.7: Terminating/True/0s", `{"unhealthyConditions":[{"type":"Terminating","status":"True","timeout":"0s"}],"nodeStartupTimeout":"0","maxUnhealthy":"100%"}`, nil, func(c health.Check) bool {
			return slices.Equal(c.Conditions, []health.Condition{{Type: "Terminating", Status: "True"}}) && c.StartupTimeout == 0 && c.MaxUnhealthy.Of(9) == 9
		}, nil},
		{"4.4: maxUnhealthy 40% of 5 = 2", `{"maxUnhealthy":"40%"}`, nil, func(c health.Check) bool { return c.MaxUnhealthy.Of(5) == 2 }, nil},
		{"4.4: maxUnhealthy: Int ⇒ as is", `{"maxUnhealthy":2}`, nil, func(c health.Check) bool { return c.MaxUnhealthy.Of(5) == 2 }, nil},
		{"1.5: paused, whatever the value", `{}`, map[string]string{"cluster.x-k8s.io/paused": "false"}, func(c health.Check) bool { return c.Paused }, nil},
		{"4.5.1: marks", `{}`, map[string]string{"machine.openshift.io/remediation-strategy": "external-baremetal"}, func(c health.Check) bool { return c.Remediation == health.Mark }, nil},
		{"4.5.1: another strategy deletes", `{}`, map[string]string{"machine.openshift.io/remediation-strategy": "reboot"}, func(c health.Check) bool { return c.Remediation == health.Delete }, nil},
		{"4.6: a template comes first", `{"remediationTemplate":{"name":"t"}}`, map[string]string{"machine.openshift.io/remediation-strategy": "external-baremetal"}, func(c health.Check) bool { return c.Remediation == health.Request }, nil},
		{"a bad selector", `{"selector":{"matchExpressions":[{"key":"a","operator":"Near"}]}}`, nil, func(health.Check) bool { return true }, []string{"spec.selector"}},
		{"the breaker", `{}`, map[string]string{
			dialect.BreakerAnnotation: "enforce", dialect.RateAnnotation: "5", dialect.StormShareAnnotation: "70%", dialect.CooldownAnnotation: "1h", dialect.BackoffAnnotation: "0s",
		}, func(c health.Check) bool {
			b := c.Breaker
			return b.Mode == health.Enforce && b.Rate.Of(100) == 5 && b.StormShare == 70 && b.Cooldown == time.Hour && b.Backoff == 0
		}, nil},
		{"a breaker that cannot be read is the default", `{}`, map[string]string{
			dialect.BreakerAnnotation: "yes", dialect.RateAnnotation: "many", dialect.StormShareAnnotation: "0%", dialect.CooldownAnnotation: "-1m", dialect.BackoffAnnotation: "1",
		}, func(c health.Check) bool { return c.Breaker == health.DefaultBreaker() }, []string{
			"metadata.annotations[" + dialect.BreakerAnnotation + "]", "metadata.annotations[" + dialect.RateAnnotation + "]", "metadata.annotations[" + dialect.StormShareAnnotation + "]",
			"metadata.annotations[" + dialect.CooldownAnnotation + "]", "metadata.annotations[" + dialect.BackoffAnnotation + "]",
		}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			got := viewed(t, c.spec, c.annotations)
			var faults []string
			for _, f := range got.Faults {
				faults = append(faults, f.Field)
			}
			if !c.holds(got) || !slices.Equal(faults, c.faults) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestHealthSelectors(t *testing.T) {
	bad := metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}
	some := metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	for _, c := range []struct {
		reason   string
		selector metav1.LabelSelector
		old, now bool
	}{
		{"1.3: an empty one is all; 1.7: in the old API none", metav1.LabelSelector{}, false, true},
		{"a bad one is none", bad, false, false},
		{"by label", some, true, true},
	} {
		t.Run(c.reason, func(t *testing.T) {
			var is lenient.MachineHealthCheck
			var was v1alpha1.MachineHealthCheck
			is.Spec.Selector, was.Spec.Selector = c.selector, c.selector
			m := labels.Set{"a": "b"}
			if old, now := (openshift.OldHealthChecks{}).Selector(&was).Matches(m), (openshift.HealthChecks{}).Selector(&is).Matches(m); old != c.old || now != c.now {
				t.Errorf("%s: old %v, now %v", c.reason, old, now)
			}
		})
	}
}

// The manifests of the source documents, as they stand.
const (
	seedCheck = `
apiVersion: healthchecking.openshift.io/v1alpha1
kind: MachineHealthCheck
metadata:
  name: example
  namespace: default
spec:
  selector:
    matchLabels:
      machine.openshift.io/cluster-api-cluster: cluster
      machine.openshift.io/cluster-api-machine-role: worker
      machine.openshift.io/cluster-api-machine-type: worker
      machine.openshift.io/cluster-api-machineset: cluster-worker-us-east-1a
`
	seedConditions = `
apiVersion: v1
kind: ConfigMap
metadata:
  name: node-unhealthy-conditions
  namespace: openshift-machine-api
data:
  conditions: |
    items:
    - name: NetworkUnavailable 
      timeout: 5m
      status: True
`
)

func TestSeedManifests(t *testing.T) {
	var c v1alpha1.MachineHealthCheck
	var cm corev1.ConfigMap
	if err := errors.Join(yaml.UnmarshalStrict([]byte(seedCheck), &c), yaml.UnmarshalStrict([]byte(seedConditions), &cm)); err != nil {
		t.Fatal(err)
	}
	lens := openshift.OldHealthChecks{}
	if !lens.Selector(&c).Matches(labels.Set(c.Spec.Selector.MatchLabels)) {
		t.Error("1.7: the set's machines are not selected")
	}
	got := lens.View(&c, openshift.ParseConditions(nil))
	want := []health.Condition{{Type: "Ready", Status: "Unknown", Timeout: 5 * time.Minute}, {Type: "Ready", Status: "False", Timeout: 5 * time.Minute}}
	if d := cmp.Diff(want, got.Conditions); d != "" || len(got.Faults) > 0 {
		t.Errorf("1.7: without the ConfigMap: %s %v", d, got.Faults)
	}
	if !got.NodesOnly || !got.SparesControlPlane || got.OwnerKind != "MachineSet" || got.Remediation != health.Delete || got.MaxUnhealthy.Of(3) != 3 {
		t.Errorf("1.7: %+v", got)
	}
	got = lens.View(&c, openshift.ParseConditions(&cm))
	want = []health.Condition{{Type: "NetworkUnavailable", Status: "True", Timeout: 5 * time.Minute}}
	if d := cmp.Diff(want, got.Conditions); d != "" || len(got.Faults) > 0 {
		t.Errorf("1.7: with the ConfigMap: %s %v", d, got.Faults)
	}
	c.Spec.UnhealthyConditions = []lenient.UnhealthyCondition{{Type: "Ready", Status: "False", Timeout: "1m"}}
	c.Spec.RemediationStrategy = ptr.To("reboot")
	if got = lens.View(&c, openshift.ParseConditions(&cm)); len(got.Conditions) != 1 || got.Conditions[0].Type != "Ready" || got.Remediation != health.Reboot {
		t.Errorf("1.7: its own conditions and strategy: %+v", got)
	}
	c.Spec.RemediationStrategy = nil
	c.Annotations = map[string]string{openshift.OldStrategyAnnotation: "reboot"}
	if got = lens.View(&c, dialect.CommonConditions{}); got.Remediation != health.Reboot {
		t.Errorf("1.7: the strategy as an annotation: %s", got.Remediation)
	}
}

func TestParseConditions(t *testing.T) {
	cm := func(text string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "cm"}, Data: map[string]string{"conditions": text}}
	}
	for _, c := range []struct {
		reason string
		cm     *corev1.ConfigMap
		want   []string
		faults []string
	}{
		{"status as text", cm("items:\n- {name: A, status: \"Unknown\", timeout: 1m}"), []string{"A=Unknown"}, nil},
		{"status as YAML has it", cm("items:\n- {name: A, status: false, timeout: 1m}"), []string{"A=False"}, nil},
		{"no entries", cm("items: []"), nil, nil},
		{"no key", &corev1.ConfigMap{}, nil, []string{"configmap /: data.conditions"}},
		{"no YAML", cm(":\n- ]"), nil, []string{"configmap ns/cm: data.conditions"}},
		{"one bad entry of two", cm("items:\n- {name: A, status: maybe, timeout: 1m}\n- {name: B, status: True, timeout: 1m}"), []string{"B=True"}, []string{"configmap ns/cm: data.conditions.items[0].status"}},
		{"a list for a status", cm("items:\n- {name: A, status: [1], timeout: 1m}"), nil, []string{"configmap ns/cm: data.conditions.items[0].status"}},
		{"no name", cm("items:\n- {status: True, timeout: 1m}"), nil, []string{"configmap ns/cm: data.conditions.items[0].name"}},
		{"no duration", cm("items:\n- {name: A, status: True, timeout: soon}"), nil, []string{"configmap ns/cm: data.conditions.items[0].timeout"}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			got := openshift.ParseConditions(c.cm)
			var have, faults []string
			for _, k := range got.Conditions {
				have = append(have, k.Type+"="+k.Status)
			}
			for _, f := range got.Faults {
				faults = append(faults, f.Field)
			}
			if !slices.Equal(have, c.want) || !slices.Equal(faults, c.faults) {
				t.Errorf("%s: %v, %v", c.reason, have, got.Faults)
			}
		})
	}
}

func TestRecordHealth(t *testing.T) {
	now := metav1.NewTime(dialecttest.Now)
	limit, _ := health.ParseLimit("40%")
	check := health.Check{MaxUnhealthy: limit, Breaker: health.DefaultBreaker()}
	invalid := check
	invalid.Faults = []lifecycle.Fault{{Field: "spec.maxUnhealthy", Message: "must be good"}, {Field: "spec.selector", Message: "must be kind"}}
	enforcing, off := check, check
	enforcing.Breaker.Mode, off.Breaker.Mode = health.Enforce, health.Off
	storms := []health.Storm{{Group: health.Group{Kind: health.Zone, Name: "a"}}}
	held := []health.Case{{Hold: "wait"}}
	is := func(kind, status, severity, reason, message string) machinev1.Condition {
		return machinev1.Condition{Type: machinev1.ConditionType(kind), Status: corev1.ConditionStatus(status), Severity: machinev1.ConditionSeverity(severity), Reason: reason, Message: message, LastTransitionTime: now}
	}
	well, calm := is("RemediationAllowed", "True", "", "", ""), is("Calm", "True", "", "", "all is well")
	for _, c := range []struct {
		reason string
		was    []machinev1.Condition
		o      dialect.HealthOutcome
		want   []machinev1.Condition
	}{
		{"1.6: allowed", nil, dialect.HealthOutcome{Check: check, Plan: health.Plan{Allowed: true, Expected: 3, Sentence: "all is well"}}, []machinev1.Condition{calm, well}},
		{"ours: nothing is selected", nil, dialect.HealthOutcome{Check: check, Plan: health.Plan{Allowed: true, Sentence: "0 of 0 machines are unhealthy"}}, []machinev1.Condition{
			is("Calm", "True", "", "NoMachines", "no machine matches the selector: nothing is watched"), well,
		}},
		{"1.6: too many", nil, dialect.HealthOutcome{Check: off, Plan: health.Plan{Expected: 5, Healthy: 2, Restricts: true}}, []machinev1.Condition{
			is("RemediationAllowed", "False", "Warning", "TooManyUnhealthy", "Remediation is not allowed, the number of not started or unhealthy machines exceeds maxUnhealthy (total: 5, unhealthy: 3, maxUnhealthy: 40%)"),
		}},
		{"4.4: cannot be read", nil, dialect.HealthOutcome{Check: invalid, Plan: health.Plan{Sentence: "all is well"}}, []machinev1.Condition{
			calm, is("RemediationAllowed", "False", "Warning", "InvalidSpec", "Remediation is not allowed: spec.maxUnhealthy must be good"),
			is("Valid", "False", "Warning", "InvalidSpec", "spec.maxUnhealthy must be good; spec.selector must be kind"),
		}},
		{"C22: mended", []machinev1.Condition{is("Valid", "False", "Warning", "InvalidSpec", "bad")}, dialect.HealthOutcome{Check: check, Plan: health.Plan{Allowed: true, Expected: 3, Sentence: "all is well"}}, []machinev1.Condition{calm, well, is("Valid", "True", "", "", "")}},
		{"a storm, reported", nil, dialect.HealthOutcome{Check: check, Plan: health.Plan{Allowed: true, Storms: storms, Sentence: "wind"}}, []machinev1.Condition{is("Calm", "False", "Info", "Storm", "wind"), well}},
		{"a storm, enforced", nil, dialect.HealthOutcome{Check: enforcing, Plan: health.Plan{Allowed: true, Storms: storms, Sentence: "wind"}}, []machinev1.Condition{is("Calm", "False", "Warning", "Storm", "wind"), well}},
		{"held by the rate", nil, dialect.HealthOutcome{Check: check, Plan: health.Plan{Allowed: true, Cases: held, Sentence: "slow"}}, []machinev1.Condition{is("Calm", "False", "Info", "Held", "slow"), well}},
		{"seen only since a moment ago, and something waits for that", nil, dialect.HealthOutcome{Check: off, Plan: health.Plan{Allowed: true, Doubt: "dim", Sentence: "dim"}}, []machinev1.Condition{is("Calm", "False", "Warning", "Blind", "dim"), well}},
		{"blind, though the breaker is off", nil, dialect.HealthOutcome{Check: off, Plan: health.Plan{Allowed: true, Blind: "dark", Sentence: "dark"}}, []machinev1.Condition{is("Calm", "False", "Warning", "Blind", "dark"), well}},
		{"the breaker was turned off", []machinev1.Condition{calm}, dialect.HealthOutcome{Check: off, Plan: health.Plan{Allowed: true}}, []machinev1.Condition{well}},
		{"C11: no template, and no request", nil, dialect.HealthOutcome{Check: off, Plan: health.Plan{Allowed: true}, Requested: true, TemplateErr: errors.New("gone"), RequestErr: errors.New("refused")}, []machinev1.Condition{
			is("ExternalRemediationRequestAvailable", "False", "Error", "ExternalRemediationRequestCreationFailed", "refused"),
			is("ExternalRemediationTemplateAvailable", "False", "Error", "ExternalRemediationTemplateNotFound", "gone"), well,
		}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			o := &lenient.MachineHealthCheck{Status: lenient.MachineHealthCheckStatus{Conditions: c.was}}
			c.o.Now = dialecttest.Now.Add(time.Millisecond)
			openshift.HealthChecks{}.Record(o, c.o)
			if d := cmp.Diff(c.want, o.Status.Conditions); d != "" {
				t.Errorf("%s:\n%s", c.reason, d)
			}
		})
	}
}

func TestPatient(t *testing.T) {
	at := func(d time.Duration) metav1.Time { return metav1.NewTime(dialecttest.Now.Add(d)) }
	m := &machinev1.Machine{ObjectMeta: metav1.ObjectMeta{
		UID: "u", Namespace: "ns", Name: "m", CreationTimestamp: at(0), DeletionTimestamp: ptr.To(at(time.Hour)),
		Labels:          map[string]string{"machine.openshift.io/zone": "a"},
		Annotations:     map[string]string{"host.metal3.io/external-remediation": "", dialect.SkipRemediationAnnotation: "", dialect.HealthTimeoutAnnotation: "10m", dialect.CreationTimeoutAnnotation: "soon", dialect.NodeConditionsAnnotation: "A, B,"},
		OwnerReferences: []metav1.OwnerReference{{Kind: "Other", UID: "x"}, {Kind: "MachineSet", Name: "set", UID: "s", Controller: ptr.To(true)}},
	}}
	m.Status.Phase, m.Status.LastUpdated, m.Status.NodeRef = ptr.To("Failed"), ptr.To(at(time.Minute)), &corev1.ObjectReference{Name: "n"}
	m.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: []byte(`{"image":"a"}`)}
	n := &health.Node{Name: "n"}
	got := openshift.Patients{}.Patient(m, n)
	want := health.Target{
		UID: "u", Namespace: "ns", Name: "m", Created: dialecttest.Now, Updated: dialecttest.Now.Add(time.Minute),
		Owner: health.Owner{UID: "s", Kind: "MachineSet", Name: "set"}, Failed: true, Deleting: true, Marked: true, Skip: true,
		Template: got.Template, Zone: "a", NodeName: "n", Node: n, Own: health.Own{Health: ptr.To(10 * time.Minute), Conditions: []string{"A", "B"}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	m.Spec.ProviderSpec.Value.Raw = []byte(`{"image":"b"}`)
	if other := (openshift.Patients{}).Patient(m, n).Template; other == got.Template || !strings.HasSuffix(other, " of set") {
		t.Errorf("the templates are %q and %q", got.Template, other)
	}
	fresh := &machinev1.Machine{}
	if got := (openshift.Patients{}).Patient(fresh, nil); got.NodeName != "" || got.Marked || got.Failed || got.Owner != (health.Owner{}) || !got.Updated.IsZero() {
		t.Errorf("a new machine: %+v", got)
	}
	openshift.Patients{}.Mark(fresh)
	if !(openshift.Patients{}).Patient(fresh, nil).Marked {
		t.Error("4.5.1: is not marked")
	}
}
