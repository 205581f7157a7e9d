package devplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// CacheEnv names the folder that Ensure builds into instead of the user's cache folder.
const CacheEnv = "MILLWRIGHT_CACHE"

// multiCall is the file that all programs of the box are links to.
const multiCall = "box"

// keepBuilds is how long a build stays in the cache after its last use. A build has about 150 MB.
const keepBuilds = 14 * 24 * time.Hour

// BuildOptions say what Ensure provides.
type BuildOptions struct {
	// Programs are the required programs; all by default. If the user's KUBEBUILDER_ASSETS has all of them, nothing is built.
	Programs []string
	// SourceDir is the dev/ folder of a clone; found from the working folder by default.
	SourceDir string
	// CacheDir is where builds are kept; $MILLWRIGHT_CACHE or millwright/ in the user's cache folder by default.
	CacheDir string
	// Progress gets a line about every step, and one every 15 s during compilation (on a terminal: one line that changes). Nil: no
	// output.
	Progress io.Writer
}

// Ensure provides the programs of the box. It builds them, unless the same Go version has already built the same sources, or the
// user's KUBEBUILDER_ASSETS has all required programs. Two concurrent callers build only once. The first build takes minutes,
// later calls take milliseconds.
//
// Errors: ErrNoSource outside a clone; a missing go command; the compiler's errors.
func Ensure(ctx context.Context, opts BuildOptions) (Assets, error) {
	if len(opts.Programs) == 0 {
		opts.Programs = Programs()
	}
	report := newProgress(opts.Progress)
	user, err := userDir()
	if err != nil {
		return Assets{}, err
	}
	if user != "" {
		missing := missingFrom(user, opts.Programs)
		if len(missing) == 0 {
			return Assets{Dir: user, UserDir: user}, nil
		}
		report.step(fmt.Sprintf("%s=%s has no %s: taking the missing programs from the box", AssetsEnv, user, strings.Join(missing, ", ")))
	}
	dir, err := ensureBuilt(ctx, opts, report)
	if err != nil && user != "" {
		return Assets{}, fmt.Errorf("%s=%s has no %s, and the box could not be built instead: %w",
			AssetsEnv, user, strings.Join(missingFrom(user, opts.Programs), ", "), err)
	}
	return Assets{Dir: dir, UserDir: user}, err
}

// userDir is the folder of the user's own programs; "" by default.
func userDir() (string, error) {
	dir := os.Getenv(AssetsEnv)
	if dir == "" {
		return "", nil
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("making %s absolute: %w", AssetsEnv, err)
	}
	return dir, nil
}

// ensureBuilt returns the folder of the box's own build, and builds it first if necessary.
func ensureBuilt(ctx context.Context, opts BuildOptions, report *progress) (string, error) {
	src, err := findSource(opts.SourceDir)
	if err != nil {
		return "", err
	}
	builds, err := buildsDir(opts.CacheDir)
	if err != nil {
		return "", err
	}
	tools, err := src.toolchain(ctx)
	if err != nil {
		return "", err
	}
	key, err := src.key(tools)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(builds, key)
	if isBuilt(dir) {
		return dir, nil
	}
	unlock, err := lockFile(ctx, filepath.Join(builds, key+".lock"), func() {
		report.step("another process is building the box: waiting for it")
	})
	if err != nil {
		return "", err
	}
	defer unlock()
	if isBuilt(dir) {
		return dir, nil
	}
	if err := buildInto(ctx, src, dir, report); err != nil {
		return "", err
	}
	prune(builds, key)
	return dir, nil
}

func buildsDir(given string) (string, error) {
	cache := given
	if cache == "" {
		cache = os.Getenv(CacheEnv)
	}
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("finding the cache folder (set %s to choose one): %w", CacheEnv, err)
		}
		cache = filepath.Join(user, "millwright")
	}
	cache, err := filepath.Abs(cache)
	if err != nil {
		return "", fmt.Errorf("finding the cache folder: %w", err)
	}
	return filepath.Join(cache, "box"), nil
}

// isBuilt reports whether the build exists, and marks it as used, for prune.
func isBuilt(dir string) bool {
	if len(missingFrom(dir, Programs())) > 0 {
		return false
	}
	now := time.Now()
	_ = os.Chtimes(dir, now, now) // an error, as in a read-only cache, does not matter
	return true
}

// buildInto builds in a folder beside dir and then renames it, so that dir is never incomplete. The caller holds the lock, so
// other folders beside dir belong to builders that died.
func buildInto(ctx context.Context, src source, dir string, report *progress) error {
	work := dir + ".tmp"
	if err := errors.Join(os.RemoveAll(work), os.RemoveAll(dir)); err != nil {
		return fmt.Errorf("removing the rest of an interrupted build: %w", err)
	}
	if err := os.MkdirAll(work, 0o755); err != nil {
		return fmt.Errorf("creating the folder of the build: %w", err)
	}
	defer os.RemoveAll(work)
	began := time.Now()
	if err := src.build(ctx, filepath.Join(work, multiCall), report); err != nil {
		return err
	}
	for _, program := range Programs() {
		if err := os.Symlink(multiCall, filepath.Join(work, program)); err != nil {
			return fmt.Errorf("linking %s: %w", program, err)
		}
	}
	if err := os.Rename(work, dir); err != nil {
		return fmt.Errorf("moving the build into place: %w", err)
	}
	report.step(fmt.Sprintf("built in %s: %s", time.Since(began).Round(time.Second), dir))
	return nil
}

// prune removes builds that were not used for some time. If a build cannot be removed, it only occupies space.
func prune(builds, current string) {
	entries, err := os.ReadDir(builds)
	if err != nil {
		return
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !entry.IsDir() || entry.Name() == current || time.Since(info.ModTime()) < keepBuilds {
			continue
		}
		_ = os.RemoveAll(filepath.Join(builds, entry.Name()))
	}
}
