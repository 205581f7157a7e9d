package run

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/millwright-dev/millwright/provider"
)

func parsed(t *testing.T, args ...string) *Flags {
	t.Helper()
	var f Flags
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	f.AddFlags(fs, 10259)
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
		{"machines that join nothing still live somewhere", "--target-kubeconfig=none", "--control-kubeconfig: must be set"},
		{"no address", "--address=here", "is no address"},
		{"a port beyond all", "--port=70000", "is no address"},
		{"flags of the originals that mean nothing here", "--cloud-provider=x --leader-elect-resource-lock=leases --controller-start-interval=0s --kube-api-content-type=application/json", ""},
	} {
		err := parsed(t, strings.Fields(c.args)...).Complete()
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %q is refused: %v", c.reason, c.args, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %q gives %v, want %q", c.reason, c.args, err, c.want)
		}
	}
}

// TestNamespace: the two APIs differ in what no --namespace means.
func TestNamespace(t *testing.T) {
	for _, c := range []struct{ reason, args, openshift, gardener string }{
		{"unset: everywhere in one API, default in the other", "", "", "default"},
		{"set: the same for both", "--namespace=mill", "mill", "mill"},
		{"set to nothing: everywhere in both", "--namespace=", "", ""},
	} {
		f := parsed(t, strings.Fields(c.args)...)
		if o, g := f.NamespaceOf(provider.OpenShift), f.NamespaceOf(provider.Gardener); o != c.openshift || g != c.gardener {
			t.Errorf("%s: %q and %q, want %q and %q", c.reason, o, g, c.openshift, c.gardener)
		}
	}
}

func TestMetricsAddress(t *testing.T) {
	for args, want := range map[string]string{
		"":                                      "0.0.0.0:10259",
		"--address=127.0.0.1 --port=9":          "127.0.0.1:9",
		"--metrics-bind-address=:8081 --port=9": ":8081",
	} {
		f := parsed(t, strings.Fields(args)...)
		if err := f.Complete(); err != nil || f.MetricsAddress != want {
			t.Errorf("%q: metrics at %q (%v), want %q", args, f.MetricsAddress, err, want)
		}
	}
}
