package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/providertest"
	"github.com/millwright-dev/millwright/provider/remote"
)

// TestReport: a provider that conforms passes, one that forgets its instances does not, and the report has
// each check.
func TestReport(t *testing.T) {
	for reason, c := range map[string]struct {
		wrap  func(provider.Provider) provider.Provider
		fails bool
	}{
		"it conforms":   {func(p provider.Provider) provider.Provider { return p }, false},
		"it is a shelf": {func(p provider.Provider) provider.Provider { return forgetful{p} }, true},
	} {
		t.Run(reason, func(t *testing.T) {
			cloud := providertest.NewCloud(clock.RealClock{})
			cloud.Boot, cloud.Shutdown = 0, 0
			dir, err := os.MkdirTemp("", "conformance")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			spec, address := filepath.Join(dir, "spec.json"), "unix://"+filepath.Join(dir, "p.sock")
			if err := os.WriteFile(spec, []byte(`{"size":"small","zone":"a"}`), 0o600); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				ended <- remote.Serve(ctx, remote.Listening{Address: address}, remote.Served{
					Provider: c.wrap(cloud.Provider()), Clock: clock.RealClock{},
					Identities: []remote.Identity{{Pattern: `(?i)example:/*(.*)`, Name: "$1", FoldCase: true}},
				})
			}()
			var out strings.Builder
			err = run(t.Context(), []string{
				"--name", "example", "--address", address, "--openshift-spec", spec, "--gardener-spec", spec, "--credential", "password=sesame", "--patience", "100ms",
			}, &out)
			if (err != nil) != c.fails || strings.Contains(out.String(), "\nFAIL") != c.fails || !strings.Contains(out.String(), "ok    ") {
				t.Errorf("%v\n%s", err, out.String())
			}
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

// forgetful finds nothing.
type forgetful struct{ provider.Provider }

func (p forgetful) Open(ctx context.Context, class provider.Class) (provider.Session, error) {
	s, err := p.Provider.Open(ctx, class)
	return forgetfulSession{s}, err
}

type forgetfulSession struct{ provider.Session }

func (forgetfulSession) Find(context.Context, provider.Ref) ([]provider.Instance, error) {
	return nil, nil
}

// TestNode: the provider in JavaScript conforms. It needs node, and its installed packages: npm install in
// examples/node.
func TestNode(t *testing.T) {
	const example = "../../examples/node"
	if _, err := os.Stat(example + "/node_modules"); err != nil {
		t.Skip("npm install has not been run in provider/remote/examples/node")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	dir, err := os.MkdirTemp("", "node")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	spec, address := filepath.Join(dir, "spec.json"), "unix://"+filepath.Join(dir, "p.sock")
	if err := os.WriteFile(spec, []byte(`{"width":3}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	err = run(t.Context(), []string{
		"--name", "shelf", "--address", address, "--gardener-spec", spec, // its specs are the same in both APIs
		"--", node, example + "/provider.js", address, filepath.Join(dir, "shelf.json"),
	}, &out)
	if err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
	t.Log(out.String())
}

// TestTogetherIsACheck: the name of the check exists.
func TestTogetherIsACheck(t *testing.T) {
	if !slices.ContainsFunc(providertest.Checks(), func(c providertest.Check) bool { return c.Name == together }) {
		t.Errorf("the suite has no check %q", together)
	}
}

// TestWhatIsWrongIsTold: errors are reported before anything starts.
func TestWhatIsWrongIsTold(t *testing.T) {
	spec := filepath.Join(t.TempDir(), "spec.json")
	if err := os.WriteFile(spec, []byte(`{}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"no spec is given":                      {"--name=a", "--address=unix:///a"},
		"neither unix:///path nor host:port":    {"--name=a", "--gardener-spec", spec},
		"begin the provider":                    {"--name=a", "--address=unix:///a", "--gardener-spec", spec, "--", "/no/such/program"},
		"no such file":                          {"--name=a", "--address=unix:///a", "--gardener-spec", "/no/such/file"},
		`"My cloud" is no name of a provider`:   {"--name=My cloud", "--address=unix:///a", "--gardener-spec", spec},
		"credentials of clouds go over the con": {"--name=a", "--address=127.0.0.1:1", "--gardener-spec", spec},
	} {
		if err := run(t.Context(), args, &strings.Builder{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", args, err, want)
		}
	}
}
