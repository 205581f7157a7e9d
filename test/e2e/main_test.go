package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

// bin is the folder of the programs under test, built from this tree.
var bin string

func TestMain(m *testing.M) {
	flag.Parse()
	// Tests wait much and compute little. The default, one test for each core, would run them one after the other.
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "millwright-e2e-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	if bin, err = build(filepath.Join(dir, "bin")); err != nil {
		return 0, err
	}
	defer func() {
		if shared.dir == "" {
			return
		}
		if e := down(shared.dir); e != nil && err == nil {
			err = e
		}
	}()
	return m.Run(), nil
}

func build(into string) (string, error) {
	root, err := devplanetest.RepositoryRoot()
	if err != nil {
		return "", err
	}
	c := exec.Command("go", "build", "-o", into+string(filepath.Separator), "./cmd/...")
	c.Dir = root
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the programs: %w\n%s", err, out)
	}
	return into, nil
}

// down ends the fleet in dir, even if only parts of it are left.
func down(dir string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return fleet.Down(ctx, dir, bin)
}
