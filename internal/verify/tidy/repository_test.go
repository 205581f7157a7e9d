package tidy

import (
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

//go:embed ratchet.txt
var ratchet string

func root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir, err = Root(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestRepository checks every rule that reads Go source on the whole repository.
func TestRepository(t *testing.T) {
	files, err := Load(root(t))
	if err != nil {
		t.Fatal(err)
	}
	exceptions, err := ParseRatchet(ratchet)
	if err != nil {
		t.Fatal(err)
	}
	rules := map[string]func([]*File) []Violation{
		"imports":      Imports,
		"purity":       Purity,
		"clock":        Clock,
		"seeds":        Seeds,
		"package docs": PackageDocs,
		"comments":     Comments,
		"wiring":       Wiring,
		"keys":         Keys,
		"values":       Values,
		"lenses":       Lenses,
		"apis":         APIs,
		"spelling":     Spelling,
		"size":         func(files []*File) []Violation { return Ratchet(Sizes(files), exceptions) },
	}
	for name, rule := range rules {
		t.Run(name, func(t *testing.T) {
			for _, violation := range rule(files) {
				t.Error(violation)
			}
		})
	}
}

// TestTrackedFiles checks what is tracked, whatever its kind.
func TestTrackedFiles(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed, so what is tracked is not known")
	}
	dir := root(t)
	names, err := Tracked(dir)
	if err != nil {
		t.Skipf("this is not a git checkout: %v", err)
	}
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		for _, violation := range Hygiene(name, content) {
			t.Error(violation)
		}
	}
}
