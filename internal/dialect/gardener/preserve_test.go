package gardener_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	lens "github.com/millwright-dev/millwright/internal/dialect/dialecttest"
	"github.com/millwright-dev/millwright/internal/dialect/gardener"
	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

const (
	preserve  = "node.machine.sapcloud.io/preserve"
	heard     = "node.machine.sapcloud.io/last-applied-node-preserve-value"
	stay      = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
	stayByUs  = "cluster-autoscaler.kubernetes.io/scale-down-disabled-by-mcm"
	preserved = "node.machine.sapcloud.io/preserved"
)

// keptNode is a Ready node with annotations, given as pairs, and edits.
func keptNode(annotations []string, edits ...func(*corev1.Node)) *corev1.Node {
	n := lens.Node(corev1.ConditionTrue)
	for i := 0; i+1 < len(annotations); i += 2 {
		metav1.SetMetaDataAnnotation(&n.ObjectMeta, annotations[i], annotations[i+1])
	}
	for _, e := range edits {
		e(n)
	}
	return n
}

func fencedAt(at *metav1.Time) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: preserved, Effect: corev1.TaintEffectNoSchedule, TimeAdded: at})
	}
}

func preservedSays(status corev1.ConditionStatus, reason string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: "Preserved", Status: status, Reason: reason})
	}
}

// TestKeptIsRead: the annotation, the taint and the condition of 1.7.
func TestKeptIsRead(t *testing.T) {
	now := metav1.NewTime(lens.Now)
	for name, tc := range map[string]struct {
		reason string
		node   *corev1.Node
		want   lifecycle.NodePreservation
	}{
		"nothing":          {"nobody asks", keptNode(nil), lifecycle.NodePreservation{}},
		"empty":            {"is as good as none", keptNode([]string{preserve, ""}), lifecycle.NodePreservation{}},
		"now":              {"2.10", keptNode([]string{preserve, "now"}), lifecycle.NodePreservation{Wish: lifecycle.WishNow}},
		"when-failed":      {"2.10", keptNode([]string{preserve, "when-failed"}), lifecycle.NodePreservation{Wish: lifecycle.WishFailed}},
		"auto-preserved":   {"2.10", keptNode([]string{preserve, "auto-preserved"}), lifecycle.NodePreservation{Wish: lifecycle.WishOwner}},
		"false":            {"2.10", keptNode([]string{preserve, "false"}), lifecycle.NodePreservation{Wish: lifecycle.WishNot}},
		"another word":     {"is none", keptNode([]string{preserve, "True"}), lifecycle.NodePreservation{Wish: lifecycle.WishUnknown}},
		"taint":            {"with its time", keptNode(nil, fencedAt(&now)), lifecycle.NodePreservation{Fenced: true, FencedSince: now.Time}},
		"taint, no time":   {"somebody else's", keptNode(nil, fencedAt(nil)), lifecycle.NodePreservation{Fenced: true}},
		"Preserved True":   {"by user", keptNode(nil, preservedSays("True", "Preserved by user.")), lifecycle.NodePreservation{Condition: lifecycle.PreserveActive}},
		"Preserved by MCM": {"by its set", keptNode(nil, preservedSays("True", "Preserved by MCM.")), lifecycle.NodePreservation{Condition: lifecycle.PreserveActive}},
		"Preserved False":  {"not drained", keptNode(nil, preservedSays("False", "Preserved by user.")), lifecycle.NodePreservation{Condition: lifecycle.PreserveDraining}},
		"stopped":          {"False as well", keptNode(nil, preservedSays("False", "Preservation stopped.")), lifecycle.NodePreservation{Condition: lifecycle.PreserveStopped}},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tc.want, machines.NodePreservation(tc.node)); d != "" {
				t.Errorf("%s (-want +got)\n%s", tc.reason, d)
			}
		})
	}
}

// TestKeepOnNode: preservation's steps 2 and 3, and their undoing, in metadata
// and taints.
func TestKeepOnNode(t *testing.T) {
	now := metav1.NewTime(lens.Now)
	pair := []string{stay, "true", stayByUs, "true"}
	for name, tc := range map[string]struct {
		reason     string
		node, want *corev1.Node
		k          lifecycle.PreservePlan
	}{
		"preserve":                 {"the pair", keptNode(nil), keptNode(pair), lifecycle.PreservePlan{Machine: lifecycle.PreservedMachine{Preserve: true}}},
		"preserve, disabled":       {"skipped: it is the user's", keptNode([]string{stay, "true"}), keptNode([]string{stay, "true"}), lifecycle.PreservePlan{Machine: lifecycle.PreservedMachine{Preserve: true}}},
		"preserve, enabled":        {"not disabled", keptNode([]string{stay, "false"}), keptNode(pair), lifecycle.PreservePlan{Machine: lifecycle.PreservedMachine{Preserve: true}}},
		"preserve, Failed":         {"the taint, with its time", keptNode(pair), keptNode(pair, fencedAt(&now)), lifecycle.PreservePlan{Machine: lifecycle.PreservedMachine{Preserve: true}, Node: lifecycle.PreservedNode{Fence: true}}},
		"preserve, tainted before": {"its time stays", keptNode(pair, fencedAt(nil)), keptNode(pair, fencedAt(nil)), lifecycle.PreservePlan{Machine: lifecycle.PreservedMachine{Preserve: true}, Node: lifecycle.PreservedNode{Fence: true}}},
		"running again":            {"the taint goes", keptNode(pair, fencedAt(&now)), keptNode(pair), lifecycle.PreservePlan{Machine: lifecycle.PreservedMachine{Preserve: true}}},
		"stop":                     {"all goes but the wish", keptNode(append(pair, preserve, "false"), fencedAt(&now)), keptNode([]string{preserve, "false"}), lifecycle.PreservePlan{Node: lifecycle.PreservedNode{End: true}}},
		"stop, not ours":           {"only with the by-mcm one", keptNode([]string{stay, "true"}), keptNode([]string{stay, "true"}), lifecycle.PreservePlan{Node: lifecycle.PreservedNode{End: true}}},
		"stop, expired":            {"the wish goes too", keptNode(append(pair, preserve, "now")), keptNode(nil), lifecycle.PreservePlan{Node: lifecycle.PreservedNode{End: true, DropWish: true}}},
		"not kept":                 {"the pair is a rollout's", keptNode(pair), keptNode(pair), lifecycle.PreservePlan{Bound: true}},
	} {
		t.Run(name, func(t *testing.T) {
			machines.Preserve(tc.node, tc.k, lens.Now)
			if len(tc.node.Annotations) == 0 {
				tc.node.Annotations = nil
			}
			if len(tc.node.Spec.Taints) == 0 {
				tc.node.Spec.Taints = nil
			}
			if d := cmp.Diff(tc.want, tc.node); d != "" {
				t.Errorf("%s (-want +got)\n%s", tc.reason, d)
			}
		})
	}
}

// TestKeptIsSaid: the reasons and messages of the condition Preserved (1.7), and
// that each is read back.
func TestKeptIsSaid(t *testing.T) {
	until := lens.Now.Add(96 * time.Hour)
	for name, tc := range map[string]struct {
		k               lifecycle.PreservePlan
		status          corev1.ConditionStatus
		reason, message string
	}{
		"not Failed":   {lifecycle.PreservePlan{Node: lifecycle.PreservedNode{Condition: lifecycle.PreserveActive}, Machine: lifecycle.PreservedMachine{Until: until}}, "True", "Preserved by user.", "Machine preserved until 2026-01-06T03:04:05Z"},
		"drained":      {lifecycle.PreservePlan{Node: lifecycle.PreservedNode{Condition: lifecycle.PreserveActive, Fence: true}, Machine: lifecycle.PreservedMachine{Until: until}}, "True", "Preserved by user.", "Preserved node drained successfully. Machine preserved until 2026-01-06T03:04:05Z"},
		"by its set":   {lifecycle.PreservePlan{Node: lifecycle.PreservedNode{Condition: lifecycle.PreserveActive, Fence: true}, Machine: lifecycle.PreservedMachine{Until: until, ByOwner: true}}, "True", "Preserved by MCM.", "Preserved node drained successfully. Machine preserved until 2026-01-06T03:04:05Z"},
		"drain begins": {lifecycle.PreservePlan{Node: lifecycle.PreservedNode{Condition: lifecycle.PreserveDraining}}, "False", "Preserved by user.", "Preserved node could not be drained. The drain begins"},
		"not drained":  {lifecycle.PreservePlan{Node: lifecycle.PreservedNode{Condition: lifecycle.PreserveDraining, Message: "1 pod has to leave: a/b"}}, "False", "Preserved by user.", "Preserved node could not be drained. The drain is retried: 1 pod has to leave: a/b"},
		"stopped":      {lifecycle.PreservePlan{Node: lifecycle.PreservedNode{Condition: lifecycle.PreserveStopped, Message: "its time is over"}}, "False", "Preservation stopped.", "The machine is not preserved: its time is over"},
	} {
		t.Run(name, func(t *testing.T) {
			c := machines.PreserveCondition(tc.k)
			want := corev1.NodeCondition{Type: "Preserved", Status: tc.status, Reason: tc.reason, Message: tc.message}
			if d := cmp.Diff(want, c); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
			if got := machines.NodePreservation(lens.Says(keptNode(nil), c)).Condition; got != tc.k.Node.Condition {
				t.Errorf("%s is read back as %s", tc.k.Node.Condition, got)
			}
		})
	}
}

// TestPreserveTimeout: the spec's, else the flag's (1.3, 6.3).
func TestPreserveTimeout(t *testing.T) {
	m := freshMachine()
	if p := machines.Policy(m); !p.Preserve.Supported || p.Preserve.Timeout != 96*time.Hour {
		t.Errorf("without a wish: %v, keeps %v", p.Preserve.Timeout, p.Preserve.Supported)
	}
	m.Spec.MachineConfiguration = &v1alpha1.MachineConfiguration{MachinePreserveTimeout: &metav1.Duration{Duration: time.Hour}}
	if p := machines.Policy(m); p.Preserve.Timeout != time.Hour {
		t.Errorf("spec.machinePreserveTimeout: 1h is taken for %v", p.Preserve.Timeout)
	}
}

// TestSetReadsWhatIsKept: what the machine's side writes, as the set's side
// (3.4) reads it.
func TestSetReadsWhatIsKept(t *testing.T) {
	until := lens.Now.Add(time.Hour)
	for name, tc := range map[string]struct {
		reason     string
		own, heard string
		until      time.Time

		auto, spared, decided bool
	}{
		"nothing":                   {"the set may choose it", "", "", time.Time{}, false, false, false},
		"asked":                     {"spared until its time begins", "when-failed", "", time.Time{}, false, true, true},
		"asked by the node":         {"no need to choose it", "", "when-failed", time.Time{}, false, true, true},
		"refused by the node":       {"not to be chosen", "", "false", time.Time{}, false, false, true},
		"kept":                      {"until its time ends", "now", "", until, false, true, true},
		"chosen":                    {"counts against the bound", "auto-preserved", "", until, true, true, true},
		"over":                      {"not to be chosen again", "", "", lens.Now.Add(-time.Second), false, false, true},
		"a word that means nothing": {"ignored", "please", "", time.Time{}, false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := freshMachine()
			m.Status.CurrentStatus.Phase = v1alpha1.MachineFailed
			m.Annotations = map[string]string{preserve: tc.own, heard: tc.heard}
			if !tc.until.IsZero() {
				m.Status.CurrentStatus.PreserveExpiryTime = &metav1.Time{Time: tc.until}
			}
			got := gardener.Sets{}.Member(&v1alpha1.MachineSet{}, m, nil).Preservation
			if got.ByOwner() != tc.auto || got.Spares(lens.Now) != tc.spared || got.Decided() != tc.decided || !got.Until.Equal(tc.until) {
				t.Errorf("%s: chosen by the set %v, spared %v, decided %v in %+v", tc.reason, got.ByOwner(), got.Spares(lens.Now), got.Decided(), got)
			}
		})
	}
}

// TestPreservationStory pins what preservation leaves in the machine: section
// 2.10, from a failure to the end of its time or its recovery.
func TestPreservationStory(t *testing.T) {
	asked := func(wish string, k lifecycle.NodePreservation) func(*lifecycle.World) {
		return func(w *lifecycle.World) {
			w.Node.Preservation = k
			w.Node.Preservation.Wish = map[string]lifecycle.Wish{"": lifecycle.WishNone, "now": lifecycle.WishNow}[wish]
		}
	}
	world := func(ready corev1.ConditionStatus, edits ...func(*lifecycle.World)) lifecycle.World {
		w := lens.World(lens.Instance(provider.Running), lens.Node(ready))
		w.MayFail = true
		for _, e := range edits {
			e(&w)
		}
		return w
	}
	running := preservedMachine()
	running.Annotations = map[string]string{v1alpha1.AnnotationKeyMachinePriority: "3", preserve: "when-failed"}
	running.Status.CurrentStatus.PreserveExpiryTime = nil
	running.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(&v1alpha1.MachineSet{}, gardener.Sets{}.Traits().Kind)}
	drained := func(w *lifecycle.World) { w.Preserving.Drain = &drain.Decision{Done: true} }
	fenced := lifecycle.NodePreservation{Fenced: true, FencedSince: lens.Now, Condition: lifecycle.PreserveActive}

	lens.Story[*v1alpha1.Machine]{
		Dialect: machines, Fresh: running, Dir: "testdata/machine", Update: *update,
		Chapters: []chapter{
			{Name: "preserve-unknown", Reason: "2.10 when-failed, not Failed: nothing", World: world("Unknown"), Events: []string{
				"Normal Unhealthy: Machine m-1 is unhealthy - changing MachinePhase to Unknown. Node conditions: [Ready=Unknown]",
			}},
			{Name: "preserve-failed", Reason: "2.10 when-failed, Failed: the time, 96h from now; lastUpdateTime is the phase's", From: "preserve-unknown", After: 10 * time.Minute, World: world("Unknown", drained), Events: []string{
				"Warning Unhealthy: Machine m-1 health checks failing since last 10 minutes. Updating machine phase to Failed. Node Conditions: [Ready=Unknown]",
				"Normal Preserved: Machine preserved until 2026-01-06T03:14:05Z",
			}},
			{Name: "preserve-recovered", Reason: "2.10 when-failed, Running again: the time goes, the annotation stays", From: "preserve-failed", After: time.Hour, World: world("True", asked("", fenced)), Events: []string{
				"Normal Recovered: Machine m-1 successfully re-joined the cluster",
				"Normal PreservationStopped: The machine is not preserved: the machine has not failed, or has recovered",
			}},
			{Name: "preserve-by-node", Reason: "2.10 node-driven: the machine's own annotation goes, what was heard is noted", From: "preserve-failed", After: time.Hour, World: world("Unknown", asked("now", fenced))},
			{Name: "preserve-over", Reason: "2.10 expired: annotations go; a Failed machine shows its set that its time is over", From: "preserve-by-node", After: 95 * time.Hour, World: world("Unknown", asked("now", fenced))},
			{Name: "preserve-ended", Reason: "2.10: the time goes last", From: "preserve-over", After: time.Minute, World: world("True", asked("", lifecycle.NodePreservation{Condition: lifecycle.PreserveStopped})), Events: []string{
				"Normal Recovered: Machine m-1 successfully re-joined the cluster",
				"Normal PreservationStopped: The machine is not preserved: its time is over",
			}},
		},
	}.Check(t)
}
