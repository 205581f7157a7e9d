package devplanetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// packages is the folder of the packages that users install. It is built once for the tests of a Go package, and [Main] removes it.
var packages struct {
	sync.Once
	dir string
	out []byte
	err error
}

// Packages returns the path of a file or folder that users install (millwright.yaml, install, charts/millwright), built from config/ of the repository at root.
func Packages(t testing.TB, root, name string) string {
	t.Helper()
	packages.Do(func() {
		if packages.dir, packages.err = os.MkdirTemp("", "millwright-packages-"); packages.err != nil {
			return
		}
		c := exec.Command("go", "run", "./hack/packages", "-out", packages.dir)
		c.Dir = root
		packages.out, packages.err = c.CombinedOutput()
	})
	if packages.err != nil {
		t.Fatalf("build packages: %v\n%s", packages.err, packages.out)
	}
	path := filepath.Join(packages.dir, filepath.FromSlash(name))
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	return path
}

func removePackages() error {
	if packages.dir == "" {
		return nil
	}
	return os.RemoveAll(packages.dir)
}
