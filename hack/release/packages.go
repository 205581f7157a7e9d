package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/millwright-dev/millwright/hack/internal/archive"
)

// develImage is what packages call the image as long as it is of no release.
const develImage = "millwright-controllers:devel"

// manifests writes the one file of both APIs, with the image of the release.
func (r release) manifests() error {
	raw, err := os.ReadFile("deploy/millwright.yaml")
	if err != nil {
		return err
	}
	text, err := replaced(string(raw), "image: "+develImage+"\n", "image: "+r.image+":"+r.version+"\n")
	if err != nil {
		return fmt.Errorf("deploy/millwright.yaml: %w", err)
	}
	return r.write("millwright.yaml", []byte(text))
}

// install packs install/ as it is: whoever makes a release of OpenShift names images.
func (r release) install() error {
	files, err := folder("install", "install")
	if err != nil {
		return err
	}
	packed, err := archive.TarGz(files)
	if err != nil {
		return err
	}
	return r.write("millwright-openshift-"+r.version+".tar.gz", packed)
}

// chart packs the chart, with its version and where the image is.
func (r release) chart() error {
	const name = "millwright"
	files, err := folder(filepath.Join("charts", name), name)
	if err != nil {
		return err
	}
	// Charts have versions without a v, and the tag of the image is that of the release.
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

// replaced refuses to replace what is not there.
func replaced(text, from, to string) (string, error) {
	if !strings.Contains(text, from) {
		return "", fmt.Errorf("there is no %q to replace", strings.TrimSpace(from))
	}
	return strings.ReplaceAll(text, from, to), nil
}

// folder is what a folder has, in the order of names, under another name.
func folder(dir, as string) ([]archive.File, error) {
	var out []archive.File
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), ".") {
			return err
		}
		below, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		out = append(out, archive.File{Name: path.Join(as, filepath.ToSlash(below)), Content: content, Mode: 0o644})
		return nil
	})
	return out, err
}
