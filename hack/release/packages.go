package main

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/millwright-dev/millwright/hack/internal/archive"
	"github.com/millwright-dev/millwright/hack/internal/packages"
)

// develImage is the name of the image in packages that are not part of a release.
const develImage = "millwright-controllers:devel"

// manifests writes millwright.yaml, with the image of the release.
func (r release) manifests() error {
	text, err := replaced(r.packages["millwright.yaml"], "image: "+develImage+"\n", "image: "+r.image+":"+r.version+"\n")
	if err != nil {
		return fmt.Errorf("millwright.yaml: %w", err)
	}
	return r.write("millwright.yaml", []byte(text))
}

// install packs install/ unchanged, because a release of OpenShift names the images.
func (r release) install() error {
	packed, err := archive.TarGz(folder(r.packages, "install", "install"))
	if err != nil {
		return err
	}
	return r.write("millwright-openshift-"+r.version+".tar.gz", packed)
}

// chart packs the chart, with its version and its image.
func (r release) chart() error {
	const name = "millwright"
	files := folder(r.packages, "charts/"+name, name)
	// Versions of charts have no v. The tag of the image is that of the release.
	version := strings.TrimPrefix(r.version, "v")
	for file, changes := range map[string][][2]string{
		"Chart.yaml":  {{"\nversion: 0.0.0-devel\n", "\nversion: " + version + "\n"}, {"\nappVersion: devel\n", "\nappVersion: " + r.version + "\n"}},
		"values.yaml": {{"\n  repository: millwright-controllers\n", "\n  repository: " + r.image + "\n"}},
	} {
		for i := range files {
			if files[i].Name != path.Join(name, file) {
				continue
			}
			for _, c := range changes {
				text, err := replaced(string(files[i].Content), c[0], c[1])
				if err != nil {
					return fmt.Errorf("%s: %w", file, err)
				}
				files[i].Content = []byte(text)
			}
		}
	}
	packed, err := archive.TarGz(files)
	if err != nil {
		return err
	}
	return r.write(name+"-"+version+".tgz", packed)
}

// replaced replaces a text, and returns an error if the text does not occur.
func replaced(text, from, to string) (string, error) {
	if !strings.Contains(text, from) {
		return "", fmt.Errorf("there is no %q to replace", strings.TrimSpace(from))
	}
	return strings.ReplaceAll(text, from, to), nil
}

// folder returns the files below dir of the packages, in the order of their names, below another folder.
func folder(all map[string]string, dir, as string) []archive.File {
	files := packages.Below(all, dir)
	out := make([]archive.File, 0, len(files))
	for _, name := range slices.Sorted(maps.Keys(files)) {
		out = append(out, archive.File{Name: path.Join(as, name), Content: []byte(files[name]), Mode: 0o644})
	}
	return out
}
