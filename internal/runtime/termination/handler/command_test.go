package handler

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	testclock "k8s.io/utils/clock/testing"

	"github.com/millwright-dev/millwright/internal/runtime/termination"
)

func TestFlags(t *testing.T) {
	defaults := options{interval: 5, metadata: "http://169.254.169.254"}
	with := func(change func(*options)) options {
		o := defaults
		change(&o)
		return o
	}
	for _, c := range []struct {
		reason, args string
		want         options
		err          string
	}{
		{
			reason: "spec 7.6: the command line of the original's DaemonSet", args: "--logtostderr=true --v=3 --node-name=n --namespace=openshift-machine-api --poll-interval-seconds=5",
			want: with(func(o *options) { o.node, o.namespace = "n", "openshift-machine-api" }),
		},
		{reason: "spec 8: 5 seconds, no ports", args: "--node-name=n", want: with(func(o *options) { o.node = "n" })},
		{reason: "a cloud", args: "--node-name=n --provider=gcp", want: with(func(o *options) { o.node, o.provider = "n", "gcp" })},
		{reason: "no node", err: "--node-name: must be set"},
		{reason: "no pause", args: "--node-name=n --poll-interval-seconds=0", err: "--poll-interval-seconds: must be at least 1, is 0"},
		{reason: "a cloud that nobody knows", args: "--node-name=n --provider=nimbus", err: `--provider: unknown cloud "nimbus": want one of aws, azure, gcp, or nothing to find out`},
	} {
		t.Run(c.reason, func(t *testing.T) {
			var o options
			fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
			o.addFlags(fs)
			fs.Bool("logtostderr", false, "")
			fs.Int("v", 0, "")
			if err := fs.Parse(strings.Fields(c.args)); err != nil {
				t.Fatal(err)
			}
			err := o.check()
			switch {
			case c.err != "" && (err == nil || err.Error() != c.err):
				t.Errorf("%s: got %v, want %q", c.reason, err, c.err)
			case c.err == "" && (err != nil || o != c.want):
				t.Errorf("%s: got %+v, %v", c.reason, o, err)
			}
		})
	}
}

func TestEveryCloudHasASource(t *testing.T) {
	var o options
	if got, want := strings.Join(o.clouds().Names(), " "), "aws azure gcp"; got != want {
		t.Errorf("the clouds are %s, want %s", got, want)
	}
	for _, name := range o.clouds().Names() {
		o.provider = name
		if _, found := o.source(nil).(*termination.ByNode); found {
			t.Errorf("--provider=%s asks the node", name)
		}
	}
	o.provider = ""
	if _, found := o.source(nil).(*termination.ByNode); !found {
		t.Error("without --provider the node is not asked")
	}
}

// A kubeconfig that cannot be read yet is waited for, and SIGTERM ends that.
func TestAwaitConfig(t *testing.T) {
	const kubeconfig = `{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}],
		clusters: [{name: c, cluster: {server: "https://api.example"}}], users: [{name: u, user: {token: t}}]}`
	o := options{interval: 1, kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	if _, err := o.config(); err == nil {
		t.Fatal("there is no kubeconfig, and that is no error")
	}
	over, end := context.WithCancel(t.Context())
	end()
	if got := o.awaitConfig(over); got != nil {
		t.Errorf("SIGTERM: %v", got)
	}
	if err := os.WriteFile(o.kubeconfig, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	got := o.awaitConfig(t.Context())
	if got == nil || got.Host != "https://api.example" || got.Timeout == 0 {
		t.Errorf("got %v", got)
	}
	t.Setenv("KUBECONFIG", o.kubeconfig)
	o.kubeconfig = ""
	if got := o.awaitConfig(t.Context()); got == nil || got.Host != "https://api.example" {
		t.Errorf("spec 7.6: KUBECONFIG is not read: %v", got)
	}
}

func TestEndpoints(t *testing.T) {
	clk := testclock.NewFakeClock(time.Unix(0, 0))
	w := termination.New(termination.Options{Clock: clk, Interval: 5 * time.Second})
	registry := prometheus.NewRegistry()
	termination.NewMetrics(registry)

	get := func(path string) int {
		t.Helper()
		r := httptest.NewRecorder()
		endpoints(w, registry).ServeHTTP(r, httptest.NewRequest(http.MethodGet, path, nil))
		return r.Code
	}
	if got := get("/healthz"); got != http.StatusOK {
		t.Errorf("healthz of one that has just begun: %d", got)
	}
	if got := get("/readyz"); got != http.StatusServiceUnavailable {
		t.Errorf("readyz before the first answer: %d", got)
	}
	clk.Step(time.Hour)
	if got := get("/healthz"); got != http.StatusServiceUnavailable {
		t.Errorf("healthz of one that has done nothing for an hour: %d", got)
	}
	if got := get("/metrics"); got != http.StatusOK {
		t.Errorf("metrics: %d", got)
	}

	o := options{health: "127.0.0.1:0", metrics: "0"}
	stop, err := o.serve(w, registry)
	if err != nil {
		t.Fatal(err)
	}
	stop()
	o.health = "no address"
	if _, err := o.serve(w, registry); err == nil || !strings.HasPrefix(err.Error(), "--health-addr: ") {
		t.Errorf("an address that is none: %v", err)
	}
}
