package kubemark_test

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/kubemark"
)

// TestHasten: latencies of an hour end at once, during creation and deletion.
func TestHasten(t *testing.T) {
	p, err := kubemark.New(kubemark.Config{Backend: kubemark.Memory, Clock: clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))})
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, p, `{"createLatency":"1h","deleteLatency":"1h"}`)
	for _, deleted := range []bool{false, true} {
		ref := provider.Ref{UID: "u", Name: "up"}
		if deleted {
			ref = provider.Ref{UID: "v", Name: "out"}
		}
		i, err := s.Create(t.Context(), ref, provider.Want{})
		if err != nil || i.State != provider.Pending {
			t.Fatalf("%s: the instance is %s, %v", ref.Name, i.State, err)
		}
		if deleted {
			if gone, err := s.Delete(t.Context(), ref, []provider.Instance{i}); gone || err != nil {
				t.Fatalf("gone at once: %t, %v", gone, err)
			}
		}
		if err := p.Console().Hasten(t.Context(), "box", i); err != nil {
			t.Fatal(err)
		}
		all, err := s.Find(t.Context(), ref)
		if up := len(all) == 1 && all[0].State == provider.Running; err != nil || up == deleted || len(all) == 1 == deleted {
			t.Errorf("%s: after it was hastened there are %+v, %v", ref.Name, all, err)
		}
	}
}
