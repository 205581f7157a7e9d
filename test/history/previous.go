package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

// build builds the controllers of the sources in a folder.
func build(ctx context.Context, sources, into string) error {
	c := exec.CommandContext(ctx, "go", "build", "-trimpath", "-gcflags=all=-dwarf=false", "-o", into+string(filepath.Separator), "./cmd/"+fleet.Sets, "./cmd/"+fleet.Machines)
	c.Dir = sources
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("build the controllers of %s: %w\n%s", sources, err, out)
	}
	return nil
}

// buildPrevious builds those of another commit. Where the repository does not have it, as in a fresh and shallow clone, why
// says so.
func buildPrevious(ctx context.Context, root, commit, into string) (why string, err error) {
	git := func(args ...string) *exec.Cmd {
		c := exec.CommandContext(ctx, "git", args...)
		c.Dir = root
		return c
	}
	if err := git("rev-parse", "--verify", "--quiet", commit+"^{commit}").Run(); err != nil {
		return "the repository has no commit " + commit, nil
	}
	sources, err := os.MkdirTemp("", "millwright-previous-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(sources)
	archive := git("archive", "--format=tar", commit)
	extract := exec.CommandContext(ctx, "tar", "-x", "-C", sources)
	if extract.Stdin, err = archive.StdoutPipe(); err != nil {
		return "", err
	}
	if err := archive.Start(); err != nil {
		return "", fmt.Errorf("read the sources of %s: %w", commit, err)
	}
	if out, err := extract.CombinedOutput(); err != nil {
		return "", fmt.Errorf("unpack the sources of %s: %w: %s", commit, err, out)
	}
	if err := archive.Wait(); err != nil {
		return "", fmt.Errorf("read the sources of %s: %w", commit, err)
	}
	return "", build(ctx, sources, into)
}

// knows says whether a program accepts a flag: one of another commit may not.
func knows(ctx context.Context, program, flag string) bool {
	return exec.CommandContext(ctx, program, flag, "--help").Run() == nil
}
