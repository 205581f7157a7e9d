package main

import (
	"fmt"
	"os"
	"path/filepath"
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

// TestWrite: what is no longer made goes.
func TestWrite(t *testing.T) {
	out, images := t.TempDir(), filepath.Join(t.TempDir(), "images")
	for _, file := range []string{filepath.Join(out, "old.yaml"), images} {
		if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := write(strings.NewReader(strings.Join(all(), "---\n")), out, images); err != nil {
		t.Fatal(err)
	}
	have, err := filepath.Glob(filepath.Join(out, "*"))
	if err != nil || len(have) != len(files)+1 {
		t.Errorf("%v, %v", have, err)
	}
	namespace, err := os.ReadFile(filepath.Join(out, "0000_30_machine-api-operator_00_namespace.yaml"))
	if err != nil || string(namespace) != header+"---\nkind: Namespace\nmetadata:\n  name: any\n" {
		t.Errorf("%q, %v", namespace, err)
	}
}
