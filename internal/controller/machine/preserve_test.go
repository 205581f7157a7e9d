package machine_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/controller/machine"
	"github.com/millwright-dev/millwright/internal/runtime/node"
)

const (
	preserveKey = "node.machine.sapcloud.io/preserve"
	heardKey    = "node.machine.sapcloud.io/last-applied-node-preserve-value"
	stayKey     = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
	stayByUsKey = "cluster-autoscaler.kubernetes.io/scale-down-disabled-by-mcm"
)

// asks sets an annotation of the machine, as its user or its set does; an empty
// value takes it away.
func asks(g *rig[*v1alpha1.Machine], key, value string) {
	g.Helper()
	m := g.read()
	after := m.DeepCopy()
	delete(after.Annotations, key)
	if value != "" {
		metav1.SetMetaDataAnnotation(&after.ObjectMeta, key, value)
	}
	if err := g.control.WithWatch.Patch(g.Context(), after, client.MergeFrom(m)); err != nil {
		g.Fatal(err)
	}
}

// annotate sets an annotation of the node.
func (g *rig[M]) annotate(key, value string) {
	g.Helper()
	g.edit(func(n *corev1.Node) {
		delete(n.Annotations, key)
		if value != "" {
			metav1.SetMetaDataAnnotation(&n.ObjectMeta, key, value)
		}
	})
}

// fails lets the node be silent until the machine is Failed.
func fails(g *rig[*v1alpha1.Machine]) {
	g.Helper()
	g.reports(corev1.ConditionUnknown)
	g.pass()
	g.clock.Step(10 * time.Minute)
	g.pass()
	if p := g.read().Status.CurrentStatus.Phase; p != "Failed" {
		g.Fatalf("phase %s, want Failed", p)
	}
}

// keeps is all that is said of keeping the machine: until when (in hours from
// the start), the machine's annotations and the node's, its taint, and its
// condition.
func keeps(g *rig[*v1alpha1.Machine]) string {
	g.Helper()
	m, n := g.read(), g.node()
	var out []string
	if t := m.Status.CurrentStatus.PreserveExpiryTime; t != nil {
		out = append(out, "until "+t.Sub(start).Round(time.Minute).String())
	}
	for _, k := range []string{preserveKey, heardKey} {
		if v, ok := m.Annotations[k]; ok {
			out = append(out, "machine "+k[strings.Index(k, "/")+1:]+"="+v)
		}
	}
	for _, k := range []string{preserveKey, stayKey, stayByUsKey} {
		if v, ok := n.Annotations[k]; ok {
			out = append(out, "node "+k[strings.Index(k, "/")+1:]+"="+v)
		}
	}
	for _, t := range n.Spec.Taints {
		out = append(out, "taint "+t.Key+":"+string(t.Effect))
	}
	for _, c := range n.Status.Conditions {
		if c.Type == v1alpha1.NodePreserved {
			out = append(out, string(c.Status)+" "+c.Reason+" "+c.Message)
		}
	}
	return strings.Join(out, ", ")
}

func (g *rig[M]) check(reason, got, want string) {
	g.Helper()
	if got != want {
		g.Fatalf("%s\n got %s\nwant %s", reason, got, want)
	}
}

const (
	pairSaid  = "node scale-down-disabled=true, node scale-down-disabled-by-mcm=true"
	taintSaid = "taint node.machine.sapcloud.io/preserved:NoSchedule"
)

// TestKeepWhenFailed: T33, from the annotation on the node over a drain that
// takes its time to the end of the time.
func TestKeepWhenFailed(t *testing.T) {
	g := gardenerRig(t)
	g.settle()
	g.pod("db-0", true)
	g.annotate(preserveKey, "when-failed")
	g.pass()
	g.check("heard, and nothing yet", keeps(g), "machine last-applied-node-preserve-value=when-failed, node preserve=when-failed")

	g.written()
	g.told()
	fails(g)
	until := "until 96h10m0s, machine last-applied-node-preserve-value=when-failed, node preserve=when-failed, " + pairSaid + ", " + taintSaid
	if got := keeps(g); !strings.HasPrefix(got, until+", False Preserved by user. Preserved node could not be drained. The drain is retried: 1 pod") || !strings.Contains(got, "db/db-0") {
		t.Fatalf("while the pod is there: %s", got)
	}
	if g.node().Spec.Unschedulable {
		t.Error("cordoned: the taint does that, and goes away with the failure")
	}
	if told := g.told(); !slices.ContainsFunc(told, func(e string) bool { return strings.HasPrefix(e, "Normal Preserved Machine preserved until 2026-") }) {
		t.Errorf("told %q", told)
	}
	since := g.node().Spec.Taints[0].TimeAdded
	if since == nil || !since.Equal(&metav1.Time{Time: g.clock.Now()}) {
		t.Errorf("the taint is there since %v", since)
	}

	g.ends("db-0")
	g.written()
	g.pass()
	g.check("drained", keeps(g), until+", True Preserved by user. Preserved node drained successfully. Machine preserved until 2026-01-06T03:14:05Z")
	if got := g.written(); !slices.Equal(got, []string{"patch Machine/status!", "patch Node/status!"}) {
		t.Errorf("said by %q", got)
	}
	g.restart()
	g.clock.Step(95 * time.Hour)
	res := g.pass()
	if got := g.written(); len(got) > 0 || res.RequeueAfter != time.Hour {
		t.Errorf("kept on by %q, asked again in %v, want 1h", got, res.RequeueAfter)
	}

	g.clock.Step(res.RequeueAfter)
	res = g.pass()
	stopped := "False Preservation stopped. The machine is not preserved: its time is over"
	g.check("over", keeps(g), stopped)
	if res.RequeueAfter != 0 {
		t.Errorf("asked again in %v", res.RequeueAfter)
	}
	g.written()
	if g.pass(); len(g.written()) > 0 {
		t.Error("what is over still costs writes")
	}
}

// TestKeepRecovers: a Failed machine that is kept runs again when its node is
// well, and is then as it was.
func TestKeepRecovers(t *testing.T) {
	for _, tc := range []struct{ wish, reason, want string }{
		{"when-failed", "kept until the next failure only", "machine preserve=when-failed, False Preservation stopped. The machine is not preserved: the machine has not failed, or has recovered"},
		{"auto-preserved", "its set chooses anew", "False Preservation stopped. The machine is not preserved: the machine has not failed, or has recovered"},
		{"now", "kept on, without the taint", "until 96h0m0s, machine preserve=now, " + pairSaid + ", True Preserved by user. Machine preserved until 2026-01-06T03:04:05Z"},
	} {
		t.Run(tc.wish, func(t *testing.T) {
			g := gardenerRig(t)
			g.settle()
			if tc.wish != "auto-preserved" {
				asks(g, preserveKey, tc.wish)
			}
			g.pass()
			fails(g)
			asks(g, preserveKey, tc.wish)
			g.pass()
			if got := keeps(g); !strings.Contains(got, taintSaid) || !strings.Contains(got, "drained successfully") {
				t.Fatalf("while it is Failed: %s", got)
			}
			g.clock.Step(time.Minute)
			g.reports(corev1.ConditionTrue)
			g.pass()
			if p := g.read().Status.CurrentStatus.Phase; p != "Running" {
				t.Fatalf("phase %s, want Running", p)
			}
			g.check(tc.reason, keeps(g), tc.want)
		})
	}
}

// TestKeepIsTakenBack: false on the node wins over the machine's annotation; so does an annotation that is
// removed.
func TestKeepIsTakenBack(t *testing.T) {
	for _, tc := range []struct{ name, reason, value, want string }{
		{"false", "heard", "false", "machine last-applied-node-preserve-value=false, node preserve=false, False Preservation stopped. The machine is not preserved: it is no longer requested"},
		{"taken away", "the machine's own annotation went when the node's was heard", "", "False Preservation stopped. The machine is not preserved: it is no longer requested"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := gardenerRig(t, func(m *v1alpha1.Machine) { metav1.SetMetaDataAnnotation(&m.ObjectMeta, preserveKey, "when-failed") })
			g.settle()
			g.annotate(preserveKey, "now")
			g.pass()
			g.check("N is stronger", keeps(g), "until 96h0m0s, machine last-applied-node-preserve-value=now, node preserve=now, "+pairSaid+", True Preserved by user. Machine preserved until 2026-01-06T03:04:05Z")
			g.annotate(preserveKey, tc.value)
			g.pass()
			g.check(tc.reason, keeps(g), tc.want)
		})
	}
}

// TestKeepLeavesOthersAlone: annotations for the autoscaler that another client set, before or instead of
// preservation.
func TestKeepLeavesOthersAlone(t *testing.T) {
	g := gardenerRig(t)
	g.settle()
	g.annotate(stayKey, "true")
	asks(g, preserveKey, "now")
	g.pass()
	g.check("there is nothing to add", keeps(g), "until 96h0m0s, machine preserve=now, node scale-down-disabled=true, True Preserved by user. Machine preserved until 2026-01-06T03:04:05Z")
	asks(g, preserveKey, "")
	g.pass()
	g.check("nor to take away", keeps(g), "node scale-down-disabled=true, False Preservation stopped. The machine is not preserved: it is no longer requested")

	// A rollout keeps the autoscaler away by the same pair.
	asks(g, preserveKey, "when-failed")
	g.annotate(stayByUsKey, "true")
	g.pass()
	if got := keeps(g); !strings.Contains(got, pairSaid) {
		t.Errorf("a machine that is not kept lost the pair of a rollout: %s", got)
	}
}

// TestKeepBadWords: named, once, and nothing is done.
func TestKeepBadWords(t *testing.T) {
	g := gardenerRig(t)
	g.settle()
	g.told()
	g.annotate(preserveKey, "please")
	asks(g, preserveKey, "now")
	g.pass()
	told := g.told()
	if len(told) != 1 || !strings.HasPrefix(told[0], "Warning InvalidPreservation annotation node.machine.sapcloud.io/preserve of the node must be one of now, when-failed") {
		t.Errorf("told %q", told)
	}
	if g.pass(); len(g.told()) > 0 {
		t.Error("told again")
	}
	g.check("invalid N aborts", keeps(g), "machine preserve=now, node preserve=please")
	g.annotate(preserveKey, "")
	asks(g, preserveKey, "please")
	g.pass() // there is no news in a wish that still means nothing
	g.check("invalid M is ignored", keeps(g), "machine preserve=please")
}

// TestKeepSurvivesFailures: each write is refused once. What is on the node is
// never there without the machine's time, and the plan is carried out in the
// end.
func TestKeepSurvivesFailures(t *testing.T) {
	kept := "until 96h0m0s, machine preserve=now, " + pairSaid + ", True Preserved by user. Machine preserved until 2026-01-06T03:04:05Z"
	ended := "False Preservation stopped. The machine is not preserved: it is no longer requested"
	refused := func(write string) error {
		return apierrors.NewInternalError(errors.New(write))
	}
	for _, end := range []bool{false, true} {
		for nth := range 5 {
			g := gardenerRig(t)
			g.settle()
			asks(g, preserveKey, "now")
			if end {
				g.pass()
				asks(g, preserveKey, "")
			}
			g.written()
			writes := 0
			refuse := func(write string) error {
				if writes++; writes == nth+1 {
					return refused(write)
				}
				return nil
			}
			g.control.refuse, g.target.refuse = refuse, refuse
			for range 4 {
				_, err := g.try("m-1")
				g.target.refuse, g.control.refuse = refuse, refuse
				n, m := g.node(), g.read()
				if (n.Annotations[stayByUsKey] != "" || strings.Contains(keeps(g), "Preserved by user")) && m.Status.CurrentStatus.PreserveExpiryTime == nil {
					t.Fatalf("write %d refused (%v): the node is marked, and the machine does not say why: %s", nth, err, keeps(g))
				}
			}
			want := kept
			if end {
				want = ended
			}
			g.check("in the end", keeps(g), want)
		}
	}
}

// TestKeepDrainIsNotForgotten: a node that was kept in good health is not taken
// for drained when the pass that fences it cannot say how far it got.
func TestKeepDrainIsNotForgotten(t *testing.T) {
	g := gardenerRig(t)
	g.settle()
	g.pod("db-0", true)
	asks(g, preserveKey, "now")
	g.pass()
	g.reports(corev1.ConditionUnknown)
	g.pass()
	g.clock.Step(10 * time.Minute)
	g.target.refuse = func(write string) error {
		if write == "patch Node/status!" && len(g.node().Spec.Taints) > 0 {
			return apierrors.NewInternalError(errors.New("busy"))
		}
		return nil
	}
	if _, err := g.try("m-1"); err == nil {
		t.Fatal("the refused write is no error")
	}
	g.target.refuse = nil
	g.restart()
	g.pass()
	if got := keeps(g); !strings.Contains(got, "Preserved node could not be drained. The drain is retried: 1 pod") {
		t.Errorf("with a pod on it: %s", got)
	}
}

// TestKeepAsksTheServer: a cache that does not show the node is no reason to end
// what the node asks for.
func TestKeepAsksTheServer(t *testing.T) {
	g := gardenerRig(t)
	g.settle()
	g.annotate(preserveKey, "now")
	g.pass()
	fails(g)
	want := keeps(g)
	g.r = machine.New(machine.Options[*v1alpha1.Machine]{
		Client: g.control, Live: g.control, Clock: g.clock, Dialect: g.lens, Resolver: resolver(g.lens, g.control), Provider: g.cloud, Recorder: g.events,
		Nodes: node.New(newRecording(t), g.target, g.clock),
	})
	g.pass()
	g.check("by a cache without nodes", keeps(g), want)
}

// TestKeepCost: what is kept costs one write of each kind, what is not kept
// none.
func TestKeepCost(t *testing.T) {
	g := gardenerRig(t)
	g.settle()
	g.written()
	asks(g, preserveKey, "now")
	g.control.writes = nil
	g.pass()
	want := []string{"patch Machine/status!", "patch Machine/status!", "patch Node!", "patch Node/status!"}
	if got := g.written(); !slices.Equal(got, want) {
		t.Errorf("begun by %q, want %q", got, want)
	}
	g.pass()
	asks(g, preserveKey, "false")
	g.control.writes = nil
	g.pass()
	want = []string{"patch Machine/status!", "patch Node!", "patch Node/status!"}
	if got := g.written(); !slices.Equal(got, want) {
		t.Errorf("ended by %q, want %q", got, want)
	}
	if g.pass(); len(g.written()) > 0 {
		t.Error("and then still costs writes")
	}
}

// TestKeptBlocksNobody: 2.5. A machine that failed and is kept stays for days; until then others may fail
// too.
func TestKeptBlocksNobody(t *testing.T) {
	for _, kept := range []bool{true, false} {
		g := gardenerRig(t)
		other := gardenerMachine(func(m *v1alpha1.Machine) {
			m.Name, m.UID = "m-2", "uid-2"
			m.Status.CurrentStatus.Phase = v1alpha1.MachineFailed
			yes := true
			m.OwnerReferences = []metav1.OwnerReference{{APIVersion: "machine.sapcloud.io/v1alpha1", Kind: "MachineSet", Name: "s", UID: "s", Controller: &yes}}
			if kept {
				m.Status.CurrentStatus.PreserveExpiryTime = &metav1.Time{Time: start.Add(time.Hour)}
			}
		})
		if err := g.control.WithWatch.Create(g.Context(), other); err != nil {
			t.Fatal(err)
		}
		g.settle()
		g.reports(corev1.ConditionUnknown)
		g.pass()
		g.clock.Step(10 * time.Minute)
		g.pass()
		if got := g.read().Status.CurrentStatus.Phase == v1alpha1.MachineFailed; got != kept {
			t.Errorf("with the other one kept %v: given up %v", kept, got)
		}
	}
}

// TestKeptIsQuiet: a pass that has nothing to do for a kept machine, nor for a deleted token, performs no
// step, or a check of the steps would report a loop.
func TestKeptIsQuiet(t *testing.T) {
	g := gardenerRig(t)
	g.settle()
	asks(g, preserveKey, "now")
	lines := 0
	if g.logged(&lines); lines != 3 {
		t.Errorf("%d lines for three steps", lines)
	}
	g.restart()
	if g.logged(&lines); lines != 3 {
		t.Errorf("%d more lines for none", lines-3)
	}
}
