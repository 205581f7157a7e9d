package node

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/millwright-dev/millwright/internal/engine/drain"
)

var noPolicy drain.Policy

func podOn(node, name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{NodeName: node},
	}
}

// refusing answers evictions with what answer says.
func refusing(answer func() error) interceptor.Funcs {
	return interceptor.Funcs{
		SubResourceCreate: func(ctx context.Context, c client.Client, sub string, o, s client.Object, opts ...client.SubResourceCreateOption) error {
			if err := answer(); err != nil {
				return err
			}
			return c.SubResource(sub).Create(ctx, o, s, opts...)
		},
	}
}

func budgetRefusal() error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusTooManyRequests, Reason: metav1.StatusReasonTooManyRequests,
		Message: "Cannot evict pod as it would violate the pod's disruption budget.",
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: policyv1.DisruptionBudgetCause, Message: "The disruption budget pdb needs 1 healthy pods and has 1 currently"}}},
	}}
}

// twoBudgets is what the eviction API says of a pod that two budgets cover.
const twoBudgets = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."

func pdb() *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "pdb"},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
	}
}

func TestDrainWaitsForABudgetAndGoesOn(t *testing.T) {
	answer := budgetRefusal()
	w := newWorld(t, refusing(func() error { return answer }), node("w1"), podOn("w1", "a"), podOn("w2", "b"), pdb())
	n := node("w1")

	d, err := w.Drain(t.Context(), n, noPolicy)
	if err != nil || d.Done || len(d.Evict) != 1 || len(d.Blocked) != 1 || d.Blocked[0].Budget.Name != "pdb" || d.Blocked[0].Reason != drain.ReasonBudget {
		t.Fatalf("a refusal blocks and names its budget: %+v, %v", d, err)
	}
	if d.Message != "1 pod has to leave: web/a (disruption budget web/pdb has no room, since 2026-03-01T12:00:00Z)" {
		t.Errorf("message %q", d.Message)
	}
	answer = nil
	w.clock.SetTime(start.Add(4 * time.Second))
	if d, _ = w.Drain(t.Context(), n, noPolicy); len(d.Evict) != 0 || len(w.writes) != 1 {
		t.Fatalf("asked again too early: %+v, %v", d, w.writes)
	}
	w.clock.SetTime(start.Add(6 * time.Second))
	if d, _ = w.Drain(t.Context(), n, noPolicy); len(d.Evict) != 0 || len(w.writes) != 1 {
		t.Fatalf("asked again while the budget has no room: %+v, %v", d, w.writes)
	}
	room := pdb()
	if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(room), room); err != nil {
		t.Fatal(err)
	}
	room.Status.DisruptionsAllowed = 1
	if err := w.Client.Status().Update(t.Context(), room); err != nil {
		t.Fatal(err)
	}
	if d, err = w.Drain(t.Context(), n, noPolicy); err != nil || len(d.Evict) != 1 || len(d.Blocked) != 0 || d.Done {
		t.Fatalf("the budget has room now: %+v, %v", d, err)
	}
	if d, err = w.Drain(t.Context(), n, noPolicy); err != nil || !d.Done {
		t.Fatalf("the pod is gone: %+v, %v", d, err)
	}
	if len(w.memory) != 0 {
		t.Errorf("a finished drain is remembered: %v", w.memory)
	}
	if !slices.Equal(w.writes, []string{"eviction", "eviction"}) {
		t.Errorf("writes %v", w.writes)
	}
}

// Who waits for a budget is woken when it lets pods go, and by no other.
func TestDrainIsWokenByItsBudget(t *testing.T) {
	w := newWorld(t, refusing(budgetRefusal), node("w1"), podOn("w1", "a"), pdb())
	if _, err := w.Drain(t.Context(), node("w1"), noPolicy); err != nil {
		t.Fatal(err)
	}
	if got := w.DrainsRefusedIn("web"); !slices.Equal(got, []string{"w1"}) {
		t.Errorf("waiting in the pod's namespace: %q", got)
	}
	if got := w.DrainsRefusedIn("other"); len(got) > 0 {
		t.Errorf("waiting elsewhere: %q", got)
	}
	with := func(allowed int32, generation int64) *policyv1.PodDisruptionBudget {
		b := pdb()
		b.Generation, b.Status.ObservedGeneration, b.Status.DisruptionsAllowed = generation, 1, allowed
		return b
	}
	seen := func(b *policyv1.PodDisruptionBudget) *policyv1.PodDisruptionBudget {
		b.Status.ObservedGeneration = b.Generation
		return b
	}
	for name, tt := range map[string]struct {
		before, after *policyv1.PodDisruptionBudget
		want          bool
	}{
		"made":          {nil, with(1, 1), false},
		"has room":      {with(0, 1), with(1, 1), true},
		"has less":      {with(2, 1), with(1, 1), false},
		"was changed":   {with(0, 1), with(0, 2), true},
		"was looked at": {with(1, 2), seen(with(1, 2)), true},
		"is counted":    {with(0, 1), with(0, 1), false},
		"is gone":       {with(0, 1), nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := BudgetOpened(tt.before, tt.after); got != tt.want {
				t.Errorf("a budget that %s: %t", name, got)
			}
		})
	}
}

func TestDrainTellsRefusals(t *testing.T) {
	tests := []struct {
		reason   string
		answer   error
		want     drain.Reason
		refusals int
		err      bool
		unclear  bool
	}{
		{"a budget counts", budgetRefusal(), drain.ReasonBudget, 1, false, false},
		{"a busy API server does not", apierrors.NewTooManyRequests("later", 1), drain.ReasonRefused, 0, false, false},
		{"two budgets are refused with an internal error", apierrors.NewInternalError(errors.New(twoBudgets)), drain.ReasonRefused, 0, false, false},
		{"a conflict does not prove that the pod is gone", apierrors.NewConflict(corev1.Resource("poddisruptionbudgets"), "pdb", errors.New("written")), drain.ReasonRefused, 0, false, false},
		{"a denial is an error", apierrors.NewForbidden(corev1.Resource("pods"), "a", errors.New("no")), drain.ReasonRefused, 0, true, false},
		{"a server in trouble may have done it", apierrors.NewInternalError(errors.New("etcdserver: leader changed")), drain.ReasonRefused, 0, true, true},
		{"so may one whose reply is lost", errors.New("connection reset by peer"), drain.ReasonRefused, 0, true, true},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			w := newWorld(t, refusing(func() error { return tt.answer }), podOn("w1", "a"), pdb())
			d, err := w.Drain(t.Context(), node("w1"), noPolicy)
			if (err != nil) != tt.err || len(d.Blocked) != 1 || d.Blocked[0].Reason != tt.want {
				t.Fatalf("got %+v, %v", d, err)
			}
			if got := w.memory["uid-w1"].Attempts["uid-a"]; got.Refusals != tt.refusals || got.Unclear != tt.unclear {
				t.Errorf("%d refusals are counted; unclear: %t", got.Refusals, got.Unclear)
			}
		})
	}
}

// TestReplacedPodIsGone: the cache shows a pod whose name another one has by now, or none, which a conflict
// may reveal. From then on the drain waits for its volumes.
func TestReplacedPodIsGone(t *testing.T) {
	conflict := apierrors.NewConflict(corev1.Resource("pods"), "a", errors.New("the UID in the precondition does not match"))
	for _, tt := range []struct {
		reason string
		uid    string // of the pod that the API server has; empty: none
		gone   bool
	}{
		{"another has its name", "uid-another", true},
		{"nobody has", "", true},
		{"it is there: its budget was written meanwhile", "uid-a", false},
	} {
		cached, live := newWorld(t, refusing(func() error { return conflict }), podOn("w1", "a")), newWorld(t, interceptor.Funcs{})
		if tt.uid != "" {
			pod := podOn("w2", "a")
			pod.UID = types.UID(tt.uid)
			if err := live.Client.Create(t.Context(), pod); err != nil {
				t.Fatal(err)
			}
		}
		cached.Live = live.Client
		target := drain.Target{Pod: types.NamespacedName{Namespace: "web", Name: "a"}, UID: "uid-a"}
		attempts, err := cached.request(t.Context(), start, drain.Decision{Evict: []drain.Target{target}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := attempts["uid-a"].Gone; got != tt.gone {
			t.Errorf("%s: gone %t", tt.reason, got)
		}
	}
}

func TestDrainOverrulesABudgetWhereThePolicySaysSo(t *testing.T) {
	w := newWorld(t, refusing(budgetRefusal), podOn("w1", "a"), pdb())
	policy := drain.Policy{MaxEvictAttempts: 2}
	for i := range 3 {
		w.clock.SetTime(start.Add(time.Duration(i) * time.Minute))
		if _, err := w.Drain(t.Context(), node("w1"), policy); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(w.writes, []string{"eviction", "eviction", "delete"}) {
		t.Errorf("writes %v", w.writes)
	}
}

// The cache may not show yet a pod that was bound just before the node was
// cordoned.
func TestDrainIsNotDoneByTheCacheAlone(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{}, podOn("w1", "a"))
	empty := newWorld(t, interceptor.Funcs{})
	w.Live, w.Client = w.Client, readsFrom{w.Client, empty.Client}
	d, err := w.Drain(t.Context(), node("w1"), noPolicy)
	if err != nil || d.Done || len(d.Evict) != 1 {
		t.Errorf("got %+v, %v", d, err)
	}
}

// readsFrom writes to one place and lists from another.
type readsFrom struct {
	client.Client
	reader client.Reader
}

func (r readsFrom) List(ctx context.Context, l client.ObjectList, opts ...client.ListOption) error {
	return r.reader.List(ctx, l, opts...)
}

func TestDrainMemoryIsBounded(t *testing.T) {
	w := newWorld(t, refusing(budgetRefusal))
	for i := range 50 {
		n := node(fmt.Sprintf("w%d", i))
		if err := w.Client.Create(t.Context(), podOn(n.Name, "p"+n.Name)); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Drain(t.Context(), n, noPolicy); err != nil {
			t.Fatal(err)
		}
		w.clock.SetTime(w.clock.Now().Add(10 * time.Minute))
	}
	if len(w.memory) > 8 {
		t.Errorf("%d drains are remembered, of which 7 are younger than an hour", len(w.memory))
	}
}

// TestEvictionMeansOnePod: a pod that was created again under the same name is another one, whose eviction
// was not decided.
func TestEvictionMeansOnePod(t *testing.T) {
	var meant []types.UID
	w := newWorld(t, interceptor.Funcs{
		SubResourceCreate: func(_ context.Context, _ client.Client, _ string, _, s client.Object, _ ...client.SubResourceCreateOption) error {
			if o := s.(*policyv1.Eviction).DeleteOptions; o.Preconditions != nil && o.Preconditions.UID != nil {
				meant = append(meant, *o.Preconditions.UID)
			}
			return nil
		},
	}, node("w1"), podOn("w1", "a"))
	if _, err := w.Drain(t.Context(), w.read(t, "w1"), noPolicy); err != nil || !slices.Equal(meant, []types.UID{"uid-a"}) {
		t.Errorf("evicted those with UIDs %v, %v", meant, err)
	}
}
