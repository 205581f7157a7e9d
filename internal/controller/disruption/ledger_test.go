package disruption_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	budgets "github.com/millwright-dev/millwright/api/millwright/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/controller/disruption"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// TestBothAPIsShareABudget: 10% of 10 machines of one API and of 10 machines of the other are 2 machines.
func TestBothAPIsShareABudget(t *testing.T) {
	s := newServer(t, append(append(many(10, anOpenshiftMachine), many(10, aGardenerMachine)...), budget("all", "10%"))...)
	o, g := s.openshift(), s.gardener()
	g.Due(t.Context()) // counts its machines
	for i, c := range []struct {
		ledger  ledger
		machine client.Object
		want    bool
	}{
		{o, openshiftMachine("m-00", "blue"), true},
		{g, gardenerMachine("m-01", "blue"), true},
		{o, openshiftMachine("m-02", "blue"), false},
		{o, openshiftMachine("m-00", "blue"), true},
	} {
		c.machine.SetUID(types.UID(fmt.Sprintf("%T-%s", c.machine, c.machine.GetName())))
		got := c.ledger.Ask(t.Context(), c.machine, deletion(c.machine, start))
		if got.Permitted != c.want || !c.want && !strings.Contains(got.Message, "machine disruption budget all, which permits 2 disruptions at a time") {
			t.Errorf("question %d: %+v", i, got)
		}
	}
	if got := o.Ask(t.Context(), openshiftMachine("m-03", "blue"), deletion(openshiftMachine("m-03", "blue"), start)); got.Cause != budgets.ReasonManual {
		t.Errorf("a machine without an owner is refused as %q, want Manual", got.Cause)
	}
	if got := s.status(t, "all"); got.Machines != 20 || got.InUse != 2 || len(got.Disruptions) != 2 || got.Disruptions[1].API != "machine.sapcloud.io" {
		t.Errorf("status %+v", got)
	}
}

// TestEachBudgetMustPermit: a refusal gives back the permits of the budgets before it.
func TestEachBudgetMustPermit(t *testing.T) {
	s := newServer(t, append(many(4, anOpenshiftMachine), budget("a", "2"), budget("b", "0", only("blue")), budget("c", "0", only("red")))...)
	l, m := s.openshift(), openshiftMachine("m-00", "blue")
	if got := l.Ask(t.Context(), m, deletion(m, start)); got.Permitted || !strings.Contains(got.Message, "budget b") {
		t.Errorf("%+v", got)
	}
	if got := s.permits(t, "a"); got != nil || l.Holds(m.UID) {
		t.Errorf("budget a still has the permits of %q", got)
	}
	other := openshiftMachine("m-01", "green")
	if got := l.Ask(t.Context(), other, deletion(other, start)); !got.Permitted || !l.Holds(other.UID) {
		t.Errorf("%+v", got)
	}
	if err := l.Over(t.Context(), other.UID); err != nil || s.permits(t, "a") != nil || l.Holds(other.UID) {
		t.Errorf("the permit of a disruption that is over: %v", err)
	}
}

// TestAnotherProcessHasThePermit: after a crash, the next process finds the permits of the first.
func TestAnotherProcessHasThePermit(t *testing.T) {
	s := newServer(t, append(many(4, anOpenshiftMachine), budget("a", "1"))...)
	m, other := openshiftMachine("m-00", "blue"), openshiftMachine("m-01", "blue")
	s.openshift().Ask(t.Context(), m, deletion(m, start))
	writes := s.writes
	if got := s.openshift().Ask(t.Context(), m, deletion(m, start)); !got.Permitted || s.writes != writes {
		t.Errorf("the machine with the permit: %+v, %d writes", got, s.writes-writes)
	}
	if got := s.openshift().Ask(t.Context(), other, deletion(other, start)); got.Permitted {
		t.Error("another machine gets the same permit")
	}
}

// TestWritesAreLocked: a process whose version is old decides again.
func TestWritesAreLocked(t *testing.T) {
	s := newServer(t, append(many(4, anOpenshiftMachine), budget("a", "1"))...)
	m, other := openshiftMachine("m-00", "blue"), openshiftMachine("m-01", "blue")
	s.before = func() {
		s.before = nil
		if got := s.openshift().Ask(t.Context(), other, deletion(other, start)); !got.Permitted {
			t.Errorf("the first: %+v", got)
		}
	}
	if got := s.openshift().Ask(t.Context(), m, deletion(m, start)); got.Permitted {
		t.Errorf("the second: %+v", got)
	}
	if got := s.permits(t, "a"); !slices.Equal(got, []string{"m-01"}) {
		t.Errorf("permits of %q", got)
	}
}

// TestUnreadableBudgetsHold: and say so. What has begun continues.
func TestUnreadableBudgetsHold(t *testing.T) {
	s := newServer(t, append(many(4, anOpenshiftMachine), budget("a", "1"))...)
	l, m := s.openshift(), openshiftMachine("m-00", "blue")
	s.unread = apierrors.NewForbidden(schema.GroupResource{Group: "millwright.dev", Resource: "machinedisruptionbudgets"}, "", errors.New("no role"))
	if got := l.Ask(t.Context(), m, deletion(m, start)); got.Permitted || !strings.Contains(got.Message, "cannot be read") || !strings.Contains(got.Message, "forbidden") {
		t.Errorf("%+v", got)
	}
	begun := deletion(m, start)
	begun.Begun = true
	if got := l.Ask(t.Context(), m, begun); !got.Permitted || got.Message == "" {
		t.Errorf("begun: %+v", got)
	}
	s.unread = nil
	full := openshiftMachine("m-01", "blue")
	l.Ask(t.Context(), full, deletion(full, start))
	if got := l.Ask(t.Context(), m, begun); !got.Permitted || got.Message != "" || len(s.permits(t, "a")) != 2 {
		t.Errorf("what has begun counts, and is not refused: %+v", got)
	}
}

// TestDeletedKind: an API server that does not know the kind for a minute has none.
func TestDeletedKind(t *testing.T) {
	s := newServer(t, append(many(4, anOpenshiftMachine), budget("a", "0"))...)
	l, m := s.openshift(), openshiftMachine("m-00", "blue")
	s.unread = apierrors.NewNotFound(schema.GroupResource{Group: "millwright.dev", Resource: "machinedisruptionbudgets"}, "")
	for after, want := range []bool{false, false, true} {
		if got := l.Ask(t.Context(), m, deletion(m, start)); got.Permitted != want {
			t.Errorf("after %d half minutes: %+v", after, got)
		}
		s.clock.SetTime(s.clock.Now().Add(30 * time.Second))
	}
	s.unread = nil
	if got := l.Ask(t.Context(), m, deletion(m, start)); got.Permitted {
		t.Error("the kind is there again")
	}
}

// TestOldestFirst: a permit goes to the machine that has waited longest, which is woken.
func TestOldestFirst(t *testing.T) {
	s := newServer(t, append(many(4, anOpenshiftMachine), budget("a", "1"))...)
	l := s.openshift()
	holder, young, old := openshiftMachine("m-00", "blue"), openshiftMachine("m-01", "blue"), openshiftMachine("m-02", "blue")
	l.Ask(t.Context(), holder, deletion(holder, start))
	l.Ask(t.Context(), young, deletion(young, start.Add(-time.Minute)))
	l.Ask(t.Context(), old, deletion(old, start.Add(-time.Hour)))
	l.Due(t.Context())
	if err := l.Over(t.Context(), holder.UID); err != nil {
		t.Fatal(err)
	}
	if got := l.Ask(t.Context(), young, deletion(young, start.Add(-time.Minute))); got.Permitted {
		t.Error("the younger one overtakes")
	}
	s.clock.SetTime(start.Add(5 * time.Second))
	if got := l.Due(t.Context()); len(got) != 1 || got[0].Name != "m-02" {
		t.Errorf("woken: %v", got)
	}
	if got := l.Ask(t.Context(), old, deletion(old, start.Add(-time.Hour))); !got.Permitted {
		t.Errorf("%+v", got)
	}
	if got := l.Due(t.Context()); got != nil {
		t.Errorf("at once again: %v", got)
	}
	s.clock.SetTime(start.Add(time.Hour)) // it does not ask any more
	l.Over(t.Context(), old.UID)
	third := openshiftMachine("m-03", "blue")
	if got := l.Ask(t.Context(), third, deletion(third, start.Add(time.Hour))); !got.Permitted {
		t.Errorf("a machine that does not ask any more does not block others: %+v", got)
	}
}

// TestMetrics: by budget, of the machines of one API.
func TestMetrics(t *testing.T) {
	s := newServer(t, append(many(4, anOpenshiftMachine), budget("a", "1"), budget("b", "9"))...)
	r := prometheus.NewRegistry()
	m := disruption.NewMetrics(r)
	l := disruption.New(disruption.Options[*machinev1.Machine]{Budgets: live{s}, Cached: s, Live: live{s}, Clock: s.clock, Dialect: openshift.Machines{}, Metrics: m})
	for i := range 3 {
		m := openshiftMachine(fmt.Sprintf("m-%02d", i), "blue")
		l.Ask(t.Context(), m, deletion(m, start))
	}
	for _, want := range []string{"permits a 1, permits b 1, waiting a 2, waiting b 0", "permits b 1, waiting b 0"} {
		s.clock.SetTime(s.clock.Now().Add(time.Minute))
		l.Due(t.Context())
		families, err := r.Gather()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range families {
			for _, s := range f.Metric {
				got = append(got, fmt.Sprint(strings.TrimPrefix(f.GetName(), "millwright_disruption_"), " ", s.Label[1].GetValue(), " ", s.Gauge.GetValue()))
			}
		}
		if text := strings.Join(got, ", "); text != want {
			t.Errorf("%q, want %q", text, want)
		}
		if err := s.WithWatch.Delete(t.Context(), budget("a", "1")); client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
	}
}

// TestSweep: only a certain answer removes a permit.
func TestSweep(t *testing.T) {
	s := newServer(t, append(many(4, anOpenshiftMachine), gardenerMachine("g", "blue"), budget("a", "9"))...)
	l, g := s.openshift(), s.gardener()
	gone, stays, foreign := openshiftMachine("gone", "blue"), openshiftMachine("m-00", "blue"), gardenerMachine("g-gone", "blue")
	for _, m := range []*machinev1.Machine{gone, stays} {
		l.Ask(t.Context(), m, deletion(m, start))
	}
	g.Ask(t.Context(), foreign, deletion(foreign, start))
	sweep := func() []string {
		s.clock.SetTime(s.clock.Now().Add(time.Minute))
		return s.openshiftDue(t, l)
	}
	s.unlisted = errors.New("the API server does not answer")
	sweep()
	if got := s.permits(t, "a"); !slices.Equal(got, []string{"g-gone", "gone", "m-00"}) {
		t.Errorf("after a failed read: %q", got)
	}
	s.unlisted = nil
	if got := sweep(); !slices.Equal(got, []string{"m-00"}) {
		t.Errorf("a machine that is not under deletion may be done: %q", got)
	}
	if got := s.permits(t, "a"); !slices.Equal(got, []string{"g-gone", "m-00"}) {
		t.Errorf("permits of %q: that of the other API belongs to the other process", got)
	}
	if l.Holds(gone.UID) || !s.openshiftHolds(t, stays.UID) {
		t.Error("a new process knows the permits after its first look")
	}
}

func (s *server) openshiftDue(t *testing.T, l ledger) (out []string) {
	t.Helper()
	for _, r := range l.Due(t.Context()) {
		out = append(out, r.Name)
	}
	return out
}

func (s *server) openshiftHolds(t *testing.T, uid types.UID) bool {
	t.Helper()
	l := s.openshift()
	l.Due(t.Context())
	return l.Holds(uid)
}

// TestStatusFollowsTheSpec: without any question.
func TestStatusFollowsTheSpec(t *testing.T) {
	b := budget("a", "50%")
	b.Generation = 1
	s := newServer(t, append(many(4, anOpenshiftMachine), b)...)
	l := s.openshift()
	l.Due(t.Context())
	if got := s.status(t, "a"); got.Machines != 4 || *got.Reasons[0].Allowed != 2 || got.Conditions[0].Status != metav1.ConditionTrue {
		t.Errorf("%+v", got)
	}
	writes := s.writes
	s.clock.SetTime(start.Add(time.Minute))
	if l.Due(t.Context()); s.writes != writes {
		t.Error("an unchanged status is written again")
	}
	var now budgets.MachineDisruptionBudget
	if err := s.WithWatch.Get(t.Context(), client.ObjectKey{Name: "a"}, &now); err != nil {
		t.Fatal(err)
	}
	now.Generation, now.Spec.Budgets[0].Schedule = 2, "0 9 * *"
	if err := s.WithWatch.Update(t.Context(), &now); err != nil {
		t.Fatal(err)
	}
	s.clock.SetTime(start.Add(2 * time.Minute))
	l.Due(t.Context())
	if got := s.status(t, "a"); got.Conditions[0].Status != metav1.ConditionFalse || !strings.Contains(got.Conditions[0].Message, "spec.budgets[0].schedule") {
		t.Errorf("%+v", got.Conditions)
	}
}

// set returns a set of an API, and its deployment with the revision.
func set(api string, revision, latest string, replicas int32) (set, deployment client.Object) {
	s := metav1.ObjectMeta{Namespace: ns, Name: "set", UID: "uid-set", Annotations: map[string]string{"deployment.kubernetes.io/revision": revision}}
	d := metav1.ObjectMeta{Namespace: ns, Name: "deployment", UID: "uid-deployment", Annotations: map[string]string{"deployment.kubernetes.io/revision": latest}}
	if api == "openshift" {
		s.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1beta1.GroupVersion.String(), Kind: "MachineDeployment", Name: d.Name, UID: d.UID, Controller: ptr.To(true)}}
		return &machinev1.MachineSet{ObjectMeta: s, Spec: machinev1.MachineSetSpec{Replicas: &replicas}}, &v1beta1.MachineDeployment{ObjectMeta: d}
	}
	s.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: "MachineDeployment", Name: d.Name, UID: d.UID, Controller: ptr.To(true)}}
	return &v1alpha1.MachineSet{ObjectMeta: s, Spec: v1alpha1.MachineSetSpec{Replicas: replicas}}, &v1alpha1.MachineDeployment{ObjectMeta: d}
}

// TestReasons: in both APIs, by the machine and its owners.
func TestReasons(t *testing.T) {
	owned := func(m client.Object, api string) client.Object {
		version := v1beta1.GroupVersion.String()
		if api == "gardener" {
			version = v1alpha1.GroupVersion.String()
		}
		m.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: version, Kind: "MachineSet", Name: "set", UID: "uid-set", Controller: ptr.To(true)}})
		return m
	}
	waited := func(r *lifecycle.PermitRequest) {
		r.Machine.Deletion.Started = []lifecycle.StartedStep{{Step: lifecycle.DeletionBudget, At: start, Cause: budgets.ReasonScaleDown}}
	}
	for _, api := range []string{"openshift", "gardener"} {
		build := anOpenshiftMachine
		if api == "gardener" {
			build = aGardenerMachine
		}
		for _, c := range []struct {
			reason             string
			revision, latest   string
			replicas, siblings int32
			orphan, replaced   bool
			unowned            error
			request            func(*lifecycle.PermitRequest)
			want               budgets.DisruptionReason
		}{
			{reason: "the deployment has a newer template", revision: "9", latest: "10", replicas: 2, siblings: 2, want: budgets.ReasonRollout},
			{reason: "the set wants as many as are left", revision: "10", latest: "10", replicas: 2, siblings: 2, want: budgets.ReasonScaleDown},
			{reason: "the set wants more", revision: "10", latest: "10", replicas: 3, siblings: 2, want: budgets.ReasonManual},
			{reason: "the set has replaced it", revision: "10", latest: "10", replicas: 3, siblings: 3, replaced: true, want: budgets.ReasonManual},
			{reason: "no owner", orphan: true, want: budgets.ReasonManual},
			{reason: "its node was unhealthy", revision: "9", latest: "10", request: func(r *lifecycle.PermitRequest) { r.Unwell = true }, want: budgets.ReasonRemediation},
			{reason: "the cloud has announced its end", revision: "9", latest: "10", request: func(r *lifecycle.PermitRequest) { r.Interrupted = true }, want: budgets.ReasonInterruption},
			{reason: "an update in place", revision: "9", latest: "10", request: func(r *lifecycle.PermitRequest) { r.Kind = lifecycle.DisruptingUpdate }, want: budgets.ReasonRollout},
			{reason: "a reboot", revision: "9", latest: "10", request: func(r *lifecycle.PermitRequest) { r.Kind = lifecycle.DisruptingReboot }, want: budgets.ReasonReboot},
			{reason: "the owner may not be read", unowned: errors.New("forbidden"), want: ""},
			{reason: "it was refused as a scale-down, and the set has created another machine since", revision: "10", latest: "10", replicas: 3, siblings: 3, replaced: true, request: waited, want: budgets.ReasonScaleDown},
			{reason: "it was refused as a scale-down, and the owner may not be read any more", unowned: errors.New("forbidden"), request: waited, want: budgets.ReasonScaleDown},
		} {
			t.Run(api+"/"+c.reason, func(t *testing.T) {
				set, deployment := set(api, c.revision, c.latest, c.replicas)
				objects := []client.Object{set, deployment, budget("a", "1", about(budgets.ReasonScaleDown, budgets.ReasonRollout, budgets.ReasonManual))}
				for i := range c.siblings {
					sibling := owned(build(fmt.Sprintf("s-%d", i), "blue"), api)
					if c.replaced && i == 0 {
						sibling.SetCreationTimestamp(metav1.NewTime(start.Add(time.Second)))
					}
					objects = append(objects, sibling)
				}
				s, m := newServer(t, objects...), build("m", "blue")
				s.unowned = c.unowned
				if !c.orphan {
					m = owned(m, api)
				}
				r := deletion(m, start)
				if c.request != nil {
					c.request(&r)
				}
				var ledger ledger = s.openshift()
				if api == "gardener" {
					ledger = s.gardener()
				}
				if got := ledger.Ask(t.Context(), m, r); !got.Permitted {
					t.Fatalf("%+v", got)
				}
				if got := s.status(t, "a").Disruptions[0].Reason; got != c.want {
					t.Errorf("reason %q, want %q", got, c.want)
				}
			})
		}
	}
}

// crowd are machines of both APIs, and a process for each.
type crowd struct {
	*rapid.T
	server    *server
	machines  []client.Object
	processes []ledger
	// permitted are the machines whose last answer was a permit.
	permitted map[int]bool
}

// newCrowd has four machines of each API; those with even numbers are in the pool blue.
func newCrowd(t *rapid.T, s *server) *crowd {
	c := &crowd{T: t, server: s, processes: []ledger{s.openshift(), s.gardener()}, permitted: map[int]bool{}}
	for i := range 8 {
		build := anOpenshiftMachine
		if i >= 4 {
			build = aGardenerMachine
		}
		m := build(fmt.Sprintf("m-%d", i), []string{"blue", "red"}[i%2])
		if err := s.Create(context.Background(), m); err != nil {
			t.Fatal(err)
		}
		c.machines = append(c.machines, m)
	}
	return c
}

// act lets one machine ask or finish, restarts its process, or lets time pass.
func (c *crowd) act() {
	i := rapid.IntRange(0, len(c.machines)-1).Draw(c.T, "machine")
	switch rapid.IntRange(0, 9).Draw(c.T, "action") {
	case 0:
		c.processes[i/4] = []ledger{c.server.openshift(), c.server.gardener()}[i/4]
	case 1, 2:
		if !c.permitted[i] {
			return
		}
		if err := c.processes[i/4].Over(context.Background(), c.machines[i].GetUID()); err != nil {
			c.Fatal(err)
		}
		delete(c.permitted, i)
	case 3:
		c.server.clock.SetTime(c.server.clock.Now().Add(20 * time.Second))
		c.processes[i/4].Due(context.Background())
	default:
		if rapid.Bool().Draw(c.T, "race") { // the process of the other API writes in between
			c.server.before = func() {
				c.server.before = nil
				c.ask((i + 4) % 8)
			}
		}
		c.ask(i)
		c.server.before = nil
	}
}

func (c *crowd) ask(i int) {
	m := c.machines[i]
	got := c.processes[i/4].Ask(context.Background(), m, deletion(m, start.Add(time.Duration(i)*time.Second)))
	switch {
	case got.Permitted:
		c.permitted[i] = true
	case c.permitted[i]:
		c.Fatalf("machine %d had a permit, and is refused: %s", i, got.Message)
	}
}

// TestNeverMoreThanAllowed: processes of both APIs ask, finish, crash, and write at the same time as others. At no moment does a budget
// have more permits than it allows, and a machine that was permitted has its entry in each budget that selects it.
func TestNeverMoreThanAllowed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		allowed := map[string]int{"a": rapid.IntRange(0, 3).Draw(t, "a"), "b": rapid.IntRange(0, 3).Draw(t, "b")}
		s := newServer(t, budget("a", fmt.Sprint(allowed["a"])), budget("b", fmt.Sprint(allowed["b"]), only("blue")))
		c := newCrowd(t, s)
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			c.act()
			for name, most := range allowed {
				have := s.permits(t, name)
				if len(have) > most {
					t.Fatalf("budget %s allows %d and has %q", name, most, have)
				}
				for i := range c.permitted {
					if selected := name == "a" || i%2 == 0; selected && !slices.Contains(have, c.machines[i].GetName()) {
						t.Fatalf("machine %d was permitted, and budget %s has %q", i, name, have)
					}
				}
			}
		}
	})
}
