package machine_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/api/millwright"
	"github.com/millwright-dev/millwright/internal/controller/machine"
	"github.com/millwright-dev/millwright/provider"
)

// woken are how many machines are woken by a look for corrections.
func (g *rig[M]) woken() int { return len(machine.Corrections[M]{Reconciler: g.r}.Look(g.Context())) }

// TestCorrected says what wakes a machine that waits, and what does not.
func TestCorrected(t *testing.T) {
	denied := provider.Errorf(provider.Denied, "the password is wrong")
	for _, tt := range []struct {
		reason string
		before func(*rig[*v1alpha1.Machine])
		after  func(*rig[*v1alpha1.Machine])
		wakes  bool
	}{
		{"nothing has changed", nil, nil, false},
		{"a secret was corrected", nil, func(g *rig[*v1alpha1.Machine]) {
			g.correct(userData("boot"), func(o client.Object) { o.(*corev1.Secret).Data["password"] = []byte("sesame") })
		}, true},
		{"the secret became unreadable", nil, func(g *rig[*v1alpha1.Machine]) { g.control.secret = forbidden() }, false},
		{
			"the right to read the secret was granted", func(g *rig[*v1alpha1.Machine]) { g.control.secret = forbidden() },
			func(g *rig[*v1alpha1.Machine]) { g.control.secret = nil }, true,
		},
		{"a label of the secret is none of its data", nil, func(g *rig[*v1alpha1.Machine]) {
			g.correct(userData("boot"), func(o client.Object) { o.SetLabels(map[string]string{"a": "b"}) })
		}, false},
		{"the class has another choice", nil, func(g *rig[*v1alpha1.Machine]) {
			g.correct(machineClass(), func(o client.Object) { o.SetAnnotations(map[string]string{millwright.Fallback: `[{"zone":"b"}]`}) })
		}, true},
	} {
		g := gardenerRig(t, held[*v1alpha1.Machine](gardenerFinalizer))
		g.cloud.openErr = func(provider.Class) error { return denied }
		if tt.before != nil {
			tt.before(g)
		}
		for range 6 { // pauses grow
			g.pass()
			g.clock.Step(10 * time.Second)
		}
		if tt.after != nil {
			tt.after(g)
		}
		if got := g.woken() == 1; got != tt.wakes {
			t.Errorf("%s: woken %t", tt.reason, got)
		}
		g.cloud.openErr, g.control.secret = nil, nil
		g.pass()
		if g.woken() != 0 {
			t.Errorf("%s: a machine that does not wait any more is woken", tt.reason)
		}
	}
}

// TestCorrectedSource: so does what a session is opened from besides.
func TestCorrectedSource(t *testing.T) {
	g := gardenerRig(t, held[*v1alpha1.Machine](gardenerFinalizer))
	g.cloud.traits.Source = "old"
	g.cloud.createErr = provider.Errorf(provider.Exhausted, "the endpoint of the old bundle has no room")
	g.pass()
	g.pass()
	if g.woken() != 0 {
		t.Error("woken by nothing")
	}
	if g.cloud.traits.Source = "new"; g.woken() != 1 {
		t.Error("not woken by another bundle")
	}
}

// TestCorrectionsAreCheap: machines of one class read its secret once in each look, and those that do not wait do not.
func TestCorrectionsAreCheap(t *testing.T) {
	g := gardenerRig(t, held[*v1alpha1.Machine](gardenerFinalizer))
	g.cloud.openErr = func(provider.Class) error { return provider.Errorf(provider.Denied, "the password is wrong") }
	for n := range 50 {
		m := gardenerMachine(held[*v1alpha1.Machine](gardenerFinalizer))
		m.Name, m.UID = fmt.Sprintf("n-%d", n), m.UID+"-"+m.UID
		if err := g.control.WithWatch.Create(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		if _, err := g.try(m.Name); err != nil {
			t.Fatal(err)
		}
	}
	g.control.secrets = 0
	if g.woken(); g.control.secrets != 1 {
		t.Errorf("50 machines that wait read %d secrets", g.control.secrets)
	}
	g.cloud.openErr = nil
	g.clock.Step(time.Hour)
	for n := range 50 {
		if _, err := g.try(fmt.Sprintf("n-%d", n)); err != nil {
			t.Fatal(err)
		}
	}
	g.control.secrets = 0
	if g.woken(); g.control.secrets != 0 {
		t.Errorf("machines that do not wait read %d secrets", g.control.secrets)
	}
}

func forbidden() error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "user", nil)
}

// correct patches an object as it is by now.
func (g *rig[M]) correct(o client.Object, change func(client.Object)) {
	g.Helper()
	if err := g.control.Get(g.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		g.Fatal(err)
	}
	before := o.DeepCopyObject().(client.Object)
	change(o)
	if err := g.control.WithWatch.Patch(g.Context(), o, client.MergeFrom(before)); err != nil {
		g.Fatal(err)
	}
	g.control.writes = nil
}
