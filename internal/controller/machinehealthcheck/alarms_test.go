package machinehealthcheck

import (
	"context"
	"errors"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardenerv1 "github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/healthchecking/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/machine/lenient"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/gardener"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/internal/engine/health"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
	"github.com/millwright-dev/millwright/provider"
)

// bothKinds are the kinds of checks there are.
var bothKinds = []Kind{
	KindOf[*lenient.MachineHealthCheck](openshift.HealthChecks{}), KindOf[*v1alpha1.MachineHealthCheck](openshift.OldHealthChecks{}),
}

// alarmsIn reads what the given checks say; refuses is what their lists fail by.
func alarmsIn(t *testing.T, refuses func(client.ObjectList) error, checks ...client.Object) (forOpenShift, forGardener *Alarms) {
	t.Helper()
	s := runtime.NewScheme()
	if err := errors.Join(lenient.AddToScheme(s), v1alpha1.AddToScheme(s)); err != nil {
		t.Fatal(err)
	}
	from := fake.NewClientBuilder().WithScheme(s).WithObjects(checks...).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
			if refuses != nil {
				if err := refuses(l); err != nil {
					return err
				}
			}
			return c.List(ctx, l, opts...)
		},
	}).Build()
	return &Alarms{
			Client: from, Checks: bothKinds, Patients: openshift.Patients{}, Default: true,
			Sample: func(o client.Object) client.Object {
				return openshift.Sets{}.NewMachine(o.(*machinev1.MachineSet), "sample")
			},
		}, &Alarms{
			Client: from, Checks: bothKinds, Patients: gardener.Patients{},
			Sample: func(o client.Object) client.Object {
				return gardener.Sets{}.NewMachine(o.(*gardenerv1.MachineSet), "sample")
			},
		}
}

// badSet is a set whose machines are of the template that the checks of these
// tests find in a storm.
func badSet() *machinev1.MachineSet {
	s := &machinev1.MachineSet{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "new", UID: "new"}}
	s.Spec.Template.Labels = map[string]string{"role": "worker"}
	s.Spec.Template.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: []byte(`{"image":"bad"}`)}
	return s
}

// badTemplate is how a check names the template of [badSet]: by a machine of it.
func badTemplate() string {
	return openshift.Patients{}.Patient(openshift.Sets{}.NewMachine(badSet(), "new-x7k"), nil).Template
}

type edit = func(client.Object)

func annotated(key, value string) edit {
	return func(o client.Object) { dialect.SetAnnotation(o, key, value) }
}

func inStorm(s ...health.Storm) edit {
	return func(o client.Object) { dialect.WriteMemory(o, health.Memory{Storms: s}) }
}

func storming(template string) health.Storm {
	return health.Storm{Group: health.Group{Kind: health.Template, Name: template}, Sick: 3, Total: 4}
}

// checkNamed is a check of workers that enforces.
func checkNamed(name string, edits ...edit) client.Object {
	c := checkOf(func(c *lenient.MachineHealthCheck) { c.Name = name })
	dialect.SetAnnotation(c, dialect.BreakerAnnotation, "enforce")
	for _, e := range edits {
		e(c)
	}
	return c
}

func oldCheck(edits ...edit) client.Object {
	c := &v1alpha1.MachineHealthCheck{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "ancient"}}
	c.Spec.Selector.MatchLabels = map[string]string{"role": "worker"}
	dialect.SetAnnotation(c, dialect.BreakerAnnotation, "enforce")
	for _, e := range edits {
		e(c)
	}
	return c
}

func TestAlarmsOfSets(t *testing.T) {
	bad := badTemplate()
	raging := inStorm(storming(bad))
	over := storming(bad)
	over.Over = begin.Add(-4 * time.Minute)
	elsewhere := func(o client.Object) { o.SetNamespace("elsewhere") }
	others := func(o client.Object) {
		o.(*lenient.MachineHealthCheck).Spec.Selector.MatchLabels = map[string]string{"role": "gpu"}
	}
	const numbers = ": 3 of 4 machines of template "
	tests := map[string]struct {
		reason string
		checks []client.Object
		state  rollout.AlarmState
		text   string
	}{
		"no check":        {"nothing", nil, rollout.AlarmNone, ""},
		"calm":            {"nothing", []client.Object{checkNamed("c")}, rollout.AlarmNone, ""},
		"a storm":         {"it stops", []client.Object{checkNamed("c", raging)}, rollout.AlarmStops, "health check c" + numbers + bad + " became unhealthy"},
		"of the old kind": {"as well", []client.Object{oldCheck(raging)}, rollout.AlarmStops, "health check ancient" + numbers + bad + " became unhealthy"},
		"reported": {
			"is told",
			[]client.Object{checkNamed("c", raging, annotated(dialect.BreakerAnnotation, "report"))},
			rollout.AlarmTold,
			"health check c" + numbers + bad + " became unhealthy, which its breaker only reports",
		},
		"by default": {
			"it is only reported",
			[]client.Object{checkNamed("c", raging, annotated(dialect.BreakerAnnotation, ""))},
			rollout.AlarmTold,
			"health check c" + numbers + bad + " became unhealthy, which its breaker only reports",
		},
		"a mode that cannot be read": {
			"is not one that enforces",
			[]client.Object{checkNamed("c", raging, annotated(dialect.BreakerAnnotation, "enforced"))},
			rollout.AlarmTold,
			"health check c" + numbers + bad + " became unhealthy, which its breaker only reports",
		},
		"a memory that cannot be read": {"is none", []client.Object{checkNamed("c", annotated(dialect.RemediationsAnnotation, "{"))}, rollout.AlarmNone, ""},
		"off":                          {"whatever is left of before", []client.Object{checkNamed("c", raging, annotated(dialect.BreakerAnnotation, "off"))}, rollout.AlarmNone, ""},
		"paused":                       {"nobody looks", []client.Object{checkNamed("c", raging, annotated(openshift.PausedAnnotation, "x"))}, rollout.AlarmNone, ""},
		"cooling down": {
			"it waits",
			[]client.Object{checkNamed("c", inStorm(over))},
			rollout.AlarmWaits,
			"health check c: template " + bad + " is left alone until 2026-11-21T12:06:00Z, after a storm",
		},
		"cooled down": {
			"though the check did not get to say so", []client.Object{checkNamed("c", inStorm(over), annotated(dialect.CooldownAnnotation, "4m"))}, rollout.AlarmNone, "",
		},
		"of another template":      {"is none of it", []client.Object{checkNamed("c", inStorm(storming("other")))}, rollout.AlarmNone, ""},
		"in another namespace":     {"is about other machines", []client.Object{checkNamed("c", raging, elsewhere)}, rollout.AlarmNone, ""},
		"of machines not selected": {"is about others", []client.Object{checkNamed("c", raging, others)}, rollout.AlarmNone, ""},
		"of machines of another API": {
			"is about others", []client.Object{checkNamed("c", raging, annotated(dialect.MachineAPIAnnotation, provider.Gardener))}, rollout.AlarmNone, "",
		},
		"of this API by name": {
			"is about these",
			[]client.Object{checkNamed("c", raging, annotated(dialect.MachineAPIAnnotation, provider.OpenShift))},
			rollout.AlarmStops,
			"health check c" + numbers + bad + " became unhealthy",
		},
		"two": {
			"the first by name of equals",
			[]client.Object{checkNamed("d", raging), checkNamed("c", raging)},
			rollout.AlarmStops,
			"health check c" + numbers + bad + " became unhealthy",
		},
		"one reports, one waits": {
			"the graver",
			[]client.Object{checkNamed("c", raging, annotated(dialect.BreakerAnnotation, "report")), checkNamed("d", inStorm(over))},
			rollout.AlarmWaits, "health check d: template " + bad + " is left alone until 2026-11-21T12:06:00Z, after a storm",
		},
		"one waits, one stops": {
			"the graver", []client.Object{checkNamed("c", inStorm(over)), checkNamed("d", raging)}, rollout.AlarmStops, "health check d" + numbers + bad + " became unhealthy",
		},
		"two wait": {
			"the one that lasts longer",
			[]client.Object{checkNamed("c", inStorm(over)), checkNamed("d", inStorm(over), annotated(dialect.CooldownAnnotation, "20m"))},
			rollout.AlarmWaits, "health check d: template " + bad + " is left alone until 2026-11-21T12:16:00Z, after a storm",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			a, _ := alarmsIn(t, nil, tc.checks...)
			got := a.Look(t.Context(), begin, ns)(badSet())
			if got.State != tc.state || got.Text != tc.text {
				t.Errorf("says %q %q, want %q %q: %s", got.State, got.Text, tc.state, tc.text, tc.reason)
			}
			if (got.Template == bad) != (tc.state != rollout.AlarmNone) || got.Until.IsZero() == (tc.state == rollout.AlarmWaits) {
				t.Errorf("says %+v: %s", got, tc.reason)
			}
		})
	}
}

// A check of the one API may look after machines of the other, whose template is
// their class.
func TestAlarmsOfSetsAcrossAPIs(t *testing.T) {
	s := &gardenerv1.MachineSet{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "new"}}
	s.Spec.Template.Labels = map[string]string{"role": "worker"}
	s.Spec.Template.Spec.Class.Name = "bad"
	raging := inStorm(storming("bad"))
	_, a := alarmsIn(t, nil, checkNamed("own", raging), checkNamed("theirs", raging, annotated(dialect.MachineAPIAnnotation, provider.Gardener)))
	if got := a.Look(t.Context(), begin, ns)(s); got.State != rollout.AlarmStops || got.Text != "health check theirs: 3 of 4 machines of template bad became unhealthy" {
		t.Errorf("says %+v", got)
	}
	s.Spec.Template.Spec.Class.Name = "good"
	if got := a.Look(t.Context(), begin, ns)(s); got != (rollout.Alarm{}) {
		t.Errorf("of another class it says %+v", got)
	}
}

// A kind that is not there says nothing. A list that fails is no all-clear, and
// what the other kind says counts all the same.
func TestAlarmsThatCannotBeRead(t *testing.T) {
	raging := inStorm(storming(badTemplate()))
	missing := &meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "MachineHealthCheck"}}
	down := errors.New("the cache is not there")
	tests := map[string]struct {
		err    error
		checks []client.Object
		want   rollout.AlarmState
	}{
		"not installed":                  {missing, nil, rollout.AlarmNone},
		"failed":                         {down, nil, rollout.AlarmUnsure},
		"not installed, the other does":  {missing, []client.Object{checkNamed("c", raging)}, rollout.AlarmStops},
		"failed, the other stops":        {down, []client.Object{checkNamed("c", raging)}, rollout.AlarmStops},
		"failed, the other reports":      {down, []client.Object{checkNamed("c", raging, annotated(dialect.BreakerAnnotation, "report"))}, rollout.AlarmUnsure},
		"failed, the other is of others": {down, []client.Object{checkNamed("c", inStorm(storming("other")))}, rollout.AlarmUnsure},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			a, _ := alarmsIn(t, func(l client.ObjectList) error {
				if _, old := l.(*v1alpha1.MachineHealthCheckList); old {
					return tc.err
				}
				return nil
			}, tc.checks...)
			if got := a.Look(t.Context(), begin, ns)(badSet()); got.State != tc.want || got.State == rollout.AlarmUnsure && got.Text != "list health checks: the cache is not there" {
				t.Errorf("says %+v, want %q", got, tc.want)
			}
		})
	}
}

func TestAlarmsChanged(t *testing.T) {
	bad := badTemplate()
	raging, calm := checkNamed("c", inStorm(storming(bad))), checkNamed("c")
	past := health.Past{Machine: "m", Name: "m", At: begin}
	worse, over, zone := storming(bad), storming(bad), storming(bad)
	worse.Sick, worse.Total = 9, 9
	over.Over = begin
	zone.Kind = health.Zone
	selects := func(role string) edit {
		return func(o client.Object) {
			o.(*lenient.MachineHealthCheck).Spec.Selector.MatchLabels = map[string]string{"role": role}
		}
	}
	with := func(c client.Object, edits ...edit) client.Object {
		c = c.DeepCopyObject().(client.Object)
		for _, e := range edits {
			e(c)
		}
		return c
	}
	for name, tc := range map[string]struct {
		reason        string
		before, after client.Object
		want          bool
	}{
		"created calm":       {"nothing to say", nil, calm, false},
		"created in a storm": {"by a backup that is restored, or at the start", nil, raging, true},
		"gone, calm":         {"nothing to take back", calm, nil, false},
		"gone in a storm":    {"its alarm ends with it", raging, nil, true},
		"a storm begins":     {"", calm, raging, true},
		"a storm ends":       {"the cooldown begins", raging, with(raging, inStorm(over)), true},
		"it is forgotten":    {"the cooldown is over", with(raging, inStorm(over)), calm, true},
		"counters":           {"the same storm", raging, with(raging, inStorm(worse)), false},
		"another remedy": {"the same storm", raging, with(raging, func(o client.Object) {
			dialect.WriteMemory(o, health.Memory{Past: []health.Past{past}, Storms: []health.Storm{storming(bad)}})
		}), false},
		"a remedy, calm":      {"no storm", calm, with(calm, func(o client.Object) { dialect.WriteMemory(o, health.Memory{Past: []health.Past{past}}) }), false},
		"a zone's storm":      {"nobody's template", calm, with(calm, inStorm(zone)), false},
		"status":              {"counts machines", raging, with(raging, func(o client.Object) { o.(*lenient.MachineHealthCheck).Status.RemediationsAllowed = 7 }), false},
		"the mode":            {"it now only reports", raging, with(raging, annotated(dialect.BreakerAnnotation, "report")), true},
		"the mode, calm":      {"nothing to say either way", calm, with(calm, annotated(dialect.BreakerAnnotation, "report")), false},
		"paused":              {"nobody looks any more", raging, with(raging, annotated(openshift.PausedAnnotation, "x")), true},
		"the selection":       {"of whom it speaks", raging, with(raging, selects("gpu")), true},
		"the selection, calm": {"of nothing", calm, with(calm, selects("gpu")), false},
		"the API":             {"of whom it speaks", raging, with(raging, annotated(dialect.MachineAPIAnnotation, provider.Gardener)), true},
		"the old kind":        {"as well", oldCheck(), oldCheck(inStorm(storming(bad))), true},
		"the same again":      {"the cache's regular reminder", raging, raging, false},
	} {
		a, _ := alarmsIn(t, nil)
		if got := a.Changed(tc.before, tc.after); got != tc.want {
			t.Errorf("%s: changed %v: %s", name, got, tc.reason)
		}
	}
}
