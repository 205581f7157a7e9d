package interruption

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// rows have the condition of each kind.
var rows = []struct {
	kind    Kind
	is      corev1.NodeConditionType
	reason  string
	message func([]Notice) string
}{
	{Termination, Terminating, ReasonTerminationRequested, func([]Notice) string { return MessageTerminating }},
	{Rebalance, RebalanceRecommended, ReasonCapacityAtRisk, list("The cloud provider may reclaim this instance soon: ")},
	{Maintenance, MaintenanceScheduled, ReasonMaintenanceNotice, list("The cloud provider plans work on this instance: ")},
}

// Decide returns the changes to the node after the cloud's metadata was read. Without news there is no
// change: a notice that stands costs no write.
func Decide(now time.Time, node Node, r Report) Change {
	var c Change
	for _, row := range rows {
		have := find(node.Conditions, row.is)
		of := ofKind(r.Notices, row.kind)
		switch {
		case len(of) > 0:
			want := corev1.NodeCondition{Type: row.is, Status: corev1.ConditionTrue, Reason: row.reason, Message: row.message(of)}
			if foreign(have, row.reason) || same(have, want) {
				continue
			}
			c.Conditions = append(c.Conditions, stamp(now, have, want))
		case r.Clear[row.kind] && have.Status == corev1.ConditionTrue && have.Reason == row.reason:
			want := corev1.NodeCondition{Type: row.is, Status: corev1.ConditionFalse, Reason: ReasonWithdrawn, Message: messageWithdrawn}
			c.Conditions = append(c.Conditions, stamp(now, have, want))
		}
	}
	c.Deadline = deadline(now, node, r)
	return c
}

// Stands reports whether the node has a condition or annotation of this handler that a report may withdraw.
func (n Node) Stands() bool {
	if n.Deadline != "" {
		return true
	}
	for _, row := range rows {
		if have := find(n.Conditions, row.is); have.Status == corev1.ConditionTrue && have.Reason == row.reason {
			return true
		}
	}
	return false
}

// find returns the condition of the type; or the zero condition.
func find(all []corev1.NodeCondition, is corev1.NodeConditionType) corev1.NodeCondition {
	for _, c := range all {
		if c.Type == is {
			return c
		}
	}
	return corev1.NodeCondition{}
}

// foreign reports whether another program has already set the condition to True, with its own reason, as on
// the node of a machine under deletion. Then this handler leaves the condition alone.
func foreign(have corev1.NodeCondition, reason string) bool {
	return have.Status == corev1.ConditionTrue && have.Reason != "" && have.Reason != reason
}

func same(a, b corev1.NodeCondition) bool {
	return a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message
}

// stamp keeps the time of the last transition if the status stays: timeouts count from it.
func stamp(now time.Time, have, want corev1.NodeCondition) corev1.NodeCondition {
	want.LastHeartbeatTime, want.LastTransitionTime = metav1.NewTime(now), metav1.NewTime(now)
	if have.Status == want.Status && !have.LastTransitionTime.IsZero() {
		want.LastTransitionTime = have.LastTransitionTime
	}
	return want
}

func ofKind(all []Notice, k Kind) []Notice {
	return slices.DeleteFunc(slices.Clone(all), func(n Notice) bool { return n.Kind != k })
}

// deadline returns the new value of the annotation; nil if it does not change.
func deadline(now time.Time, node Node, r Report) *string {
	notices := ofKind(r.Notices, Termination)
	if len(notices) == 0 {
		if r.Clear[Termination] && node.Deadline != "" {
			return new(string)
		}
		return nil
	}
	at := goes(now, node, notices)
	if at.IsZero() {
		return nil
	}
	text := at.UTC().Format(time.RFC3339)
	if text == node.Deadline {
		return nil
	}
	return &text
}

// goes returns when the instance ends; zero if unknown. A time from the cloud comes first. A grace period
// counts from the first observation of the notice, and only if no deadline stands: the deadline must not move
// with each observation.
func goes(now time.Time, node Node, notices []Notice) (at time.Time) {
	var grace time.Duration
	for _, n := range notices {
		if !n.At.IsZero() && (at.IsZero() || n.At.Before(at)) {
			at = n.At
		}
		if n.Grace > 0 && (grace == 0 || n.Grace < grace) {
			grace = n.Grace
		}
	}
	if !at.IsZero() || grace == 0 {
		return at
	}
	if !node.Standing.IsZero() {
		return node.Standing
	}
	since := now
	if have := find(node.Conditions, Terminating); have.Status == corev1.ConditionTrue && have.Reason == ReasonTerminationRequested && !have.LastTransitionTime.IsZero() {
		since = have.LastTransitionTime.Time
	}
	return since.Add(grace)
}

// maxDetail and maxNotices bound what a cloud can put into a message.
const (
	maxDetail  = 200
	maxNotices = 5
)

// list returns a function that writes notices into a message, sorted: a cloud may list them in a different
// order each time.
func list(begin string) func([]Notice) string {
	return func(notices []Notice) string {
		notices = slices.Clone(notices)
		slices.SortFunc(notices, func(a, b Notice) int {
			return cmp.Or(a.At.Compare(b.At), strings.Compare(a.Action, b.Action), strings.Compare(a.Detail, b.Detail))
		})
		var parts []string
		for _, n := range notices[:min(len(notices), maxNotices)] {
			parts = append(parts, sentence(n))
		}
		if len(notices) > maxNotices {
			parts = append(parts, "and more")
		}
		return begin + strings.Join(parts, "; ")
	}
}

// sentence returns "Reboot, not before 2026-11-21T10:00:00Z (host is being updated)".
func sentence(n Notice) string {
	var s strings.Builder
	s.WriteString(tidy(n.Action))
	if !n.At.IsZero() {
		s.WriteString(", not before " + n.At.UTC().Format(time.RFC3339))
	}
	if detail := tidy(n.Detail); detail != "" {
		s.WriteString(" (" + detail + ")")
	}
	return s.String()
}

// tidy returns the cloud's text as one short line.
func tidy(text string) string {
	text = strings.ToValidUTF8(text, "")
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > maxDetail {
		return string(runes[:maxDetail]) + "…"
	}
	return text
}
