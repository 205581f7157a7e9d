package kubemark_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/kubemark"
)

// TestKwokTargetDown: an unreachable target cluster delays the node, not the instance; once it is reachable
// again, it gets one node.
func TestKwokTargetDown(t *testing.T) {
	var up atomic.Bool
	var made atomic.Int32
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !up.Load() {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		if r.Method == http.MethodPost {
			made.Add(1)
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(&corev1.Node{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
			ObjectMeta: metav1.ObjectMeta{Name: "m-1", UID: "node-uid"},
		})
	}))
	defer target.Close()
	clk := clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	p, err := kubemark.New(kubemark.Config{Backend: kubemark.Kwok, Target: &rest.Config{Host: target.URL}, Clock: clk})
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, p, "{}")
	if i, err := s.Create(t.Context(), machine(1), provider.Want{}); err != nil || i.State != provider.Running {
		t.Fatalf("create while the target is down: %s, error %v", i.State, err)
	}
	if found, err := s.Find(t.Context(), machine(1)); err != nil || len(found) != 1 {
		t.Fatalf("find while the target is down: %d instances, error %v", len(found), err)
	}
	clk.Step(time.Second)
	next, err := p.Sync(t.Context())
	if err == nil || !next.After(clk.Now()) {
		t.Errorf("sync while the target is down: next %v, error %v", next, err)
	}
	up.Store(true)
	clk.Step(time.Second)
	for range 3 {
		if next, err = p.Sync(t.Context()); err != nil || !next.IsZero() {
			t.Errorf("sync: next %v, error %v", next, err)
		}
	}
	if n := made.Load(); n != 1 {
		t.Errorf("%d nodes were made", n)
	}
	up.Store(false)
	if done, err := s.Delete(t.Context(), machine(1), nil); err == nil || done {
		t.Errorf("delete while the target is down: done %t, error %v", done, err)
	}
	up.Store(true)
	if done, err := s.Delete(t.Context(), machine(1), nil); err != nil || !done {
		t.Errorf("delete: done %t, error %v", done, err)
	}
}
