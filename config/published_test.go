package config_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/config"
)

// published is the module with the manifests of OpenShift's kinds, and their folder in it.
const (
	published          = "github.com/openshift/api"
	publishedManifests = "machine/v1beta1/zz_generated.crd-manifests"
)

// module returns the folder in which the go command has the files of a module, and the version that go.mod pins.
func module(t *testing.T, name string) (dir, version string) {
	t.Helper()
	if _, err := os.Stat("../go.mod"); err != nil { // so that Go's test cache notices a new version
		t.Fatal(err)
	}
	c := exec.Command("go", "list", "-m", "-f", "{{.Dir}} {{.Version}}", name)
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %v", c.Args, err)
	}
	at := strings.LastIndex(strings.TrimSpace(string(out)), " ")
	if at < 1 {
		t.Fatalf("the go command has no files of %s: %q", name, out)
	}
	return string(out)[:at], strings.TrimSpace(string(out)[at:])
}

// A valid object of the published kinds is stored without changes, and an invalid one is refused: no field, no pattern and no
// rule is missing. The differences are the first document, a comment about the origin of the copy, and the category with which
// kubectl lists the kinds of both APIs together.
func TestOpenShiftKindsAreAsPublished(t *testing.T) {
	dir, version := module(t, published)
	for file, source := range map[string]string{
		"machine.openshift.io_machines.yaml":            "0000_10_machine-api_01_machines-Default.crd.yaml",
		"machine.openshift.io_machinesets.yaml":         "0000_10_machine-api_01_machinesets-Default.crd.yaml",
		"machine.openshift.io_machinehealthchecks.yaml": "0000_10_machine-api_01_machinehealthchecks.crd.yaml",
	} {
		t.Run(file, func(t *testing.T) {
			raw, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(publishedManifests), source))
			if err != nil {
				t.Fatal(err)
			}
			ours, err := config.FS.ReadFile("crd/" + file)
			if err != nil {
				t.Fatal(err)
			}
			origin, copied, _ := strings.Cut(string(ours), "\n---\n")
			if want := published + "@" + version + " "; !strings.HasPrefix(origin, "# Copied ") || !strings.Contains(origin, want) {
				t.Errorf("it begins with %q, which does not name %s: run hack/generate", origin, want)
			}
			const names, category = "\n  names:\n", "    categories:\n    - millwright\n"
			listed := strings.Replace(string(raw), names, names+category, 1)
			want, got := manifest(t, listed), manifest(t, copied)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("not as published: run hack/generate (-published +ours):\n%s", diff)
			}
			if copied != listed && cmp.Equal(want, got) {
				t.Error("it is written otherwise than it was published: run hack/generate")
			}
		})
	}
}

// manifest decodes the only document of a manifest.
func manifest(t *testing.T, raw string) (out map[string]any) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(raw), &out); err != nil {
		t.Fatal(err)
	}
	if out["kind"] != "CustomResourceDefinition" {
		t.Fatalf("it is a %v", out["kind"])
	}
	return out
}
