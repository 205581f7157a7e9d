package devplane

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// goStub replaces the go command: it counts builds, and compiles two packages into a program that says hello.
const goStub = `#!/bin/sh
case "$1" in
env) echo '{"GOVERSION":"go1.26.0","GOOS":"linux","GOARCH":"amd64"}' ;;
list) echo "go: downloading example.com/a v1.0.0" >&2; printf 'a\nb\n' ;;
build)
	echo build >>"$STUB_BUILDS"
	printf 'a\nb\n' >&2
	if [ -n "$STUB_ERROR" ]; then echo "# a" >&2; echo "a/a.go:1:1: $STUB_ERROR" >&2; exit 1; fi
	sleep 0.3
	while [ "$1" != -o ]; do shift; done
	printf '#!/bin/sh\necho hello\n' >"$2"; chmod +x "$2" ;;
esac
`

const stubModule = devModule + "\n\nrequire (\n\tk8s.io/kubernetes v1.36.3\n)\n"

// stubbed creates a source folder, an empty cache and a stub of the go command. It returns the options for them, and a function
// that counts the builds.
func stubbed(t *testing.T) (BuildOptions, func() int) {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "bin", "go"), goStub, 0o755)
	write(t, filepath.Join(dir, "dev", "go.mod"), stubModule, 0o644)
	write(t, filepath.Join(dir, "dev", "go.sum"), "", 0o644)
	write(t, filepath.Join(dir, "dev", "box", "main.go"), "package main\n", 0o644)
	builds := filepath.Join(dir, "builds")
	t.Setenv("PATH", filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
	t.Setenv("STUB_BUILDS", builds)
	t.Setenv(AssetsEnv, "")
	count := func() int {
		content, err := os.ReadFile(builds)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return bytes.Count(content, []byte("build"))
	}
	return BuildOptions{SourceDir: filepath.Join(dir, "dev"), CacheDir: filepath.Join(dir, "cache")}, count
}

func write(t *testing.T, path, content string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

func ensure(t *testing.T, opts BuildOptions) Assets {
	t.Helper()
	assets, err := Ensure(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	return assets
}

func TestEnsureBuildsOnce(t *testing.T) {
	opts, builds := stubbed(t)
	var progress bytes.Buffer
	opts.Progress = &progress
	first := ensure(t, opts)
	for _, program := range Programs() {
		if _, err := first.Path(program); err != nil {
			t.Error(err)
		}
	}
	if !strings.Contains(progress.String(), "compiling up to 2 packages") {
		t.Errorf("progress does not show the number of packages:\n%s", &progress)
	}
	if second := ensure(t, opts); second != first {
		t.Errorf("second call gave %v, first %v", second, first)
	}
	if builds() != 1 {
		t.Errorf("%d builds, want 1", builds())
	}
	write(t, filepath.Join(opts.SourceDir, "box", "main.go"), "package main // changed\n", 0o644)
	if changed := ensure(t, opts); changed.Dir == first.Dir || builds() != 2 {
		t.Errorf("changed sources were not built: %v, %d builds", changed, builds())
	}
}

func TestEnsureBuildsOnceForTwo(t *testing.T) {
	opts, builds := stubbed(t)
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if _, err := Ensure(t.Context(), opts); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	if builds() != 1 {
		t.Errorf("%d builds for two at once, want 1", builds())
	}
}

func TestEnsureRecoversFromAnInterruptedBuild(t *testing.T) {
	opts, _ := stubbed(t)
	dir := ensure(t, opts).Dir
	write(t, filepath.Join(dir+".tmp", Etcd), "half", 0o755)
	if err := os.Remove(filepath.Join(dir, Kwok)); err != nil {
		t.Fatal(err)
	}
	if missing := missingFrom(ensure(t, opts).Dir, Programs()); len(missing) > 0 {
		t.Errorf("still missing: %v", missing)
	}
	if _, err := os.Stat(dir + ".tmp"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("leftover is still there: %v", err)
	}
}

func TestEnsureReportsWhatTheCompilerSays(t *testing.T) {
	opts, _ := stubbed(t)
	t.Setenv("STUB_ERROR", "undefined: something")
	_, err := Ensure(t.Context(), opts)
	if err == nil || !strings.Contains(err.Error(), "a/a.go:1:1: undefined: something") {
		t.Errorf("the compiler's message is not in the error: %v", err)
	}
}

func TestEnsureOutsideAClone(t *testing.T) {
	if _, err := findSource(t.TempDir()); err == nil {
		t.Error("a folder without the module was taken for it")
	}
	if src, err := findSource(""); err != nil || src.kubernetes == "" {
		t.Errorf("in the clone: %+v, %v", src, err)
	}
}

func TestEnsureHonoursTheUsersPrograms(t *testing.T) {
	cases := []struct {
		reason     string
		has, needs []string
		builds     int
	}{
		{"everything needed is there: nothing is built", []string{Etcd, APIServer, Kubectl}, []string{Etcd, APIServer}, 0},
		{"hollow is not among envtest's programs: it comes from the box", []string{Etcd, APIServer, Kubectl}, []string{Etcd, Hollow}, 1},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			opts, builds := stubbed(t)
			user := t.TempDir()
			t.Setenv(AssetsEnv, user)
			for _, program := range c.has {
				write(t, filepath.Join(user, program), "#!/bin/sh\n", 0o755)
			}
			var progress bytes.Buffer
			opts.Programs, opts.Progress = c.needs, &progress
			assets := ensure(t, opts)
			if path, err := assets.Path(Etcd); err != nil || path != filepath.Join(user, Etcd) {
				t.Errorf("etcd is %s (%v), want the user's", path, err)
			}
			for _, program := range c.needs {
				if _, err := assets.Path(program); err != nil {
					t.Error(err)
				}
			}
			if builds() != c.builds {
				t.Errorf("%d builds, want %d", builds(), c.builds)
			}
			if told := strings.Contains(progress.String(), user+" has no hollow"); told != (c.builds > 0) {
				t.Errorf("missing programs named: %v\n%s", told, &progress)
			}
		})
	}
}

func TestKey(t *testing.T) {
	opts, _ := stubbed(t)
	src, err := openSource(opts.SourceDir)
	if err != nil {
		t.Fatal(err)
	}
	tools := toolchain{GOVERSION: "go1.26.0", GOOS: "linux", GOARCH: "amd64"}
	key := func(tools toolchain) string {
		key, err := src.key(tools)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	original := key(tools)
	write(t, filepath.Join(src.dir, "box", "main_test.go"), "package main\n", 0o644)
	write(t, filepath.Join(src.dir, "README.md"), "text\n", 0o644)
	write(t, filepath.Join(src.dir, "other", "go.mod"), "module example.com/other\n", 0o644)
	write(t, filepath.Join(src.dir, "other", "deep", "main.go"), "package main\n", 0o644)
	if err := os.Chtimes(filepath.Join(src.dir, "go.mod"), time.Time{}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if key(tools) != original {
		t.Error("tests, documents, other modules or times of files change the key")
	}
	other := tools
	other.GOVERSION = "go1.26.1"
	if key(other) == original {
		t.Error("the version of Go does not change the key")
	}
	write(t, filepath.Join(src.dir, "go.sum"), "example.com/a v1.0.0 h1:x\n", 0o644)
	if key(tools) == original {
		t.Error("go.sum does not change the key")
	}
}

func TestLockWaitsUntilCancelled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := lockFile(t.Context(), path, func() { t.Error("waited for a free lock") })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	waited := 0
	if _, err := lockFile(ctx, path, func() { waited++ }); !errors.Is(err, context.DeadlineExceeded) || waited != 1 {
		t.Errorf("error %v after telling %d times, want the deadline and once", err, waited)
	}
	unlock()
	if unlock, err = lockFile(t.Context(), path, func() {}); err != nil {
		t.Fatal(err)
	}
	unlock()
}
