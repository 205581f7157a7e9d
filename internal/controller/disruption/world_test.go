package disruption_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	budgets "github.com/millwright-dev/millwright/api/millwright/v1alpha1"
	"github.com/millwright-dev/millwright/internal/controller/disruption"
	"github.com/millwright-dev/millwright/internal/controller/index"
	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/dialect/gardener"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// start is a Monday, at a quarter past ten in Berlin.
var start = time.Date(2026, 11, 30, 9, 15, 0, 0, time.UTC)

const ns = "machines"

// fatal is the part of a test that fails it.
type fatal interface {
	Helper()
	Fatal(args ...any)
}

// server is a fake API server.
type server struct {
	client.WithWatch
	clock *clocktesting.FakePassiveClock
	// unread is the error of reads of budgets, unlisted of reads of machines past the cache, unowned of reads of sets and deployments.
	unread, unlisted, unowned error
	// before is called before each write of a status; may be nil.
	before func()
	// writes counts the writes of a status.
	writes int
}

func newServer(t fatal, objects ...client.Object) *server {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{apis.AddToScheme, budgets.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	s := &server{clock: clocktesting.NewFakePassiveClock(start)}
	s.WithWatch = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithStatusSubresource(&budgets.MachineDisruptionBudget{}).
		WithIndex(&machinev1.Machine{}, index.Sibling, index.OwnerKeys).WithIndex(&v1alpha1.Machine{}, index.Sibling, index.OwnerKeys).
		WithInterceptorFuncs(interceptor.Funcs{SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			if s.before != nil {
				s.before()
			}
			s.writes++
			return c.SubResource(sub).Patch(ctx, o, p, opts...)
		}}).Build()
	return s
}

// ledger is a ledger of either API.
type ledger interface {
	Ask(ctx context.Context, machine client.Object, r lifecycle.PermitRequest) lifecycle.Disruption
	Over(ctx context.Context, machine types.UID) error
	Holds(machine types.UID) bool
	Due(ctx context.Context) []reconcile.Request
}

// live reads as the API server itself answers.
type live struct{ *server }

func (l live) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if l.unread != nil {
		return l.unread
	}
	return l.WithWatch.List(ctx, list, opts...)
}

func (l live) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	switch o.(type) {
	case *budgets.MachineDisruptionBudget:
		if l.unread != nil {
			return l.unread
		}
	case *machinev1.Machine, *v1alpha1.Machine:
		if l.unlisted != nil {
			return l.unlisted
		}
	default:
		if l.unowned != nil {
			return l.unowned
		}
	}
	return l.WithWatch.Get(ctx, key, o, opts...)
}

func (s *server) openshift() *disruption.Ledger[*machinev1.Machine] {
	return disruption.New(disruption.Options[*machinev1.Machine]{Budgets: live{s}, Cached: s, Live: live{s}, Clock: s.clock, Dialect: openshift.Machines{}})
}

func (s *server) gardener() *disruption.Ledger[*v1alpha1.Machine] {
	return disruption.New(disruption.Options[*v1alpha1.Machine]{Budgets: live{s}, Cached: s, Live: live{s}, Clock: s.clock, Dialect: gardener.Machines{}, Namespace: ns})
}

// status is that of a budget.
func (s *server) status(t fatal, name string) budgets.MachineDisruptionBudgetStatus {
	t.Helper()
	var b budgets.MachineDisruptionBudget
	if err := s.WithWatch.Get(context.Background(), client.ObjectKey{Name: name}, &b); err != nil {
		t.Fatal(err)
	}
	return b.Status
}

// permits are the names of the machines that have a permit of a budget.
func (s *server) permits(t fatal, name string) (out []string) {
	t.Helper()
	for _, d := range s.status(t, name).Disruptions {
		out = append(out, d.Name)
	}
	slices.Sort(out)
	return out
}

func budget(name string, nodes string, edits ...func(*budgets.MachineDisruptionBudgetSpec)) *budgets.MachineDisruptionBudget {
	b := &budgets.MachineDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if nodes != "" {
		b.Spec.Budgets = []budgets.Budget{{Nodes: intstr.Parse(nodes)}}
	}
	for _, edit := range edits {
		edit(&b.Spec)
	}
	return b
}

func about(reasons ...budgets.DisruptionReason) func(*budgets.MachineDisruptionBudgetSpec) {
	return func(s *budgets.MachineDisruptionBudgetSpec) { s.Budgets[0].Reasons = reasons }
}

func only(pool string) func(*budgets.MachineDisruptionBudgetSpec) {
	return func(s *budgets.MachineDisruptionBudgetSpec) { s.Selector.MatchLabels = map[string]string{"pool": pool} }
}

func meta(name, pool string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: ns, Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{"pool": pool}, CreationTimestamp: metav1.NewTime(start.Add(-time.Hour))}
}

// openshiftMachine is a machine that runs.
func openshiftMachine(name, pool string) *machinev1.Machine {
	return &machinev1.Machine{ObjectMeta: meta(name, pool), Status: machinev1.MachineStatus{
		Phase: ptr.To(machinev1.PhaseRunning), NodeRef: &corev1.ObjectReference{Name: "node-" + name, UID: types.UID("node-" + name)},
	}}
}

func gardenerMachine(name, pool string) *v1alpha1.Machine {
	return &v1alpha1.Machine{ObjectMeta: meta(name, pool), Status: v1alpha1.MachineStatus{CurrentStatus: v1alpha1.CurrentStatus{Phase: v1alpha1.MachineRunning}}}
}

// many are machines of one API.
func many(n int, make func(name, pool string) client.Object) (out []client.Object) {
	for i := range n {
		out = append(out, make(fmt.Sprintf("m-%02d", i), "blue"))
	}
	return out
}

func anOpenshiftMachine(name, pool string) client.Object { return openshiftMachine(name, pool) }
func aGardenerMachine(name, pool string) client.Object   { return gardenerMachine(name, pool) }

// deletion is the question of a machine under deletion.
func deletion(m client.Object, deleted time.Time) lifecycle.PermitRequest {
	return lifecycle.PermitRequest{
		Machine: lifecycle.Machine{UID: string(m.GetUID()), Namespace: m.GetNamespace(), Name: m.GetName(), Deleted: deleted}, Kind: lifecycle.DisruptingDeletion,
	}
}
