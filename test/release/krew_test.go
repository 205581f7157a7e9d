package release

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const archive = "kubectl-machine_" + version + "_linux_amd64.tar.gz"

// tool returns the path of a program of another project.
func tool(t *testing.T, name string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), "hack/tool", name)
	c.Dir, c.Stderr = built.root, os.Stderr
	path, err := c.Output()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return strings.TrimSpace(string(path))
}

// install installs the plugin with krew from the files of a folder, and returns krew's folder.
func install(ctx context.Context, t *testing.T, krew, dir string) (home, said string, err error) {
	t.Helper()
	home = t.TempDir()
	said, err = run(ctx, "env", "KREW_ROOT="+home, "KREW_NO_UPGRADE_CHECK=1", krew, "install",
		"--manifest="+filepath.Join(dir, "machine.yaml"), "--archive="+filepath.Join(dir, archive))
	return home, said, err
}

// TestKrew: krew's own checks of an index accept the manifest, and krew installs the plugin with it.
func TestKrew(t *testing.T) {
	must(t, tool(t, "validate-krew-manifest"), "-manifest", filepath.Join(built.first, "machine.yaml"), "-skip-install")
	krew := tool(t, "krew")
	home, said, err := install(t.Context(), t, krew, built.first)
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	if got := must(t, filepath.Join(home, "bin", "kubectl-machine"), "version"); !strings.HasPrefix(got, "kubectl-machine "+version+" (") {
		t.Errorf("the installed plugin: %s", got)
	}
	if license, err := filepath.Glob(filepath.Join(home, "store", "machine", version, "LICENSE")); err != nil || len(license) != 1 {
		t.Errorf("the license is not installed: %v, %v", license, err)
	}
}

// TestKrewRefuses: krew refuses an archive with a wrong checksum, and a manifest that has a platform twice.
func TestKrewRefuses(t *testing.T) {
	krew := tool(t, "krew")
	dir := copied(t)
	file := filepath.Join(dir, archive)
	if err := os.WriteFile(file, append(content(t, file), 0), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, said, err := install(t.Context(), t, krew, dir); err == nil || !strings.Contains(said, "checksum does not match") {
		t.Errorf("%v\n%s", err, said)
	}
	manifest := filepath.Join(dir, "machine.yaml")
	text := string(content(t, manifest))
	i := strings.Index(text, "  platforms:\n") + len("  platforms:\n")
	end := strings.Index(text[i:], "  shortDescription:")
	if end < 0 {
		t.Fatal("the manifest has no field after the platforms")
	}
	twice := fmt.Sprint(text[:i], text[i:i+end], text[i:])
	if err := os.WriteFile(manifest, []byte(twice), 0o600); err != nil {
		t.Fatal(err)
	}
	if said, err := run(t.Context(), tool(t, "validate-krew-manifest"), "-manifest", manifest, "-skip-install"); err == nil || !strings.Contains(said, "overlapping") {
		t.Errorf("%v\n%s", err, said)
	}
}
