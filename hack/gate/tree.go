package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// A tree is a checkout of the repository.
type tree struct{ dir string }

func output(ctx context.Context, dir, name string, arguments ...string) (string, error) {
	c := exec.CommandContext(ctx, name, arguments...)
	c.Dir = dir
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(arguments, " "), err, said.String())
	}
	return string(out), nil
}

// committed returns an error if the tree has uncommitted changes, because the gate checks a commit.
func (t tree) committed(ctx context.Context) error {
	changes, err := output(ctx, t.dir, "git", "status", "--porcelain")
	if err != nil {
		return err
	}
	if changes != "" {
		return fmt.Errorf("not committed:\n%s", changes)
	}
	return nil
}

// blobs returns the tracked files with the hashes of their contents and their modes.
func (t tree) blobs(ctx context.Context) (map[string]string, error) {
	listed, err := output(ctx, t.dir, "git", "ls-tree", "-r", "-z", "HEAD")
	if err != nil {
		return nil, err
	}
	return parseTree(listed), nil
}

// parseTree parses the output of "git ls-tree -z": "100644 blob <hash>\t<name>".
func parseTree(listed string) map[string]string {
	files := map[string]string{}
	for line := range strings.SplitSeq(strings.TrimRight(listed, "\x00"), "\x00") {
		if about, name, found := strings.Cut(line, "\t"); found {
			files[name] = about
		}
	}
	return files
}

// names returns the tracked files, and the folders of the packages in the main module that have fuzz targets.
func (t tree) names(files map[string]string) (names, fuzzed []string, err error) {
	names = slices.Sorted(maps.Keys(files))
	for _, name := range names {
		if !strings.HasSuffix(name, "_test.go") || slices.Contains(fuzzed, path.Dir(name)) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(t.dir, filepath.FromSlash(name)))
		if err != nil {
			return nil, nil, err
		}
		if bytes.Contains(text, []byte("\nfunc Fuzz")) {
			fuzzed = append(fuzzed, path.Dir(name))
		}
	}
	return names, fuzzed, nil
}

// lastCommit returns the files that the last commit, or the merged branch, has changed. It returns none in a clone without
// history.
func (t tree) lastCommit(ctx context.Context) []string {
	names, err := output(ctx, t.dir, "git", "diff", "--name-only", "-z", "HEAD^1", "HEAD")
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimRight(names, "\x00"), "\x00")
}

// environment returns the environment of the parts. Go's cache uses PWD as the name of the folder.
func (t tree) environment() []string {
	return append(os.Environ(), "PWD="+t.dir, "GOWORK=off")
}

// slots is the maximum number of gates that run at the same time on a computer, each in its own folder.
const slots = 4

// checkOut checks out the clone's commit into a folder whose name does not depend on the place of the clone. The times of the
// files depend only on their contents. Go's cache identifies test results by the names and times of the files that the tests
// opened. So a result is valid in every clone in which these contents are the same. Release returns the folder.
func checkOut(ctx context.Context, clone tree, cache string) (tree, func(), error) {
	for n := range slots {
		lock, err := os.OpenFile(filepath.Join(cache, fmt.Sprintf("tree%d.lock", n)), os.O_CREATE|os.O_RDWR, 0o644)
		if err != nil {
			return tree{}, nil, err
		}
		if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			lock.Close()
			continue
		}
		slot := tree{filepath.Join(cache, fmt.Sprintf("tree%d", n))}
		if err := slot.take(ctx, clone); err != nil {
			lock.Close()
			return tree{}, nil, err
		}
		return slot, func() { lock.Close() }, nil
	}
	return tree{}, nil, fmt.Errorf("%d gates run on this machine already", slots)
}

// take makes the tree equal to the clone's commit. Only ignored files stay between runs: programs and audit logs in bin/.
func (t tree) take(ctx context.Context, clone tree) error {
	if err := os.MkdirAll(t.dir, 0o755); err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(filepath.Dir(t.dir), "clone-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	if _, err := output(ctx, t.dir, "git", "clone", "--quiet", "--shared", "--no-checkout", clone.dir, fresh); err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(t.dir, ".git")); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(fresh, ".git"), filepath.Join(t.dir, ".git")); err != nil {
		return err
	}
	commit, err := output(ctx, clone.dir, "git", "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	for _, arguments := range [][]string{
		{"checkout", "--quiet", "--force", "--detach", strings.TrimSpace(commit)},
		{"clean", "-fdxq", "-e", "/bin/"},
	} {
		if _, err := output(ctx, t.dir, "git", arguments...); err != nil {
			return err
		}
	}
	if err := t.stamp(ctx); err != nil {
		return err
	}
	_, err = output(ctx, t.dir, "git", "update-index", "-q", "--refresh")
	return err
}

// stamp sets the time of each tracked file and folder to a function of its content.
func (t tree) stamp(ctx context.Context) error {
	listed, err := output(ctx, t.dir, "git", "ls-tree", "-r", "-t", "-z", "HEAD")
	if err != nil {
		return err
	}
	files := parseTree(listed)
	names := slices.Sorted(maps.Keys(files))
	slices.Reverse(names) // the content of a folder before the folder
	for _, name := range names {
		fields := strings.Fields(files[name])
		file := filepath.Join(t.dir, filepath.FromSlash(name))
		if len(fields) != 3 || fields[0] == "120000" { // the time of a link does not matter
			continue
		}
		at, err := timeOf(fields[2])
		if err != nil {
			return err
		}
		if err := os.Chtimes(file, at, at); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	whole, err := output(ctx, t.dir, "git", "rev-parse", "HEAD^{tree}")
	if err != nil {
		return err
	}
	at, err := timeOf(strings.TrimSpace(whole))
	if err != nil {
		return err
	}
	return os.Chtimes(t.dir, at, at)
}

// epoch is before the time of every stamped file. All these times are within 17 years after it.
var epoch = time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)

// timeOf returns a time for a hash. Contents with another hash have another time, except with a probability of 1 in 2^58.
func timeOf(hash string) (time.Time, error) {
	raw, err := hex.DecodeString(hash)
	if err != nil || len(raw) < 8 {
		return time.Time{}, fmt.Errorf("%q is not a hash of git", hash)
	}
	const nanoseconds = 1 << 59 // 18 years
	return epoch.Add(time.Duration(binary.BigEndian.Uint64(raw) % nanoseconds)), nil
}
