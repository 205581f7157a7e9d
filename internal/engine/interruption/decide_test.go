package interruption

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

var (
	began = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	now   = began.Add(time.Minute)
)

// at is a condition since began.
func at(is corev1.NodeConditionType, status corev1.ConditionStatus, reason, message string) corev1.NodeCondition {
	since := metav1.NewTime(began)
	return corev1.NodeCondition{Type: is, Status: status, Reason: reason, Message: message, LastHeartbeatTime: since, LastTransitionTime: since}
}

func clear(kinds ...Kind) map[Kind]bool {
	out := map[Kind]bool{}
	for _, k := range kinds {
		out[k] = true
	}
	return out
}

// marked is the node that the original leaves.
func marked() corev1.NodeCondition {
	return at("Terminating", "True", "TerminationRequested", "The cloud provider has marked this instance for termination")
}

func withdrawn(is corev1.NodeConditionType) corev1.NodeCondition {
	return fresh(at(is, "False", "NoticeWithdrawn", "The cloud provider has withdrawn its notice"))
}

// fresh is a condition whose status has just changed.
func fresh(c corev1.NodeCondition) corev1.NodeCondition {
	c.LastHeartbeatTime, c.LastTransitionTime = metav1.NewTime(now), metav1.NewTime(now)
	return c
}

// rewritten is one whose text has.
func rewritten(c corev1.NodeCondition) corev1.NodeCondition {
	c.LastHeartbeatTime = metav1.NewTime(now)
	return c
}

const (
	rebalanceText = "The cloud provider may reclaim this instance soon: rebalance (since noon)"
	rebootText    = "The cloud provider plans work on this instance: Reboot, not before 2026-11-21T11:00:00Z (update)"
)

var (
	terminate = Notice{Kind: Termination, Action: "terminate", At: began.Add(3 * time.Minute)}
	preempt   = Notice{Kind: Termination, Action: "preempt", Grace: 30 * time.Second}
	rebalance = Notice{Kind: Rebalance, Action: "rebalance", Detail: "since noon"}
	reboot    = Notice{Kind: Maintenance, Action: "Reboot", At: began.Add(time.Hour), Detail: "update"}
	freeze    = Notice{Kind: Maintenance, Action: "Freeze", At: began.Add(2 * time.Hour)}
)

func TestDecide(t *testing.T) {
	ready := at("Ready", "True", "KubeletReady", "")
	scaleDown := at("Terminating", "True", "ScaleDown", "")
	cases := []struct {
		reason string
		node   Node
		report Report
		want   Change
	}{
		{reason: "nothing is known: nothing is written"},
		{
			reason: "10: no marker, nothing is written, no False condition either",
			node:   Node{Conditions: []corev1.NodeCondition{ready}}, report: Report{Clear: clear(Kinds...)},
		},
		{
			reason: "10: positive: type, status, reason and message as the original writes them",
			node:   Node{Conditions: []corev1.NodeCondition{ready}}, report: Report{Notices: []Notice{terminate}},
			want: Change{Conditions: []corev1.NodeCondition{fresh(marked())}, Deadline: ptr.To("2026-11-21T10:03:00Z")},
		},
		{
			reason: "it stands, and costs no write",
			node:   Node{Conditions: []corev1.NodeCondition{marked()}, Deadline: "2026-11-21T10:03:00Z"}, report: Report{Notices: []Notice{terminate}},
		},
		{
			reason: "what was not answered takes nothing back",
			node:   Node{Conditions: []corev1.NodeCondition{marked()}, Deadline: "2026-11-21T10:03:00Z"}, report: Report{Clear: clear(Rebalance, Maintenance)},
		},
		{
			reason: "the cloud takes it back, and with it the deadline",
			node:   Node{Conditions: []corev1.NodeCondition{marked()}, Deadline: "2026-11-21T10:03:00Z"}, report: Report{Clear: clear(Kinds...)},
			want: Change{Conditions: []corev1.NodeCondition{withdrawn("Terminating")}, Deadline: ptr.To("")},
		},
		{
			reason: "what was taken back and comes again is a transition",
			node:   Node{Conditions: []corev1.NodeCondition{at("Terminating", "False", "NoticeWithdrawn", "")}}, report: Report{Notices: []Notice{terminate}},
			want: Change{Conditions: []corev1.NodeCondition{fresh(marked())}, Deadline: ptr.To("2026-11-21T10:03:00Z")},
		},
		{
			reason: "a node whose machine is on its way out keeps that condition: only the deadline is news",
			node:   Node{Conditions: []corev1.NodeCondition{scaleDown}}, report: Report{Notices: []Notice{terminate}},
			want: Change{Deadline: ptr.To("2026-11-21T10:03:00Z")},
		},
		{
			reason: "the condition of somebody else is not taken back",
			node:   Node{Conditions: []corev1.NodeCondition{scaleDown}}, report: Report{Clear: clear(Kinds...)},
		},
		{
			reason: "two places tell of one termination: the earlier time counts",
			node:   Node{}, report: Report{Notices: []Notice{{Kind: Termination, At: began.Add(time.Hour)}, {Kind: Termination}, terminate}},
			want: Change{Conditions: []corev1.NodeCondition{fresh(marked())}, Deadline: ptr.To("2026-11-21T10:03:00Z")},
		},
		{
			reason: "the cloud moves the time",
			node:   Node{Conditions: []corev1.NodeCondition{marked()}, Deadline: "2026-11-21T10:05:00Z"}, report: Report{Notices: []Notice{terminate}},
			want: Change{Deadline: ptr.To("2026-11-21T10:03:00Z")},
		},
		{
			reason: "nobody says when: no deadline",
			node:   Node{}, report: Report{Notices: []Notice{{Kind: Termination}}},
			want: Change{Conditions: []corev1.NodeCondition{fresh(marked())}},
		},
		{
			reason: "10: GCP gives 30 s, from the moment of the notice",
			node:   Node{}, report: Report{Notices: []Notice{preempt}},
			want: Change{Conditions: []corev1.NodeCondition{fresh(marked())}, Deadline: ptr.To("2026-11-21T10:01:30Z")},
		},
		{
			reason: "those 30 s do not begin again with every look",
			node:   Node{Conditions: []corev1.NodeCondition{marked()}, Deadline: "2026-11-21T10:00:30Z"}, report: Report{Notices: []Notice{preempt}},
		},
		{
			reason: "nor do they on a node whose machine is on its way out already",
			node:   Node{Conditions: []corev1.NodeCondition{scaleDown}, Deadline: "2026-11-21T10:00:30Z"}, report: Report{Notices: []Notice{preempt}},
		},
		{
			reason: "a deadline that was lost is found again by the condition",
			node:   Node{Conditions: []corev1.NodeCondition{marked()}, Deadline: "soon"}, report: Report{Notices: []Notice{preempt}},
			want: Change{Deadline: ptr.To("2026-11-21T10:00:30Z")},
		},
		{
			reason: "an early notice is a condition of its own",
			node:   Node{}, report: Report{Notices: []Notice{rebalance, reboot}},
			want: Change{Conditions: []corev1.NodeCondition{
				fresh(at("RebalanceRecommended", "True", "CapacityAtRisk", rebalanceText)),
				fresh(at("MaintenanceScheduled", "True", "MaintenanceNotice", rebootText)),
			}},
		},
		{
			reason: "each kind is taken back by itself",
			node: Node{Conditions: []corev1.NodeCondition{
				at("RebalanceRecommended", "True", "CapacityAtRisk", rebalanceText), at("MaintenanceScheduled", "True", "MaintenanceNotice", rebootText),
			}},
			report: Report{Clear: clear(Maintenance, Termination)},
			want:   Change{Conditions: []corev1.NodeCondition{withdrawn("MaintenanceScheduled")}},
		},
		{
			reason: "news about a notice that stands is no transition: timeouts go on",
			node:   Node{Conditions: []corev1.NodeCondition{at("MaintenanceScheduled", "True", "MaintenanceNotice", rebootText)}},
			report: Report{Notices: []Notice{freeze, reboot}},
			want: Change{Conditions: []corev1.NodeCondition{
				rewritten(at("MaintenanceScheduled", "True", "MaintenanceNotice", rebootText+"; Freeze, not before 2026-11-21T12:00:00Z")),
			}},
		},
		{
			reason: "the order in which a cloud lists events means nothing",
			node: Node{Conditions: []corev1.NodeCondition{
				at("MaintenanceScheduled", "True", "MaintenanceNotice", rebootText+"; Freeze, not before 2026-11-21T12:00:00Z"),
			}},
			report: Report{Notices: []Notice{reboot, freeze}},
		},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Decide(now, withDeadline(c.node, c.node.Deadline), c.report)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func TestMessageIsShort(t *testing.T) {
	var many []Notice
	for range 7 {
		many = append(many, Notice{Kind: Maintenance, Action: "Reboot", Detail: "line\nbreak \x00\xff " + strings.Repeat("ä", 5000)})
	}
	got := Decide(now, Node{}, Report{Notices: many}).Conditions[0].Message
	want := "The cloud provider plans work on this instance: " +
		strings.Repeat("Reboot (line break "+strings.Repeat("ä", 189)+"…); ", 5) + "and more"
	if got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestMerge(t *testing.T) {
	cases := []struct {
		reason            string
		known, look, want Report
	}{
		{"nothing was learned: what is known stands", Report{Notices: []Notice{terminate, rebalance}}, Report{}, Report{Notices: []Notice{terminate, rebalance}}},
		{"what was clear is not clear for ever", Report{Clear: clear(Kinds...)}, Report{}, Report{}},
		{"a notice is taken back", Report{Notices: []Notice{terminate}}, Report{Clear: clear(Termination)}, Report{Clear: clear(Termination)}},
		{"another kind's answer takes nothing back", Report{Notices: []Notice{terminate}}, Report{Clear: clear(Rebalance)}, Report{Notices: []Notice{terminate}, Clear: clear(Rebalance)}},
		{"news take the place of what was", Report{Notices: []Notice{reboot}}, Report{Notices: []Notice{freeze}}, Report{Notices: []Notice{freeze}}},
		{"a notice counts, whatever else is said", Report{}, Report{Notices: []Notice{reboot}, Clear: clear(Maintenance)}, Report{Notices: []Notice{reboot}}},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			got := Merge(c.known, c.look)
			if diff := cmp.Diff(c.want.Notices, got.Notices); diff != "" {
				t.Errorf("%s: notices (-want +got):\n%s", c.reason, diff)
			}
			for _, k := range Kinds {
				if got.Clear[k] != c.want.Clear[k] {
					t.Errorf("%s: clear of %s is %v", c.reason, k, got.Clear[k])
				}
			}
			if want := len(c.want.Notices) == 0 && len(c.want.Clear) == 0; got.Empty() != want {
				t.Errorf("%s: empty is %v", c.reason, got.Empty())
			}
		})
	}
}

func TestStands(t *testing.T) {
	cases := []struct {
		reason string
		node   Node
		want   bool
	}{
		{"an ordinary node", Node{Conditions: []corev1.NodeCondition{at("Ready", "True", "KubeletReady", "")}}, false},
		{"marked, also by the original", Node{Conditions: []corev1.NodeCondition{marked()}}, true},
		{"marked by somebody else", Node{Conditions: []corev1.NodeCondition{at("Terminating", "True", "ScaleDown", "")}}, false},
		{"taken back", Node{Conditions: []corev1.NodeCondition{withdrawn("Terminating")}}, false},
		{"a deadline alone", Node{Deadline: "2026-11-21T10:03:00Z"}, true},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			if got := c.node.Stands(); got != c.want {
				t.Errorf("%s: stands is %v", c.reason, got)
			}
		})
	}
}
