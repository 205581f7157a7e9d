package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestNewProvider: the tests of a new provider pass, and no file has the name of the invented cloud.
func TestNewProvider(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "maple")
	out := runNew(t, "maple", "--module", "example.com/clouds/maple", "--dir", dir)
	if !strings.Contains(out, "cd "+dir) {
		t.Errorf("printed %q, want the next command", out)
	}
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if text := strings.ToLower(path + string(content)); strings.Contains(text, "larch") {
			t.Errorf("%s contains the name of the invented cloud", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	test := exec.Command("go", "test", ".")
	test.Dir = dir
	test.Env = append(os.Environ(), "KUBEBUILDER_ASSETS=") // only the conformance tests
	if out, err := test.CombinedOutput(); err != nil || !strings.Contains(string(out), "ok  \texample.com/clouds/maple") {
		t.Errorf("go test: %v\n%s", err, out)
	}
}

func runNew(t *testing.T, args ...string) string {
	t.Helper()
	c := newCommand()
	var out strings.Builder
	c.SetOut(&out)
	c.SetArgs(append([]string{"provider"}, args...))
	if err := c.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestNewProviderRefuses: an invalid option is named, and nothing is created.
func TestNewProviderRefuses(t *testing.T) {
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		reason string
		p      providerTemplate
		want   string
	}{
		{"no name", providerTemplate{}, `name ""`},
		{"upper case", providerTemplate{name: "Maple"}, `name "Maple": want 2 to 30 lower-case letters`},
		{"a hyphen", providerTemplate{name: "my-cloud"}, `name "my-cloud"`},
		{"a path", providerTemplate{name: "../maple"}, `name "../maple"`},
		{"a keyword of Go", providerTemplate{name: "range"}, `name "range": Go code`},
		{"a package of the template", providerTemplate{name: "provider"}, `name "provider": Go code`},
		{"Millwright's module", providerTemplate{name: "maple", module: millwrightModule + "/maple"}, "--module"},
		{"a space", providerTemplate{name: "maple", module: "example.com/a b"}, "--module"},
		{"a folder with files", providerTemplate{name: "maple", dir: full}, "--dir " + full + ": the folder is not empty"},
		{"no checkout", providerTemplate{name: "maple", checkout: full}, "--checkout " + full},
	} {
		if c.p.dir == "" {
			c.p.dir = filepath.Join(t.TempDir(), "new")
		}
		err := c.p.create()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.reason, err, c.want)
		}
		if _, err := os.Stat(c.p.dir); c.p.dir != full && err == nil {
			t.Errorf("%s: %s was created", c.reason, c.p.dir)
		}
	}
	t.Chdir(full)
	if err := (&providerTemplate{name: "maple"}).create(); err == nil || !strings.Contains(err.Error(), "--checkout is required") {
		t.Errorf("outside of a checkout: %v", err)
	}
}
