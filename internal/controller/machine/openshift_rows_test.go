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
)

// said is a condition of the machine as "True message" or "False Reason message".
func said(m *machinev1.Machine, kind machinev1.ConditionType) string {
	for _, c := range m.Status.Conditions {
		if c.Type == kind {
			return strings.Join(strings.Fields(string(c.Status)+" "+c.Reason+" "+c.Message), " ")
		}
	}
	return ""
}

func excluded(m *machinev1.Machine) {
	metav1.SetMetaDataAnnotation(&m.ObjectMeta, "machine.openshift.io/exclude-node-draining", "")
}

func hook(name string) []machinev1.LifecycleHook {
	return []machinev1.LifecycleHook{{Name: name, Owner: "somebody"}}
}

func preDrainHooked(m *machinev1.Machine)     { m.Spec.LifecycleHooks.PreDrain = hook("Flush") }
func preTerminateHooked(m *machinev1.Machine) { m.Spec.LifecycleHooks.PreTerminate = hook("Backup") }

// TestRowsOfOpenShiftDrain: the table of section 2.4 of the OpenShift notes, row
// by row: what the object and its events say after the first pass, which the
// instance does not outlast in its own time.
func TestRowsOfOpenShiftDrain(t *testing.T) {
	stuckPod := func(g *rig[*machinev1.Machine]) { g.pod("db-0", true) }
	noPod := func(*rig[*machinev1.Machine]) {}
	noNode := func(g *rig[*machinev1.Machine]) {
		if err := g.target.WithWatch.Delete(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(g *rig[*machinev1.Machine]) {
		g.pod("db-0", false)
		g.target.refuse = func(w string) error {
			if w == "create Pod/eviction" {
				return apierrors.NewInternalError(errors.New("no eviction today"))
			}
			return nil
		}
	}
	for _, r := range []struct {
		row     string
		edit    func(*machinev1.Machine)
		set     func(*rig[*machinev1.Machine])
		drained string
		event   string
		// asked: the instance was.
		asked bool
	}{
		{"exclude-node-draining present", excluded, stuckPod, "True Node drain skipped", "Normal DrainSkipped Node drain skipped", true},
		{"status.nodeRef nil", nil, noNode, "True Node drain skipped", "Normal DrainSkipped Node drain skipped", true},
		{"preDrain hooks non-empty", preDrainHooked, stuckPod, "", "Normal DrainBlocked Drain blocked by pre-drain hook", false},
		{"otherwise: DrainProceeds each attempt: different, no event for what goes on", nil, stuckPod, "False DrainError could not drain machine: 1 pod has to leave: db/db-0 (eviction accepted)", "", false},
		{"drainNode error: Drained=False/DrainError not stored: different (C1)", nil, refused, "False DrainError could not drain machine: ", "Normal DrainRequeued Node drain requeued: ", false},
		{"success", nil, noPod, "True Drain finished successfully", "Normal DrainSucceeded Node drain succeeded", true},
	} {
		t.Run(r.row, func(t *testing.T) {
			g := openshiftRig(t)
			g.settle()
			if r.edit != nil {
				g.change(r.edit)
			}
			r.set(g)
			g.cloud.deletions = 1
			g.delete()
			g.pass()
			m := g.read()
			if got := said(m, machinev1.MachineDrained); !strings.HasPrefix(got, r.drained) || (got == "") != (r.drained == "") {
				t.Errorf("Drained is %q, want %q", got, r.drained)
			}
			told := slices.DeleteFunc(g.told(), func(e string) bool { return !strings.Contains(e, " Drain") })
			if r.event == "" && len(told) > 0 || r.event != "" && (len(told) != 1 || !strings.HasPrefix(told[0], r.event)) {
				t.Errorf("told %q, want %q", told, r.event)
			}
			if asked := g.cloud.count("Delete") > 0; asked != r.asked {
				t.Errorf("the instance was asked to go: %v, want %v", asked, r.asked)
			}
		})
	}
}

// The owner of a pre-terminate hook waits for the end of the drain by the
// condition Drained, so it has to be there while the hook holds.
func TestRowsOfOpenShiftDrainedBeforeTerminate(t *testing.T) {
	for _, r := range []struct {
		row     string
		edit    func(*machinev1.Machine)
		drained string
	}{
		{"success, preTerminate non-empty: Drained=True", func(*machinev1.Machine) {}, "True Drain finished successfully"},
		{"exclude-node-draining present, preTerminate non-empty: Drained=True", excluded, "True Node drain skipped"},
		{"preDrain non-empty, exclude-node-draining present: not yet (C2)", func(m *machinev1.Machine) { excluded(m); preDrainHooked(m) }, ""},
	} {
		t.Run(r.row, func(t *testing.T) {
			g := openshiftRig(t)
			g.settle()
			g.change(func(m *machinev1.Machine) { preTerminateHooked(m); r.edit(m) })
			g.delete()
			g.pass()
			if got := said(g.read(), machinev1.MachineDrained); got != r.drained || len(g.cloud.instances) != 1 {
				t.Errorf("Drained is %q, want %q; %d instances", got, r.drained, len(g.cloud.instances))
			}
		})
	}
}

// TestRowsOfOpenShiftDrainNode: the steps of drainNode in section 2.4.
func TestRowsOfOpenShiftDrainNode(t *testing.T) {
	for _, r := range []struct {
		row  string
		set  func(*rig[*machinev1.Machine])
		goes bool
	}{
		{"1 live GET of Node; NotFound ⇒ success", func(g *rig[*machinev1.Machine]) {
			if err := g.target.WithWatch.Delete(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}); err != nil {
				t.Fatal(err)
			}
		}, true},
		{"2 already unschedulable ⇒ allowed", func(g *rig[*machinev1.Machine]) {
			g.edit(func(n *corev1.Node) { n.Spec.Unschedulable = true })
		}, true},
		{"2 not a control-plane node ⇒ allowed", func(g *rig[*machinev1.Machine]) { g.otherNode("node-2") }, true},
		{"4 cordon; failure ⇒ RequeueAfter 20s: different, 30s", func(g *rig[*machinev1.Machine]) {
			g.target.refuse = func(w string) error {
				if strings.HasPrefix(w, "patch Node") {
					return apierrors.NewInternalError(errors.New("no"))
				}
				return nil
			}
		}, false},
	} {
		t.Run(r.row, func(t *testing.T) {
			g := openshiftRig(t)
			g.settle()
			r.set(g)
			g.delete()
			res := g.pass()
			if g.gone() != r.goes || !r.goes && res.RequeueAfter != 30*time.Second {
				t.Errorf("gone %v, want %v; again after %v", g.gone(), r.goes, res.RequeueAfter)
			}
		})
	}
}

// otherNode is a node that a user has cordoned.
func (g *rig[M]) otherNode(name string) {
	g.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "uid-other"}}
	n.Spec.Unschedulable = true
	if err := g.target.WithWatch.Create(g.Context(), n); err != nil {
		g.Fatal(err)
	}
}
