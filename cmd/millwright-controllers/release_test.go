package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
)

// read returns the content of the files in a folder, by path.
func read(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(file)
		out[strings.TrimPrefix(file, dir+string(filepath.Separator))] = string(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// packaged returns the path of a file or folder of the packages.
func packaged(t *testing.T, name string) string {
	t.Helper()
	root, err := devplanetest.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	return devplanetest.Packages(t, root, name)
}

// TestPackages: millwright.yaml is the output of `kubectl kustomize config/default`.
func TestPackages(t *testing.T) {
	one, err := os.ReadFile(packaged(t, "millwright.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(kubectl(t, "kustomize", "config/default")), string(one)); diff != "" {
		t.Errorf("-kubectl +packages:\n%s", diff)
	}
}

// TestReleaseObjects: each object names the clusters that have it, a release replaces each image, and the operator
// accepts its command line.
func TestReleaseObjects(t *testing.T) {
	files := read(t, packaged(t, "install"))
	references := files["image-references"]
	for name, text := range files {
		if name == "image-references" {
			continue
		}
		if !strings.HasPrefix(name, "0000_30_machine-api-operator_") && !strings.HasPrefix(name, "0000_90_machine-api-operator_") {
			t.Errorf("%s does not have run level 30 or 90", name)
		}
		for _, o := range objects(t, []byte(text)) {
			a := o.GetAnnotations()
			if a["include.release.openshift.io/self-managed-high-availability"] != "true" || a["exclude.release.openshift.io/internal-openshift-hosted"] != "true" {
				t.Errorf("%s: %s %s has no cluster profile: %v", name, o.GetKind(), o.GetName(), a)
			}
			if c := a["capability.openshift.io/name"]; c != "MachineAPI" && (c != "CloudCredential+MachineAPI" || o.GetKind() != "CredentialsRequest") && o.GetKind() != "CustomResourceDefinition" {
				t.Errorf("%s: %s %s has the capability %q", name, o.GetKind(), o.GetName(), c)
			}
		}
		for line := range strings.SplitSeq(text, "\n") {
			_, image, _ := strings.Cut(line, `": "`)
			if after, found := strings.CutPrefix(strings.TrimSpace(line), "image: "); found {
				image = after
			} else if name != "0000_30_machine-api-operator_01_images.configmap.yaml" {
				continue
			}
			if image = strings.Trim(image, `",`); image != "" && !strings.Contains(references, "\n      name: "+image+"\n") {
				t.Errorf("%s: a release does not replace the image %s", name, image)
			}
		}
	}
	d := deployments(t, []byte(files["0000_30_machine-api-operator_11_deployment.yaml"]))["machine-api-operator"]
	c := d.Spec.Template.Spec.Containers[0]
	program := programs()[strings.TrimPrefix(c.Command[0], "/")]
	if program == nil {
		t.Fatalf("the image has no program %s", c.Command[0])
	}
	sub, flags, err := program().Find(c.Args)
	if err != nil || sub.Name() != "start" {
		t.Fatalf("%v selects the command %v, error %v; want start", c.Args, sub, err)
	}
	if err := sub.ParseFlags(flags); err != nil {
		t.Error(err)
	}
}
