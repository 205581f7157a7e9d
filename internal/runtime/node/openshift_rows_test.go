package node

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/millwright-dev/millwright/internal/engine/drain"
)

var oldMaster = withLabel("node-role.kubernetes.io/master", "")

// TestRowsOfOpenShiftControlPlane: step 2 of drainNode in section 2.4 of the
// OpenShift notes, each row with the node named a.
func TestRowsOfOpenShiftControlPlane(t *testing.T) {
	for row, c := range map[string]struct {
		nodes []client.Object
		held  string
	}{
		"already unschedulable ⇒ allowed":                                       {[]client.Object{node("a", master, cordoned), node("b", master)}, ""},
		"already unschedulable ⇒ allowed: different, one after the other (C17)": {[]client.Object{node("a", master, cordoned), node("b", master, cordoned)}, ""},
		"not a control-plane node ⇒ allowed":                                    {[]client.Object{node("a"), node("b", master, cordoned)}, ""},
		"any other control-plane node is unschedulable ⇒ error":                 {[]client.Object{node("a", master), node("b", master, cordoned)}, "control-plane node b is unschedulable"},
		"any other control-plane node, by the older role":                       {[]client.Object{node("a", master), node("b", oldMaster, cordoned)}, "control-plane node b is unschedulable"},
		"a control-plane node by the older role":                                {[]client.Object{node("a", oldMaster), node("b", master, cordoned)}, "control-plane node b is unschedulable"},
		"the others are schedulable ⇒ allowed":                                  {[]client.Object{node("a", master), node("b", master)}, ""},
		"another node that is no control-plane node is unschedulable ⇒ allowed": {[]client.Object{node("a", master), node("b", cordoned)}, ""},
	} {
		t.Run(row, func(t *testing.T) {
			w := newWorld(t, interceptor.Funcs{}, c.nodes...)
			if held := w.cordonIt(t, w.Cluster, "a"); !strings.HasPrefix(held, c.held) || (held == "") != (c.held == "") {
				t.Errorf("held %q, want %q", held, c.held)
			}
			if n := w.read(t, "a"); n.Spec.Unschedulable != (c.held == "" || c.nodes[0].(*corev1.Node).Spec.Unschedulable) {
				t.Errorf("unschedulable %v", n.Spec.Unschedulable)
			}
		})
	}
	t.Run("serialises control-plane drains: the second waits for the first", func(t *testing.T) {
		w := newWorld(t, interceptor.Funcs{}, node("a", master, cordoned), node("b", master, cordoned))
		if held := w.cordonIt(t, w.Cluster, "a"); held != "" {
			t.Fatalf("the first is held: %q", held)
		}
		if held := w.cordonIt(t, w.Cluster, "b"); !strings.HasPrefix(held, "control-plane node a is being drained") {
			t.Errorf("the second: %q", held)
		}
	})
}

// TestRowsOfEvictionAnswers: what the answers to an eviction lead to, in section
// 2.4 of the OpenShift notes and in 2.8 of the Gardener notes.
func TestRowsOfEvictionAnswers(t *testing.T) {
	for row, c := range map[string]struct {
		answer error
		// gone: the pod does not count any more; again: it is evicted again after the pause; fails: an error
		// is reported.
		gone, again, fails bool
		refusals           int
	}{
		"success ⇒ wait for deletion": {},
		"NotFound ⇒ done":             {answer: apierrors.NewNotFound(corev1.Resource("pods"), "a"), gone: true},
		"NotFound ⇒ done: different, not where the pod is there, as when a webhook does not find something": {
			answer: apierrors.NewNotFound(corev1.Resource("reservations"), "x"), again: true, fails: true,
		},
		"429 ⇒ retry": {answer: budgetRefusal(), again: true, refusals: 1},
		"429 without a budget ⇒ retry, not counted":       {answer: apierrors.NewTooManyRequests("busy", 1), again: true},
		"conflict: gone = other UID: the next look tells": {answer: apierrors.NewConflict(corev1.Resource("pods"), "a", errors.New("uid")), again: true},
		"any other error ⇒ fail: different, asked again (C29)": {
			answer: apierrors.NewForbidden(corev1.Resource("pods"), "a", errors.New("no")), again: true, fails: true,
		},
	} {
		t.Run(row, func(t *testing.T) {
			asked := 0
			w := newWorld(t, interceptor.Funcs{
				SubResourceCreate: func(context.Context, client.Client, string, client.Object, client.Object, ...client.SubResourceCreateOption) error {
					asked++
					return c.answer
				},
				Get: func(ctx context.Context, r client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
					if _, pod := o.(*corev1.Pod); pod && c.gone {
						return apierrors.NewNotFound(corev1.Resource("pods"), key.Name)
					}
					return r.Get(ctx, key, o, opts...)
				},
			}, podOn("w1", "a"))
			d, err := w.drain(t.Context(), w.Client, node("w1"), noPolicy)
			if d.Done != c.gone || (err != nil) != c.fails {
				t.Fatalf("done %v, want %v; %v", d.Done, c.gone, err)
			}
			if got := w.memory["uid-w1"].Attempts["uid-a"].Refusals; got != c.refusals {
				t.Errorf("%d refusals are counted, want %d", got, c.refusals)
			}
			w.clock.SetTime(start.Add(drain.DefaultRetryEvery * 2))
			if _, err := w.drain(t.Context(), w.Client, node("w1"), noPolicy); c.again && asked != 2 || c.gone && asked != 1 {
				t.Errorf("asked %d times (%v)", asked, err)
			}
		})
	}
}

// "never uncordons after a failure".
func TestRowsOfOpenShiftNeverUncordons(t *testing.T) {
	w := newWorld(t, refusing(budgetRefusal), node("a"), podOn("a", "p"))
	w.cordonIt(t, w.Cluster, "a")
	for range 3 {
		if d, err := w.Drain(t.Context(), w.read(t, "a"), noPolicy); err != nil || d.Done {
			t.Fatalf("done %v, %v", d.Done, err)
		}
	}
	if !w.read(t, "a").Spec.Unschedulable {
		t.Error("the node takes pods again")
	}
}
