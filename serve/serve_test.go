package serve

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/internal/runtime/node"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
)

// deaf is a provider that never returns, and ignores its context.
type deaf struct {
	provider.Session
	free chan struct{}
}

func (deaf) Name() string { return "deaf" }

func (deaf) Traits() provider.Traits { return provider.Traits{} }

func (d deaf) Open(context.Context, provider.Class) (provider.Session, error) { return d, nil }

func (d deaf) Find(context.Context, provider.Ref) ([]provider.Instance, error) {
	<-d.free
	return nil, nil
}

func (d deaf) Create(context.Context, provider.Ref, provider.Want) (provider.Instance, error) {
	<-d.free
	return provider.Instance{}, nil
}

// VolumeIDs implements [node.VolumeNamer].
func (deaf) VolumeIDs(context.Context, *corev1.PersistentVolumeSpec) ([]string, error) {
	return []string{"v"}, nil
}

// TestVolumesAreNamedThroughDecorators: a drain can ask the decorated provider for the IDs of volumes.
func TestVolumesAreNamedThroughDecorators(t *testing.T) {
	p, err := decorated(deaf{}, 50, decorate.Limits{}, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	known, ok := provider.As[node.VolumeNamer](decorate.Own(p, "owner"))
	if !ok {
		t.Fatal("the decorators hide VolumeIDs")
	}
	if ids, err := known.VolumeIDs(t.Context(), nil); err != nil || len(ids) != 1 || ids[0] != "v" {
		t.Errorf("volume IDs %v, error %v", ids, err)
	}
}

// TestNoCallHoldsAWorkerForEver: a call ends after its timeout, even if the provider never returns.
func TestNoCallHoldsAWorkerForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		p, err := decorated(deaf{free: free}, 50, decorate.Limits{}, prometheus.NewRegistry())
		if err != nil {
			t.Fatal(err)
		}
		s, err := p.Open(t.Context(), provider.Class{Cluster: "blue"})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := s.Find(t.Context(), provider.Ref{UID: "a"}); provider.KindOf(err) != provider.Transient || time.Since(began) > 2*time.Minute {
			t.Errorf("Find: error %v after %v", err, time.Since(began))
		}
		began = time.Now()
		if _, err := s.Create(t.Context(), provider.Ref{UID: "a"}, provider.Want{}); provider.KindOf(err) != provider.Transient || time.Since(began) > 6*time.Minute {
			t.Errorf("Create: error %v after %v", err, time.Since(began))
		}
		close(free)
	})
}

// TestLimitsAt: a different rate changes the separate limit for changes by the same factor.
func TestLimitsAt(t *testing.T) {
	aws := decorate.Limits{PerSecond: 20, Burst: 100, Writes: &decorate.Limits{PerSecond: 5, Burst: 20}}
	for _, tt := range []struct {
		reason       string
		limits       decorate.Limits
		rate         float64
		reads, write float64
	}{
		{"the default", aws, 20, 20, 5},
		{"a tenth of the default", aws, 2, 2, 0.5},
		{"twice the default", aws, 40, 40, 10},
		{"one limit for all", decorate.Limits{PerSecond: 10}, 3, 3, 0},
		{"a provider without a limit", decorate.Limits{}, 3, 3, 0},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			got := limitsAt(tt.limits, tt.rate)
			writes := 0.0
			if got.Writes != nil {
				writes = got.Writes.PerSecond
			}
			if got.PerSecond != tt.reads || writes != tt.write || got.Burst != tt.limits.Burst {
				t.Errorf("%v calls, %v changes, burst %v", got.PerSecond, writes, got.Burst)
			}
			if tt.limits.Writes != nil && tt.limits.Writes.PerSecond != 5 {
				t.Error("the plugin's own limits were changed")
			}
		})
	}
}
