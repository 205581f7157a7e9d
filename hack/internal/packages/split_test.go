package packages

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// all has a manifest for each file.
func all() (documents []string) {
	for _, f := range files {
		name := f.object
		if name == "" {
			name = "any"
		}
		documents = append(documents, fmt.Sprintf("kind: %s\nmetadata:\n  name: %s\n", f.kinds[0], name))
	}
	return documents
}

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		reason    string
		documents []string
		err       string
	}{
		{"each file has something", all(), ""},
		{"a kind that no file is for", append(all(), "kind: Nimbus\nmetadata:\n  name: x\n"), "Nimbus x: no file is for it"},
		{"another object of a kind whose files are each for one", append(all(), "kind: ConfigMap\nmetadata:\n  name: x\n"), "ConfigMap x: no file is for it"},
		{"a file that would be empty", all()[1:], "0000_30_machine-api-operator_00_credentials-request.yaml: there is no CredentialsRequest"},
		{"what is no object", []string{"- x\n"}, "cannot unmarshal"},
	} {
		got, err := split(strings.Join(c.documents, "---\n"))
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: error %v, want %s", c.reason, err, c.err)
			}
		} else if err != nil || len(got) != len(files) {
			t.Errorf("%s: %d files, %v", c.reason, len(got), err)
		}
	}
}

// TestBuild: the packages of this repository have the files that a release and the chart need, and nothing depends on the time or the order.
func TestBuild(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	all, err := Build(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, part := range map[string]string{
		"millwright.yaml":          "kind: CustomResourceDefinition",
		"install/image-references": "kind: ImageStream",
		"install/0000_30_machine-api-operator_11_deployment.yaml": "name: machine-api-operator",
		"charts/millwright/Chart.yaml":                            "name: millwright",
		"charts/millwright/files/default.yaml":                    "kind: Deployment",
		"charts/millwright/files/cloud.yaml":                      "name: machine-controller",
		"charts/millwright/files/rules.yaml":                      "kind: PrometheusRule",
		"charts/millwright/files/dashboards.yaml":                 "kind: ConfigMap",
		"charts/millwright/files/monitors.yaml":                   "kind: ServiceMonitor",
		"charts/millwright/files/certificate.yaml":                "kind: Certificate",
		"charts/millwright/files/disruption-budgets.yaml":         "name: machinedisruptionbudgets.millwright.dev",
		"charts/millwright/files/control-plane-machine-set.yaml":  "name: control-plane-machine-set-operator",
	} {
		if !strings.Contains(all[name], part) {
			t.Errorf("%s has no %q", name, part)
		}
	}
	again, err := Build(root)
	if err != nil || !maps.Equal(all, again) {
		t.Errorf("two builds differ, or the second failed: %v", err)
	}
}

// TestWrite: files of an earlier build are removed, and nothing else.
func TestWrite(t *testing.T) {
	out := t.TempDir()
	for _, file := range []string{"install/old.yaml", "charts/millwright/files/old.yaml", "other.yaml"} {
		path := filepath.Join(out, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := Write(map[string]string{"install/new.yaml": "a", "millwright.yaml": "b"}, out); err != nil {
		t.Fatal(err)
	}
	var have []string
	err := filepath.WalkDir(out, func(file string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			below, _ := filepath.Rel(out, file)
			have = append(have, filepath.ToSlash(below))
		}
		return err
	})
	if want := []string{"install/new.yaml", "millwright.yaml", "other.yaml"}; err != nil || !slices.Equal(have, want) {
		t.Errorf("there are %q, want %q (%v)", have, want, err)
	}
}
