package disruption

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/millwright-dev/millwright/api/millwright/v1alpha1"
)

const firing = `ALERTS{alertstate="firing"}`

// alertsHold is a budget that permits no rollout while alerts fire, with the last answers.
func alertsHold(answers ...v1alpha1.QueryStatus) *v1alpha1.MachineDisruptionBudget {
	b := &v1alpha1.MachineDisruptionBudget{}
	b.Name = "quiet"
	b.Spec.Budgets = []v1alpha1.Budget{
		{Nodes: intstr.FromInt32(5)},
		{Nodes: intstr.FromInt32(0), Reasons: []Reason{v1alpha1.ReasonRollout}, Query: firing},
	}
	b.Status.Queries = answers
	return b
}

func answered(query string, samples bool, at time.Time, err string) v1alpha1.QueryStatus {
	return v1alpha1.QueryStatus{Query: query, Samples: samples, At: metav1.NewTime(at), Error: err}
}

func TestQueries(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	const holds, unknown = "machine disruption budget quiet, which permits no rollout while its Prometheus query returns samples: " + firing,
		"machine disruption budget quiet, which permits no rollout while Prometheus does not answer its query " + firing
	for _, c := range []struct {
		name    string
		answers []v1alpha1.QueryStatus
		message string
	}{
		{"an alert fires", []v1alpha1.QueryStatus{answered(firing, true, now, "")}, holds},
		{"no alert fires", []v1alpha1.QueryStatus{answered(firing, false, now.Add(-time.Minute), "")}, ""},
		{"no answer yet", nil, unknown},
		{"the answer to another query", []v1alpha1.QueryStatus{answered("up", false, now, "")}, unknown},
		{"the server does not answer", []v1alpha1.QueryStatus{answered(firing, false, now, "connection refused")}, unknown},
		{"an old answer", []v1alpha1.QueryStatus{answered(firing, false, now.Add(-answerLasts-time.Second), "")}, unknown},
		{"an answer of a clock that is far ahead", []v1alpha1.QueryStatus{answered(firing, false, now.Add(answerLasts+time.Second), "")}, unknown},
		{"an old answer is not that the alert fires", []v1alpha1.QueryStatus{answered(firing, true, now.Add(-time.Hour), "")}, unknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := Parse(alertsHold(c.answers...), time.LoadLocation)
			got := b.Decide(now, Use{Machines: 10}, Ask{Reason: v1alpha1.ReasonRollout})
			if got.Message != c.message || got.Granted != (c.message == "") || got.Stopped {
				t.Errorf("got %+v, want the message %q", got, c.message)
			}
			if other := b.Decide(now, Use{Machines: 10}, Ask{Reason: v1alpha1.ReasonRemediation}); !other.Granted {
				t.Errorf("a cause that the limit does not name: %+v", other)
			}
			if s := b.Limits(now, 10)[1]; s.Active != (c.message != "") || (s.Unanswered != "") != (c.message == unknown) {
				t.Errorf("state %+v", s)
			}
		})
	}
}

// TestQueriesInWindows: a limit with a schedule and a query applies while both do.
func TestQueriesInWindows(t *testing.T) {
	saturday, monday := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC), time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		now     time.Time
		samples bool
		granted bool
	}{{saturday, true, false}, {saturday, false, true}, {monday, true, true}} {
		b := alertsHold(answered(firing, c.samples, c.now, ""))
		b.Spec.Budgets[1].Schedule, b.Spec.Budgets[1].Duration = "0 0 * * sat", &metav1.Duration{Duration: 24 * time.Hour}
		if got := Parse(b, time.LoadLocation).Decide(c.now, Use{Machines: 10}, Ask{Reason: v1alpha1.ReasonRollout}); got.Granted != c.granted {
			t.Errorf("%v, samples %v: %+v", c.now.Weekday(), c.samples, got)
		}
	}
}

func TestObserveQuery(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	b := alertsHold(answered("removed", true, now, ""), answered(firing, true, now.Add(-askQueryAfter), ""))
	if got := Unasked(b, now); len(got) != 1 || got[0] != firing {
		t.Errorf("unasked: %q", got)
	}
	ObserveQuery(b, answered(firing, false, now.Add(-time.Hour), ""))
	if !b.Status.Queries[1].Samples {
		t.Error("an older answer replaced a newer one")
	}
	ObserveQuery(b, answered(firing, false, now, ""))
	if q := b.Status.Queries; len(q) != 1 || q[0].Samples || !q[0].At.Time.Equal(now) {
		t.Errorf("stored: %+v", q)
	}
	if got := Unasked(b, now); len(got) != 0 {
		t.Errorf("unasked: %q", got)
	}
}
