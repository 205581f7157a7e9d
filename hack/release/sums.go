package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const sumsFile = "SHA256SUMS"

// forget removes the files of a release from a folder, according to its checksums.
func forget(dir string) error {
	raw, err := os.ReadFile(filepath.Join(dir, sumsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	names := []string{sumsFile, signatureFile}
	for line := range strings.Lines(string(raw)) {
		if _, name, found := strings.Cut(strings.TrimSpace(line), "  "); found {
			names = append(names, filepath.Base(name))
		}
	}
	for _, name := range names {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// sums writes the checksums of all files of a folder, in the format of sha256sum -c.
func sums(dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var out strings.Builder
	for _, f := range files {
		if f.IsDir() || f.Name() == sumsFile || f.Name() == signatureFile {
			continue
		}
		content, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&out, "%x  %s\n", sha256.Sum256(content), f.Name())
	}
	return os.WriteFile(filepath.Join(dir, sumsFile), []byte(out.String()), 0o644)
}
