package status_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/internal/dialect/status"
	"github.com/millwright-dev/millwright/internal/engine/postmortem"
	"github.com/millwright-dev/millwright/provider"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestEventsInOrder(t *testing.T) {
	at := func(after time.Duration) metav1.Time { return metav1.NewTime(start.Add(after)) }
	got := status.Events([]corev1.Event{
		{Reason: "series", Series: &corev1.EventSeries{Count: 7, LastObservedTime: metav1.NewMicroTime(start.Add(3 * time.Minute))}},
		{Reason: "old", LastTimestamp: at(time.Minute), Count: 2},
		{Reason: "single", EventTime: metav1.NewMicroTime(start.Add(2 * time.Minute))},
	})
	var order []string
	for _, e := range got {
		order = append(order, e.Reason)
	}
	if strings.Join(order, " ") != "old single series" || got[0].Count != 2 || got[2].Count != 7 {
		t.Errorf("events %+v, want them by their last time", got)
	}
}

// TestStoredName: the name is one that the API server accepts, and two machines
// do not share one.
func TestStoredName(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,60}[a-z0-9])?){0,3}`).Draw(t, "name")
		stored := status.StoredName(name, "uid-1")
		if problems := validation.IsDNS1123Subdomain(stored); len(problems) > 0 {
			t.Fatalf("%q: %v", stored, problems)
		}
		if stored == status.StoredName(name, "uid-2") {
			t.Fatalf("two machines share %q", stored)
		}
	})
}

func TestKept(t *testing.T) {
	c := status.Stored(postmortem.Record{API: provider.Gardener, Namespace: "blue", Name: "m", UID: "u"}, []byte("{}"), start.Add(time.Hour))
	c.CreationTimestamp = metav1.NewTime(start)
	if k := status.Kept(c); !k.Expires.Equal(start.Add(time.Hour)) || !k.Taken.Equal(start) || k.Name != c.Name {
		t.Errorf("read back as %+v", k)
	}
	c.Annotations[status.ExpiresAnnotation] = "next week"
	if k := status.Kept(c); !k.Expires.IsZero() {
		t.Errorf("what cannot be read is %v, want none", k.Expires)
	}
}
