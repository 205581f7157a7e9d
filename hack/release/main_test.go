package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aead.dev/minisign"
)

// fake writes what it was asked for, in place of a program.
func fake(_ context.Context, r release, p platform, pkg, file string) error {
	return os.WriteFile(file, fmt.Appendf(nil, "%s %s %s", pkg, p, r.version), 0o700)
}

// standIn writes what stands for an image.
func standIn(_ context.Context, r release, pkg string) error {
	return os.WriteFile(filepath.Join(r.out, filepath.Base(pkg)+".oci.tar"), []byte("image of "+pkg), 0o600)
}

// made is an unsigned release in a folder that has another one.
func made(t *testing.T) string { return signed(t, nil) }

// signed is a release in a folder that has another one, signed by a key.
func signed(t *testing.T, key *minisign.PrivateKey) string {
	t.Helper()
	out := t.TempDir()
	for name, text := range map[string]string{"kubectl-machine_v1.2.2_linux_arm64.tar.gz": "old", signatureFile: "old", sumsFile: "0  kubectl-machine_v1.2.2_linux_arm64.tar.gz\n1  ../LICENSE\n"} {
		if err := os.WriteFile(filepath.Join(out, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := release{
		out: out, version: "v1.2.3-rc.1", image: "r.example/m", platforms: []string{"linux/arm64", "windows/amd64"}, providers: []string{"aws"},
		url: "https://m.example/download/", compile: fake, layout: standIn, key: key,
	}
	if err := r.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return out
}

func content(t *testing.T, elements ...string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(elements...))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// unpacked are the files of a .tar.gz, whose headers say nothing of times.
func unpacked(t *testing.T, archive []byte) map[string]string {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if h.ModTime.Unix() != 0 || h.Uid != 0 || h.Uname != "" {
			t.Errorf("%s is of %v, by %d %s", h.Name, h.ModTime, h.Uid, h.Uname)
		}
		out[h.Name] = string(raw)
	}
}

// TestRelease: which files there are, what is in them, and that their checksums are theirs. Two of one version are equal.
func TestRelease(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	out := made(t)
	want := []string{
		"SHA256SUMS", "kubectl-machine_v1.2.3-rc.1_linux_arm64.tar.gz", "kubectl-machine_v1.2.3-rc.1_windows_amd64.zip", "machine-controller-aws.oci.tar", "machine.yaml",
		"millwright-1.2.3-rc.1.tgz", "millwright-controllers.oci.tar", "millwright-openshift-v1.2.3-rc.1.tar.gz", "millwright.yaml", "millwright_v1.2.3-rc.1_linux_arm64.tar.gz",
	}
	entries, err := os.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for _, e := range entries {
		have = append(have, e.Name())
	}
	if strings.Join(have, " ") != strings.Join(want, " ") {
		t.Errorf("there is\n%q, want\n%q", have, want)
	}
	lines := strings.Split(strings.TrimSpace(string(content(t, out, sumsFile))), "\n")
	if len(lines) != len(want)-1 {
		t.Errorf("%d checksums, want one for each other file", len(lines))
	}
	for _, line := range lines {
		sum, name, _ := strings.Cut(line, "  ")
		if got := fmt.Sprintf("%x", sha256.Sum256(content(t, out, name))); got != sum {
			t.Errorf("%s has the checksum %s, not %s", name, got, sum)
		}
	}
	if m := string(content(t, out, "millwright.yaml")); strings.Contains(m, develImage) || strings.Count(m, "image: r.example/m:v1.2.3-rc.1\n") != 3 {
		t.Error("the manifests are not about the image of the release")
	}
	if first, second := content(t, out, sumsFile), content(t, made(t), sumsFile); !bytes.Equal(first, second) {
		t.Errorf("two releases of one version differ:\n%s\n%s", first, second)
	}
}

func TestArchives(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	out := made(t)
	chart := unpacked(t, content(t, out, "millwright-1.2.3-rc.1.tgz"))
	for file, part := range map[string]string{
		"millwright/Chart.yaml": "\nversion: 1.2.3-rc.1\nappVersion: v1.2.3-rc.1\n", "millwright/values.yaml": "\n  repository: r.example/m\n",
		"millwright/values.schema.json": "machineControllerManager", "millwright/templates/NOTES.txt": "Release.Namespace", "millwright/files/default.yaml": develImage,
	} {
		if !strings.Contains(chart[file], part) {
			t.Errorf("the chart's %s has no %q", file, part)
		}
	}
	if files := unpacked(t, content(t, out, "millwright-openshift-v1.2.3-rc.1.tar.gz")); files["install/image-references"] == "" {
		t.Errorf("%d files, and no image-references", len(files))
	}
	if files := unpacked(t, content(t, out, "millwright_v1.2.3-rc.1_linux_arm64.tar.gz")); files["millwright"] != "./cmd/millwright linux/arm64 v1.2.3-rc.1" || files["LICENSE"] == "" || len(files) != 2 {
		t.Errorf("%v", files["millwright"])
	}
	raw := content(t, out, "kubectl-machine_v1.2.3-rc.1_windows_amd64.zip")
	z, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil || len(z.File) != 2 || z.File[1].Name != "kubectl-machine.exe" {
		t.Errorf("%v, %v", z, err)
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		reason, version, platform, err string
		providers                      []string
	}{
		{"no version", "", "linux/amd64", `-version: want a semantic version as v1.2.3, got ""`, nil},
		{"no v", "1.2.3", "linux/amd64", "-version", nil},
		{"two numbers", "v1.2", "linux/amd64", "-version", nil},
		{"a number with a zero before it", "v1.02.3", "linux/amd64", "-version", nil},
		{"a system alone", "v1.2.3", "linux", `-platforms: want an operating system and an architecture as linux/amd64, got "linux"`, nil},
		{"a cloud that there is not", "v1.2.3", "linux/amd64", `-providers: want clouds as aws,gcp, got "moon": there is no ./providers/moon/cloud/machine-controller-moon`, []string{"moon"}},
	} {
		out := filepath.Join(t.TempDir(), "dist")
		r := release{out: out, version: c.version, platforms: []string{c.platform}, providers: c.providers, compile: fake, layout: standIn}
		if err := r.run(t.Context()); err == nil || !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: error %v, want %s", c.reason, err, c.err)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s: something was written", c.reason)
		}
	}
}

// TestFailure: nothing that was not built is packed, and what failed is named.
func TestFailure(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	r := release{out: t.TempDir(), version: "v1.2.3", image: "m", platforms: []string{"plan9/amd64"}, layout: standIn, compile: func(context.Context, release, platform, string, string) error {
		return errors.New("no")
	}}
	if err := r.run(t.Context()); err == nil || err.Error() != "kubectl-machine for plan9/amd64: no" {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(filepath.Join(r.out, sumsFile)); err == nil {
		t.Error("there are checksums of half a release")
	}
}
