package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/api/millwright/v1alpha1"
	"github.com/millwright-dev/millwright/internal/controller/disruption"
	"github.com/millwright-dev/millwright/internal/controller/machine"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/verify/sim/store"
)

// disruptionProfile says whether the API server has the kind MachineDisruptionBudget.
type disruptionProfile struct {
	// limitsDisruptions: it has the kind, and users create budgets.
	limitsDisruptions bool
}

// disruptionSource is the source of random numbers of this profile alone.
const disruptionSource = widerSource + 0xb4d6e7

func (d *disruptionProfile) draw(r *rand.Rand) { d.limitsDisruptions = r.IntN(5) == 0 }

// settleDisruptions removes budgets from worlds that lose the permits of machines, from worlds of hundreds of machines, and from worlds with
// a permanent fault: a process that crashes at a write would write the status of a budget, crash and start again without a pause.
func (c *profile) settleDisruptions() {
	if c.restores || c.versions || c.losesAllObjects || c.ends > 0 || c.many > 0 || c.permanent != "" {
		c.limitsDisruptions = false
	}
}

const (
	// mostBudgets bounds the number of budgets.
	mostBudgets = 2
	// dueEvery is how often a process looks which machines may be permitted.
	dueEvery = 5 * time.Second
	// writesPerHour bounds the writes of a process to the status of a budget at rest: the number of machines, and the begin and end of a window.
	writesPerHour = 8
)

// disruptionBudget is a budget as it is stored.
type disruptionBudget = v1alpha1.MachineDisruptionBudget

// budgetUsers are the users of disruption budgets.
type budgetUsers struct{ *World }

// kinds are the kinds of budgets.
func (w budgetUsers) kinds() []*store.Kind {
	if !w.profile.limitsDisruptions {
		return nil
	}
	k := store.NewKind(v1alpha1.GroupVersion.WithKind("MachineDisruptionBudget"), &disruptionBudget{})
	k.Subresource, k.Counted = true, true
	return []*store.Kind{k}
}

// budgets are all budgets.
func (w budgetUsers) budgets() []*disruptionBudget {
	if !w.profile.limitsDisruptions {
		return nil
	}
	return objects(w.World, &disruptionBudget{})
}

// actions are the actions of users.
func (w budgetUsers) actions() []func() {
	if !w.profile.limitsDisruptions {
		return nil
	}
	return []func(){w.create, w.create, w.editLimits, w.editLimits, w.stop, w.delete}
}

func (w budgetUsers) create() {
	if len(w.budgets()) >= mostBudgets {
		return
	}
	b := &disruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("budget", w.step)}}
	if s := w.anySet(); s != nil && w.chance(40) {
		b.Spec.Selector.MatchLabels = map[string]string{memberLabel: s.GetName()}
	}
	b.Spec.Budgets = w.limits()
	_, err := w.store.Create(b)
	w.must("create a disruption budget", err)
	w.does("creates disruption budget %s: %s", b.Name, limitsOf(b))
}

// limits are limits for all causes, for some causes, or for a time of each hour.
func (w budgetUsers) limits() []v1alpha1.Budget {
	all := v1alpha1.Budget{Nodes: intstr.FromInt32(int32(w.between(0, 2)))}
	switch w.roll(4) {
	case 0:
		all.Reasons = []v1alpha1.DisruptionReason{v1alpha1.ReasonRollout, v1alpha1.ReasonScaleDown}
	case 1:
		all.Schedule, all.Duration = "0 * * * *", &metav1.Duration{Duration: 20 * time.Minute}
	case 2:
		return []v1alpha1.Budget{all, {Nodes: intstr.FromInt32(1), Reasons: []v1alpha1.DisruptionReason{v1alpha1.ReasonRemediation, v1alpha1.ReasonManual}}}
	}
	return []v1alpha1.Budget{all}
}

func limitsOf(b *disruptionBudget) (text string) {
	for _, l := range b.Spec.Budgets {
		text += fmt.Sprintf("%s %v %s; ", l.Nodes.String(), l.Reasons, l.Schedule)
	}
	return fmt.Sprintf("%spaused %v, selects %v", text, b.Spec.Paused, b.Spec.Selector.MatchLabels)
}

// change changes the spec of a budget.
func (w budgetUsers) change(b *disruptionBudget, change func(*v1alpha1.MachineDisruptionBudgetSpec)) {
	w.edit(b, "", func(o client.Object) { change(&o.(*disruptionBudget).Spec) })
	now := w.store.Lookup(b, client.ObjectKeyFromObject(b)).(*disruptionBudget)
	w.does("changes disruption budget %s: %s", b.Name, limitsOf(now))
}

func (w budgetUsers) editLimits() {
	if b, ok := pick(w.World, w.budgets()); ok {
		limits := w.limits()
		w.change(b, func(s *v1alpha1.MachineDisruptionBudgetSpec) { s.Budgets = limits })
	}
}

// stop pauses a budget, or ends its pause.
func (w budgetUsers) stop() {
	if b, ok := pick(w.World, w.budgets()); ok {
		w.change(b, func(s *v1alpha1.MachineDisruptionBudgetSpec) { s.Paused = !s.Paused })
	}
}

func (w budgetUsers) delete() {
	if b, ok := pick(w.World, w.budgets()); ok && w.chance(50) {
		w.must("delete a disruption budget", w.store.Delete(b, client.DeleteOptions{}))
		w.does("deletes disruption budget %s", b.Name)
	}
}

// relax lets every budget permit one disruption at a time.
func (w budgetUsers) relax() {
	for _, b := range w.budgets() {
		w.change(b, func(s *v1alpha1.MachineDisruptionBudgetSpec) {
			s.Paused = false
			for i := range s.Budgets {
				s.Budgets[i].Nodes = intstr.FromInt32(max(1, s.Budgets[i].Nodes.IntVal))
			}
		})
	}
}

// permitsOfDeleted says which budget has the permit of a machine that does not exist; empty if none has.
func (w budgetUsers) permitsOfDeleted() string {
	exists := map[types.UID]bool{}
	for _, m := range w.machines() {
		exists[m.GetUID()] = true
	}
	for _, b := range w.budgets() {
		for _, d := range b.Status.Disruptions {
			if !exists[d.UID] {
				return fmt.Sprintf("disruption budget %s has a permit for machine %s, which does not exist", b.Name, d.Name)
			}
		}
	}
	return ""
}

// dueKey is the key of the passes that look which machines may be permitted.
var dueKey = reconcile.Request{NamespacedName: types.NamespacedName{Name: "disruption budgets"}}

// limitDisruptions lets the machine controller of p ask the budgets. It returns nil in worlds without the kind.
func limitDisruptions[M client.Object](p *process, lens dialect.Machines[M]) machine.Budgets {
	if !p.w.profile.limitsDisruptions {
		return nil
	}
	live := ownersReader{p.live, p.w.store}
	return disruption.New(disruption.Options[M]{
		Budgets: liveClient{p.client, live}, Cached: p.client, Live: live, Clock: p, Dialect: lens, Lock: &passLock{p: p},
	})
}

// lookForDue lets p look which machines may be permitted, again and again.
func lookForDue(p *process, budgets machine.Budgets) {
	if budgets == nil {
		return
	}
	others := p.reconcile
	p.reconcile = func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		if req != dueKey {
			return others(ctx, req)
		}
		for _, key := range budgets.Due(ctx) {
			p.queue.add(key)
		}
		return reconcile.Result{RequeueAfter: dueEvery}, nil
	}
	p.queue.add(dueKey)
}

// passLock is the lock of a process's budgets. Its passes ask one after another: the budgets hold a lock while they wait for the
// API server, and a coroutine must not wait for a mutex.
type passLock struct {
	p *process
	// asking is the task that asks now.
	asking *task
}

// Lock waits until no other pass of the process asks.
func (l *passLock) Lock() {
	t := l.p.running
	for l.asking != nil {
		t.waitsFor = l.asking
		if l.asking.hanging() {
			t.hang.until = l.asking.hang.until
		}
		if !t.on.pause() {
			panic(killed{})
		}
	}
	t.waitsFor, l.asking = nil, t
}

// Unlock lets the next pass ask.
func (l *passLock) Unlock() { l.asking = nil }

// liveClient reads from the API server itself.
type liveClient struct {
	client.Client
	live client.Reader
}

// Get implements [client.Reader].
func (c liveClient) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	return c.live.Get(ctx, key, o, opts...)
}

// List implements [client.Reader].
func (c liveClient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return c.live.List(ctx, list, opts...)
}

// ownersReader also reads objects without a Go type, such as the owner that a reference names.
type ownersReader struct {
	client.Reader
	store *store.Store
}

// Get implements [client.Reader].
func (r ownersReader) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	u, untyped := o.(*unstructured.Unstructured)
	if !untyped {
		return r.Reader.Get(ctx, key, o, opts...)
	}
	for _, k := range r.store.Kinds() {
		if k.GroupVersionKind != u.GroupVersionKind() {
			continue
		}
		typed := k.New()
		if err := r.Reader.Get(ctx, key, typed, opts...); err != nil {
			return err
		}
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
		if err != nil {
			return fmt.Errorf("convert %s: %w", reflect.TypeOf(typed), err)
		}
		u.Object = content
		return nil
	}
	return fmt.Errorf("the simulated API server has no kind %s", u.GroupVersionKind())
}
