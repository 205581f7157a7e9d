package machinehealthcheck

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/health"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// Alarms reports to the controllers that create machines what checks remember of storms among machines of
// the same template. It reads the status of checks, and stores nothing: an alarm ends with its check.
type Alarms struct {
	// Client reads checks from a cache. Required.
	Client client.Reader
	// Checks are the kinds that are read.
	Checks []Kind
	// Patients are the created machines. Default says that a check that names no API selects among them.
	// Required.
	Patients dialect.Patients
	Default  bool
	// Sample is a machine as a set creates it. Required.
	Sample func(set client.Object) client.Object
}

// Kind is a kind of checks whose alarms are read.
type Kind interface {
	object() client.Object
	list(ctx context.Context, from client.Reader, namespace string) ([]reportedStatus, error)
	read(check client.Object) (_ reportedStatus, ofKind bool)
}

// KindOf is the kind that lens reads.
func KindOf[C client.Object](lens dialect.HealthChecks[C]) Kind { return kind[C]{lens} }

type kind[C client.Object] struct{ lens dialect.HealthChecks[C] }

// reportedStatus is an alarm of a check, with the machines that it is about.
type reportedStatus struct {
	check    string
	api      string
	selector labels.Selector
	alarms   []health.Alarm
}

func (k kind[C]) object() client.Object { return k.lens.New() }

func (k kind[C]) read(check client.Object) (reportedStatus, bool) {
	c, ok := check.(C)
	if !ok {
		return reportedStatus{}, false
	}
	return k.statusOf(c), true
}

// statusOf returns the alarms of c. Conditions that checks share do not matter here.
func (k kind[C]) statusOf(c C) reportedStatus {
	check := k.lens.View(c, dialect.CommonConditions{})
	return reportedStatus{
		check: c.GetName(), api: c.GetAnnotations()[dialect.MachineAPIAnnotation],
		selector: k.lens.Selector(c), alarms: check.Alarms(dialect.ReadMemory(c)),
	}
}

// list reads the checks of a namespace that raise any alarm.
func (k kind[C]) list(ctx context.Context, from client.Reader, namespace string) (out []reportedStatus, err error) {
	list := k.lens.NewList()
	if err := from.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list health checks: %w", err)
	}
	for c := range dialect.Items[C](list) {
		if s := k.statusOf(c); len(s.alarms) > 0 {
			out = append(out, s)
		}
	}
	return out, nil
}

// Kinds are empty checks of the kinds that are read.
func (a *Alarms) Kinds() (out []client.Object) {
	for _, k := range a.Checks {
		out = append(out, k.object())
	}
	return out
}

// Look reads the checks of a namespace, and returns their alarms about a set at now. A kind that the API
// server does not have raises none.
func (a *Alarms) Look(ctx context.Context, now time.Time, namespace string) func(set client.Object) rollout.Alarm {
	var all []reportedStatus
	var unsure rollout.Alarm
	for _, k := range a.Checks {
		some, err := k.list(ctx, a.Client, namespace)
		if err != nil && !meta.IsNoMatchError(err) {
			logf.FromContext(ctx).Error(err, "cannot read what health checks say of templates")
			unsure = rollout.Alarm{State: rollout.AlarmUnsure, Text: err.Error()}
		}
		all = append(all, some...)
	}
	return func(set client.Object) rollout.Alarm {
		if len(all) == 0 {
			return unsure
		}
		return a.of(set, now, all, unsure)
	}
}

// of is the gravest alarm about a set.
func (a *Alarms) of(set client.Object, now time.Time, all []reportedStatus, found rollout.Alarm) rollout.Alarm {
	m := a.Sample(set)
	template := a.Patients.Patient(m, nil).Template
	for _, s := range all {
		if s.api != a.Patients.API() && (s.api != "" || !a.Default) || !s.selector.Matches(labels.Set(m.GetLabels())) {
			continue
		}
		for _, alarm := range s.alarms {
			if alarm.Name == template && alarm.Stands(now) {
				found = graver(found, translate(s.check, alarm))
			}
		}
	}
	return found
}

func translate(check string, a health.Alarm) rollout.Alarm {
	out := rollout.Alarm{State: rollout.AlarmStops, Template: a.Name, Until: a.Until, Text: fmt.Sprintf("health check %s: %s", check, a)}
	switch {
	case !a.Enforced:
		out.State = rollout.AlarmTold
		out.Text += ", which its breaker only reports"
	case !a.Until.IsZero():
		out.State = rollout.AlarmWaits
	}
	return out
}

// gravity orders alarms. An unreadable check counts less than the alarm of another check.
var gravity = map[rollout.AlarmState]int{rollout.AlarmTold: 1, rollout.AlarmUnsure: 2, rollout.AlarmWaits: 3, rollout.AlarmStops: 4}

// graver is the graver of two alarms; of equals the one that lasts longer, then the first by its text.
func graver(a, b rollout.Alarm) rollout.Alarm {
	if cmp.Or(cmp.Compare(gravity[a.State], gravity[b.State]), a.Until.Compare(b.Until), cmp.Compare(b.Text, a.Text)) < 0 {
		return b
	}
	return a
}

// Changed reports whether a change of a check changes its alarms about templates. Before is nil for a
// created check, after for a deleted one. Counters and other remedies change nothing.
func (a *Alarms) Changed(before, after client.Object) bool {
	was, is := a.read(before), a.read(after)
	if len(was.alarms) == 0 && len(is.alarms) == 0 {
		return false
	}
	return was.api != is.api || !slices.EqualFunc(was.alarms, is.alarms, health.Alarm.Same) || was.selector.String() != is.selector.String()
}

// read reads a check of any of the kinds; nil raises no alarm.
func (a *Alarms) read(check client.Object) reportedStatus {
	for _, k := range a.Checks {
		if s, ok := k.read(check); ok {
			return s
		}
	}
	return reportedStatus{selector: labels.Nothing()}
}
