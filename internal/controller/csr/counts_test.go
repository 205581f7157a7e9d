package csr

import (
	"context"
	"fmt"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// listings counts listings of certificate requests.
type listings struct {
	client.Client
	n int
}

func (l *listings) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if _, is := list.(*certificatesv1.CertificateSigningRequestList); is {
		l.n++
	}
	return l.Client.List(ctx, list, opts...)
}

// TestCountsAreShared: what waits is counted once a second where many wait, and with each request where few do;
// a crowd is counted anew with each request that it stops.
func TestCountsAreShared(t *testing.T) {
	for reason, tt := range map[string]struct {
		waiting, fleet int
		want           int // listings for ten requests within one second
	}{
		"few":                  {50, 50, 10},
		"many":                 {150, 150, 1},
		"more than is allowed": {150, 0, 10},
	} {
		t.Run(reason, func(t *testing.T) {
			var objects []client.Object
			for i := range tt.waiting {
				objects = append(objects, joining(t, fmt.Sprint("r", i), fmt.Sprint("w", i), fmt.Sprintf("%06d", i)))
			}
			s := newScene(t, objects...)
			s.Fleet = func(context.Context) (int, error) { return tt.fleet, nil }
			l := &listings{Client: s.Client}
			s.Client = l
			for i := range 10 {
				s.reconcile(t, fmt.Sprint("r", i))
			}
			if l.n != tt.want {
				t.Errorf("%d listings for ten requests, want %d", l.n, tt.want)
			}
		})
	}
}

// TestSettledRequestsAreCountedOnce: many requests that settle at once are counted a moment later by one of them.
func TestSettledRequestsAreCountedOnce(t *testing.T) {
	var objects []client.Object
	for i := range 150 {
		objects = append(objects, joining(t, fmt.Sprint("r", i), fmt.Sprint("w", i), fmt.Sprintf("%06d", i)))
	}
	s := newScene(t, objects...)
	s.Fleet = func(context.Context) (int, error) { return 150, nil }
	s.reconcile(t, "r0")
	if n := s.gauge(t, "mapi_current_pending_csr"); n != 150 {
		t.Fatalf("%v wait, want 150", n)
	}
	settle := func(i int) time.Duration {
		t.Helper()
		result, err := s.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: fmt.Sprint("r", i)}})
		if err != nil {
			t.Fatal(err)
		}
		return result.RequeueAfter
	}
	for _, o := range objects {
		if err := s.Client.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	for i := range objects {
		want := time.Duration(0)
		if i == 0 {
			want = joinersAge
		}
		if again := settle(i); again != want {
			t.Fatalf("request %d is looked at again after %v, want %v", i, again, want)
		}
	}
	s.clock.SetTime(s.clock.Now().Add(joinersAge))
	if again, n := settle(0), s.gauge(t, "mapi_current_pending_csr"); again != 0 || n != 0 {
		t.Errorf("%v wait, and it is looked at again after %v", n, again)
	}
}
