// Package packages builds what users install from config/: millwright.yaml, the manifests of a component of OpenShift, and the
// chart. The repository stores none of these.
package packages

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// The folder of the chart, and the folder in it for generated files.
const (
	chart      = "charts/millwright"
	chartFiles = chart + "/files/"
)

const generated = "# Generated from config/ by make packages.\n"

// Build returns the contents of all files by their paths with slashes: millwright.yaml, install/ and charts/millwright/, for
// the repository at root.
func Build(root string) (map[string]string, error) {
	b := builder{root: root}
	one := b.kustomize("config/default")
	all := b.folder(chart)
	all["millwright.yaml"] = one
	for name, text := range map[string]string{
		"default.yaml":     one,
		"cloud.yaml":       b.kustomize("config/manager/machine-controller"),
		"rules.yaml":       b.kustomize("config/monitoring"),
		"dashboards.yaml":  b.kustomize("config/dashboards"),
		"monitors.yaml":    b.file("config/servicemonitor/monitors.yaml"),
		"certificate.yaml": b.file("config/webhook/cert-manager/certificate.yaml"),

		"disruption-budgets.yaml":        b.kustomize("config/disruption-budgets"),
		"control-plane-machine-set.yaml": b.kustomize("config/control-plane-machine-set"),
		"ui.yaml":                        b.kustomize("config/ui"),
		"ui-certificate.yaml":            b.file("config/ui/cert-manager/certificate.yaml"),
	} {
		all[chartFiles+name] = generated + text
	}
	release, references := b.kustomize("config/overlays/version-operator"), b.file("config/version-operator/image-references")
	if b.err != nil {
		return nil, b.err
	}
	files, err := split(release)
	if err != nil {
		return nil, err
	}
	files["image-references"] = references
	for name, text := range files {
		all["install/"+name] = text
	}
	return all, nil
}

// builder keeps the first error.
type builder struct {
	root string
	err  error
}

func (b *builder) kustomize(dir string) string {
	if b.err != nil {
		return ""
	}
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionLegacy // as in kubectl: namespaces and CRDs come first
	resources, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), filepath.Join(b.root, filepath.FromSlash(dir)))
	if err != nil {
		b.err = fmt.Errorf("kustomize %s: %w", dir, err)
		return ""
	}
	text, err := resources.AsYaml()
	if err != nil {
		b.err = fmt.Errorf("kustomize %s: %w", dir, err)
	}
	return string(text)
}

func (b *builder) file(name string) string {
	if b.err != nil {
		return ""
	}
	text, err := os.ReadFile(filepath.Join(b.root, filepath.FromSlash(name)))
	b.err = err
	return string(text)
}

// folder returns the files below dir, by their paths from the root.
func (b *builder) folder(dir string) map[string]string {
	all := map[string]string{}
	if b.err != nil {
		return all
	}
	below := os.DirFS(filepath.Join(b.root, filepath.FromSlash(dir)))
	b.err = fs.WalkDir(below, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(below, name)
		all[path.Join(dir, name)] = string(text)
		return err
	})
	return all
}

// Write writes files below out, and removes files of an earlier build in install/ and charts/ there.
func Write(files map[string]string, out string) error {
	for _, dir := range []string{"install", "charts"} {
		if err := os.RemoveAll(filepath.Join(out, dir)); err != nil {
			return err
		}
	}
	for name, text := range files {
		file := filepath.Join(out, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // what users install
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil { //nolint:gosec // what users install
			return err
		}
	}
	return nil
}

// Below returns the files in dir, by their paths from there.
func Below(files map[string]string, dir string) map[string]string {
	all := map[string]string{}
	for name, text := range files {
		if rest, found := strings.CutPrefix(name, dir+"/"); found {
			all[rest] = text
		}
	}
	return all
}
