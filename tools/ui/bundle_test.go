package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/evanw/esbuild/pkg/api"
)

// TestFunctionsOfThePage runs the page's own tests, in its own language.
func TestFunctionsOfThePage(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed: make test-ui needs it")
	}
	web, err := filepath.Abs("../../internal/plugin/ui/web")
	if err != nil {
		t.Fatal(err)
	}
	o := options(web)
	o.EntryPoints, o.Platform = []string{"src/view.test.ts"}, api.PlatformNode
	files, err := build(o)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "view.test.mjs")
	if err := os.WriteFile(file, files["view.test.js"], 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), node, "--test", file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

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
