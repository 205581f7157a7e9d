// Command install writes the files that a release of OpenShift takes from a component (install/), from the manifests of the overlay for it: the version
// operator applies them in the order of their names, at the run levels 30 and 90.
//
//	kubectl kustomize config/overlays/version-operator | go run ./hack/install -out install -images config/version-operator/image-references
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

func main() {
	out := flag.String("out", "install", "folder for the files; what else is in it is removed")
	images := flag.String("images", "config/version-operator/image-references", "file that says which images stand in manifests by which names, which is no manifest and is copied")
	flag.Parse()
	if err := write(os.Stdin, *out, *images); err != nil {
		fmt.Fprintln(os.Stderr, "install:", err)
		os.Exit(1)
	}
}

func write(from io.Reader, out, images string) error {
	manifests, err := io.ReadAll(from)
	if err != nil {
		return err
	}
	files, err := split(string(manifests))
	if err != nil {
		return err
	}
	references, err := os.ReadFile(images)
	if err != nil {
		return err
	}
	files["image-references"] = string(references)
	old, err := filepath.Glob(filepath.Join(out, "*"))
	if err != nil {
		return err
	}
	for _, file := range old {
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(out, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
