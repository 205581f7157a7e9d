package live

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	millwright "github.com/millwright-dev/millwright/api/millwright/v1alpha1"
	"github.com/millwright-dev/millwright/internal/engine/disruption"
	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/plugin/collect"
	"github.com/millwright-dev/millwright/internal/plugin/connect"
)

func received(t *testing.T, watcher <-chan Change) Change {
	t.Helper()
	select {
	case c, ok := <-watcher:
		if !ok {
			t.Fatal("the channel was closed")
		}
		return c
	case <-time.After(10 * time.Second):
		t.Fatal("no change came")
	}
	return Change{}
}

func ids(rows []Row) (out []string) {
	for _, r := range rows {
		out = append(out, r.ID)
	}
	return out
}

func table(rows ...Row) map[string]Row {
	out := map[string]Row{}
	for _, r := range rows {
		out[r.ID] = r
	}
	return out
}

// TestWatchersGetTheWholeAndThenChanges: each watcher starts from the whole fleet, and gets only what changed.
func TestWatchersGetTheWholeAndThenChanges(t *testing.T) {
	f := newFeed(collect.Clusters{}, collect.Question{}, clock.RealClock{})
	f.publish(time.Now(), table(Row{ID: "a"}, Row{ID: "b"}), nil, nil)
	watcher, end := f.subscribe()
	defer end()
	if c := received(t, watcher); !c.Whole || !slices.Equal(ids(c.Rows), []string{"a", "b"}) {
		t.Errorf("at first: %+v, want the whole", c)
	}
	f.publish(time.Now(), table(Row{ID: "a"}, Row{ID: "b"}), nil, nil) // nothing changed: nothing is sent
	f.publish(time.Now(), table(Row{ID: "a", State: explain.Failed}, Row{ID: "c"}), nil, nil)
	if c := received(t, watcher); c.Whole || !slices.Equal(ids(c.Rows), []string{"a", "c"}) || !slices.Equal(c.Removed, []string{"b"}) {
		t.Errorf("then: %+v, want a and c, without b", c)
	}
}

// TestASlowWatcherIsDropped: it must not hold the others up, and starts from the whole when it connects again.
func TestASlowWatcherIsDropped(t *testing.T) {
	f := newFeed(collect.Clusters{}, collect.Question{}, clock.RealClock{})
	slow, end := f.subscribe()
	defer end()
	for i := range 40 {
		f.publish(time.Now(), table(Row{ID: "a", Phase: string(rune('a' + i))}), nil, nil)
	}
	n := 0
	for range slow {
		n++
	}
	if n >= 40 || len(f.watchers) != 0 {
		t.Errorf("the slow watcher got %d changes and %d watchers are left, want fewer than 40 and none", n, len(f.watchers))
	}
}

// fleet is an API server whose lists of some types are refused.
func fleet(t *testing.T, refused func(client.ObjectList) bool) client.Reader {
	t.Helper()
	at := metav1.NewTime(time.Now().Add(-time.Hour))
	set := &machinev1.MachineSet{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: "mill", UID: "set"}, Spec: machinev1.MachineSetSpec{Replicas: ptr.To[int32](3)}, Status: machinev1.MachineSetStatus{Replicas: 2, ReadyReplicas: 1}}
	m := &machinev1.Machine{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "blue", Name: "mill-a", UID: "m", CreationTimestamp: at, Labels: map[string]string{"machine.openshift.io/instance-type": "big", "machine.openshift.io/zone": "other"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "MachineSet", Name: "mill", UID: "set", Controller: ptr.To(true)}},
		},
		Spec:   machinev1.MachineSpec{ProviderID: ptr.To("aws:///z/i-1")},
		Status: machinev1.MachineStatus{Phase: ptr.To("Running"), NodeRef: &corev1.ObjectReference{Name: "n-1"}},
	}
	g := &v1alpha1.Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shoot", Name: "pool-a", UID: "g", CreationTimestamp: at},
		Status:     v1alpha1.MachineStatus{CurrentStatus: v1alpha1.CurrentStatus{Phase: v1alpha1.MachineFailed}},
	}
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n-1", Labels: map[string]string{corev1.LabelTopologyZone: "zone-b"}}}
	b := fake.NewClientBuilder().WithScheme(connect.Scheme()).WithObjects(set, m, g, n).WithStatusSubresource(set, m, g).Build()
	for _, o := range []client.Object{set, m, g} {
		_ = b.Status().Update(t.Context(), o)
	}
	return interceptor.NewClient(b, interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
		if refused != nil && refused(l) {
			return errors.New("connection refused")
		}
		return c.List(ctx, l, opts...)
	}})
}

// TestRows: a row says where a machine is, who owns it, and how it is, in both APIs.
func TestRows(t *testing.T) {
	c := fleet(t, nil)
	f := newFeed(collect.Clusters{Control: c, Target: c}, collect.Question{}, clock.RealClock{})
	f.look(t.Context())
	m := f.rows["m"]
	if m.Owner != "set" || m.Zone != "zone-b" || m.Type != "big" || m.Provider != "aws" || m.Phase != "Running" || m.Node != "n-1" || m.API != machinev1.GroupName {
		t.Errorf("row %+v", m)
	}
	if g := f.rows["g"]; g.State != explain.Failed || g.Phase != "Failed" || g.Sentence == "" {
		t.Errorf("row of a failed machine %+v", g)
	}
	if s := f.rows["set"].Counts; s == nil || *s != (Counts{Wanted: 3, Have: 2, Ready: 1, Updated: s.Updated}) {
		t.Errorf("counts of the set %+v", s)
	}
}

// TestRowsOfUnreadKindsStay: a refused answer is a gap, and no empty fleet; other kinds are up to date.
func TestRowsOfUnreadKindsStay(t *testing.T) {
	known := table(
		Row{ID: "m", Subject: explain.Subject{API: machinev1.GroupName, Kind: "Machine"}},
		Row{ID: "deleted", Subject: explain.Subject{API: v1alpha1.GroupVersion.Group, Kind: "Machine"}},
	)
	for name, c := range map[string]struct {
		refused func(client.ObjectList) bool
		removed []string
		rows    int
	}{
		"all kinds": {func(client.ObjectList) bool { return true }, nil, 2},
		"machines of one API": {func(l client.ObjectList) bool {
			_, is := l.(*machinev1.MachineList)
			return is
		}, []string{"deleted"}, 3}, // m stays; the set and the machine of the other API are read
	} {
		from := fleet(t, c.refused)
		f := newFeed(collect.Clusters{Control: from, Target: from}, collect.Question{}, clock.RealClock{})
		f.publish(time.Now(), known, nil, nil)
		watcher, end := f.subscribe()
		received(t, watcher)
		f.look(t.Context())
		if got := received(t, watcher); !slices.Equal(got.Removed, c.removed) || len(got.Gaps) == 0 || len(f.rows) != c.rows {
			t.Errorf("%s: %+v and %d rows, want %v removed, a gap, and %d rows", name, got, len(f.rows), c.removed, c.rows)
		}
		end()
	}
}

// TestBudgetsOfTheFleet: a change has the disruption budgets, those that stop everything first. Budgets that cannot be read stay, and
// are a gap.
func TestBudgetsOfTheFleet(t *testing.T) {
	stop, limit := disruption.NewStop("storage is down"), &millwright.MachineDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	refused := false
	c := interceptor.NewClient(fake.NewClientBuilder().WithScheme(connect.Scheme()).WithObjects(stop, limit).Build(), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
			if _, is := l.(*millwright.MachineDisruptionBudgetList); is && refused {
				return errors.New("connection refused")
			}
			return c.List(ctx, l, opts...)
		},
	})
	f := newFeed(collect.Clusters{Control: c, Target: c}, collect.Question{}, clock.RealClock{})
	f.limits.watched = true
	watcher, end := f.subscribe()
	defer end()
	received(t, watcher)
	f.look(t.Context())
	if got := received(t, watcher).Budgets; len(got) != 2 || got[0].Name != "emergency-stop" || !got[0].Stops || got[1].Name != "a" {
		t.Errorf("%+v", got)
	}
	refused = true
	f.look(t.Context())
	got := received(t, watcher)
	if len(got.Budgets) != 2 || !slices.ContainsFunc(got.Gaps, func(g string) bool { return strings.Contains(g, "machine disruption budgets: connection refused") }) {
		t.Errorf("%+v", got)
	}
	f.limits.watched = false
	f.look(t.Context())
	if f.limits.err == nil {
		t.Error("a failure is forgotten before the API server is asked again")
	}
}
