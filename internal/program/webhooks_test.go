package program

import (
	"crypto/tls"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/millwright-dev/millwright/internal/admission"
	"github.com/millwright-dev/millwright/internal/runtime/run"
)

// TestWhoServesWebhooks: the original's program of sets does, and the other unless asked to does not.
func TestWhoServesWebhooks(t *testing.T) {
	for _, c := range []struct {
		reason  string
		program Program
		args    string
		want    string
	}{
		{"as the original", SetController(nil), "", "true"},
		{"asked not to", SetController(nil), "--webhook-enabled=false", "false"},
		{"the other original has none", ControllerManager(nil), "", "false"},
		{"asked to", ControllerManager(nil), "--webhook-enabled", "true"},
		{"health checks have none", HealthCheck(), "", "false"},
		{"the original's command line", SetController(nil), "--webhook-enabled=true --webhook-port=8443 --webhook-cert-dir=/etc/machine-api-operator/tls --feature-gates=MachineAPIMigration=false --tls-min-version=VersionTLS12", "true"},
	} {
		command := c.program.Command()
		if err := command.ParseFlags(strings.Fields(c.args)); err != nil {
			t.Errorf("%s: %v", c.reason, err)
			continue
		}
		if got := command.Flags().Lookup("webhook-enabled").Value.String(); got != c.want {
			t.Errorf("%s: %s, want %s", c.reason, got, c.want)
		}
	}
}

func TestWebhookFlags(t *testing.T) {
	gates := map[string]bool{"AzureWorkloadIdentity": true, "VSphereHostVMGroupZonal": true}
	for _, c := range []struct {
		reason, args, err string
		gates             map[string]bool
		lowest            uint16
		suites            int
	}{
		{"by default", "", "", gates, tls.VersionTLS12, 0},
		{
			"gates", "--feature-gates=VSphereHostVMGroupZonal=false,AWSDedicatedHosts=true", "",
			map[string]bool{"AzureWorkloadIdentity": true, "VSphereHostVMGroupZonal": false, "AWSDedicatedHosts": true},
			tls.VersionTLS12, 0,
		},
		{"a gate that says nothing", "--feature-gates=AWSDedicatedHosts", `--feature-gates: want Name=true or Name=false, got "AWSDedicatedHosts"`, nil, 0, 0},
		{"the cluster's profile", "--tls-min-version=VersionTLS13 --tls-cipher-suites=TLS_AES_128_GCM_SHA256,TLS_AES_256_GCM_SHA384", "", gates, tls.VersionTLS13, 2},
		{"no such version", "--tls-min-version=1.3", `--tls-min-version: unknown tls version "1.3"`, nil, 0, 0},
		{"no port", "--webhook-port=0", "--webhook-port: must be from 1 to 65535, is 0", nil, 0, 0},
		{"nobody listens there", "--webhook-port=0 --webhook-enabled=false", "", gates, tls.VersionTLS12, 0},
	} {
		var w webhooks
		var common run.Flags
		fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
		common.AddFlags(fs, run.Place{})
		w.addFlags(fs, true)
		if err := fs.Parse(strings.Fields(c.args)); err != nil {
			t.Fatal(err)
		}
		settings, badTLS := common.TLS()
		err := errors.Join(badTLS, w.check())
		if c.err != "" || err != nil {
			if err == nil || err.Error() != c.err {
				t.Errorf("%s: %v, want %q", c.reason, err, c.err)
			}
			continue
		}
		on, _ := w.gates()
		conf := &tls.Config{}
		settings(conf)
		if diff := cmp.Diff(c.gates, on); diff != "" || conf.MinVersion != c.lowest || len(conf.CipherSuites) != c.suites {
			t.Errorf("%s: version %x, %d ciphers, gates %s", c.reason, conf.MinVersion, len(conf.CipherSuites), diff)
		}
	}
}

// TestProgramsKeepTheirRules: each program that may serve webhooks has the rules that it is given.
func TestProgramsKeepTheirRules(t *testing.T) {
	rules := admission.Admitters{"Fake": nil}
	for _, p := range []Program{SetController(rules), ControllerManager(rules)} {
		if _, known := p.admitters["Fake"]; !known {
			t.Errorf("%s serves webhooks without rules", p.name)
		}
	}
}
