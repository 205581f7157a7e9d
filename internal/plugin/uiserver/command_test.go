package uiserver

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// completed is the command with these flags, and the error that they give.
func completed(t *testing.T, args ...string) (*command, error) {
	t.Helper()
	p := &command{options: Options{MaxSessions: 20, CheckInterval: 2 * time.Minute}}
	fs := pflag.NewFlagSet("machine-ui", pflag.ContinueOnError)
	p.addFlags(fs)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return p, p.complete()
}

// TestFlags: an error names the flag.
func TestFlags(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	for args, want := range map[string]string{
		"":                             "--host-names: must not be empty",
		"--host-names=https://a.b":     "--host-names: ",
		"--host-names=a.b:8443":        "--host-names: ",
		"--host-names=*.b":             "--host-names: ",
		"--host-names=a --max-users=0": "--max-users: must be at least 1",
		"--host-names=a --token-check-interval=1ms": "--token-check-interval: must be at least 1s",
		"--host-names=a": "--kubeconfig: must not be empty outside of a cluster",
		"--host-names=a --kubeconfig=/does/not/exist.cfg": "--kubeconfig: ",
	} {
		if _, err := completed(t, strings.Fields(args)...); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
	}
}

// TestInACluster: the pod has no token, and the connection no credentials.
func TestInACluster(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
	t.Setenv("KUBERNETES_SERVICE_PORT", "443")
	authority := filepath.Join(t.TempDir(), "ca.crt")
	args := []string{"--host-names=Fleet.example.com,machine-ui.x.svc", "--namespace=x", "--certificate-authority=" + authority}
	if _, err := completed(t, args...); err == nil || !strings.HasPrefix(err.Error(), "--certificate-authority: ") {
		t.Errorf("without the file: %v", err)
	}
	if err := os.WriteFile(authority, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := completed(t, args...)
	if err != nil {
		t.Fatal(err)
	}
	o := p.options
	if c := o.Control; c.Host != "https://[fd00::1]:443" || c.CAFile != authority || c.Insecure || c.BearerToken+c.BearerTokenFile+c.Username != "" {
		t.Errorf("the connection is %+v", o.Control)
	}
	if o.ActionLog != nil || o.NoNodes || o.Home != "x" || strings.Join(o.Site.Hosts, ",") != "fleet.example.com,machine-ui.x.svc" {
		t.Errorf("the options are %+v", o)
	}
}
