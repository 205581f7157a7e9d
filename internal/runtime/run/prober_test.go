package run

import (
	"context"
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"

	"github.com/millwright-dev/millwright/internal/engine/connectivity"
	"github.com/millwright-dev/millwright/internal/runtime/serverclock"
	"github.com/millwright-dev/millwright/provider"
)

func TestAnswerOf(t *testing.T) {
	nodes := corev1.Resource("nodes")
	for _, c := range []struct {
		reason string
		err    error
		want   connectivity.Answer
	}{
		{"it is there", nil, connectivity.Reachable},
		{"5.3: NotFound counts as up", apierrors.NewNotFound(nodes, "dummy_name"), connectivity.Reachable},
		{"no right to ask: up, and nothing learnt", apierrors.NewForbidden(nodes, "dummy_name", nil), connectivity.Denied},
		{"credentials that are not taken any more", apierrors.NewUnauthorized("no"), connectivity.Denied},
		{"etcd is away", apierrors.NewInternalError(errors.New("etcdserver: request timed out")), connectivity.Unreachable},
		{"overloaded: it does not serve us", apierrors.NewTooManyRequestsError("busy"), connectivity.Unreachable},
		{"shutting down", apierrors.NewServiceUnavailable("bye"), connectivity.Unreachable},
		{"nobody answers", errors.New("dial tcp: connection refused"), connectivity.Unreachable},
		{"it took too long", context.DeadlineExceeded, connectivity.Unreachable},
	} {
		t.Run(c.reason, func(t *testing.T) {
			if got := AnswerOf(c.err); got != c.want {
				t.Errorf("%s: %s, want %s", c.reason, got, c.want)
			}
		})
	}
}

// TestProber freezes and thaws, shows it, and tells each change once.
func TestProber(t *testing.T) {
	var log []string
	clk := testclock.NewFakeClock(epoch)
	answers := map[connectivity.Cluster]error{}
	probe := func(c connectivity.Cluster) Probe {
		return func(context.Context) (string, error) { return "", answers[c] }
	}
	l := NewProber(map[connectivity.Cluster]Probe{connectivity.Control: probe(connectivity.Control), connectivity.Target: probe(connectivity.Target)},
		connectivity.Policy{Timeout: 30 * time.Second, Interval: 6 * time.Second}, clockOf(clk),
		funcr.New(func(_, args string) { log = append(log, args) }, funcr.Options{}))
	frozen := func(want float64) {
		t.Helper()
		if got := gauge(t, l, "mcm_machine_controller_frozen"); got != want {
			t.Errorf("after %v the metric is %v, want %v", clk.Since(epoch), got, want)
		}
	}
	looks := func(n int) {
		for range n {
			clk.Step(6 * time.Second)
			look(t, l)
		}
	}
	frozen(1) // not looked yet
	look(t, l)
	frozen(0)
	looks(3)
	answers[connectivity.Target] = errors.New("connection refused")
	looks(5)
	frozen(0)
	clk.Step(time.Second)
	frozen(1)
	looks(20)
	frozen(1)
	delete(answers, connectivity.Target)
	looks(3)
	frozen(0)
	told := strings.Join(log, "\n")
	for what, n := range map[string]int{"sight changed": 2, "connection refused": 1, "frozen: nothing": 1, "not frozen any more": 1} {
		if got := strings.Count(told, what); got != n {
			t.Errorf("%q is logged %d times, want %d:\n%s", what, got, n, told)
		}
	}
}

// gauge is the value of a metric of that name, which must be the only one.
func gauge(t *testing.T, c prometheus.Collector, name string) float64 {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(c)
	all, err := r.Gather()
	if err != nil || len(all) != 1 || all[0].GetName() != name {
		t.Fatal(all, err)
	}
	return all[0].GetMetric()[0].GetGauge().GetValue()
}

// clockOf tells the time by clk while no API server does.
func clockOf(clk clock.WithTicker) *serverclock.Clock { return serverclock.New(clk, logr.Discard()) }

// TestProberSeesThatTheClockIsSet: a timer that an API object began does not run
// out because the clock of the API server was set ahead.
func TestProberSeesThatTheClockIsSet(t *testing.T) {
	for _, c := range []struct {
		by    time.Duration
		times int
	}{{0, 1}, {time.Hour, 1}, {-9 * time.Minute, 1}, {5 * time.Second, 60}} {
		own, ahead := testclock.NewFakeClock(epoch), time.Duration(0)
		clk := clockOf(own)
		l := NewProber(map[connectivity.Cluster]Probe{connectivity.Control: func(context.Context) (string, error) {
			clk.Answered(own.Now(), own.Now().Add(ahead).Truncate(time.Second))
			return "", nil
		}}, connectivity.Policy{Timeout: 30 * time.Second, Interval: 6 * time.Second}, clk, logr.Discard())
		looks := func(n int) {
			for range n {
				look(t, l)
				own.Step(6 * time.Second)
			}
		}
		looks(20)
		stamped, begun := clk.Now().Add(-time.Minute), own.Now().Add(-time.Minute)
		for range c.times {
			ahead += c.by
			looks(1)
		}
		looks(1)
		want := 20*time.Minute - own.Since(begun)
		if left := l.State().Remaining(stamped, 20*time.Minute, clk.Now()); left < want-24*time.Second || left > 20*time.Minute {
			t.Errorf("set by %v, %d times: of 20 minutes %v are left, want %v", c.by, c.times, left, want)
		}
	}
}

// TestSetBackEndsTheProcess: retries and rests are times that a process remembers, and
// wait as long as the clock of the API server was set back.
func TestSetBackEndsTheProcess(t *testing.T) {
	for _, c := range []struct {
		reason string
		offs   []time.Duration // by how much the API server differs from us, look by look
		want   string
	}{
		{"our own clock is wrong, which the first answer says", []time.Duration{-time.Hour, -time.Hour}, ""},
		{"it is set ahead, and nobody waits longer for that", []time.Duration{0, time.Hour, time.Hour}, ""},
		{"API servers that differ", []time.Duration{0, -time.Minute, time.Minute, -time.Minute}, ""},
		{"it is corrected bit by bit, more slowly than we remember", []time.Duration{0, -5 * time.Minute, -10 * time.Minute, -15 * time.Minute}, ""},
		{"it is set back", []time.Duration{0, 0, -time.Hour}, "was set back by 1h0m0s"},
		{"ahead and back again", []time.Duration{0, time.Hour, 0}, "was set back by 1h0m0s"},
		{"it did not answer meanwhile", []time.Duration{0, down, -time.Hour}, "was set back by 1h0m0s"},
		{"it has not answered before", []time.Duration{down, -time.Hour}, ""},
	} {
		t.Run(c.reason, func(t *testing.T) {
			own := testclock.NewFakeClock(epoch)
			clk, by := clockOf(own), time.Duration(0)
			l := NewProber(map[connectivity.Cluster]Probe{connectivity.Control: func(context.Context) (string, error) {
				if by == down {
					return "", errors.New("connection refused")
				}
				clk.Answered(own.Now(), own.Now().Add(by).Truncate(time.Second))
				return "", nil
			}}, connectivity.Policy{Timeout: 30 * time.Second, Interval: 6 * time.Second}, clk, logr.Discard())
			var err error
			for _, by = range c.offs {
				if err != nil {
					t.Errorf("%s: it ended before: %v", c.reason, err)
				}
				err = l.Look(t.Context())
				own.Step(6 * time.Second)
			}
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%s: %v, want %q", c.reason, err, c.want)
			}
		})
	}
}

// down is no difference: the API server does not answer.
const down = time.Duration(math.MaxInt64)

// TestProberIsNotBlindedByItsOwnEnd: the last look of a process that stops says
// nothing about the clusters.
func TestProberIsNotBlindedByItsOwnEnd(t *testing.T) {
	clk := testclock.NewFakeClock(epoch)
	l := NewProber(map[connectivity.Cluster]Probe{connectivity.Control: func(ctx context.Context) (string, error) { return "", ctx.Err() }},
		connectivity.Policy{Timeout: 30 * time.Second, Interval: 6 * time.Second}, clockOf(clk), funcr.New(func(string, string) {}, funcr.Options{}))
	ctx, stop := context.WithCancel(t.Context())
	if err := l.Look(ctx); err != nil {
		t.Error(err)
	}
	stop()
	if err := l.Look(ctx); err != nil {
		t.Error(err)
	}
	if !l.State().Connected() {
		t.Error("blind")
	}
}

// TestHangingProbe: a server that accepts and says nothing is down after half an
// interval.
func TestHangingProbe(t *testing.T) {
	l := NewProber(map[connectivity.Cluster]Probe{connectivity.Control: func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() }},
		connectivity.Policy{Timeout: 30 * time.Second, Interval: 20 * time.Millisecond}, clockOf(testclock.NewFakeClock(epoch)), funcr.New(func(string, string) {}, funcr.Options{}))
	look(t, l)
	if got := l.State().Answer(connectivity.Control); got != connectivity.Unreachable {
		t.Errorf("%q", got)
	}
}

func look(t *testing.T, l *Prober) {
	t.Helper()
	if err := l.Look(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestServerThatWentBackEndsTheProcess: after a restore watches wait for versions
// that are yet to come, and what is cached is shown for ever.
func TestServerThatWentBackEndsTheProcess(t *testing.T) {
	down := errors.New("connection refused")
	type answer struct {
		control, target string
		err             error
	}
	for _, c := range []struct {
		reason  string
		answers []answer
		want    string
	}{
		{"time goes on", []answer{{"10", "7", nil}, {"10", "7", nil}, {"12", "9", nil}}, ""},
		{"restored while nobody could see it", []answer{{"10", "7", nil}, {"", "", down}, {"8", "7", nil}}, "control cluster went back from version 10 to 8"},
		{"so was the cluster of the nodes", []answer{{"10", "7", nil}, {"10", "3", nil}}, "target cluster went back from version 7 to 3"},
		{"down, or not telling, is not back", []answer{{"10", "7", nil}, {"", "", down}, {"", "", nil}, {"10", "8", nil}}, ""},
		{"by the highest that there was, not the last", []answer{{"10", "7", nil}, {"", "7", nil}, {"9", "7", nil}}, "from version 10 to 9"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			var now answer
			l := NewProber(map[connectivity.Cluster]Probe{
				connectivity.Control: func(context.Context) (string, error) { return now.control, now.err },
				connectivity.Target:  func(context.Context) (string, error) { return now.target, now.err },
			}, connectivity.Policy{Timeout: 30 * time.Second, Interval: 6 * time.Second}, clockOf(testclock.NewFakeClock(epoch)), funcr.New(func(string, string) {}, funcr.Options{}))
			var err error
			for _, now = range c.answers {
				if err != nil {
					t.Fatalf("too early: %v", err)
				}
				err = l.Look(t.Context())
			}
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// TestProcessEndsWhenItsServerWentBack: what is started by a manager ends it with an error.
func TestProcessEndsWhenItsServerWentBack(t *testing.T) {
	versions := []string{"10", "8"}
	l := NewProber(map[connectivity.Cluster]Probe{connectivity.Control: func(context.Context) (string, error) {
		v := versions[0]
		versions = versions[min(1, len(versions)-1):]
		return v, nil
	}}, connectivity.Policy{Timeout: 30 * time.Second, Interval: time.Millisecond}, clockOf(clock.RealClock{}), funcr.New(func(string, string) {}, funcr.Options{}))
	if err := l.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "from version 10 to 8") {
		t.Errorf("it goes on, or ends well: %v", err)
	}
}

// TestProbesAsk is what the clusters get to see.
func TestProbesAsk(t *testing.T) {
	var asked []string
	status := http.StatusNotFound
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.RequestURI())
		w.Header().Set("Content-Type", "application/json")
		if r.URL.RawQuery != "" {
			_, _ = w.Write([]byte(`{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"421","continue":"more"},"items":[{}]}`))
			return
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","code":404,"reason":"NotFound"}`))
	}))
	defer s.Close()
	for _, path := range []string{controlPath(provider.OpenShift, ""), controlPath(provider.Gardener, "shoot"), targetPath} {
		probe, err := getProbe(&rest.Config{Host: s.URL}, path)
		if err != nil {
			t.Fatal(err)
		}
		version, err := probe(t.Context())
		if got := AnswerOf(err); got != connectivity.Reachable || version != "421" {
			t.Errorf("%s: %s at version %s", path, got, version)
		}
	}
	want := "GET /apis/machine.openshift.io/v1beta1/namespaces/default/machines/dummy_name" +
		" GET /apis/machine.openshift.io/v1beta1/namespaces/default/machines?limit=1" +
		" GET /apis/machine.sapcloud.io/v1alpha1/namespaces/shoot/machines/dummy_name GET /apis/machine.sapcloud.io/v1alpha1/namespaces/shoot/machines?limit=1" +
		" GET /api/v1/nodes/dummy_name GET /api/v1/nodes?limit=1"
	if got := strings.Join(asked, " "); got != want {
		t.Errorf("asked %s\nwant  %s", got, want)
	}
}

func TestSightFlags(t *testing.T) {
	const timeout, period = "--machine-safety-apiserver-statuscheck-timeout=", "--machine-safety-apiserver-statuscheck-period="
	for _, c := range []struct {
		reason, args string
		want         connectivity.Policy
		err          string
	}{
		{"6.3: the defaults of the original", "", connectivity.Policy{Timeout: 30 * time.Second, Interval: 6 * time.Second}, ""},
		{"never more often than once a second", timeout + "2s", connectivity.Policy{Timeout: 2 * time.Second, Interval: time.Second}, ""},
		{"the period bounds it from above", timeout + "10m " + period + "10m", connectivity.Policy{Timeout: 10 * time.Minute, Interval: 2 * time.Minute}, ""},
		{"6.3: the period must not be shorter than the timeout", period + "10s", connectivity.Policy{}, "must not be shorter"},
		{"below zero", timeout + "-1s", connectivity.Policy{}, "negative"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			var f Flags
			fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
			f.AddFlags(fs, Place{Port: 1})
			if err := fs.Parse(strings.Fields(c.args)); err != nil {
				t.Fatal(err)
			}
			if err := f.Complete(); c.err != "" || err != nil {
				if err == nil || !strings.Contains(err.Error(), c.err) || c.err == "" {
					t.Errorf("%s: %v, want %q", c.reason, err, c.err)
				}
				return
			}
			if got := f.connectivityPolicy(); got != c.want {
				t.Errorf("%s: %+v, want %+v", c.reason, got, c.want)
			}
		})
	}
}
