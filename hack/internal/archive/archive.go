// Package archive packs files. Archives contain no real times and owners, so that their bytes depend only on the content.
package archive

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"strings"
	"time"
)

// A File is an entry of an archive: a link if Target is set, a folder if the name ends with "/".
type File struct {
	Name, Target string
	Content      []byte
	// Mode has the permission bits.
	Mode int64
}

// Tar returns an archive of the files in their order. Their owner is root, and their time is the first second of Unix time.
func Tar(files []File) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range files {
		h := &tar.Header{Name: f.Name, Linkname: f.Target, Mode: f.Mode, Size: int64(len(f.Content)), Typeflag: tar.TypeReg, ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR}
		switch {
		case f.Target != "":
			h.Typeflag = tar.TypeSymlink
		case strings.HasSuffix(f.Name, "/"):
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		if _, err := w.Write(f.Content); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// Gzip compresses with one of the levels of compress/gzip. The header has no name and no time.
func Gzip(content []byte, level int) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, level)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// TarGz returns a compressed [Tar].
func TarGz(files []File) ([]byte, error) {
	plain, err := Tar(files)
	if err != nil {
		return nil, err
	}
	return Gzip(plain, gzip.DefaultCompression)
}

// Zip returns an archive of the files in their order, without links and folders.
func Zip(files []File) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.Name, Method: zip.Deflate}
		h.SetMode(os.FileMode(f.Mode))
		into, err := w.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := into.Write(f.Content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
