package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestAssetsAreCurrent: the embedded files are those that the sources give.
func TestAssetsAreCurrent(t *testing.T) {
	const dir = "../../internal/plugin/ui"
	files, err := bundle(dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(dir, "assets", name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not current (%v): make ui", name, err)
		}
	}
	kept, err := os.ReadDir(filepath.Join(dir, "assets"))
	if err != nil || len(kept) != len(files) {
		t.Errorf("assets has %d files, want %d (%v)", len(kept), len(files), err)
	}
}
