package program

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/internal/controller/machine"
	"github.com/millwright-dev/millwright/internal/runtime/run"
	serving "github.com/millwright-dev/millwright/serve"
)

// TestFlagsOfPrograms: section 8 of the OpenShift notes, the flags of each program and what they are by default. --leader-elect is the exception of
// docs/compatibility.md. The addresses of a provider's program go by the name that it is called by: TestPlaces in internal/runtime/run.
func TestFlagsOfPrograms(t *testing.T) {
	common := map[string]string{
		"namespace": "", "leader-elect": "true", "leader-elect-resource-namespace": "", "leader-elect-lease-duration": "15s", "min-resync-period": "10m0s",
		"kubeconfig": "", "feature-gates": "", "logtostderr": "true", "v": "0", "version": "",
	}
	for _, row := range []struct {
		command *cobra.Command
		want    map[string]string
	}{
		{SetController(nil).Command(), map[string]string{
			"metrics-bind-address": ":8082", "health-addr": ":9441", "webhook-enabled": "true", "webhook-port": "8443", "webhook-cert-dir": "/etc/machine-api-operator/tls",
			"tls-min-version": "", "tls-cipher-suites": "",
		}},
		{HealthCheck().Command(), map[string]string{"metrics-bind-address": ":8083", "health-addr": ":9442"}},
		{NodeLink().Command(), map[string]string{"metrics-bind-address": "0", "health-addr": ""}},
		{serving.Command(serving.Plugin{Name: "any"}), map[string]string{"metrics-bind-address": "", "health-addr": "", "max-concurrent-reconciles": "200", "enable-pprof": "false"}},
	} {
		row.command.InitDefaultVersionFlag()
		for _, all := range []map[string]string{common, row.want} {
			for name, want := range all {
				f := row.command.Flags().Lookup(name)
				switch {
				case f == nil:
					t.Errorf("%s has no --%s", row.command.Name(), name)
				case f.DefValue != want && name != "version":
					t.Errorf("%s: --%s is %q by default, want %q", row.command.Name(), name, f.DefValue, want)
				}
			}
		}
	}
}

// TestFlagsOfControllerManager: section 6.3 of the Gardener notes, the program of sets and deployments. Workers, resync and the limit of requests are
// the exceptions of docs/compatibility.md.
func TestFlagsOfControllerManager(t *testing.T) {
	flags := ControllerManager(nil).Command().Flags()
	for name, want := range map[string]string{
		"port": "10258", "address": "0.0.0.0", "cloud-provider": "", "profiling": "false", "contention-profiling": "false", "target-kubeconfig": "", "control-kubeconfig": "",
		"kube-api-content-type": "application/vnd.kubernetes.protobuf", "kube-api-burst": "30", "controller-start-interval": "0s",
		"leader-elect": "true", "leader-elect-lease-duration": "15s", "leader-elect-renew-deadline": "10s", "leader-elect-retry-period": "2s", "leader-elect-resource-lock": "leases",
		"safety-up": "2", "safety-down": "1", "machine-safety-overshooting-period": "1m0s", "autoscaler-scaledown-annotation-during-rollout": "true",
		"concurrent-syncs": "200", "min-resync-period": "10m0s", "kube-api-qps": "0",
	} {
		if f := flags.Lookup(name); f == nil || f.DefValue != want {
			t.Errorf("--%s is %+v, want %q", name, f, want)
		}
	}
}

// TestPacing: section 8, how many objects are worked on at once, how long the pauses are between passes that fail, and that no client limits itself.
func TestPacing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	const some = "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c}}]\nclusters: [{name: c, cluster: {server: 'https://a'}}]\n"
	if err := os.WriteFile(file, []byte(some), 0o600); err != nil {
		t.Fatal(err)
	}
	var f run.Flags
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	f.AddFlags(fs, run.Place{Port: port})
	if err := fs.Parse([]string{"--kubeconfig=" + file}); err != nil {
		t.Fatal(err)
	}
	control, target, err := f.Configs()
	if err != nil || control.QPS != -1 || target.QPS != -1 || f.Workers != 200 {
		t.Errorf("limits of %v and %v requests a second, %d workers, %v", control, target, f.Workers, err)
	}
	l, first, last := machine.Limiter(), time.Duration(0), time.Duration(0)
	for n := range 100 {
		if last = l.When(reconcile.Request{}); n == 0 {
			first = last
		}
	}
	if first != 20*time.Millisecond || last != time.Minute {
		t.Errorf("pauses grow from %s to %s", first, last)
	}
}

// TestVersions: section 8. Every program says its version, as a command and by a flag.
func TestVersions(t *testing.T) {
	for _, p := range []Program{SetController(nil), HealthCheck(), NodeLink(), ControllerManager(nil)} {
		for _, arg := range []string{"version", "--version"} {
			var out strings.Builder
			c := p.Command()
			c.SetOut(&out)
			c.SetArgs([]string{arg})
			if err := c.ExecuteContext(t.Context()); err != nil || !strings.HasPrefix(out.String(), c.Name()) {
				t.Errorf("%s %s says %q, %v", c.Name(), arg, out.String(), err)
			}
		}
	}
}
