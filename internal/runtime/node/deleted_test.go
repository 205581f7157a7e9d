package node

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
)

// TestDeletionsAreForgotten: a deletion is known for an hour, and one that is older neither counts nor stays for long.
func TestDeletionsAreForgotten(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	d := &Deletions{Clock: clock}
	uid := func(k int) types.UID { return types.UID(fmt.Sprint("uid-", k)) }
	const perHour, hours = 500, 20
	for k := range perHour * hours {
		clock.SetTime(clock.Now().Add(deletionKept / perHour))
		d.Note(&corev1.Node{ObjectMeta: metav1.ObjectMeta{UID: uid(k)}})
		if d.Of(uid(k)) != clock.Now() {
			t.Fatalf("deletion %d is not known at once", k)
		}
		if of := d.Of(uid(k - perHour)); k >= perHour && of != clock.Now().Add(-deletionKept) {
			t.Fatalf("deletion %d is not known for an hour: %v", k-perHour, of)
		}
		if of := d.Of(uid(k - perHour - 1)); !of.IsZero() {
			t.Fatalf("deletion %d is known for longer than an hour: %v", k-perHour-1, of)
		}
		if n := len(d.seen); n > 4*perHour {
			t.Fatalf("%d deletions stay, of which %d may be known", n, perHour)
		}
	}
}
