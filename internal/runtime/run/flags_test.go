package run

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/millwright-dev/millwright/provider"
)

func parsed(t *testing.T, args ...string) *Flags {
	t.Helper()
	var f Flags
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	f.AddFlags(fs, Place{Port: 10259})
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return &f
}

func TestComplete(t *testing.T) {
	for _, c := range []struct {
		reason, args, want string
	}{
		{"the defaults stand", "", ""},
		{"short names of the APIs", "--apis=openshift,gardener", ""},
		{"a group that nobody serves", "--apis=cluster.x-k8s.io", `--apis: unknown API "cluster.x-k8s.io"`},
		{"nothing to serve", "--apis=", "--apis: at least one is needed"},
		{"no workers", "--concurrent-syncs=0", "--concurrent-syncs: must be at least 1"},
		{"a past look", "--min-resync-period=-1m", "--min-resync-period: must not be negative, is -1m0s"},
		{"machines that join nothing still live somewhere", "--target-kubeconfig=none", "--control-kubeconfig: must be set"},
		{"no address", "--address=here", "is no address"},
		{"a port beyond all", "--port=70000", "is no address"},
		{"a lease that ends before its deadline", "--leader-elect-renew-deadline=15s", "the lease (15s) must last longer than the deadline (15s)"},
		{"a collector that has no URL", "--tracing-endpoint=collector:4317", "--tracing-endpoint: want a URL"},
		{"more machines than there are", "--tracing-sampling-rate-per-million=1000001", "--tracing-sampling-rate-per-million: must be from 0 to 1000000"},
		{"underscores for dashes", "--concurrent_syncs=5 --machine_safety_apiserver_statuscheck_timeout=10s", ""},
		{"flags of the originals that mean nothing here", "--cloud-provider=x --leader-elect-resource-lock=leases --controller-start-interval=0s --kube-api-content-type=application/json", ""},
	} {
		t.Run(c.reason, func(t *testing.T) {
			err := parsed(t, strings.Fields(c.args)...).Complete()
			switch {
			case c.want == "" && err != nil:
				t.Errorf("%s: %q is refused: %v", c.reason, c.args, err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%s: %q gives %v, want %q", c.reason, c.args, err, c.want)
			}
		})
	}
}

// TestElection: O2. What is not given follows from the lease's duration, as the originals
// have it.
func TestElection(t *testing.T) {
	for _, c := range []struct{ reason, args, want string }{
		{"the defaults of machine.sapcloud.io", "", "15s 10s 2s"},
		{"what operands of machine.openshift.io are given", "--leader-elect-lease-duration=120s", "2m0s 1m47s 26s"},
		{"the original's own default", "--leader-elect-lease-duration=137s", "2m17s 1m47s 26s"},
		{"its word for that", "--leader-elect-lease-duration=0", "15s 10s 2s"},
		{"a shorter one", "--leader-elect-lease-duration=30s", "30s 20s 4s"},
		{"all are given", "--leader-elect-lease-duration=120s --leader-elect-renew-deadline=60s --leader-elect-retry-period=5s", "2m0s 1m0s 5s"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			f := parsed(t, strings.Fields(c.args)...)
			if err := f.Complete(); err != nil {
				t.Fatal(err)
			}
			e := f.Election
			if got := fmt.Sprintf("%s %s %s", e.LeaseDuration, e.RenewDeadline, e.RetryPeriod); got != c.want {
				t.Errorf("%s: %q gives %s, want %s", c.reason, c.args, got, c.want)
			}
		})
	}
}

// TestKubeconfig: O5. The flag comes before the variable, and each cluster's own flag before both.
func TestKubeconfig(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"flag", "variable", "target", "control"} {
		raw := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c}}]\nclusters: [{name: c, cluster: {server: 'https://%s'}}]\n", name)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(raw), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ reason, variable, args, control, target string }{
		{"the variable", "variable", "", "https://variable", "https://variable"},
		{"the flag", "variable", "--kubeconfig=flag", "https://flag", "https://flag"},
		{"one of each cluster", "variable", "--kubeconfig=flag --target-kubeconfig=target --control-kubeconfig=control", "https://control", "https://target"},
		{"of the control cluster only", "", "--kubeconfig=flag --control-kubeconfig=control", "https://control", "https://flag"},
	} {
		t.Setenv("KUBECONFIG", "")
		if c.variable != "" {
			t.Setenv("KUBECONFIG", filepath.Join(dir, c.variable))
		}
		args := strings.Fields(c.args)
		for i, a := range args {
			args[i] = strings.Replace(a, "=", "="+dir+"/", 1)
		}
		control, target, err := parsed(t, args...).Configs()
		if err != nil || control.Host != c.control || target.Host != c.target {
			t.Errorf("%s: %+v, %+v, %v", c.reason, control, target, err)
		}
		if err == nil && (!control.DisableCompression || !target.DisableCompression) {
			t.Errorf("%s: watches are asked for compressed", c.reason)
		}
	}
	t.Setenv("KUBECONFIG", "")
	if _, _, err := parsed(t).Configs(); err == nil || !strings.Contains(err.Error(), "--kubeconfig and $KUBECONFIG are not set") {
		t.Errorf("outside of a cluster: %v", err)
	}
}

// TestLogFlags: M6. The logging flags of both originals, old and new.
func TestLogFlags(t *testing.T) {
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	new(Flags).AddFlags(fs, Place{Port: 1})
	AddLogFlags(fs)
	args := "--v=3 --logtostderr=true --log-flush-frequency=5s --log_flush_frequency=5s --alsologtostderr=false --logging-format=json --vmodule=a=1"
	if err := fs.Parse(strings.Fields(args)); err != nil {
		t.Error(err)
	}
}

// TestPlaces: O3, O4. The programs of the originals have their APIs and addresses, by name.
func TestPlaces(t *testing.T) {
	openshift, gardener := []string{provider.OpenShift}, []string{provider.Gardener}
	for _, c := range []struct {
		reason, name string
		provider     bool
		want         Place
	}{
		{"ours", "machine-controller-kubemark", true, Place{Port: 1}},
		{"the provider's of machine.openshift.io", "machine-controller-manager", true, Place{APIs: openshift, Metrics: ":8081", Health: ":9440", Port: 1, Plain: true}},
		{"that of sets of machine.sapcloud.io, of the same name", "machine-controller-manager", false, Place{Port: 1}},
		{"the provider's of machine.sapcloud.io", "machine-controller", true, Place{APIs: gardener, Port: 1, Plain: true}},
		{"sets", "machineset-controller", false, Place{APIs: openshift, Metrics: ":8082", Health: ":9441", Port: 1, Plain: true}},
		{"health checks", "machine-healthcheck", false, Place{APIs: openshift, Metrics: ":8083", Health: ":9442", Port: 1, Plain: true}},
		{"links, without any port", "nodelink-controller", false, Place{APIs: openshift, Metrics: "0", Port: 1, Plain: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := PlaceOf(c.name, c.provider, 1); fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("%s: %s has %+v, want %+v", c.reason, c.name, got, c.want)
			}
		})
	}
}

// TestNamespace: the two APIs differ in what no --namespace means.
func TestNamespace(t *testing.T) {
	for _, c := range []struct{ reason, args, openshift, gardener string }{
		{"unset: everywhere in one API, default in the other", "", "", "default"},
		{"set: the same for both", "--namespace=mill", "mill", "mill"},
		{"set to nothing: everywhere in both", "--namespace=", "", ""},
	} {
		t.Run(c.reason, func(t *testing.T) {
			f := parsed(t, strings.Fields(c.args)...)
			if o, g := f.NamespaceOf(provider.OpenShift), f.NamespaceOf(provider.Gardener); o != c.openshift || g != c.gardener {
				t.Errorf("%s: %q and %q, want %q and %q", c.reason, o, g, c.openshift, c.gardener)
			}
		})
	}
}

func TestMetricsAddress(t *testing.T) {
	for args, want := range map[string]string{
		"":                                      "0.0.0.0:10259",
		"--address=127.0.0.1 --port=9":          "127.0.0.1:9",
		"--metrics-bind-address=:8081 --port=9": ":8081",
	} {
		t.Run(args, func(t *testing.T) {
			f := parsed(t, strings.Fields(args)...)
			if err := f.Complete(); err != nil || f.MetricsAddress != want {
				t.Errorf("%q: metrics at %q (%v), want %q", args, f.MetricsAddress, err, want)
			}
		})
	}
}
