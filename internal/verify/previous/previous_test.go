package previous_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/millwright-dev/millwright/internal/verify/previous"
)

// TestBuildCommit: what is built is what the commit has, and not what the folder has by now.
func TestBuildCommit(t *testing.T) {
	root, into := t.TempDir(), t.TempDir()
	program := filepath.Join(root, "cmd", "says", "main.go")
	write := func(file, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(root, "go.mod"), "module example.com/says\n\ngo 1.24\n")
	write(program, "package main\n\nfunc main() { print(\"before\") }\n")
	for _, args := range [][]string{{"init", "--quiet"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "-m", "a"}} {
		c := exec.CommandContext(t.Context(), "git", args...)
		c.Dir = root
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	write(program, "package main\n\nfunc main() { print(\"after\") }\n")
	if missing, err := previous.BuildCommit(t.Context(), root, "HEAD", into, "says"); err != nil || missing != "" {
		t.Fatalf("%q, %v", missing, err)
	}
	out, err := exec.CommandContext(t.Context(), filepath.Join(into, "says")).CombinedOutput()
	if err != nil || string(out) != "before" {
		t.Errorf("the program says %q, %v", out, err)
	}
	if missing, err := previous.BuildCommit(t.Context(), root, "HEAD~7", into, "says"); err != nil || missing == "" {
		t.Errorf("of a commit that the repository does not have it says %q, %v", missing, err)
	}
}
