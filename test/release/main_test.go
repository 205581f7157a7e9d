package release

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"aead.dev/minisign"

	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
)

// The version of the releases. Both clones have its tag.
const version = "v0.1.0"

// built are the two releases.
var built struct {
	work, root string
	// first and second are the folders of the files. clone is the folder of the sources of the first. public is the file of the
	// public key.
	first, second, clone, public string
}

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := withReleases(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "test/release:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// withReleases runs the tests on two releases, which are built one after the other in clones with different names.
func withReleases(m *testing.M) (int, error) {
	var err error
	if built.root, err = devplanetest.RepositoryRoot(); err != nil {
		return 1, err
	}
	if _, err := run(context.Background(), "git", "rev-parse", "HEAD"); err != nil {
		fmt.Fprintln(os.Stderr, "test/release: not tested: a release is built from a commit, and this is no checkout of git")
		return 0, nil
	}
	if built.work, err = os.MkdirTemp("", "millwright-release-"); err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(built.work) }()
	key, err := keys()
	if err != nil {
		return 1, err
	}
	if built.first, err = build("a", key); err != nil {
		return 1, err
	}
	if built.second, err = build("another", key); err != nil {
		return 1, err
	}
	built.clone = filepath.Join(built.work, "a")
	return m.Run(), nil
}

// keys writes a new pair of keys, and returns the file of the private key.
func keys() (string, error) {
	public, private, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		return "", err
	}
	text, err := private.MarshalText()
	if err != nil {
		return "", err
	}
	shown, err := public.MarshalText()
	if err != nil {
		return "", err
	}
	file := filepath.Join(built.work, "minisign.key")
	built.public = filepath.Join(built.work, "minisign.pub")
	return file, errors.Join(os.WriteFile(file, text, 0o600), os.WriteFile(built.public, shown, 0o600))
}

// build clones the commit into a folder with the given name, tags it, and builds a release there as a maintainer does. The
// version is that of the tag.
func build(name, key string) (string, error) {
	clone, out := filepath.Join(built.work, name), filepath.Join(built.work, name+"-dist")
	for _, c := range [][]string{
		{"git", "clone", "--quiet", "--shared", built.root, clone},
		{"git", "-C", clone, "-c", "user.name=t", "-c", "user.email=t@example.com", "tag", "-a", "-m", version, version},
		{"make", "-C", clone, "release", "IMAGE=registry.example.com/millwright-controllers", "PLATFORMS=linux/amd64", "ARCHS=amd64", "KEY=" + key, "DIST=" + out},
	} {
		if said, err := run(context.Background(), c...); err != nil {
			return "", fmt.Errorf("%w\n%s", err, said)
		}
	}
	return out, nil
}

// run runs a command, and returns its output.
func run(ctx context.Context, command ...string) (string, error) {
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	c.Dir = built.root
	var said bytes.Buffer
	c.Stdout, c.Stderr = &said, &said
	if err := c.Run(); err != nil {
		return said.String(), fmt.Errorf("%v: %w", command, err)
	}
	return said.String(), nil
}
