package mutants

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// tree is the list of the module's packages with their files.
type tree struct {
	root string
	// files are the files of each package, deps the packages of the module that it imports. testFiles and testDeps are the
	// additional ones of its tests.
	files, testFiles, deps, testDeps map[string][]string
	mu                               sync.Mutex
	// sums are digests of files, digests are digests of packages with all that is in their test binaries.
	sums, digests map[string]string
}

// listed is the output of `go list` for a package.
type listed struct {
	Dir                                          string
	GoFiles, CgoFiles, TestGoFiles, XTestGoFiles []string
	EmbedFiles, TestEmbedFiles, XTestEmbedFiles  []string
	Imports, TestImports, XTestImports           []string
}

func (t *tree) add(l listed) error {
	dir, err := filepath.Rel(t.root, l.Dir)
	if err != nil {
		return err
	}
	dir = filepath.ToSlash(dir)
	inDir := func(groups ...[]string) []string {
		var names []string
		for _, file := range slices.Concat(groups...) {
			names = append(names, path.Join(dir, file))
		}
		return names
	}
	ours := func(groups ...[]string) []string {
		var dirs []string
		for _, imported := range slices.Concat(groups...) {
			if rest, ok := strings.CutPrefix(imported, module+"/"); ok {
				dirs = append(dirs, rest)
			}
		}
		return dirs
	}
	t.files[dir] = inDir(l.GoFiles, l.CgoFiles, l.EmbedFiles)
	t.testFiles[dir] = inDir(l.TestGoFiles, l.XTestGoFiles, l.TestEmbedFiles, l.XTestEmbedFiles)
	t.deps[dir], t.testDeps[dir] = ours(l.Imports), ours(l.TestImports, l.XTestImports)
	return nil
}

// readTree lists all packages of the module with the go command.
func readTree(ctx context.Context, root string) (*tree, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-json=Dir,GoFiles,TestGoFiles,XTestGoFiles,CgoFiles,EmbedFiles,"+
		"TestEmbedFiles,XTestEmbedFiles,Imports,TestImports,XTestImports", "./...")
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	raw, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("listing packages: %w: %s", err, stderr.String())
	}
	t := &tree{
		root: root, files: map[string][]string{}, testFiles: map[string][]string{},
		deps: map[string][]string{}, testDeps: map[string][]string{}, sums: map[string]string{}, digests: map[string]string{},
	}
	for decoder := json.NewDecoder(bytes.NewReader(raw)); ; {
		var l listed
		if err := decoder.Decode(&l); errors.Is(err, io.EOF) {
			return t, nil
		} else if err != nil {
			return nil, fmt.Errorf("listing packages: %w", err)
		}
		if err := t.add(l); err != nil {
			return nil, err
		}
	}
}

// module is the import path of the main module.
const module = "github.com/millwright-dev/millwright"

// closure are all packages in the test binary of a package, sorted.
func (t *tree) closure(dir string) []string {
	next := []string{dir}
	seen := map[string]bool{dir: true}
	add := func(deps []string) {
		for _, dep := range deps {
			if !seen[dep] {
				seen[dep] = true
				next = append(next, dep)
			}
		}
	}
	add(t.testDeps[dir])
	for n := 0; n < len(next); n++ {
		add(t.deps[next[n]])
	}
	slices.Sort(next)
	return next
}

// digest covers all that may change the result of the tests of a package, including the Go version and the module's dependencies.
func (t *tree) digest(dir string) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if d, ok := t.digests[dir]; ok {
		return d, nil
	}
	h := sha256.New()
	for _, name := range []string{"go.mod", "go.sum"} {
		sum, err := t.sum(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(h, name, sum)
	}
	for _, pkg := range t.closure(dir) {
		files := t.files[pkg]
		if pkg == dir {
			data, err := t.testdata(dir)
			if err != nil {
				return "", err
			}
			files = slices.Concat(files, t.testFiles[dir], data)
		}
		for _, file := range files {
			sum, err := t.sum(file)
			if err != nil {
				return "", err
			}
			fmt.Fprintln(h, file, sum)
		}
	}
	t.digests[dir] = hex.EncodeToString(h.Sum(nil))
	return t.digests[dir], nil
}

func (t *tree) testdata(dir string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(filepath.Join(t.root, filepath.FromSlash(dir), "testdata"), func(name string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || entry.IsDir() {
			return err
		}
		relative, err := filepath.Rel(t.root, name)
		files = append(files, filepath.ToSlash(relative))
		return err
	})
	return files, err
}

// sum is the digest of one file. The caller holds the lock of the tree.
func (t *tree) sum(file string) (string, error) {
	if s, ok := t.sums[file]; ok {
		return s, nil
	}
	content, err := os.ReadFile(filepath.Join(t.root, filepath.FromSlash(file)))
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(content)
	t.sums[file] = hex.EncodeToString(sum[:])
	return t.sums[file], nil
}
