package start

import (
	"crypto/tls"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/millwright-dev/millwright/internal/operator/operands"
)

// TestCommandLine: section 8, the row of the operator, and bad input that names its flag or variable.
func TestCommandLine(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		args   string
		env    map[string]string
		want   string
	}{
		"original": {"the original's Deployment starts it so", "--images-json=/x --logtostderr=true --v=3 --tls-min-version=VersionTLS12 --tls-cipher-suites=TLS_AES_128_GCM_SHA256", map[string]string{envNamespace: "n", envRelease: "4.2", envPort: "8443"}, ""},
		"by flags": {"a cluster without config.openshift.io", "--images-json=/x --kubeconfig=k --platform=OpenStack --cluster-id=c", nil, ""},
		"images":   {"it cannot do without", "", nil, "--images-json: must be set"},
		"port":     {"no number", "--images-json=/x", map[string]string{envPort: "many"}, "$METRICS_PORT: want a port"},
		"version":  {"no version", "--images-json=/x --tls-min-version=1", nil, "--tls-min-version: "},
		"suites":   {"no suite", "--images-json=/x --tls-cipher-suites=x", nil, "--tls-cipher-suites: "},
	} {
		t.Run(name, func(t *testing.T) {
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			var o options
			command := startCommand()
			if err := command.ParseFlags(strings.Fields(c.args)); err != nil {
				t.Fatal(err)
			}
			fs := command.Flags()
			o.images, _ = fs.GetString("images-json")
			o.tls.version, _ = fs.GetString("tls-min-version")
			o.tls.suites, _ = fs.GetString("tls-cipher-suites")
			err := o.complete()
			got := fmt.Sprint(err)
			if (err != nil) != (c.want != "") || err != nil && !strings.HasPrefix(got, c.want) {
				t.Errorf("%s: %q, want %q", c.reason, got, c.want)
			}
			if err == nil && len(c.env) == 3 && (o.namespace != "n" || o.release != "4.2" || o.port != 8443) {
				t.Errorf("%s: %+v", c.reason, o)
			}
		})
	}
}

// TestDefaults: section 8, the row of the operator: the defaults of where it runs and serves.
func TestDefaults(t *testing.T) {
	for _, name := range []string{envNamespace, envRelease, envPort} {
		t.Setenv(name, "")
	}
	flags := startCommand().Flags()
	for name, want := range map[string]string{"kubeconfig": "", "images-json": "", "tls-min-version": "", "tls-cipher-suites": "", "tls-cert-dir": "/etc/tls/private", "v": "0", "logtostderr": "true"} {
		if f := flags.Lookup(name); f == nil || f.DefValue != want {
			t.Errorf("--%s is %+v, want %q", name, f, want)
		}
	}
	o := options{images: "x"}
	if err := o.complete(); err != nil || o.namespace != "openshift-machine-api" || o.port != 8443 || o.release != "" {
		t.Errorf("%+v, %v", o, err)
	}
	var out strings.Builder
	c := Command()
	c.SetOut(&out)
	c.SetArgs([]string{"version"})
	if err := c.ExecuteContext(t.Context()); err != nil || !strings.HasPrefix(out.String(), "machine-api-operator ") {
		t.Errorf("version says %q, %v", out.String(), err)
	}
}

// TestPort: the flags go before the cluster's profile.
func TestPort(t *testing.T) {
	modern := operands.TLS{MinVersion: "VersionTLS13", Suites: []string{"TLS_AES_128_GCM_SHA256"}}
	var o options
	s, err := o.settings(modern)
	if err != nil || s.MinVersion != tls.VersionTLS13 || !slices.Equal(s.CipherSuites, []uint16{tls.TLS_AES_128_GCM_SHA256}) {
		t.Errorf("the profile: %v, %v", s, err)
	}
	o.tls.version = "VersionTLS11"
	if s, err = o.settings(modern); err != nil || s.MinVersion != tls.VersionTLS11 {
		t.Errorf("a flag: %v, %v", s, err)
	}
}

// TestProfileHoldsAtOnce: a new profile of the cluster is that of the next connection; the original has to begin anew.
func TestProfileHoldsAtOnce(t *testing.T) {
	o := options{port: 8443, certDir: t.TempDir()}
	var profile atomic.Pointer[operands.TLS]
	c := &tls.Config{}
	for _, set := range o.metrics(&profile).TLSOpts {
		set(c)
	}
	for version, want := range map[string]uint16{"VersionTLS12": tls.VersionTLS12, "VersionTLS13": tls.VersionTLS13} {
		profile.Store(&operands.TLS{MinVersion: version})
		each, err := c.GetConfigForClient(nil)
		if err != nil || each.MinVersion != want {
			t.Errorf("%s: a connection has %v, %v", version, each, err)
		}
	}
}
