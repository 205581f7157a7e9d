package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// entries are the files of an archive, by name.
func entries(t *testing.T, r io.Reader) (map[string][]byte, map[string]*tar.Header) {
	t.Helper()
	contents, headers := map[string][]byte{}, map[string]*tar.Header{}
	for a := tar.NewReader(r); ; {
		h, err := a.Next()
		if errors.Is(err, io.EOF) {
			return contents, headers
		}
		if err != nil {
			t.Fatal(err)
		}
		if contents[h.Name], err = io.ReadAll(a); err != nil {
			t.Fatal(err)
		}
		headers[h.Name] = h
	}
}

func made(t *testing.T, binary string) (content []byte, index string) {
	t.Helper()
	var images []image
	for _, arch := range []string{"amd64", "arm64"} {
		i, err := pack(arch, "v1", "millwright-controllers", []byte(binary+arch), []string{"a", "b"})
		if err != nil {
			t.Fatal(err)
		}
		images = append(images, i)
	}
	content, index, err := layout("example.com/m:v1", images)
	if err != nil {
		t.Fatal(err)
	}
	return content, index
}

// TestReproducible: the archive depends on what is in it, and on nothing else.
func TestReproducible(t *testing.T) {
	first, one := made(t, "x")
	second, two := made(t, "x")
	if !bytes.Equal(first, second) || one != two {
		t.Error("two builds of the same differ")
	}
	if _, other := made(t, "y"); other == one {
		t.Error("another program has the same digest")
	}
}

// TestLayout follows the digests from index.json to the files of the root, as a tool that imports the archive does.
func TestLayout(t *testing.T) {
	content, index := made(t, "x")
	files, _ := entries(t, bytes.NewReader(content))
	blob := func(d descriptor, into any) []byte {
		t.Helper()
		b := files["blobs/sha256/"+strings.TrimPrefix(d.Digest, "sha256:")]
		if digest(b) != d.Digest || len(b) != d.Size {
			t.Fatalf("%s is not what it is called", d.Digest)
		}
		if into != nil {
			if err := json.Unmarshal(b, into); err != nil {
				t.Fatal(err)
			}
		}
		return b
	}
	var top, all struct{ Manifests []descriptor }
	if err := json.Unmarshal(files["index.json"], &top); err != nil {
		t.Fatal(err)
	}
	if d := top.Manifests[0]; d.Digest != index || d.Annotations["io.containerd.image.name"] != "example.com/m:v1" {
		t.Errorf("the index is %+v", d)
	}
	blob(top.Manifests[0], &all)
	var archs []string
	for _, d := range all.Manifests {
		archs = append(archs, d.Platform.Architecture)
		var manifest struct {
			Config descriptor
			Layers []descriptor
		}
		blob(d, &manifest)
		var config struct {
			Architecture string
			Config       struct{ User string }
			Rootfs       struct {
				DiffIDs []string `json:"diff_ids"`
			}
		}
		blob(manifest.Config, &config)
		if config.Config.User != "65532:65532" || config.Architecture != d.Platform.Architecture {
			t.Errorf("%+v: want a user without an account, and the architecture of the manifest", config)
		}
		unpacked, err := gzip.NewReader(bytes.NewReader(blob(manifest.Layers[0], nil)))
		if err != nil {
			t.Fatal(err)
		}
		plain, err := io.ReadAll(unpacked)
		if err != nil {
			t.Fatal(err)
		}
		if digest(plain) != config.Rootfs.DiffIDs[0] {
			t.Error("the layer is not what the configuration says")
		}
		root, headers := entries(t, bytes.NewReader(plain))
		if string(root["millwright-controllers"]) != "x"+d.Platform.Architecture || headers["millwright-controllers"].Mode != 0o755 || headers["b"].Linkname != "millwright-controllers" {
			t.Errorf("the root has %v", headers)
		}
		amazon(t, root["etc/ssl/certs/ca-certificates.crt"])
		for name, h := range headers {
			if h.Uid != 0 || h.ModTime.Unix() != 0 || h.Mode&0o022 != 0 && h.Typeflag != tar.TypeSymlink {
				t.Errorf("%s: user %d, time %v, mode %o", name, h.Uid, h.ModTime, h.Mode)
			}
		}
	}
	if !slices.Equal(archs, []string{"amd64", "arm64"}) {
		t.Errorf("it is for %v", archs)
	}
}

// amazon looks for one of the authorities in a file, without which no program in an image would believe AWS.
func amazon(t *testing.T, bundle []byte) {
	t.Helper()
	for found := false; !found; {
		var block *pem.Block
		if block, bundle = pem.Decode(bundle); block == nil {
			t.Fatal("no certificate authority of AWS is trusted")
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		found = c.IsCA && c.Subject.CommonName == "Amazon Root CA 1"
	}
}

// TestBill: every module is listed once, as what stands in for it where it is replaced, and after them what the image has besides.
func TestBill(t *testing.T) {
	more := []*debug.Module{nil, {Path: "a.example/m", Version: "v1.0.0"}, {Path: "a.example/m", Version: "v1.1.0"}}
	raw, err := spdx("p", "v1", []byte("x"), &debug.BuildInfo{GoVersion: "go1.26.0", Deps: []*debug.Module{
		{Path: "a.example/m", Version: "v1.0.0", Sum: "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="},
		{Path: "b.example/m", Version: "v1.0.0", Replace: &debug.Module{Path: "c.example/m", Version: "v2.0.0"}},
	}}, more...)
	if err != nil {
		t.Fatal(err)
	}
	var got bill
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range got.Packages {
		names = append(names, p.Name+"@"+p.Version)
	}
	want := []string{"p@v1", "stdlib@1.26.0", "a.example/m@v1.0.0", "c.example/m@v2.0.0", "a.example/m@v1.1.0"}
	if !slices.Equal(names, want) {
		t.Errorf("packages %v, want %v", names, want)
	}
	if len(got.Relationships) != len(want) {
		t.Errorf("relationships %v", got.Relationships)
	}
}
