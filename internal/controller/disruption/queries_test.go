package disruption_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"

	budgets "github.com/millwright-dev/millwright/api/millwright/v1alpha1"
	"github.com/millwright-dev/millwright/internal/controller/disruption"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
)

const firing = `ALERTS{alertstate="firing"}`

// alerts is a Prometheus server whose alert fires, or not.
type alerts struct {
	mu    sync.Mutex
	fires bool
	err   error
	asked int
	// hangs ends an answer; nil: answers come at once.
	hangs chan struct{}
}

func (a *alerts) HasSamples(context.Context, string) (bool, error) {
	if a.hangs != nil {
		<-a.hangs
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked++
	return a.fires, a.err
}

func (a *alerts) set(fires bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fires, a.err = fires, err
}

func (s *server) watched(a disruption.Prometheus) *disruption.Ledger[*machinev1.Machine] {
	return disruption.New(disruption.Options[*machinev1.Machine]{
		Budgets: live{s}, Cached: s, Live: live{s}, Clock: s.clock, Dialect: openshift.Machines{}, Prometheus: a,
	})
}

func whileQuery(s *budgets.MachineDisruptionBudgetSpec) { s.Budgets[0].Query = firing }

// passes lets time pass until the stored answer is one that want accepts.
func (s *server) passes(t *testing.T, l ledger, want func(budgets.QueryStatus) bool) {
	t.Helper()
	for range 1000 {
		s.clock.SetTime(s.clock.Now().Add(31 * time.Second))
		l.Due(t.Context())
		if q := s.status(t, "quiet").Queries; len(q) == 1 && want(q[0]) {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("the stored answers stay %+v", s.status(t, "quiet").Queries)
}

// TestQueryHolds: no disruption begins while an alert fires, or while the Prometheus server does not answer.
func TestQueryHolds(t *testing.T) {
	s := newServer(t, append(many(4, anOpenshiftMachine), budget("quiet", "0", whileQuery))...)
	a := &alerts{fires: true}
	l, m := s.watched(a), openshiftMachine("m-00", "blue")
	ask := func(step, refusal string) {
		t.Helper()
		if got := l.Ask(t.Context(), m, deletion(m, start)); got.Permitted != (refusal == "") || !strings.Contains(got.Message, refusal) {
			t.Errorf("%s: %+v", step, got)
		}
	}
	const unanswered = "while Prometheus does not answer its query " + firing
	ask("before the first answer", unanswered)
	s.passes(t, l, func(q budgets.QueryStatus) bool { return q.Samples && q.Error == "" })
	ask("an alert fires", "while its Prometheus query returns samples: "+firing)
	a.set(false, errors.New("connection refused"))
	s.passes(t, l, func(q budgets.QueryStatus) bool { return q.Error == "connection refused" })
	ask("the server does not answer", unanswered)
	a.set(false, nil)
	s.passes(t, l, func(q budgets.QueryStatus) bool { return !q.Samples && q.Error == "" })
	if due := l.Due(t.Context()); len(due) > 1 || len(due) == 1 && due[0].Name != "m-00" {
		t.Errorf("due: %v", due)
	}
	ask("no alert fires", "")
}

// TestStoredAnswer: a process uses the answer that another one has stored, and does not ask itself.
func TestStoredAnswer(t *testing.T) {
	s := newServer(t, append(many(4, anOpenshiftMachine), budget("quiet", "0", whileQuery))...)
	s.passes(t, s.watched(&alerts{}), func(q budgets.QueryStatus) bool { return !q.Samples })
	s.clock.SetTime(s.status(t, "quiet").Queries[0].At.Time)
	a := &alerts{fires: true}
	m := openshiftMachine("m-00", "blue")
	if got := s.watched(a).Ask(t.Context(), m, deletion(m, start)); !got.Permitted || a.asked > 0 {
		t.Errorf("%+v, and it asked %d times", got, a.asked)
	}
}

// TestHangingPrometheus: machines of other budgets do not wait for an answer.
func TestHangingPrometheus(t *testing.T) {
	s := newServer(t, append(many(4, anOpenshiftMachine), budget("other", "1", only("red")), budget("quiet", "0", only("blue"), whileQuery))...)
	a := &alerts{hangs: make(chan struct{})}
	defer close(a.hangs)
	l := s.watched(a)
	for _, c := range []struct {
		name, pool string
		permitted  bool
	}{{"m-00", "blue", false}, {"m-01", "red", true}} {
		m := openshiftMachine(c.name, c.pool)
		if got := l.Ask(t.Context(), m, deletion(m, start)); got.Permitted != c.permitted {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	l.Due(t.Context())
}

// TestNoPrometheus: without the flag, limits with a query apply, and the status says why.
func TestNoPrometheus(t *testing.T) {
	s := newServer(t, append(many(4, anOpenshiftMachine), budget("quiet", "0", whileQuery))...)
	l, m := s.openshift(), openshiftMachine("m-00", "blue")
	if got := l.Ask(t.Context(), m, deletion(m, start)); got.Permitted {
		t.Errorf("%+v", got)
	}
	s.passes(t, l, func(q budgets.QueryStatus) bool { return q.Samples && strings.Contains(q.Error, "--prometheus-url") })
}
