// Package previous builds the programs of another commit, for tests in which two versions take turns.
package previous

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Build builds programs of the sources in a folder: the names of folders in cmd.
func Build(ctx context.Context, sources, into string, programs ...string) error {
	args := []string{"build", "-trimpath", "-gcflags=all=-dwarf=false", "-o", into + string(filepath.Separator)}
	for _, program := range programs {
		args = append(args, "./cmd/"+program)
	}
	c := exec.CommandContext(ctx, "go", args...)
	c.Dir = sources
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("build the controllers of %s: %w\n%s", sources, err, out)
	}
	return nil
}

// BuildCommit builds programs of a commit of the repository at root. If the repository does not have the commit, as in a fresh and shallow clone, missing says so.
func BuildCommit(ctx context.Context, root, commit, into string, programs ...string) (missing string, err error) {
	sources, err := os.MkdirTemp("", "millwright-previous-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(sources)
	if missing, err := CheckOut(ctx, root, commit, sources); missing != "" || err != nil {
		return missing, err
	}
	return "", Build(ctx, sources, into, programs...)
}

// CheckOut writes the sources of a commit of the repository at root into a folder. If the repository does not have the commit, missing says so.
func CheckOut(ctx context.Context, root, commit, into string) (missing string, err error) {
	if known := git(ctx, root, "rev-parse", "--verify", "--quiet", commit+"^{commit}").Run() == nil; !known {
		return "the repository has no commit " + commit, nil
	}
	return "", unpack(ctx, root, commit, into)
}

// unpack writes the sources of a commit into a folder.
func unpack(ctx context.Context, root, commit, into string) (err error) {
	archive := git(ctx, root, "archive", "--format=tar", commit)
	extract := exec.CommandContext(ctx, "tar", "-x", "-C", into)
	if extract.Stdin, err = archive.StdoutPipe(); err != nil {
		return err
	}
	if err := archive.Start(); err != nil {
		return fmt.Errorf("read the sources of %s: %w", commit, err)
	}
	if out, err := extract.CombinedOutput(); err != nil {
		return fmt.Errorf("unpack the sources of %s: %w: %s", commit, err, out)
	}
	if err := archive.Wait(); err != nil {
		return fmt.Errorf("read the sources of %s: %w", commit, err)
	}
	return nil
}

func git(ctx context.Context, root string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "git", args...)
	c.Dir = root
	return c
}

// Knows reports whether a program accepts a flag: one of another commit may not.
func Knows(ctx context.Context, program, flag string) bool {
	return exec.CommandContext(ctx, program, flag, "--help").Run() == nil
}
