// Command crds copies the CustomResourceDefinitions of machine.openshift.io from the pinned module github.com/openshift/api, so
// that we install the published schema and do not generate another one from the same Go types. The template of our own
// MachineDeployment gets the schema of a MachineSet's template from there. See docs/decisions/0003-crd-sources.md.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

const (
	module    = "github.com/openshift/api"
	manifests = "machine/%s/zz_generated.crd-manifests"
)

// source is a file of the module.
type source struct{ version, file string }

func (s source) path() string { return fmt.Sprintf(manifests, s.version) + "/" + s.file }

// sources maps our file to the file of the module. The feature set Default is that of a cluster without preview features. A
// file without a feature set in its name is the same in all feature sets. The kind of the control plane is optional.
var sources = map[string]source{
	"machine.openshift.io_machines.yaml":                                             {"v1beta1", "0000_10_machine-api_01_machines-Default.crd.yaml"},
	"machine.openshift.io_machinesets.yaml":                                          {"v1beta1", "0000_10_machine-api_01_machinesets-Default.crd.yaml"},
	"machine.openshift.io_machinehealthchecks.yaml":                                  {"v1beta1", "0000_10_machine-api_01_machinehealthchecks.crd.yaml"},
	"../control-plane-machine-set/machine.openshift.io_controlplanemachinesets.yaml": {"v1", "0000_10_control-plane-machine-set_01_controlplanemachinesets-Default.crd.yaml"},
}

func main() {
	out := flag.String("out", "config/crd", "directory to write to")
	flag.Parse()
	if err := run(*out); err != nil {
		fmt.Fprintln(os.Stderr, "crds:", err)
		os.Exit(1)
	}
}

func run(out string) error {
	dir, version, err := locate()
	if err != nil {
		return err
	}
	for target, source := range sources {
		raw, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(source.path())))
		if err != nil {
			return fmt.Errorf("reading the manifest for %s: %w", target, err)
		}
		listed, err := categorize(raw)
		if err != nil {
			return fmt.Errorf("in %s: %w", source.file, err)
		}
		if err := os.WriteFile(filepath.Join(out, target), render(listed, source, version), 0o644); err != nil {
			return fmt.Errorf("writing %s: %w", target, err)
		}
	}
	return graft(out)
}

// The only addition to the published manifest: `kubectl get millwright` lists the kind with those of the other API. It affects
// only discovery, and no stored object.
const (
	names    = "\n  names:\n"
	category = "    categories:\n    - millwright\n"
)

func categorize(raw []byte) ([]byte, error) {
	if bytes.Count(raw, []byte(names)) != 1 || bytes.Contains(raw, []byte("\n    categories:")) {
		return nil, errors.New("want one list of names, without categories of its own")
	}
	return bytes.Replace(raw, []byte(names), []byte(names+category), 1), nil
}

// render puts a line about the origin before the manifest, and keeps the manifest byte for byte.
func render(raw []byte, from source, version string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Copied by hack/crds, with a category; do not edit. Source: %s@%s %s\n---\n", module, version, from.path())
	b.Write(raw)
	return b.Bytes()
}

// locate asks the go command for the folder of the module's files and for the version that go.mod pins.
func locate() (dir, version string, err error) {
	cmd := exec.Command("go", "mod", "download", "-json", module)
	cmd.Stderr = os.Stderr
	raw, err := cmd.Output()
	if err != nil {
		return "", "", fmt.Errorf("locating module %s: %w", module, err)
	}
	var info struct{ Dir, Version string }
	if err := json.Unmarshal(raw, &info); err != nil {
		return "", "", fmt.Errorf("reading what go says about module %s: %w", module, err)
	}
	return info.Dir, info.Version, nil
}
