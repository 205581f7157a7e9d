package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func content(t *testing.T, elements ...string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(elements...))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func must(t *testing.T, command ...string) string {
	t.Helper()
	said, err := run(t.Context(), command...)
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	return said
}

// copied is a copy of the first release, which a test may change.
func copied(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(built.first)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// extracted writes the named file of an archive into a folder, and returns its path.
func extracted(t *testing.T, archive io.Reader, name string) string {
	t.Helper()
	for r := tar.NewReader(archive); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			t.Fatalf("no %s in the archive", name)
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Name != name || h.Typeflag != tar.TypeReg {
			continue
		}
		raw, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), filepath.Base(name))
		if err := os.WriteFile(file, raw, 0o700); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
		return file
	}
}

func unzipped(t *testing.T, raw []byte) io.Reader {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// TestReproducible: two releases of one commit, built in different folders, are equal, and so are their signatures.
func TestReproducible(t *testing.T) {
	for _, name := range []string{"SHA256SUMS", "SHA256SUMS.minisig"} {
		if first, second := content(t, built.first, name), content(t, built.second, name); !bytes.Equal(first, second) {
			t.Errorf("%s differs:\n%s\n%s", name, first, second)
		}
	}
}

// TestVersion: the programs of a release, in archives and in the image, have the version of the tag.
func TestVersion(t *testing.T) {
	for _, name := range []string{"kubectl-machine", "millwright"} {
		program := extracted(t, unzipped(t, content(t, built.first, name+"_"+version+"_linux_amd64.tar.gz")), name)
		if said := must(t, program, "version"); !strings.HasPrefix(said, name+" "+version+" (") || strings.Contains(said, "no commit") {
			t.Errorf("%s: %s", name, said)
		}
	}
	program := extracted(t, unzipped(t, layer(t)), "millwright-controllers")
	if said := must(t, program, "--version"); !strings.HasPrefix(said, "millwright-controllers "+version+" (") {
		t.Errorf("the image's program: %s", said)
	}
	if manifest := string(content(t, built.first, "millwright.yaml")); strings.Count(manifest, "image: registry.example.com/millwright-controllers:"+version+"\n") != 3 {
		t.Error("the manifests do not have the image of the release three times")
	}
	chart := extracted(t, unzipped(t, content(t, built.first, "millwright-"+version[1:]+".tgz")), "millwright/Chart.yaml")
	if text := string(content(t, chart)); !strings.Contains(text, "appVersion: "+version+"\n") || !strings.Contains(text, "\nversion: "+version[1:]+"\n") {
		t.Errorf("the chart has another version:\n%s", text)
	}
}

// layer returns the only compressed layer of the image: the largest blob of its archive.
func layer(t *testing.T) (largest []byte) {
	t.Helper()
	for r := tar.NewReader(bytes.NewReader(content(t, built.first, "millwright-controllers.oci.tar"))); ; {
		_, err := r.Next()
		if errors.Is(err, io.EOF) {
			return largest
		}
		if err != nil {
			t.Fatal(err)
		}
		blob, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if len(blob) > len(largest) {
			largest = blob
		}
	}
}

// TestVerify: the two ways of docs/install.md accept the release, and refuse a modified one.
func TestVerify(t *testing.T) {
	verify := func(dir string) (string, error) {
		return run(t.Context(), "make", "--no-print-directory", "verify-release", "DIST="+dir, "PUBLIC_KEY="+built.public)
	}
	if said, err := verify(built.first); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	must(t, "sh", "-c", "cd "+built.first+" && sha256sum --check --strict SHA256SUMS")
	dir := copied(t)
	file := filepath.Join(dir, "millwright.yaml")
	if err := os.WriteFile(file, append(content(t, file), '#'), 0o600); err != nil {
		t.Fatal(err)
	}
	if said, err := verify(dir); err == nil || !strings.Contains(said, "millwright.yaml has another checksum") {
		t.Errorf("%v\n%s", err, said)
	}
	if said, err := run(t.Context(), "sh", "-c", "cd "+dir+" && sha256sum --check --strict SHA256SUMS"); err == nil || !strings.Contains(said, "millwright.yaml: FAILED") {
		t.Errorf("%v\n%s", err, said)
	}
}
