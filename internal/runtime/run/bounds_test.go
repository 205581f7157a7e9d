package run

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// TestBounds: a policy that does not exist, or concerns another account, is reported: by an event on
// kube-system, once, and by a gauge for as long as it lasts; not in the first moments, in which a policy that
// was just installed is not in force yet.
func TestBounds(t *testing.T) {
	away := errors.New("connection refused")
	refused := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "x", errors.New("no"))
	asked := make(chan struct{})
	var answer error
	c := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if r, is := o.(*authorizationv1.SelfSubjectAccessReview); is {
				r.Status.Allowed = true
				return nil
			}
			options := (&client.CreateOptions{}).ApplyOptions(opts)
			if s := o.(*corev1.Secret); len(options.DryRun) != 1 || s.Namespace != "kube-system" || s.Type == "bootstrap.kubernetes.io/token" {
				t.Errorf("asked by writing %+v", s)
			}
			asked <- struct{}{}
			return answer
		},
	}).Build()
	clk, recorder := testclock.NewFakeClock(time.Unix(0, 0)), events.NewFakeRecorder(10)
	w := &secretBounds{client: c, events: recorder, clock: clk, log: logr.Discard(), gauge: NewBoundsGauge()}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	step := func(reason string, said error, after time.Duration, gauge float64, told int) {
		t.Helper()
		for !clk.HasWaiters() && after > 0 {
			time.Sleep(time.Millisecond)
		}
		answer = said
		clk.Step(after)
		if after == 0 {
			go func() { ended <- w.run(ctx) }()
		}
		<-asked
		for !clk.HasWaiters() {
			time.Sleep(time.Millisecond)
		}
		if got := valueOf(t, w.gauge); got != gauge || len(recorder.Events) != told {
			t.Errorf("%s: the gauge says %v, and there are %d events; want %v and %d", reason, got, len(recorder.Events), gauge, told)
		}
	}
	step("it does not hold yet", nil, 0, 0, 0)
	step("it holds", refused, boundsPause, 0, 0)
	step("somebody deleted it", nil, boundsPeriod, 0, 0)
	step("it is still not there", nil, boundsPause, 1, 1)
	step("nor later", nil, boundsPeriod, 1, 1)
	step("no answer says nothing", away, boundsPeriod, 1, 1)
	step("it is back", refused, boundsPeriod, 0, 1)
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func valueOf(t *testing.T, g prometheus.Gauge) float64 {
	t.Helper()
	r := prometheus.NewRegistry()
	if err := r.Register(g); err != nil {
		t.Fatal(err)
	}
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return families[0].GetMetric()[0].GetGauge().GetValue()
}
