package machine_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
)

// loses fails one pass, whose status is not saved, and returns what it told.
func (g *rig[M]) loses(write string) []string {
	g.Helper()
	g.control.refuse = func(w string) error {
		if w == write {
			return errors.New("connection reset by peer")
		}
		return nil
	}
	if _, err := g.try("m-1"); err == nil {
		g.Fatal("the pass went well")
	}
	g.control.refuse = nil
	return g.told()
}

// told returns the events among those told since that begin like one.
func (g *rig[M]) toldLike(start string) []string {
	return slices.DeleteFunc(g.told(), func(e string) bool { return !strings.HasPrefix(e, start) })
}

// TestUnsavedIsToldLater: what a pass could not save it did not tell either, and the
// first that is saved tells it.
func TestUnsavedIsToldLater(t *testing.T) {
	t.Run("that the infrastructure refuses a deletion", func(t *testing.T) {
		g := openshiftRig(t)
		g.settle()
		g.delete()
		g.cloud.deleteErr = errors.New("in use")
		told := g.loses("patch Machine/status!")
		for range 3 {
			g.clock.Step(g.pass().RequeueAfter)
			told = append(told, g.toldLike("Warning FailedDelete in use")...)
		}
		if len(told) != 1 {
			t.Errorf("told %q, want it once", told)
		}
	})
	t.Run("that a hook is overdue", func(t *testing.T) {
		lens := openshift.Machines{HookPatience: time.Hour}
		g := newRig[*machinev1.Machine](t, lens, openshiftMachine(func(m *machinev1.Machine) {
			m.Spec.LifecycleHooks.PreDrain = []machinev1.LifecycleHook{{Name: "Backup", Owner: "backup-operator"}}
		}), userData("boot"))
		g.settle()
		g.delete()
		g.clock.SetTime(g.read().DeletionTimestamp.Add(time.Hour)) // by the fake server's own clock
		told := g.loses("patch Machine/status!")
		for range 2 {
			g.pass()
			told = append(told, g.toldLike("Warning HookPending")...)
		}
		if len(told) != 1 {
			t.Errorf("told %q, want it once", told)
		}
	})
	t.Run("that a wish to keep the machine means nothing", func(t *testing.T) {
		g := gardenerRig(t)
		g.settle()
		g.told()
		asks(g, v1alpha1.AnnotationKeyPreserve, "always")
		g.readiness(corev1.ConditionUnknown) // there is something to save
		told := g.loses("patch Machine/status!")
		for range 2 {
			g.pass()
			told = append(told, g.toldLike("Warning InvalidPreservation")...)
		}
		if len(told) != 1 {
			t.Errorf("told %q, want it once", told)
		}
	})
}

// TestRefusedIsToldAnew: where nothing can be written to the machine, an event is all that
// there is, too.
func TestRefusedIsToldAnew(t *testing.T) {
	t.Run("openshift", func(t *testing.T) { refusedIsToldAnew(openshiftRig(t)) })
	t.Run("gardener", func(t *testing.T) { refusedIsToldAnew(gardenerRig(t)) })
}

func refusedIsToldAnew[M client.Object](g *rig[M]) {
	denied := apierrors.NewForbidden(schema.GroupResource{Resource: "machines"}, "m-1", errors.New("policy denies it"))
	g.control.refuse = func(string) error { return denied }
	for _, tc := range []struct {
		reason string
		after  time.Duration
		want   int
	}{
		{"at first", 0, 1},
		{"half an hour later", 30 * time.Minute, 0},
		{"before the event is forgotten", 14 * time.Minute, 1},
		{"half an hour after that", 30 * time.Minute, 0},
	} {
		g.clock.Step(tc.after)
		if _, err := g.try("m-1"); err == nil {
			g.Fatal("the pass went well")
		}
		if told := g.toldLike("Warning FailedUpdate"); len(told) != tc.want {
			g.Errorf("%s: told %q, want %d", tc.reason, told, tc.want)
		}
	}
}

// TestRefusalIsToldAnew: events are kept for an hour, and no condition of this API says
// why a deletion fails. As long as it does, one of the events is there.
func TestRefusalIsToldAnew(t *testing.T) {
	g := openshiftRig(t)
	g.settle()
	g.delete()
	g.cloud.deleteErr = errors.New("in use")
	var told []time.Time
	for begin := g.clock.Now(); g.clock.Since(begin) < 6*time.Hour; {
		after := g.pass().RequeueAfter
		for range g.toldLike("Warning FailedDelete in use") {
			told = append(told, g.clock.Now())
		}
		g.clock.Step(after)
	}
	if len(told) < 7 || len(told) > 10 {
		t.Fatalf("told %d times in six hours, want somewhat more than once an hour", len(told))
	}
	for n, at := range told[1:] {
		if gap := at.Sub(told[n]); gap >= time.Hour {
			t.Errorf("nothing told for %v", gap)
		}
	}
}

// TestNodeOfAnUnrecordedInstance: the created instance could not be recorded, and is terminated within one
// pass of the deletion. Its node is deleted with it, though no record leads there any more, also by the
// next process.
func TestNodeOfAnUnrecordedInstance(t *testing.T) {
	t.Run("openshift", func(t *testing.T) { unrecordedNode(t, openshiftRig) })
	t.Run("gardener", func(t *testing.T) { unrecordedNode(t, gardenerRig) })
}

func unrecordedNode[M client.Object](t *testing.T, rigged func(*testing.T, ...func(M)) *rig[M]) {
	for _, tt := range []struct {
		reason, providerID string
		restart            bool
	}{
		{"the node has no provider ID yet", "", false},
		{"the node shows its provider ID", "memory:///i-1", false},
		{"another process goes on, and the node has none", "", true},
		{"another process goes on", "memory:///i-1", true},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			g := rigged(t)
			g.cloud.lag = 2 * time.Second
			g.control.refuse = func(w string) error {
				if g.cloud.count("Create") > 0 && strings.HasPrefix(w, "patch Machine") {
					return errors.New("not by our policy")
				}
				return nil
			}
			_, _ = g.try("m-1")
			g.control.refuse = nil
			if v := g.lens.View(g.read()); v.Recorded.Provisioned || v.Recorded.NodeName != "" || len(g.cloud.instances) != 1 {
				t.Fatalf("the machine has recorded %q, %q; %d instances", v.Recorded.ProviderID, v.Recorded.NodeName, len(g.cloud.instances))
			}
			n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1", UID: "node-uid"}}
			n.Spec.ProviderID = tt.providerID
			n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}}
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
			if err := g.target.WithWatch.Create(t.Context(), n); err != nil {
				t.Fatal(err)
			}
			g.delete()
			g.pass()
			if tt.restart {
				g.restart()
			}
			g.reports(corev1.ConditionUnknown) // its kubelet has stopped
			for range 5 {
				g.clock.Step(time.Minute)
				g.pass()
			}
			if n := g.count(&corev1.NodeList{}); !g.gone() || n > 0 || len(g.cloud.instances) > 0 {
				t.Errorf("gone %v, %d nodes, %d instances", g.gone(), n, len(g.cloud.instances))
			}
		})
	}
}
