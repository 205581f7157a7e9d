// Package archive packs files. An archive says nothing of times and owners, so that its bytes depend on what is in it only.
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

// A File is an entry of an archive: a link where Target is set, a folder where the name ends with "/".
type File struct {
	Name, Target string
	Content      []byte
	// Mode are the bits of permissions.
	Mode int64
}

// Tar has the files in their order, owned by root and of the first second that there is.
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

// Gzip compresses, at one of the levels of compress/gzip. The head has no name and no time.
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

// TarGz is a compressed [Tar].
func TarGz(files []File) ([]byte, error) {
	plain, err := Tar(files)
	if err != nil {
		return nil, err
	}
	return Gzip(plain, gzip.DefaultCompression)
}

// Zip has the files in their order. It has no links and no folders.
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
