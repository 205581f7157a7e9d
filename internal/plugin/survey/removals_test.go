package survey

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/provider"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// about returns an event about a machine, with the timestamps of the core API for events.
func about(api, machine, reason string, after time.Duration) corev1.Event {
	return corev1.Event{
		InvolvedObject: corev1.ObjectReference{APIVersion: api + "/v1", Kind: "Machine", UID: types.UID(machine)},
		Reason:         reason, FirstTimestamp: metav1.NewTime(start.Add(after)), LastTimestamp: metav1.NewTime(start.Add(after + time.Hour)),
	}
}

// TestTook: a deletion lasts from the earliest event of its beginning to the event of its end. took requires both
// events, and reads the timestamps of both APIs for events.
func TestTook(t *testing.T) {
	const o, g = provider.OpenShift, provider.Gardener
	newer := about(g, "m", "Deleted", 0)
	newer.FirstTimestamp, newer.LastTimestamp, newer.EventTime = metav1.Time{}, metav1.Time{}, metav1.NewMicroTime(start.Add(3*time.Minute))
	for _, test := range []struct {
		reason, api string
		events      []corev1.Event
		want        []time.Duration
	}{
		{"from the first step", g, []corev1.Event{about(g, "m", "Deleting", 0), about(g, "m", "Draining", time.Minute), about(g, "m", "Deleted", 3*time.Minute)}, []time.Duration{3 * time.Minute}},
		{"an event of the newer API", g, []corev1.Event{about(g, "m", "Draining", time.Minute), newer}, []time.Duration{2 * time.Minute}},
		{"from the end of the drain", o, []corev1.Event{about(o, "m", "DrainSucceeded", time.Minute), about(o, "m", "Delete", 2*time.Minute)}, []time.Duration{time.Minute}},
		{"two machines", o, []corev1.Event{about(o, "a", "DrainSkipped", 0), about(o, "b", "DrainSkipped", 0), about(o, "b", "Delete", time.Minute), about(o, "a", "Delete", 0)}, []time.Duration{0, time.Minute}},
		{"the event of the beginning is missing", g, []corev1.Event{about(g, "m", "Deleted", time.Minute)}, nil},
		{"the event of the end is missing", g, []corev1.Event{about(g, "m", "Deleting", 0)}, nil},
		{"the end is before the beginning, because clocks differ", g, []corev1.Event{about(g, "m", "Deleting", time.Minute), about(g, "m", "Deleted", 0)}, nil},
		{"a machine of the other API", g, []corev1.Event{about(o, "m", "Deleting", 0), about(o, "m", "Deleted", time.Minute)}, nil},
	} {
		t.Run(test.reason, func(t *testing.T) {
			got := took(test.api, test.events)
			slices.Sort(got)
			if !slices.Equal(got, test.want) {
				t.Errorf("%s: durations %v, want %v", test.reason, got, test.want)
			}
		})
	}
}
