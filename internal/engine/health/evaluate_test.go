package health

import (
	"math"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/internal/engine/connectivity"
)

var t0 = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return t0.Add(-d) }

// linked is a healthy machine on a node, with edits.
func linked(edit ...func(*Target)) Target {
	t := Target{
		UID: "u", Namespace: "ns", Name: "m", Created: ago(24 * time.Hour), Updated: ago(23 * time.Hour), NodeName: "n",
		Owner: Owner{UID: "set", Kind: "MachineSet", Name: "set"},
		Node:  &Node{Name: "n", Conditions: []NodeCondition{{"Ready", "True", ago(23 * time.Hour)}}},
	}
	for _, e := range edit {
		e(&t)
	}
	return t
}

func shows(kind, status string, since time.Duration) func(*Target) {
	return func(t *Target) {
		for i := range t.Node.Conditions {
			if t.Node.Conditions[i].Type == kind {
				t.Node.Conditions[i] = NodeCondition{kind, status, ago(since)}
				return
			}
		}
		t.Node.Conditions = append(t.Node.Conditions, NodeCondition{kind, status, ago(since)})
	}
}

func unlinkedFor(created, updated time.Duration) func(*Target) {
	return func(t *Target) {
		t.NodeName, t.Node, t.Created, t.Updated = "", nil, ago(created), time.Time{}
		if updated >= 0 {
			t.Updated = ago(updated)
		}
	}
}

func newMachine(age time.Duration) func(*Target) {
	return func(t *Target) { t.Created, t.Updated = ago(age), ago(age) }
}

func isFailed(t *Target)   { t.Failed = true }
func isDeleting(t *Target) { t.Deleting = true }
func isMarked(t *Target)   { t.Marked = true }
func nodeGone(t *Target)   { t.Node = nil }

func readyCheck(edit ...func(*Check)) Check {
	c := Check{
		Conditions:     []Condition{{"Ready", "Unknown", 5 * time.Minute}, {"Ready", "False", 5 * time.Minute}},
		StartupTimeout: 10 * time.Minute, Remediation: Delete, Breaker: DefaultBreaker(),
	}
	for _, e := range edit {
		e(&c)
	}
	return c
}

func startup(d time.Duration) func(*Check) { return func(c *Check) { c.StartupTimeout = d } }
func nodesOnly(c *Check)                   { c.NodesOnly = true }

// TestRowsOfOpenShiftTargets has a row for every row of the target table, section 4.3 of the OpenShift notes,
// and for our differences.
func TestRowsOfOpenShiftTargets(t *testing.T) {
	own := func(startup, health time.Duration, types ...string) func(*Target) {
		return func(t *Target) {
			t.Own = Own{Conditions: types}
			if startup > 0 {
				t.Own.Startup = ptr.To(startup)
			}
			if health > 0 {
				t.Own.Health = ptr.To(health)
			}
		}
	}
	other := func(kind, status string, timeout time.Duration) func(*Check) {
		return func(c *Check) { c.Conditions = append(c.Conditions, Condition{kind, status, timeout}) }
	}
	in := func(d time.Duration) time.Time { return t0.Add(d) }
	for _, c := range []struct {
		reason string
		check  Check
		target Target
		state  State
		due    time.Time
	}{
		{"row 1: phase == Failed ⇒ remediate", readyCheck(), linked(isFailed), Unhealthy, time.Time{}},
		{"row 1: phase == Failed ⇒ remediate, before all else", readyCheck(startup(0)), linked(unlinkedFor(time.Hour, time.Hour), isFailed), Unhealthy, time.Time{}},
		{"row 1: phase == Failed ⇒ remediate; that it is leaving is for the plan to tell", readyCheck(), linked(isFailed, isDeleting), Unhealthy, time.Time{}},
		{"row 2: nodeRef nil and nodeStartupTimeout == 0 ⇒ not remediated, no recheck, but not healthy", readyCheck(startup(0)), linked(unlinkedFor(99*time.Hour, 99*time.Hour)), Starting, time.Time{}},
		{"row 3: nodeRef nil, status.lastUpdated nil ⇒ recheck after nodeStartupTimeout", readyCheck(), linked(unlinkedFor(99*time.Hour, -1)), Starting, in(10 * time.Minute)},
		{"row 4: nodeRef nil, lastUpdated + timeout < now ⇒ remediate", readyCheck(), linked(unlinkedFor(10*time.Minute+1, 10*time.Minute+1)), Unhealthy, time.Time{}},
		{"row 5: nodeRef nil otherwise: just the timeout is not more than it", readyCheck(), linked(unlinkedFor(10*time.Minute, 10*time.Minute)), Starting, in(time.Second)},
		{"row 5: nodeRef nil otherwise ⇒ recheck after timeout − elapsed + 1s", readyCheck(), linked(unlinkedFor(4*time.Minute, 4*time.Minute)), Starting, in(6*time.Minute + time.Second)},
		{"row 5: the clock is the last change of the status", readyCheck(), linked(unlinkedFor(15*time.Minute, 4*time.Minute)), Starting, in(6*time.Minute + time.Second)},
		{"C10: changes of the status postpone it to three timeouts at most", readyCheck(), linked(unlinkedFor(25*time.Minute, 0)), Starting, in(5*time.Minute + time.Second)},
		{"a clock that is an hour behind wrote the status: no machine is without a node for longer than it exists", readyCheck(), linked(unlinkedFor(time.Minute, time.Hour)), Starting, in(9*time.Minute + time.Second)},
		{"C10: and not for ever", readyCheck(), linked(unlinkedFor(31*time.Minute, time.Second)), Unhealthy, time.Time{}},
		{"row 5: for longer than durations can be added up", readyCheck(startup(math.MaxInt64)), linked(unlinkedFor(time.Hour, time.Hour)), Starting, in(math.MaxInt64/3 - time.Hour + time.Second)},
		{"a new machine on the node of an earlier instance: its condition counts from the creation of the machine", readyCheck(), linked(shows("Ready", "Unknown", time.Hour), newMachine(time.Minute)), Suspect, in(4*time.Minute + time.Second)},
		{"a new machine on the node of an earlier instance, for longer than the timeout", readyCheck(), linked(shows("Ready", "Unknown", time.Hour), newMachine(5*time.Minute+1)), Unhealthy, time.Time{}},
		{"row 6: nodeRef set, Node missing ⇒ remediate immediately", readyCheck(), linked(nodeGone), Unhealthy, time.Time{}},
		{"row 7: condition of that type exists, status equal, lastTransitionTime + timeout < now ⇒ remediate", readyCheck(), linked(shows("Ready", "False", 5*time.Minute+1)), Unhealthy, time.Time{}},
		{"row 7: entries are OR-ed", readyCheck(other("Disk", "True", time.Minute)), linked(shows("Disk", "True", 2*time.Minute)), Unhealthy, time.Time{}},
		{"row 7: timeout 0s ⇒ remediate at once", readyCheck(other("Terminating", "True", 0)), linked(shows("Terminating", "True", time.Second)), Unhealthy, time.Time{}},
		{"row 8: entry matches, timeout not expired: just the timeout is not more than it", readyCheck(), linked(shows("Ready", "Unknown", 5*time.Minute)), Suspect, in(time.Second)},
		{"row 8: entry matches, timeout not expired ⇒ recheck after timeout − elapsed + 1s", readyCheck(), linked(shows("Ready", "Unknown", time.Minute)), Suspect, in(4*time.Minute + time.Second)},
		{"row 8: min over entries", readyCheck(other("Disk", "True", 2*time.Minute)), linked(shows("Ready", "Unknown", time.Minute), shows("Disk", "True", 0)), Suspect, in(2*time.Minute + time.Second)},
		{"row 8: one that expired comes before one that did not", readyCheck(other("Disk", "True", 2*time.Minute)), linked(shows("Ready", "Unknown", time.Minute), shows("Disk", "True", time.Hour)), Unhealthy, time.Time{}},
		{"row 8: for longer than durations can be added up", readyCheck(other("Disk", "True", math.MaxInt64)), linked(shows("Disk", "True", 0)), Suspect, in(math.MaxInt64/3 + time.Second)},
		{"row 7: timeout 0s ⇒ remediate at once: different, whatever the node's clock says", readyCheck(other("Terminating", "True", 0)), linked(shows("Terminating", "True", -time.Minute)), Unhealthy, time.Time{}},
		{"row 2: nodeStartupTimeout == 0 does not stop row 6", readyCheck(startup(0)), linked(nodeGone), Unhealthy, time.Time{}},
		{"row 2: nodeStartupTimeout == 0 does not stop row 7", readyCheck(startup(0)), linked(shows("Ready", "False", time.Hour)), Unhealthy, time.Time{}},
		{"row 9: otherwise ⇒ healthy", readyCheck(), linked(), Healthy, time.Time{}},
		{"row 9: healthy: another status of the type", readyCheck(other("Disk", "True", 0)), linked(shows("Disk", "False", time.Hour)), Healthy, time.Time{}},
		{"row 9: Node condition absent ⇒ healthy w.r.t. that entry", readyCheck(other("Disk", "Unknown", 0)), linked(), Healthy, time.Time{}},
		{"row 9: healthy iff Machine not deleting", readyCheck(), linked(isDeleting), Leaving, time.Time{}},
		{"row 9: healthy iff no host.metal3.io/external-remediation annotation", readyCheck(), linked(isMarked), Leaving, time.Time{}},
		{"rows 7 and 9: on its way out and sick", readyCheck(), linked(isDeleting, shows("Ready", "False", time.Hour)), Unhealthy, time.Time{}},

		{"1.7: the old API does not know phases", readyCheck(nodesOnly), linked(isFailed), Healthy, time.Time{}},
		{"1.7: nor start-ups", readyCheck(nodesOnly), linked(unlinkedFor(99*time.Hour, 99*time.Hour)), Starting, time.Time{}},
		{"1.7: nor nodes that are gone", readyCheck(nodesOnly), linked(nodeGone), Lost, time.Time{}},
		{"1.7: it knows conditions", readyCheck(nodesOnly), linked(shows("Ready", "Unknown", 6*time.Minute)), Unhealthy, time.Time{}},

		{"own timeouts: creation counts from creation", readyCheck(), linked(unlinkedFor(21*time.Minute, 0), own(20*time.Minute, 0)), Unhealthy, time.Time{}},
		{"own timeouts: though nobody has begun", readyCheck(startup(0)), linked(unlinkedFor(19*time.Minute, -1), own(20*time.Minute, 0)), Starting, in(time.Minute + time.Second)},
		{"own timeouts: health instead of the condition's", readyCheck(), linked(shows("Ready", "Unknown", 6*time.Minute), own(0, 10*time.Minute)), Suspect, in(4*time.Minute + time.Second)},
		{"own timeouts: more conditions, Unknown is not False", readyCheck(), linked(shows("Disk", "Unknown", 11*time.Minute), own(0, 10*time.Minute, "Disk")), Unhealthy, time.Time{}},
		{"own timeouts: more conditions, False is well", readyCheck(), linked(shows("Disk", "False", 11*time.Minute), own(0, 10*time.Minute, "Disk")), Healthy, time.Time{}},
		{"own timeouts: no conditions without a timeout", readyCheck(), linked(shows("Disk", "True", 11*time.Minute), own(0, 0, "Disk")), Healthy, time.Time{}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			got := Evaluate(t0, connectivity.State{}, &c.check, &c.target)
			if got.State != c.state || !got.Due.Equal(c.due) {
				t.Errorf("%s, due %s; want %s, due %s (%s)", got.State, got.Due, c.state, c.due, got.Message)
			}
			if got.Message == "" {
				t.Error("has no message")
			}
		})
	}
}

// TestRowsOfOpenShiftLimits: section 4.4 of the OpenShift notes, with its values and those of the schema.
func TestRowsOfOpenShiftLimits(t *testing.T) {
	for _, c := range []struct {
		reason, text string
		total, want  int
		bad          bool
	}{
		{"String ending % ⇒ floor(pct·expected/100)", "40%", 5, 2, false},
		{"String ending % ⇒ floor(pct·expected/100)", "60%", 7, 4, false},
		{"Int ⇒ as is", "2", 1, 2, false},
		{"Negative ⇒ 0", "-1", 5, 0, false},
		{"Negative ⇒ 0, of a percentage", "-10%", 5, 0, false},
		{"none", "0%", 5, 0, false},
		{"all", "100%", 5, 5, false},
		{"1.3: capped at 100%", "150%", 5, 5, false},
		{"Other string ⇒ Atoi", "3", 5, 3, false},
		{"Parse error", "foo%50", 5, 0, true},
		{"Parse error, a fraction", "1.5", 5, 0, true},
		{"Parse error, nothing", "", 5, 0, true},
		{"C22: more than fits the wire", "99999999999999999999999", 5, 1<<31 - 1, false},
		{"C22: more percent than fits", "99999999999999999999999%", 5, 5, false},
	} {
		t.Run(c.reason+": "+c.text, func(t *testing.T) {
			l, err := ParseLimit(c.text)
			if (err != nil) != c.bad {
				t.Fatal(err)
			}
			if got := l.Of(c.total); err == nil && (got != c.want || l.String() != c.text) {
				t.Errorf("of %d it is %d, want %d (%s)", c.total, got, c.want, l)
			}
		})
	}
	if l := (Limit{}); l.Of(7) != 7 || l.String() != "<nil>" {
		t.Errorf("4.4: nothing said is all: %d, %s", l.Of(7), l)
	}
}

func heard(n *corev1.Node) *corev1.Node {
	out := n.DeepCopy()
	out.ResourceVersion += "1"
	for i := range out.Status.Conditions {
		out.Status.Conditions[i].LastHeartbeatTime = metav1.NewTime(t0)
	}
	return out
}

func TestStirs(t *testing.T) {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "1", Labels: map[string]string{corev1.LabelTopologyZone: "a"}}}
	n.Status.Conditions = []corev1.NodeCondition{{Type: "Ready", Status: "True", LastTransitionTime: metav1.NewTime(ago(time.Hour))}}
	changed := func(edit func(*corev1.Node)) *corev1.Node {
		out := heard(n)
		edit(out)
		return out
	}
	for _, c := range []struct {
		reason        string
		before, after *corev1.Node
		want          bool
	}{
		{"W10: a heartbeat", n, heard(n), false},
		{"images and allocatable", n, changed(func(n *corev1.Node) { n.Status.Images = make([]corev1.ContainerImage, 3) }), false},
		{"a new node", nil, n, true},
		{"a node that is gone", n, nil, true},
		{"a status", n, changed(func(n *corev1.Node) { n.Status.Conditions[0].Status = "False" }), true},
		{"a flap between two looks", n, changed(func(n *corev1.Node) { n.Status.Conditions[0].LastTransitionTime = metav1.NewTime(t0) }), true},
		{"another condition", n, changed(func(n *corev1.Node) {
			n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: "Disk"})
		}), true},
		{"a type in the place of another", n, changed(func(n *corev1.Node) { n.Status.Conditions[0].Type = "Disk" }), true},
		{"a zone", n, changed(func(n *corev1.Node) { n.Labels[corev1.LabelTopologyZone] = "b" }), true},
		{"a node of the same name", n, changed(func(n *corev1.Node) { n.UID = "2" }), true},
		{"a request to restart", n, changed(func(n *corev1.Node) { n.Annotations = map[string]string{RebootAnnotation: ""} }), true},
	} {
		t.Run(c.reason, func(t *testing.T) {
			if got := Stirs(c.before, c.after); got != c.want {
				t.Errorf("%s: %v, want %v", c.reason, got, c.want)
			}
		})
	}
	beat := heard(n)
	if got := testing.AllocsPerRun(100, func() { Stirs(n, beat) }); got != 0 {
		t.Errorf("a heartbeat allocates %v times", got)
	}
}

func TestNodeOf(t *testing.T) {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{
		corev1.LabelTopologyZone: "a", "example.com/rack": "r1", "node-role.kubernetes.io/master": "",
	}}}
	n.Status.Conditions = []corev1.NodeCondition{{Type: "Ready", Status: "False", LastTransitionTime: metav1.NewTime(t0)}}
	want := &Node{Name: "n", ControlPlane: true, Zone: "a", Rack: "r1", Conditions: []NodeCondition{{"Ready", "False", t0}}}
	if got := NodeOf(n, "example.com/rack"); !got.equal(want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if NodeOf(nil, "") != nil {
		t.Error("no node is no node")
	}
}
