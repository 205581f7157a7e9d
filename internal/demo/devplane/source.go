package devplane

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// devModule is the first line of dev/go.mod, which identifies a clone.
const devModule = "module github.com/millwright-dev/millwright/dev"

// source is the module from which the box is built.
type source struct {
	dir string
	// kubernetes is the version pinned in its go.mod, for example "v1.36.3", which the programs report as their own.
	kubernetes string
}

// ErrNoSource says that the module from which the box is built is not on this machine.
var ErrNoSource = errors.New("the sources of the box (folder dev/ of a millwright clone) were not found")

// findSource looks in the given folder. Without one, it looks above the working folder, and then where this program was compiled.
func findSource(given string) (source, error) {
	if given != "" {
		return openSource(given)
	}
	var starts []string
	if wd, err := os.Getwd(); err == nil {
		starts = append(starts, wd)
	}
	if _, file, _, ok := runtime.Caller(0); ok && filepath.IsAbs(file) {
		starts = append(starts, filepath.Dir(file))
	}
	for _, start := range starts {
		for dir := start; ; dir = filepath.Dir(dir) {
			if src, err := openSource(filepath.Join(dir, "dev")); err == nil {
				return src, nil
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return source{}, fmt.Errorf("%w: run from inside a clone, or set %s to a folder with the programs %s",
		ErrNoSource, AssetsEnv, strings.Join(Programs(), ", "))
}

var kubernetesVersion = regexp.MustCompile(`(?m)^\s*(?:require\s+)?k8s\.io/kubernetes (v1\.\d+\.\d+)`)

func openSource(dir string) (source, error) {
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return source{}, fmt.Errorf("reading the module of the box: %w", err)
	}
	if !strings.HasPrefix(string(mod), devModule+"\n") {
		return source{}, fmt.Errorf("%s is not the module of the box", dir)
	}
	match := kubernetesVersion.FindStringSubmatch(string(mod))
	if match == nil {
		return source{}, fmt.Errorf("%s/go.mod does not require k8s.io/kubernetes", dir)
	}
	return source{dir: dir, kubernetes: match[1]}, nil
}

// toolchain is what decides the bytes of a build in addition to the sources.
type toolchain struct {
	GOVERSION, GOOS, GOARCH string
}

// key names the build of these sources by this toolchain: 16 hexadecimal digits that change whenever the programs would change.
// Folders below that are modules themselves, such as the clouds' simulators, do not count.
func (s source) key(tools toolchain) (string, error) {
	files := []string{"go.mod", "go.sum"}
	err := filepath.WalkDir(s.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			if _, missing := os.Stat(filepath.Join(path, "go.mod")); err == nil && missing == nil && path != s.dir {
				return fs.SkipDir
			}
			return err
		}
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			relative, err := filepath.Rel(s.dir, path)
			files = append(files, filepath.ToSlash(relative))
			return err
		}
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("listing the sources of the box: %w", err)
	}
	slices.Sort(files)
	hash := sha256.New()
	fmt.Fprintln(hash, tools.GOVERSION, tools.GOOS, tools.GOARCH, buildFlags(s.kubernetes))
	for _, file := range files {
		content, err := os.ReadFile(filepath.Join(s.dir, file))
		if err != nil {
			return "", fmt.Errorf("reading the sources of the box: %w", err)
		}
		fmt.Fprintf(hash, "%s %d\n%s", file, len(content), content)
	}
	return hex.EncodeToString(hash.Sum(nil))[:16], nil
}
