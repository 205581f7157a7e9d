package archive

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"testing"
	"time"
)

var some = []File{
	{Name: "etc/", Mode: 0o755},
	{Name: "etc/passwd", Content: []byte("user\n"), Mode: 0o644},
	{Name: "program", Content: []byte("text"), Mode: 0o755},
	{Name: "alias", Target: "program", Mode: 0o777},
}

// TestTar: what an entry says is what was asked for, and nothing of who packed it, and when.
func TestTar(t *testing.T) {
	packed, err := TarGz(some)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	if z.Name != "" || !z.ModTime.IsZero() {
		t.Errorf("the head says %+v", z.Header)
	}
	kinds := []byte{tar.TypeDir, tar.TypeReg, tar.TypeReg, tar.TypeSymlink}
	r := tar.NewReader(z)
	for i, want := range some {
		h, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if h.Name != want.Name || h.Linkname != want.Target || h.Mode != want.Mode || h.Typeflag != kinds[i] || !bytes.Equal(content, want.Content) {
			t.Errorf("%+v with %q, want %+v", h, content, want)
		}
		if !h.ModTime.Equal(time.Unix(0, 0)) || h.Uid != 0 || h.Gid != 0 || h.Uname != "" || h.Gname != "" || h.Format != tar.FormatUSTAR {
			t.Errorf("%s tells of who packed it: %+v", h.Name, h)
		}
	}
	if _, err := r.Next(); err != io.EOF {
		t.Errorf("there is more: %v", err)
	}
}

func TestZip(t *testing.T) {
	packed, err := Zip(some[1:3])
	if err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil || len(z.File) != 2 {
		t.Fatalf("%d files: %v", len(z.File), err)
	}
	for i, f := range z.File {
		if f.Name != some[i+1].Name || int64(f.Mode()) != some[i+1].Mode || f.ModifiedTime != 0 || f.ModifiedDate != 0 {
			t.Errorf("%+v, want %+v", f.FileHeader, some[i+1])
		}
	}
}

// TestRefuses: a name that the format has no room for is named.
func TestRefuses(t *testing.T) {
	long := string(bytes.Repeat([]byte("x"), 300))
	if _, err := Tar([]File{{Name: long}}); err == nil || !bytes.Contains([]byte(err.Error()), []byte(long)) {
		t.Errorf("a name of 300 letters: %v", err)
	}
}
